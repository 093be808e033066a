"""The ladder of onboard/kinto."""

import base64
import hashlib
import hmac
import random
import secrets
from shlex import quote

from breaking import breaking
from copied import changed, modules
from service import PASSWORD

from benchflow.bench.disk_changes import shown
from benchflow.bench.hidden_secrets import all_unpacked, holds
from benchflow.bench.service_machine import watched_arguments
from benchflow.bench.wrong_passwords import let_in, near
from benchflow.boot import BadDeliverable, check, milestone

DRAWN_TESTS, BROKEN = 8, 3
#: More than Kinto reads of its database at once, and what the change request names.
MANY = (10_040, 12_000)
#: Nobody of the machine's. Where he looks: what is not on the disk, whose new blocks are searched.
STRANGER = 78_421
MEMORY = (
    '$(awk -v own="$(blkid -L SETTINGS)" \'$2 != "/" && ($1 == own || $3 ~ '
    "/^(tmpfs|ramfs|devtmpfs)$/) {print $2}' /proc/self/mounts | sort -u)"
)


@milestone("starts", weight=1, proves=["R1"], title="Debian starts from the disk alone")
def test_root_logs_in(guest, nonce):
    word = nonce()
    assert guest.start(240).say(
        f"echo {word}; . /etc/os-release; echo $ID-$VERSION_ID"
    ).split() == [
        word,
        "debian-12",
    ]


@check("starts", proves=["R1"])
def test_the_machine_is_what_it_says(guest):
    assert guest.say("uname -m") == "x86_64"
    assert not guest.has("/sys/firmware/efi")


@milestone("dependencies", weight=1, requires=["starts"], proves=["R2"], title="All is installed")
def test_the_versions_are_those_of_the_wheels(guest, told):
    wanted = dict(random.sample(sorted(told["versions"].items()), 12))
    ask = (
        "import importlib.metadata as m, sys\n"
        "for name in sys.argv[1:]: print(name, m.version(name))"
    )
    said = guest.say(f"project-python -W ignore -c {quote(ask)} {' '.join(wanted)}", 180)
    assert dict(line.split() for line in said.splitlines()) == wanted


@check("dependencies", proves=["R2"])
def test_kinto_is_installed_beside_its_plugin(guest, nonce):
    word = nonce()
    ask = (
        "import hashlib, kinto, kinto_emailer; "
        f"print(kinto.__version__, hashlib.sha256(b'{word}').hexdigest())"
    )
    said = guest.say(f"cd /; project-python -W ignore -c {quote(ask)}", 240).split()
    assert said == ["26.5.0", hashlib.sha256(word.encode()).hexdigest()]


@check("dependencies", proves=["R2"])
def test_what_it_imports_is_built_from_the_sources(guest, told):
    ask = (
        "import os, kinto, kinto_emailer as e; "
        "print(*(os.path.dirname(os.path.dirname(m.__file__)) for m in (kinto, e)), sep='\\n')"
    )
    tops = guest.say(f"cd /; project-python -W ignore -c {quote(ask)}", 240).splitlines()
    for top, package in zip(tops, ("kinto", "kinto_emailer"), strict=True):
        found = _digests(guest, quote(f"{top}/{package}"))
        for name, wanted in modules(told, package).items():
            assert found.get(f"{top}/{name}") == wanted, f"{top}/{name} is not as in /app [R2]"
    found = _digests(guest, MEMORY)
    wrong = changed(found, found.__getitem__, told)
    assert wrong == "", f"{wrong} was changed [R2]"


def _digests(guest, places):
    """Of all modules in some folders of the machine."""
    ask = f"find {places} -xdev -name '*.py' -exec sha256sum {{}} + 2>/dev/null"
    return {line[66:]: line[:64] for line in guest.run(ask, 120).stdout.splitlines()}


@milestone("tests", weight=2, requires=["dependencies"], proves=["R3"], title="Its tests pass")
def test_drawn_tests_of_its_own_pass(guest, told):
    names = random.sample(told["tests"], DRAWN_TESTS)
    done = guest.run(f"project-test {' '.join(map(quote, names))}", 600)
    assert done.status == 0, done.stdout[-1500:]
    assert f"{DRAWN_TESTS} passed" in done.stdout


