"""The ladder of onboard/alertmanager."""

import hashlib
import random
import re
import secrets
import time
from pathlib import Path
from shlex import quote

from asked import has_signature, run_tests, summing_test
from service import LATE_SECONDS, PASSWORD, TOLD_SECONDS, drawn

from benchflow.bench.disk_changes import shown
from benchflow.bench.hidden_secrets import holds
from benchflow.bench.service_machine import keys_seen
from benchflow.bench.wrong_passwords import let_in, near
from benchflow.boot import BadDeliverable, check, milestone

SRV = "/srv/alertmanager"
#: So long nothing must come that would have come: a group's interval, and the other's turn.
QUIET_SECONDS = 45
#: Nobody of the machine's.
STRANGER = 78_421


@milestone("starts", weight=1, proves=["R1"], title="Debian starts from the disk alone")
def test_root_logs_in(guest, nonce):
    word = nonce()
    said = guest.start(240).say(f"echo {word}; . /etc/os-release; echo $ID-$VERSION_ID")
    assert said.split() == [word, "debian-12"]


@check("starts", proves=["R1"])
def test_the_machine_is_what_it_says(guest):
    assert guest.say("uname -m") == "x86_64"
    assert not guest.has("/sys/firmware/efi")


@milestone("tests", weight=2, requires=["starts"], proves=["R3"], title="Its tests pass")
def test_drawn_tests_of_its_own_pass(guest, told):
    package = random.choice(sorted(told["tests"]))
    names = random.sample(told["tests"][package], 3)
    status, seen, said = run_tests(guest, package, names)
    assert status == 0 and seen == dict.fromkeys(names, "PASS"), said[-1500:]


@check("tests", proves=["R2", "R3"])
def test_what_lies_there_is_what_is_tested(guest, told, nonce):
    broken = random.choice(told["breaks"])
    names = random.sample(broken["passes"], 2) + broken["fails"]
    package, word, ours = broken["package"], nonce(), f"Bench{secrets.token_hex(4)}"
    path, new = f"{SRV}/{broken['file']}", f"{SRV}/{package}/bench_{secrets.token_hex(4)}_test.go"
    text = guest.machine.shell.read_file(path)
    old, other = broken["old"].encode(), broken["new"].encode()
    assert text.count(old) == 1, f"{path} is not as in /app [R2]"
    guest.write(path, text.replace(old, other))
    guest.write(new, summing_test(package.rpartition("/")[2], ours, word))
    try:
        status, seen, said = run_tests(guest, package, [*names, f"Test{ours}"])
    finally:
        guest.write(path, text)
        guest.say(f"rm {new}")
    assert status != 0, said[-1500:]
    wanted = dict.fromkeys(broken["passes"], "PASS") | dict.fromkeys(broken["fails"], "FAIL")
    assert seen == {name: wanted[name] for name in names} | {f"Test{ours}": "PASS"}, said[-1500:]
    assert hashlib.sha256(word.encode()).hexdigest() in said, "a test of ours was not run [R3]"


@milestone("answers", weight=2, requires=["starts"], proves=["R6"], title="It answers")
def test_it_says_what_it_is(service, site):
    said = service.ready()
    assert {"cluster", "versionInfo", "config", "uptime"} <= set(said)


@check("answers", proves=["R6"])
def test_it_keeps_an_alert_that_it_is_sent(service):
    name = drawn()
    service.fire({"alertname": name, "site": "x", "severity": "info"})
    found = service.do("GET", f"/alerts?filter=alertname%3D%22{name}%22")
    assert [one["labels"]["alertname"] for one in found] == [name]


@milestone("web", weight=1, requires=["answers"], proves=["R6"], title="Who may ask it")
def test_strangers_get_401(service):
    near = service.password[:-1] + ("b" if service.password[-1] == "a" else "a")
    for as_ in (None, ("duty", near), ("duty", ""), ("admin", service.password)):
        for path in ("/api/v2/status", "/metrics", f"/{secrets.token_hex(3)}", "/-/healthy"):
            status = service.ask("GET", path, as_=as_)[0]
            assert status == 401, f"{path} was answered by {status} to {as_ and as_[0]} [R6]"


@check("web", proves=["R6"])
def test_it_speaks_tls_alone(service):
    said = service.plain()
    assert not said.startswith(b"HTTP/") or b" 400 " in said[:20], f"{said[:60]!r} [R6]"


