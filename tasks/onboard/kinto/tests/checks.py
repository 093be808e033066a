"""The ladder of onboard/kinto."""

import hashlib
import hmac
import random
import secrets
from shlex import quote

from benchflow.bench.hidden_secrets import all_unpacked, holds, pieces
from benchflow.boot import BadDeliverable, check, milestone

DRAWN_TESTS = 8
#: More than Kinto reads of its database at once.
MANY = 10_040


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


@milestone("tests", weight=2, requires=["dependencies"], proves=["R3"], title="Its tests pass")
def test_drawn_tests_of_its_own_pass(guest, told):
    names = random.sample(told["tests"], DRAWN_TESTS)
    done = guest.run(f"project-test {' '.join(map(quote, names))}", 600)
    assert done.status == 0, done.stdout[-1500:]
    assert f"{DRAWN_TESTS} passed" in done.stdout


@check("tests", proves=["R3"])
def test_a_test_of_ours_that_fails_is_told(guest, nonce):
    word, path = nonce(), f"/tmp/test_{secrets.token_hex(4)}.py"
    text = (
        "import kinto.core.utils as u\n\n"
        f"def test_right():\n    assert u.hmac_digest('{word}', 'x') == {_hmac(word)!r}\n\n"
        f"def test_wrong():\n    assert u.hmac_digest('{word}', 'y') == {_hmac(word)!r}\n"
    )
    guest.write(path, text)
    done = guest.run(f"project-test {path}", 300)
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
    lines = [line.split() for line in guest.say("cat /proc/net/tcp*").splitlines()]
    sockets = {f"socket:[{f[9]}]" for f in lines if f[3] == "0A" and f[1].endswith(":22B8")}
    assert sockets, "nothing listens at port 8888 [R5]"
    ask = "find /proc/[0-9]*/fd -lname 'socket:*' -printf '%p %l\\n' 2>/dev/null"
    found = [line.split() for line in guest.run(ask, 120).stdout.splitlines()]
    owners = {path.split("/")[2] for path, name in found if name in sockets} - {"1"}
    assert owners, "no process holds port 8888 [R5]"
    uids = guest.say("stat -c %u " + " ".join(f"/proc/{pid}" for pid in sorted(owners))).split()
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
    before = site.redis.calls("psetex") + site.redis.calls("set")
    name, word = f"c{secrets.token_hex(3)}", secrets.token_hex(6)
    assert service.do("PUT", f"/accounts/{name}", {"data": {"password": word}})[0] == 201
    assert service.ask("GET", f"/accounts/{name}", as_=(name, word))[0] == 200
    assert site.redis.calls("psetex") + site.redis.calls("set") > before and site.redis.keys()


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
    mail = site.mail.taken(word, 60)
    assert mail, "no mail came"
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
        service.write(path, str(one["id"]), {k: v for k, v in one.items() if k != "id"})
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
    site.postgresql.rows(
        "INSERT INTO objects (id, parent_id, resource_name, last_modified, data, deleted) "
        f"SELECT 'r' || n, '{path}', 'record', from_epoch(1700000000000 + n), "
        f"jsonb_build_object('n', n + {start}), false FROM generate_series(1, {MANY}) AS n"
    )
    records = [{"id": f"r{n}", "n": n + start} for n in range(1, MANY + 1)]
    assert service.do("GET", f"{path}/digest") == (
        200,
        {"count": MANY, "digest": site.digest(records)},
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
    done = guest.run(
        f"setpriv --reuid 65534 --regid 65534 --clear-groups grep -rls {ask} "
        "/run /etc /tmp /var /srv /home /root /mnt /media /dev/shm",
        180,
    )
    assert done.stdout.strip() == ""


@check("secrets", proves=["R12"])
def test_the_disk_has_no_key(written, site):
    found = holds(all_unpacked(pieces(written)), site.keys)
    assert found == "", f"the machine's own disk has {found} [R12]"


@milestone(
    "sources", weight=1, requires=["starts"], proves=["R2"], title="The sources are unchanged"
)
def test_every_source_is_as_it_was(files, told):
    for name, wanted in told["sources"].items():
        try:
            data = files.read(f"/srv/{name}")
        except BadDeliverable:
            raise AssertionError(f"/srv/{name} is missing [R2]") from None
        assert hashlib.sha256(data).hexdigest() == wanted, f"/srv/{name} was changed [R2]"


@check("sources", proves=["R2", "R3"])
def test_nothing_was_written_beside_them(files, told):
    for top in ("kinto", "kinto-emailer"):
        found = {
            e.path.removeprefix("/srv/") for e in files.walk(f"/srv/{top}") if e.kind == "file"
        }
        assert found <= set(told["sources"]), (
            f"new: {sorted(found - set(told['sources']))[:5]} [R2]"
        )


@check("sources", proves=["R2"])
def test_what_runs_is_built_from_them(files, told):
    wanted = {n.removeprefix("kinto/"): s for n, s in told["sources"].items()
              if n.startswith("kinto/kinto/") and n.endswith(".py")}  # fmt: skip
    places = {e.path for e in files.walk("/") if e.path.endswith("/kinto/__main__.py")}
    places -= {"/srv/kinto/kinto/__main__.py"}
    for place in places:
        top = place.removesuffix("kinto/__main__.py")
        for name, digest in wanted.items():
            assert hashlib.sha256(files.read(top + name)).hexdigest() == digest, f"{top}{name} [R2]"


@milestone("restart", weight=2, requires=["database"], proves=["R9"], title="It comes back")
def test_after_a_restart_all_is_there(machine, kept, service, record):
    machine.boot()
    service.ready()
    path, word = record
    assert service.read(path, "first")["word"] == word


@milestone("late", weight=2, requires=["restart"], proves=["R9", "R10"], title="Late services")
def test_after_a_power_cut_it_waits_for_its_services(machine, guest, site, service, record):
    path, word = record
    machine.power_cut()
    site.stop()
    machine.boot()
    guest.enter()
    site.start()
    service.ready()
    assert service.read(path, "first")["word"] == word


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


@check("rotation", proves=["R8", "R11"])
def test_mail_goes_out_with_the_new_key(rotated, site, nonce):
    word = nonce()
    hook = {"subject": "s", "template": word, "recipients": ["b@holm.example"]}
    path = rotated.collection(f"q{word[:6]}", {"kinto-emailer": {"hooks": [hook]}})
    rotated.write(path, "a", {})
    assert site.mail.taken(word, 60)


@milestone(
    "elsewhere", weight=2, requires=["answers"], proves=["R4", "R13"], title="On other hardware"
)
def test_it_answers_on_another_machine(elsewhere, nonce):
    assert elsewhere.ready()["project_version"] == "26.5.0"
    path, word = elsewhere.collection(f"z{nonce()[:6]}"), nonce()
    elsewhere.write(path, "a", {"word": word})
    assert elsewhere.read(path, "a")["word"] == word