@check("tests", proves=["R3"])
def test_its_own_tests_are_what_runs(guest, told, nonce):
    names = random.sample(told["tests"], DRAWN_TESTS)
    words = {name: nonce() for name in random.sample(names, BROKEN)}
    path = f"/tmp/test_{secrets.token_hex(4)}.py"
    guest.write(path, breaking(words))
    done = guest.run(f"chmod 644 {path}; project-test {' '.join(map(quote, names))} {path}", 600)
    seen = f"{BROKEN} failed, {DRAWN_TESTS - BROKEN + 1} passed"
    assert done.status == 1 and seen in done.stdout, done.stdout[-1500:]
    told_of = [
        name
        for name, word in words.items()
        if word in done.stdout or f"FAILED {name}" in done.stdout
    ]
    assert told_of == list(words), done.stdout[-1500:]


@check("tests", proves=["R2", "R3"])
def test_what_is_tested_is_what_was_handed_over(guest, told):
    found = _digests(guest, "/srv/kinto/tests")
    for name, wanted in told["sources"].items():
        if name.startswith("kinto/tests/") and name.endswith(".py"):
            assert found.get(f"/srv/{name}") == wanted, f"/srv/{name} is not as in /app [R2]"


@check("tests", proves=["R3"])
def test_a_test_of_ours_that_fails_is_told(guest, nonce):
    word, path = nonce(), f"/tmp/test_{secrets.token_hex(4)}.py"
    text = (
        "import kinto.core.utils as u\n\n"
        f"def test_right():\n    assert u.hmac_digest('{word}', 'x') == {_hmac(word)!r}\n\n"
        f"def test_wrong():\n    assert u.hmac_digest('{word}', 'y') == {_hmac(word)!r}\n"
    )
    guest.write(path, text)
    done = guest.run(f"chmod 644 {path}; project-test {path}", 300)
    assert done.status == 1 and "1 failed, 1 passed" in done.stdout, done.stdout[-1500:]
    assert guest.code(f"project-test {path}::test_right", 300) == 0


def _hmac(word):
    return hmac.new(word.encode(), b"x", hashlib.sha256).hexdigest()


@milestone("answers", weight=2, requires=["starts"], proves=["R5"], title="It answers")
def test_it_greets(service):
    said = service.ready()
    assert (said.get("project_name"), said.get("project_version")) == ("kinto", "26.5.0")


@check("answers", proves=["R5"])
def test_it_takes_batches(service, nonce):
    word = nonce()
    asked = {"requests": [{"path": f"/{word}"}, {"path": "/"}]}
    status, said = service.ask("POST", "/batch", asked)
    assert status == 200, f"a batch was answered by {status}"
    first, second = said["responses"]
    assert (first["status"], first["path"]) == (404, f"/v1/{word}")
    assert (second["status"], second["body"]["project_name"]) == (200, "kinto")


@check("answers", proves=["R5"])
def test_it_is_not_root(guest):
    said = guest.run("cat /proc/[0-9]*/net/tcp* 2>/dev/null | sort -u").stdout
    lines = [line.split() for line in said.splitlines()]
    sockets = {f"socket:[{f[9]}]" for f in lines if f[3] == "0A" and f[1].endswith(":22B8")}
    assert sockets, "nothing listens at port 8888 [R5]"
    ask = "find /proc/[0-9]*/fd -lname 'socket:*' -printf '%p %l\\n' 2>/dev/null"
    found = [line.split() for line in guest.run(ask, 120).stdout.splitlines()]
    owners = {path.split("/")[2] for path, name in found if name in sockets} - {"1"}
    assert owners, "no process holds port 8888 [R5]"
    status = " ".join(f"/proc/{pid}/status" for pid in sorted(owners))
    uids = guest.run(f"grep -h ^Uid: {status} 2>/dev/null").stdout.split()
    assert "0" not in uids, "a process of root's holds port 8888 [R5]"


@milestone("accounts", weight=1, requires=["answers"], proves=["R7"], title="Who may do what")
def test_admin_makes_buckets(service):
    assert service.collection("b" + secrets.token_hex(3))


@check("accounts", proves=["R7"])
def test_strangers_make_nothing(service):
    bucket = f"/buckets/x{secrets.token_hex(3)}"
    assert service.ask("PUT", bucket)[0] == 401
    assert service.ask("PUT", bucket, as_=("admin", "admin"))[0] == 401
    account = {"data": {"password": secrets.token_hex(6)}}
    assert service.ask("PUT", f"/accounts/u{secrets.token_hex(3)}", account)[0] in (401, 403)
    for method in ("PUT", "PATCH"):
        assert service.ask(method, "/accounts/admin", account)[0] in (401, 403)