@check("web", proves=["R6"])
def test_it_is_not_root(guest):
    said = guest.run("cat /proc/[0-9]*/net/tcp* 2>/dev/null | sort -u").stdout
    lines = [line.split() for line in said.splitlines()]
    sockets = {f"socket:[{f[9]}]" for f in lines if f[3] == "0A" and f[1].endswith(":2385")}
    assert sockets, "nothing listens at port 9093 [R6]"
    ask = "find /proc/[0-9]*/fd -lname 'socket:*' -printf '%p %l\\n' 2>/dev/null"
    found = [line.split() for line in guest.run(ask, 120).stdout.splitlines()]
    owners = {path.split("/")[2] for path, name in found if name in sockets} - {"1"}
    assert owners, "no process holds port 9093 [R6]"
    status = " ".join(f"/proc/{pid}/status" for pid in sorted(owners))
    uids = guest.run(f"grep -h ^Uid: {status} 2>/dev/null").stdout.split()
    assert "0" not in uids, "a process of root's holds port 9093 [R6]"


@milestone("audit", weight=2, requires=["answers"], proves=["R7"], title="The audit is told")
def test_the_audit_is_told(service, site):
    name = drawn()
    labels = {"alertname": name, "site": drawn("s"), "team": drawn("t")}
    service.fire(labels)
    told = _told(service, site.audit, name)
    assert told.said.get("version") == "4" and told.said.get("status") == "firing"
    assert [one["labels"] for one in told.alerts] == [labels]


def _told(service, hook, name, seconds=TOLD_SECONDS, status="firing"):
    """The first notification that tells this alert, waited for."""
    what = f"{status} alert at {hook.path} [R7]; {hook.refused} requests were refused"
    return service.until(lambda: hook.telling(name, status), seconds, what)[0]


@milestone("tickets", weight=1, requires=["audit"], proves=["R7"], title="Tickets are made")
def test_the_tickets_are_told(service, site):
    name = drawn()
    service.fire({"alertname": name, "site": drawn("s"), "team": "db"})
    assert _told(service, site.tickets, name)
    assert _told(service, site.audit, name)
    assert not site.pager.telling(name) and not site.mail.telling(name), "told elsewhere [R7]"


@milestone("pager", weight=2, requires=["audit"], proves=["R7"], title="The pager is called")
def test_the_pager_is_told(service, site):
    name = drawn()
    service.fire({"alertname": name, "site": drawn("s"), "severity": "page", "team": "db"})
    assert _told(service, site.pager, name)
    assert _told(service, site.audit, name)
    assert not site.tickets.telling(name) and not site.mail.telling(name), "told elsewhere [R7]"


@check("pager", proves=["R7"])
def test_a_token_that_is_over_is_not_used(service, site):
    end = max(site.tokens.given.values(), default=0) - time.monotonic()
    time.sleep(max(0, end))
    name = drawn()
    service.fire({"alertname": name, "site": drawn("s"), "severity": "page"})
    assert _told(service, site.pager, name)


@milestone("mail", weight=2, requires=["audit"], proves=["R7"], title="It sends mail")
def test_the_rest_is_mailed(service, site):
    name = drawn()
    service.fire({"alertname": name, "site": drawn("s"), "severity": "warning", "team": "web"})
    what = f"mail; {site.mail.refused} log-ins were refused"
    mail = service.until(lambda: site.mail.telling(name), TOLD_SECONDS, what)[0]
    assert (mail.sender, mail.recipients) == (site.sender, (site.receiver,))
    assert _told(service, site.audit, name)
    assert not site.tickets.telling(name) and not site.pager.telling(name), "told elsewhere [R7]"


@milestone(
    "trust",
    weight=1,
    requires=["tickets", "pager", "mail"],
    proves=["R7"],
    title="Only who is of the site's authority is told",
)
def test_who_has_another_certificate_is_told_nothing(service, site):
    end = max(site.tokens.given.values(), default=0) - time.monotonic()
    time.sleep(max(0, end))
    ticket, page, mailed = drawn(), drawn(), drawn()
    webs = (site.audit, site.tickets, site.tokens)
    before, given, logins = (
        [w.broken_handshakes for w in webs],
        len(site.tokens.given),
        site.mail.refused,
    )
    with site.impostors():
        service.fire(
            {"alertname": ticket, "site": drawn("s"), "team": "db"},
            {"alertname": page, "site": drawn("s"), "severity": "page"},
            {"alertname": mailed, "site": drawn("s")},
        )
        service.until(
            lambda: all(w.broken_handshakes > n for w, n in zip(webs, before, strict=True)),
            TOLD_SECONDS,
            "try to tell all",
        )
        service.rest(10)
        for hook in (site.audit, site.tickets, site.pager):
            for name in (ticket, page, mailed):
                assert not hook.telling(name), "told to who has another certificate [R7]"
        assert len(site.tokens.given) == given, "logged in at who has another certificate [R7]"
        assert not site.mail.telling(mailed) and site.mail.refused == logins, "mailed to him [R7]"
    assert _told(service, site.tickets, ticket, LATE_SECONDS)
    assert _told(service, site.pager, page, LATE_SECONDS)
    service.until(lambda: site.mail.telling(mailed), LATE_SECONDS, "mail [R7]")