@check("accounts", proves=["R7"])
def test_an_account_reads_only_what_it_may(service, record):
    name, word = f"u{secrets.token_hex(3)}", secrets.token_hex(6)
    assert service.do("PUT", f"/accounts/{name}", {"data": {"password": word}})[0] == 201
    path, _ = record
    assert service.ask("GET", f"{path}/records/first", as_=(name, word))[0] == 403
    share = {"permissions": {"read": [f"account:{name}"]}}
    assert service.do("PATCH", path, share)[0] == 200
    assert service.ask("GET", f"{path}/records/first", as_=(name, word))[0] == 200
    assert service.ask("PUT", f"/buckets/y{name}", as_=(name, word))[0] == 403
    for as_ in (None, (name, word + "x"), (f"n{name}", word)):
        assert service.ask("GET", f"{path}/records/first", as_=as_)[0] == 401


@check("accounts", proves=["R7"])
def test_an_account_makes_no_accounts(service):
    name, word = f"v{secrets.token_hex(3)}", secrets.token_hex(6)
    assert service.do("PUT", f"/accounts/{name}", {"data": {"password": word}})[0] == 201
    for other in (f"w{name}", f"x{name}", "admin"):
        data = {"data": {"id": other, "password": secrets.token_hex(6)}}
        for method, path in (("PUT", f"/accounts/{other}"), ("POST", "/accounts")):
            status = service.ask(method, path, data, as_=(name, word))[0]
            assert 400 <= status < 500, f"{method} {path} by another account: {status} [R7]"


@milestone(
    "database", weight=2, requires=["answers"], proves=["R6"], title="It keeps in PostgreSQL"
)
def test_a_record_is_in_the_database(site, record):
    _, word = record
    found = site.postgresql.rows("SELECT data->>'word' FROM objects WHERE id = 'first'")
    assert [word] in found


@check("database", proves=["R6"])
def test_what_the_database_says_is_what_it_answers(service, site, record, nonce):
    path, _ = record
    other = nonce()
    site.postgresql.rows(
        "UPDATE objects SET data = jsonb_set(data, '{extra}', '\""
        + other
        + "\"') WHERE id = 'first'"
    )
    assert service.read(path, "first").get("extra") == other


@check("database", proves=["R6"])
def test_permissions_are_there_too(site, record):
    path, _ = record
    found = site.postgresql.rows("SELECT object_id FROM access_control_entries")
    assert [path] in found


@milestone("cache", weight=1, requires=["answers"], proves=["R6"], title="Its cache is Redis")
def test_logins_are_cached_in_redis(service, site):
    name, word = f"c{secrets.token_hex(3)}", secrets.token_hex(6)
    assert service.do("PUT", f"/accounts/{name}", {"data": {"password": word}})[0] == 201
    assert service.ask("GET", f"/accounts/{name}", as_=(name, word))[0] == 200
    assert site.cached(name), f"no key of {name}'s is in Redis, by HMAC_SECRET [R4, R6]"


@check("cache", proves=["R6"])
def test_what_redis_says_is_what_it_believes(service, site):
    name, word, other = f"k{secrets.token_hex(3)}", secrets.token_hex(6), secrets.token_hex(6)
    assert service.do("PUT", f"/accounts/{name}", {"data": {"password": word}})[0] == 201
    assert service.ask("GET", f"/accounts/{name}", as_=(name, other))[0] == 401
    assert service.ask("GET", f"/accounts/{name}", as_=(name, word))[0] == 200
    site.believe(name, other)
    assert service.ask("GET", f"/accounts/{name}", as_=(name, other))[0] == 200, (
        "a log-in that the cache in Redis knows is refused [R6]"
    )


@check("cache", proves=["R6"])
def test_the_heartbeat_asks_all_three(service):
    said = service.ask("GET", "/__heartbeat__")[1]
    assert {name: said.get(name) for name in ("storage", "permission", "cache")} == {
        "storage": True,
        "permission": True,
        "cache": True,
    }


@milestone("mail", weight=2, requires=["answers"], proves=["R8"], title="It sends mail")
def test_a_new_record_is_mailed(service, site, nonce):
    word = nonce()
    hook = {
        "resource_name": "record", "action": "create", "subject": "new {record_id}",
        "template": "{user_id} wrote {record_id} " + word, "recipients": [f"{word}@holm.example"],
    }  # fmt: skip
    path = service.collection(f"m{word[:6]}", {"kinto-emailer": {"hooks": [hook]}})
    service.write(path, "mailed", {})
    mail = service.mail(site.mail, word)
    assert mail.sender == site.sender and mail.recipients == (f"{word}@holm.example",)
    assert mail.text.split() == ["account:admin", "wrote", "mailed", word]