@milestone(
    "routes",
    weight=2,
    requires=["tickets", "pager", "mail"],
    proves=["R8"],
    title="Groups, inhibitions, ends",
)
def test_what_comes_together_is_told_in_one(service, site):
    name, place = drawn(), drawn("s")
    together = ({"alertname": name, "site": place, "host": f"h{n}"} for n in range(3))
    service.fire(*together, timed=False)
    other = {"alertname": name, "site": drawn("s"), "host": "h0"}
    service.fire(other)
    _told(service, site.audit, name)
    for group in (place, other["site"]):
        service.until(
            lambda group=group: group in _sites(site.audit, name), TOLD_SECONDS, "group [R8]"
        )
    hosts = [
        sorted(str(a["labels"].get("host")) for a in one.alerts) for one in site.audit.telling(name)
    ]
    assert sorted(hosts) == [["h0"], ["h0", "h1", "h2"]], f"told in {hosts} [R8]"


def _sites(hook, name):
    """Of which sites a hook was told an alert of this name."""
    return {alert["labels"].get("site") for one in hook.telling(name) for alert in one.alerts}


@check("routes", proves=["R8"])
def test_what_fires_is_told_again_after_twelve_hours(service):
    # Alertmanager's own words for what it was configured with; durations are written alike.
    said = str(service.do("GET", "/status")["config"].get("original"))
    found = set(re.findall(r"(?m)^\s*(?:- )?repeat_interval: (\S+)", said))
    assert found == {"12h"}, f"told again after {found} [R8]"


@check("routes", proves=["R8"])
def test_a_page_mutes_what_is_only_info(service, site):
    place, page, muted, free = drawn("s"), drawn("P"), drawn("I"), drawn("J")
    service.fire({"alertname": page, "site": place, "severity": "page"})
    _told(service, site.pager, page)
    service.fire(
        {"alertname": muted, "site": place, "severity": "info"},
        {"alertname": free, "site": drawn("s"), "severity": "info"},
    )
    _told(service, site.audit, free)
    service.rest(QUIET_SECONDS)
    assert not site.audit.telling(muted) and not site.mail.telling(muted), "told [R8]"


@check("routes", proves=["R7"])
def test_ends_are_told(service, site):
    one = {"alertname": drawn(), "site": drawn("s"), "team": "db"}
    other = {"alertname": drawn(), "site": drawn("s")}
    page = {"alertname": drawn(), "site": drawn("s"), "severity": "page"}
    service.fire(one, other, page)
    for labels in (one, other, page):
        _told(service, site.audit, labels["alertname"])
    service.until(lambda: site.mail.telling(other["alertname"]), TOLD_SECONDS, "mail [R7]")
    before = len(site.mail.telling(other["alertname"]))
    _told(service, site.tickets, one["alertname"])
    _told(service, site.pager, page["alertname"])
    service.fire(one, other, page, over=True)
    for hook, labels in ((site.tickets, one), (site.pager, page), (site.audit, other)):
        _told(service, hook, labels["alertname"], status="resolved")
    service.until(
        lambda: len(site.mail.telling(other["alertname"])) > before, TOLD_SECONDS, "mail [R7]"
    )


@milestone(
    "duty", weight=1, requires=["answers"], proves=["R13"], title="amtool for who is on duty"
)
def test_duty_sees_alerts(guest, service):
    name = drawn()
    service.fire({"alertname": name, "site": "x"})
    said = guest.run(f"su duty -c 'amtool -o json alert query alertname={name}'", 120).stdout
    assert said.count(name) == 1, f"{said[:500]} [R13]"
    assert guest.say("su duty -c 'id -u'") != "0"


@check("duty", proves=["R13"])
def test_duty_makes_silences(guest, service):
    ask = f"amtool silence add --comment bench --duration 1h alertname={drawn()}"
    said = guest.run(f"su duty -c {quote(ask)}", 120).stdout.split()
    assert said and said[-1] in service.silences(), f"{said} [R13]"