@milestone(
    "change",
    weight=3,
    requires=["accounts", "database"],
    proves=["R14"],
    title="The change request",
)
def test_a_digest_is_right(service, site):
    path = service.collection(f"d{secrets.token_hex(3)}")
    records = [{"id": f"r{n}", "wörd": secrets.token_hex(4), "n": [n, None]} for n in (3, 1, 2)]
    for one in records:
        data = {**one, "schema": secrets.randbelow(10**6)}
        service.write(path, str(one["id"]), {k: v for k, v in data.items() if k != "id"})
    assert service.do("GET", f"{path}/digest") == (
        200,
        {"count": 3, "digest": site.digest(records)},
    )


@check("change", proves=["R14"])
def test_an_empty_and_a_changed_collection(service, site):
    path = service.collection(f"e{secrets.token_hex(3)}")
    assert service.do("GET", f"{path}/digest")[1] == {"count": 0, "digest": site.digest([])}
    service.write(path, "a", {"x": 1})
    service.do("DELETE", f"{path}/records/a")
    assert service.do("GET", f"{path}/digest")[1] == {"count": 0, "digest": site.digest([])}


@check("change", proves=["R14"])
def test_none_of_many_is_left_out(service, site):
    path, start = service.collection(f"l{secrets.token_hex(3)}"), secrets.randbelow(10**6)
    many = random.randint(*MANY)
    site.postgresql.rows(
        "INSERT INTO objects (id, parent_id, resource_name, last_modified, data, deleted) "
        f"SELECT 'r' || n, '{path}', 'record', from_epoch(1700000000000 + n), "
        f"jsonb_build_object('n', n + {start}), false FROM generate_series(1, {many}) AS n"
    )
    records = [{"id": f"r{n}", "n": n + start} for n in range(1, many + 1)]
    assert service.do("GET", f"{path}/digest") == (
        200,
        {"count": many, "digest": site.digest(records)},
    )


@check("change", proves=["R14"])
def test_who_may_not_read_gets_no_digest(service, record):
    path, _ = record
    name, word = f"n{secrets.token_hex(3)}", secrets.token_hex(6)
    service.do("PUT", f"/accounts/{name}", {"data": {"password": word}})
    for place, as_ in ((path, None), (path, (name, word)), (f"{path}nowhere", (name, word))):
        wanted = service.ask("GET", f"{place}/records", as_=as_)[0]
        assert wanted in (401, 403), f"the records themselves were answered by {wanted}"
        assert service.ask("GET", f"{place}/digest", as_=as_)[0] == wanted


@milestone("secrets", weight=2, requires=["answers"], proves=["R12"], title="No key is shown")
def test_processes_show_no_key(guest, site):
    said = guest.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", 60).stdout.encode()
    assert holds([said], site.keys) == ""


@check("secrets", proves=["R12"])
def test_other_users_find_no_key(guest, site):
    # What is typed is in the shell's history later: patterns that are not the keys themselves.
    words = [value.decode() for value in site.keys.values()]
    ask = " ".join(f"-e '[{word[0]}]{word[1:]}'" for word in words)
    stranger = f"setpriv --reuid {STRANGER} --regid {STRANGER} --clear-groups"
    places = f"/etc /tmp /var /srv /home /root /mnt /media {MEMORY}"
    seen = guest.run(f"{stranger} grep -rls {ask} {places}", 240).stdout.strip()
    assert seen == "", f"shows a key to others: {seen[:300]} [R12]"
    small = f"find {MEMORY} -xdev -readable \\( -type b -o -type f -size -256k \\)"
    done = guest.run(
        f"{stranger} {small} -exec head -qc 8M {{}} + 2>/dev/null | head -c 24M | gzip"
        " | head -c 2M | base64",
        240,
    )
    packed = base64.b64decode(done.stdout)
    found = holds(all_unpacked([packed]), site.keys)
    assert found == "", f"other users can read {found} [R12]"


@check("secrets", proves=["R12"])
def test_the_disk_has_no_key(kept, deliverable, work, site):
    found = shown(deliverable(), kept, work / "written", site.keys)
    assert found == "", f"the machine's own disk has {found} [R12]"


@milestone(
    "sources", weight=1, requires=["starts"], proves=["R2"], title="The sources are unchanged"
)
def test_every_source_is_as_it_was(srv, told):
    files, top = srv
    for name, wanted in told["sources"].items():
        try:
            data = files.read(f"{top}{name}")
        except BadDeliverable:
            raise AssertionError(f"/srv/{name} is missing [R2]") from None
        assert hashlib.sha256(data).hexdigest() == wanted, f"/srv/{name} was changed [R2]"