@check("duty", proves=["R14"])
def test_duty_reads_no_other_key(guest, site):
    keys = {name: value for name, value in site.keys.items() if name != "WEB_PASSWORD"}
    seen = keys_seen(guest, keys, [site.web_key.decode().splitlines()[1]], "su duty -c")
    assert seen == "", f"{seen} to duty [R14]"


@milestone(
    "change", weight=3, requires=["tests", "tickets"], proves=["R16"], title="The change request"
)
def test_tickets_are_signed(service, site):
    name = drawn()
    service.fire({"alertname": name, "site": drawn("s"), "team": "db"})
    assert has_signature(_told(service, site.tickets, name), site.signing_key)
    assert all("x-holm-signature" not in one.headers for one in site.audit.taken)


@check("change", proves=["R16"])
def test_hidden_tests_of_the_change_pass(guest, nonce):
    text = (Path(__file__).parent / "signing.go.txt").read_text()
    word, name = nonce(), f"{SRV}/notify/webhook/bench_{secrets.token_hex(4)}_test.go"
    tests = [f"TestBench{n}" for n in ("Signed", "AbsoluteName", "NoKey", "Unsigned")]
    guest.write(name, text.replace("WORD", word))
    try:
        status, seen, said = run_tests(guest, "notify/webhook", tests)
    finally:
        guest.say(f"rm {name}")
    assert status == 0 and seen == dict.fromkeys(tests, "PASS"), said[-1500:]


@milestone(
    "rebuild", weight=2, requires=["answers", "duty"], proves=["R4"], title="It is built there"
)
def test_what_runs_is_built_from_what_lies_there(guest, service, rebuilt):
    done, words, _ = rebuilt
    assert done.status == 0, done.stdout[-1500:]
    sums = {name: hashlib.sha256(word.encode()).hexdigest() for name, word in words.items()}
    said = service.do("GET", "/status")["versionInfo"]
    assert said.get("buildUser") == sums["alertmanager"], f"{said} is not what was built [R4]"
    said = guest.run("su duty -c 'amtool --version' 2>&1", 60).stdout
    assert sums["amtool"] in said, f"{said[:500]} is not what was built [R4]"


@check("rebuild", proves=["R14"])
def test_no_process_shows_a_key_while_it_is_replaced(rebuilt, site):
    found = holds([rebuilt[2].encode()], site.keys)
    assert found == "", f"a process showed {found} [R14]"


@milestone("cluster", weight=3, requires=["audit"], proves=["R11"], title="Two are one")
def test_two_tell_an_alert_once(service, second, site):
    names = [drawn() for _ in range(3)]
    alerts = [{"alertname": name, "site": drawn("s")} for name in names]
    for one in (service, second):
        one.fire(*alerts)
    for name in names:
        _told(service, site.audit, name)
    service.rest(QUIET_SECONDS)
    assert [len(site.audit.telling(name)) for name in names] == [1, 1, 1], "told twice [R11]"


@check("cluster", proves=["R11"])
def test_a_silence_is_at_both(service, second):
    for one, other in ((service, second), (second, service)):
        made = one.silence(drawn())
        other.until(lambda of=other, made=made: made in of.silences(), 60, "silence [R11]")


@check("cluster", proves=["R11"])
def test_one_goes_on_without_the_other(service, second_disk, site):
    name = drawn()
    service.fire({"alertname": name, "site": drawn("s")})
    assert _told(service, site.audit, name, LATE_SECONDS)


@milestone("secrets", weight=2, requires=["audit"], proves=["R14"], title="No key is shown")
def test_processes_show_no_key(guest, site):
    said = guest.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", 60).stdout.encode()
    assert holds([said], site.keys) == ""


@check("secrets", proves=["R14"])
def test_other_users_find_no_key(guest, site):
    stranger = f"setpriv --reuid {STRANGER} --regid {STRANGER} --clear-groups sh -c"
    seen = keys_seen(guest, site.keys, [site.web_key.decode().splitlines()[1]], stranger)
    assert seen == "", f"{seen} [R14]"


@check("secrets", proves=["R14"])
def test_a_disk_that_was_cut_off_has_no_key(second_disk, deliverable, work, site):
    found = shown(deliverable(), second_disk, work / "written", site.keys)
    assert found == "", f"the machine's own disk has {found} while it runs [R14]"


@milestone(
    "late", weight=2, requires=["audit", "mail"], proves=["R10"], title="Services come later"
)
def test_it_is_told_when_a_service_is_back(alone, site):
    assert _told(alone["service"], site.audit, alone["late"], LATE_SECONDS)
    alone["service"].until(lambda: site.mail.telling(alone["late"]), LATE_SECONDS, "mail [R10]")


@milestone("restart", weight=3, requires=["audit"], proves=["R9"], title="It remembers")
def test_silences_are_kept(alone):
    kept = alone["after a restart"]
    assert kept["silence"] in kept["found"], "a silence is gone after a restart [R9]"
    now = alone["service"].silences()
    assert {kept["silence"], alone["after a power cut"]["silence"]} <= now, "a silence is gone [R9]"


@check("restart", proves=["R9"])
def test_what_was_told_is_not_told_again(alone, site):
    service, new = alone["service"], drawn()
    states = [alone["after a restart"], alone["after a power cut"]]
    before = [len(site.audit.telling(one["told"])) for one in states]
    names = [one[key] for one in states for key in ("told", "silent")]
    service.fire(*({"alertname": name, "site": "kept"} for name in (*names, new)))
    _told(service, site.audit, new)
    service.rest(QUIET_SECONDS)
    now = [len(site.audit.telling(one["told"])) for one in states]
    assert now == before == [1, 1], f"told {now} times [R9]"
    assert not any(site.audit.telling(one["silent"]) for one in states), "a silence is gone [R9]"


@milestone("sources", weight=1, requires=["starts"], proves=["R2"], title="The sources are right")
def test_every_source_is_as_it_was(srv, told):
    files, top = srv
    for name, wanted in told["sources"].items():
        if _may_change(name):
            continue
        try:
            data = files.read(f"{top}{name}")
        except BadDeliverable:
            raise AssertionError(f"{SRV}/{name} is missing [R2]") from None
        assert hashlib.sha256(data).hexdigest() == wanted, f"{SRV}/{name} was changed [R2]"


def _may_change(name):
    """Whether the change request may touch a file."""
    ours = name.endswith("_test.go") or "testdata" in name.split("/")
    return name.split("/")[0] in ("config", "notify") and not ours


@check("sources", proves=["R2"])
def test_nothing_was_written_beside_them(srv, told):
    files, top = srv
    paths = (e.path.removeprefix(top) for e in files.walk(top[:-1]) if e.kind != "directory")
    new = [
        p for p in paths if p not in told["sources"] and p.split("/")[0] not in ("config", "notify")
    ]
    assert not new, f"new: {sorted(new)[:5]} [R2]"


@milestone(
    "rotation",
    weight=2,
    requires=["restart", "tickets", "pager", "mail"],
    proves=["R5", "R12"],
    title="Keys can be changed",
)
def test_it_answers_by_the_new_keys(rotated, service, alone):
    rotated.ready()
    assert rotated.ask("GET", "/api/v2/status", as_=("duty", service.password))[0] == 401
    assert alone["after a power cut"]["silence"] in rotated.silences(), "a silence is gone [R12]"


@check("rotation", proves=["R12"])
def test_all_are_told_by_the_new_keys(rotated, site):
    service = rotated
    ticket, page, mailed = drawn(), drawn(), drawn()
    service.fire(
        {"alertname": ticket, "site": drawn("s"), "team": "db"},
        {"alertname": page, "site": drawn("s"), "severity": "page"},
        {"alertname": mailed, "site": drawn("s")},
    )
    told = _told(service, site.tickets, ticket)
    assert _told(service, site.pager, page)
    service.until(lambda: site.mail.telling(mailed), TOLD_SECONDS, "mail [R7]")
    assert _told(service, site.audit, mailed)
    if told.headers.get("x-holm-signature"):
        assert has_signature(told, site.signing_key)


@milestone("elsewhere", weight=2, requires=["audit"], proves=["R5", "R15"], title="Other hardware")
def test_it_tells_on_another_machine(elsewhere, site):
    elsewhere.ready()
    name = drawn()
    elsewhere.fire({"alertname": name, "site": drawn("s")})
    assert _told(elsewhere, site.audit, name)
    elsewhere.until(lambda: site.mail.telling(name), TOLD_SECONDS, "mail [R7]")


@check("elsewhere", proves=["R1"])
def test_no_other_password_lets_root_in(elsewhere):
    elsewhere.machine.login("root", PASSWORD, timeout=240)
    found = let_in(elsewhere.machine, "root", near(PASSWORD))
    assert not found, f"root was let in by {found} at the console [R1]"