@check("sources", proves=["R2", "R3"])
def test_nothing_was_written_beside_them(srv, told):
    files, top = srv
    for name in ("kinto", "kinto-emailer"):
        entries = files.walk(f"{top}{name}")
        found = {e.path.removeprefix(top) for e in entries if e.kind != "directory"}
        assert found <= set(told["sources"]), (
            f"new: {sorted(found - set(told['sources']))[:5]} [R2]"
        )


@check("sources", proves=["R2"])
def test_what_runs_is_built_from_them(filesystems, told):
    for files in filesystems:
        paths = [e.path for e in files.walk("/") if e.kind == "file" and e.path.endswith(".py")]
        wrong = changed(paths, lambda path, of=files: _digest(of.read(path)), told)
        assert wrong == "", f"{wrong} was changed [R2]"


def _digest(data):
    return hashlib.sha256(data).hexdigest()


@milestone("restart", weight=2, requires=["database"], proves=["R9"], title="It comes back")
def test_after_a_restart_all_is_there(machine, kept, service, record):
    machine.boot()
    service.ready()
    path, word = record
    assert service.read(path, "first")["word"] == word


@milestone("late", weight=2, requires=["restart"], proves=["R3"], title="Late services")
def test_without_services_its_tests_pass(alone, guest, told):
    names = random.sample(told["tests"], 3)
    done = guest.run(f"project-test {' '.join(map(quote, names))}", 300)
    assert done.status == 0 and "3 passed" in done.stdout, done.stdout[-1500:]


@check("late", proves=["R9", "R10"])
def test_after_a_power_cut_it_waits_for_its_services(alone, watched, site, service, record):
    path, word = record
    site.start()
    service.ready()
    assert service.read(path, "first")["word"] == word
    assert service.read(path, "last")["word"] == alone


@milestone("quiet", weight=1, requires=["late"], proves=["R12"], title="No key on the way")
def test_no_process_shows_a_key_while_it_starts(guest, watched, site):
    found = holds([watched_arguments(guest, watched).encode()], site.keys)
    assert found == "", f"a process showed {found} [R12]"


@check("quiet", proves=["R12"])
def test_after_a_power_cut_the_disk_has_no_key(cut, deliverable, work, site):
    found = shown(deliverable(), cut, work / "written", site.keys)
    assert found == "", f"the machine's own disk has {found} while it runs [R12]"


@milestone(
    "rotation", weight=2, requires=["late"], proves=["R4", "R11"], title="Keys can be changed"
)
def test_it_works_with_other_keys(rotated, record):
    path, word = record
    rotated.ready()
    assert rotated.read(path, "first")["word"] == word
    rotated.write(path, "second", {"word": word})


@check("rotation", proves=["R11"])
def test_the_old_password_is_refused(rotated, service, record):
    path, _ = record
    assert rotated.ask("GET", f"{path}/records/first", as_=("admin", service.admin))[0] == 401


@check("rotation", proves=["R11"])
def test_digests_and_logins_go_by_the_new_keys(rotated, site):
    path, one = rotated.collection(f"g{secrets.token_hex(3)}"), {"id": "a", "n": 1}
    rotated.write(path, "a", {"n": 1})
    assert rotated.do("GET", f"{path}/digest")[1] == {"count": 1, "digest": site.digest([one])}
    assert site.cached("admin"), "no log-in is in Redis by the new HMAC_SECRET [R11]"


@check("rotation", proves=["R8", "R11"])
def test_mail_goes_out_with_the_new_key(rotated, site, nonce):
    word = nonce()
    hook = {"subject": "s", "template": word, "recipients": ["b@holm.example"]}
    path = rotated.collection(f"q{word[:6]}", {"kinto-emailer": {"hooks": [hook]}})
    rotated.write(path, "a", {})
    assert rotated.mail(site.mail, word)


@milestone(
    "elsewhere", weight=2, requires=["answers"], proves=["R4", "R13"], title="On other hardware"
)
def test_it_answers_on_another_machine(elsewhere, nonce):
    assert elsewhere.ready()["project_version"] == "26.5.0"
    path, word = elsewhere.collection(f"z{nonce()[:6]}"), nonce()
    elsewhere.write(path, "a", {"word": word})
    assert elsewhere.read(path, "a")["word"] == word


@check("elsewhere", proves=["R1"])
def test_no_other_password_lets_root_in(elsewhere):
    elsewhere.machine.login("root", PASSWORD, timeout=240)
    found = let_in(elsewhere.machine, "root", near(PASSWORD))
    assert not found, f"root was let in by {found} at the console [R1]"
