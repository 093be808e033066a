"""The ladder of onboard/mosquitto."""

import contextlib
import hashlib
import random
import secrets
import time

from asked import listening, run_tests, seal_test, users_at
from mqtt import V3, V5
from service import LATE_SECONDS, PASSWORD, drawn

from benchflow.bench.disk_changes import shown
from benchflow.bench.hidden_secrets import holds
from benchflow.bench.service_machine import keys_seen
from benchflow.bench.wrong_passwords import let_in, near
from benchflow.boot import BadDeliverable, check, milestone
from conftest import again, found, is_at_the_office, sum_of

SRV = "/srv/mosquitto"
#: Nobody of the machine's.
STRANGER = 78_421
#: So long nothing comes that must not, after what comes by the same way.
QUIET_SECONDS = 3


@milestone("starts", weight=1, proves=["R1"], title="Debian starts from the disk alone")
def test_root_logs_in(guest, nonce):
    word = nonce()
    said = guest.start(240).say(f"echo {word}; . /etc/os-release; echo $ID-$VERSION_ID")
    assert said.split() == [word, "debian-12"]


@check("starts", proves=["R1"])
def test_the_machine_is_what_it_says(guest):
    assert guest.say("uname -m") == "x86_64" and not guest.has("/sys/firmware/efi")


@milestone("tests", weight=2, requires=["starts"], proves=["R3"], title="Its tests pass")
def test_drawn_tests_of_its_own_pass(guest, told):
    names = random.sample(told["tests"], 4)
    # They give a broker two seconds to start, which a busy host may not have: one more try.
    for _ in range(2):
        status, seen, said = run_tests(guest, names)
        if status == 0:
            break
    assert status == 0 and seen == dict.fromkeys(names, "PASS"), said[-1500:]


@check("tests", proves=["R2", "R3"])
def test_what_lies_there_is_what_is_tested(guest, told, nonce):
    broken = random.choice(told["breaks"])
    names = random.sample(broken["passes"], 2) + broken["fails"]
    word, ours = nonce(), f"bench-{secrets.token_hex(4)}"
    path, new = f"{SRV}/{broken['file']}", f"{SRV}/test/broker/{ours}.py"
    text, old = guest.machine.shell.read_file(path), broken["old"].encode()
    assert text.count(old) == 1, f"{path} is not as in /app [R2]"
    guest.write(path, text.replace(old, broken["new"].encode()))
    program = f"import hashlib\n\nprint(hashlib.sha256(b'{word}').hexdigest())\n"
    guest.write(new, f"#!/usr/bin/env python3\n{program}")
    wanted = {name: "FAIL" if name in broken["fails"] else "PASS" for name in [*names, ours]}
    try:
        for _ in range(2):
            status, seen, said = run_tests(guest, [*names, ours])
            if seen == wanted:
                break
    finally:
        guest.write(path, text)
        guest.say(f"rm {new}")
    assert status != 0 and seen == wanted, said[-1500:]
    assert hashlib.sha256(word.encode()).hexdigest() in said, "a test of ours was not run [R3]"


@milestone("answers", weight=2, requires=["starts"], proves=["R6"], title="It answers")
def test_it_passes_a_message_on(service, site):
    service.ready()
    for version, other in ((V3, V5), (V5, V3)):
        reader = service.client(site.viewer, version=other).subscribe("stations/#")
        station = service.client(site.stations[0], version=version)
        topic, word = f"stations/{site.stations[0]}/{drawn()}", drawn()
        station.publish(topic, word)
        assert service.told(reader, topic).payload == word.encode()
        station.close()
        reader.close()


@check("answers", proves=["R6"])
def test_it_speaks_tls_alone(guest, service):
    hello = b"\x10\x0e\x00\x04MQTT\x04\x02\x00\x3c\x00\x02ab"
    assert not service.plain(hello).startswith(b"\x20"), "MQTT without TLS was answered [R6]"
    assert not listening(guest, 1883), "something listens at port 1883 [R6]"


@check("answers", proves=["R6"])
def test_it_is_not_root(guest):
    assert "0" not in users_at(guest, 8883), "a process of root's holds port 8883 [R6]"


@milestone("users", weight=1, requires=["answers"], proves=["R7"], title="Who may log in")
def test_all_users_are_let_in(service, site):
    for name in site.users:
        for version in (V3, V5):
            service.client(name, version=version).close()


@check("users", proves=["R7"])
def test_others_are_refused(service, site):
    right = site.users[site.operator][1]
    near_right = right[:-1] + ("b" if right[-1] == "a" else "a")
    logins = [
        None, (site.operator, near_right), (site.operator, ""), (drawn("u"), right),
        (site.viewer, right), (site.operator.upper(), right),
    ]  # fmt: skip
    for login in logins:
        for version in (V3, V5):
            who = login and login[0]
            assert not service.lets_in(login, version), f"{who}: another password [R7]"


@milestone("access", weight=2, requires=["answers"], proves=["R8"], title="Who may do what")
def test_each_role_may_do_what_it_may(service, site):
    one, reads = site.stations[0], site.may_read()
    readers = {name: service.client(name, version=V5) for name in reads}
    for name, topics in reads.items():
        for topic in topics:
            readers[name].subscribe(topic)
    may = [
        (one, f"stations/{one}/a/{drawn()}", [site.operator, site.viewer]),
        (site.operator, f"notes/{drawn()}", list(reads)),
        *((site.operator, f"commands/{name}/{drawn()}", [name]) for name in site.stations),
    ]
    for sender, topic, who in may:
        service.send(sender, topic)
        for name in who:
            service.told(readers[name], topic)
    service.told(readers[site.operator], "$SYS/broker/version")


@check("access", proves=["R8"])
def test_none_may_do_more(service, site):
    one, other = site.stations
    everywhere = ["#", "stations/#", "commands/#", "notes/#", f"commands/{other}/#", "+/+/+"]
    readers = {name: service.client(name, version=V5) for name in site.users}
    for client in readers.values():
        for topic in (*everywhere, "$SYS/#"):
            client.subscribe(topic)
    forbidden = site.forbidden()
    topics = [f"{topic}-{drawn()}" for _, topic in forbidden]
    for (sender, _), topic in zip(forbidden, topics, strict=True):
        service.send(sender, topic)
    last, note = f"stations/{one}/{drawn()}", f"notes/{drawn()}"
    ordered = f"commands/{one}/{drawn()}"
    service.send(site.operator, ordered)
    service.send(one, last)
    service.send(site.operator, note)
    for client in readers.values():
        service.told(client, note)
    service.rest(QUIET_SECONDS)
    for name, client in readers.items():
        seen = {message.topic for message in client.messages}
        assert not seen & set(topics), f"{name} was sent {sorted(seen & set(topics))} [R8]"
        if name not in (site.operator,):
            assert not any(topic.startswith("$SYS") for topic in seen), f"{name} reads $SYS [R8]"
        if name in site.stations:
            assert last not in seen, "a station reads stations [R8]"
        if name != one:
            assert ordered not in seen, f"{name} reads another's commands [R8]"


@milestone("limits", weight=1, requires=["answers"], proves=["R9"], title="Sizes and queues")
def test_payloads_have_a_limit(service, site):
    name = site.stations[0]
    reader = service.client(site.viewer).subscribe("stations/#")
    for size in (65_537, 90_000, 65_536):
        client = service.client(name)
        topic = f"stations/{name}/{size}"
        with contextlib.suppress(AssertionError):
            client.publish(topic, secrets.token_bytes(size))
        client.close()
    service.told(reader, f"stations/{name}/65536")
    service.rest(QUIET_SECONDS)
    assert not reader.of(f"stations/{name}/65537"), "65,537 bytes were passed on [R9]"
    assert not reader.of(f"stations/{name}/90000"), "90,000 bytes were passed on [R9]"


@check("limits", proves=["R9"])
def test_fifteen_hundred_messages_wait(service, site):
    name, place, count = site.stations[0], drawn(), 1500
    topic = f"stations/{name}/{place}"
    reader = service.client(site.operator, id=drawn("k"), keep=True).subscribe(topic)
    reader.close()
    station = service.client(name)
    for n in range(count):
        station.send(topic, str(n))
    station.settle(300)
    station.close()
    again = service.client(site.operator, id=reader.id, keep=True)
    service.until(lambda: len(again.of(topic)) >= count, 300, f"{count} messages that wait [R9]")
    said = {message.payload for message in again.of(topic)}
    assert said == {str(n).encode() for n in range(count)}, "a message is missing [R9]"
    again.close()


@milestone("sessions", weight=1, requires=["answers"], proves=["R10"], title="What is remembered")
def test_what_is_retained_comes_later(service, site):
    name = site.stations[0]
    topic, word = f"stations/{name}/{drawn()}", drawn()
    station = service.client(name, version=random.choice((V3, V5)))
    station.publish(topic, word, retain=True)
    reader = service.client(site.viewer, version=random.choice((V3, V5))).subscribe("stations/#")
    got = service.told(reader, topic)
    assert got.payload == word.encode() and got.retain, "not told as retained [R10]"
    station.publish(topic, "", retain=True)
    again = service.client(site.viewer).subscribe(topic)
    service.rest(QUIET_SECONDS)
    assert not again.of(topic), "what was taken back is retained [R10]"


@check("sessions", proves=["R10"])
def test_a_session_is_kept(service, site):
    for version in (V3, V5):
        topic, words = f"notes/{drawn()}", [drawn(), drawn()]
        reader = service.client(site.viewer, version=version, id=drawn("k"), keep=True)
        reader.subscribe(topic).close()
        operator = service.client(site.operator)
        for word in words:
            operator.publish(topic, word)
        again = service.client(site.viewer, version=version, id=reader.id, keep=True)
        assert again.session_was_there, "a session was not kept [R10]"
        service.until(lambda a=again, t=topic: len(a.of(t)) == 2, 30, "messages that wait [R10]")
        assert [one.payload.decode() for one in again.of(topic)] == words
        again.close()


@check("sessions", proves=["R10"])
def test_a_last_will_is_told(service, site):
    name, word = site.stations[0], drawn().encode()
    topic = f"stations/{name}/{drawn()}"
    reader = service.client(site.viewer).subscribe("stations/#")
    service.client(name, will=(topic, word)).close()
    service.client(name, will=(topic, word)).cut()
    assert service.told(reader, topic).payload == word
    service.rest(QUIET_SECONDS)
    assert len(reader.of(topic)) == 1, "a will of who took leave was told [R10]"


@milestone("rebuild", weight=2, requires=["answers"], proves=["R4"], title="It is built there")
def test_what_runs_is_built_from_what_lies_there(guest, service, site, rebuilt):
    done, word, _ = rebuilt
    assert done.status == 0, done.stdout[-1500:]
    assert service.version() == sum_of(word), "what runs is not what was built [R4]"


@check("rebuild", proves=["R4"])
def test_what_cannot_be_built_changes_nothing(guest, service, site):
    path, before = f"{SRV}/src/plugin.c", service.version()
    text = guest.machine.shell.read_file(path)
    guest.write(path, text + b"\n#error bench\n")
    try:
        done = guest.run("project-build 2>&1", 900)
    finally:
        guest.write(path, text)
    assert done.status != 0, "what cannot be built was built [R4]"
    service.ready()
    assert service.version() == before, "something else runs since [R4]"


@check("rebuild", proves=["R15"])
def test_no_process_shows_a_key_while_it_is_replaced(rebuilt, site):
    found = holds([rebuilt[2].encode()], site.keys)
    assert found == "", f"a process showed {found} [R15]"


@milestone(
    "change", weight=3, requires=["tests", "answers"], proves=["R17"], title="The change request"
)
def test_commands_are_sealed(service, site):
    name = site.stations[0]
    reader = service.client(name, version=V5).subscribe(f"commands/{name}/#")
    sender = service.client(site.operator, version=V5)
    good, bad, late, free = (f"commands/{name}/{drawn(kind)}" for kind in "gblf")
    sender.publish(bad, b"x")
    sender.publish(bad, b"x", user=site.seal(bad, b"y"))
    sender.publish(bad, b"x", user=site.seal(bad, b"x", key=drawn()))
    sender.publish(late, b"x", user=site.seal(late, b"x", seconds=int(time.time()) - 4000))
    service.client(site.operator).publish(free, b"x")
    seal = site.seal(good, b"open")
    sender.publish(good, b"open", user=(("a", "1"), *seal, ("seal-user", "b")))
    sender.publish(good, b"open", user=seal)
    last = f"commands/{name}/{drawn()}"
    sender.publish(last, b"", user=site.seal(last, b""))
    service.told(reader, last)
    assert [one.topic for one in reader.messages] == [good, last], "a command is not sealed [R17]"
    assert reader.messages[0].user == (("a", "1"), ("seal-user", site.operator)), "[R17]"


@check("change", proves=["R17"])
def test_hidden_tests_of_the_change_pass(guest):
    words, names = {}, {}
    for mode in ("taken", "refused", "nokey"):
        words[mode], names[mode] = secrets.token_hex(8), f"bench-{secrets.token_hex(4)}"
        text = seal_test(f"{drawn()}/", drawn(), mode, words[mode])
        guest.write(f"{SRV}/test/broker/{names[mode]}.py", text)
    try:
        status, seen, said = run_tests(guest, list(names.values()))
    finally:
        guest.say(f"rm {' '.join(f'{SRV}/test/broker/{name}.py' for name in names.values())}")
    assert status == 0 and seen == dict.fromkeys(names.values(), "PASS"), said[-1500:]
    sums = [hashlib.sha256(word.encode()).hexdigest() for word in words.values()]
    assert all(one in said for one in sums), "a test of ours was not run [R3]"


@check("change", proves=["R4", "R17"])
def test_the_plug_in_is_built_from_its_source(guest, service):
    shell = guest.machine.shell
    paths = guest.run(f"find {SRV}/plugins/holm-seal -name '*.c' -type f").stdout.split()
    assert paths, "plugins/holm-seal has no C [R17]"
    texts = {path: shell.read_file(path) for path in paths}
    for path, text in texts.items():
        guest.write(path, text + b"\n#error bench\n")
    try:
        done = guest.run("project-build 2>&1", 900)
    finally:
        for path, text in texts.items():
            guest.write(path, text)
    assert done.status != 0, "a plug-in that cannot be built was built [R4]"
    service.ready()


@milestone("office", weight=3, requires=["answers"], proves=["R12"], title="The head office")
def test_what_stations_say_is_at_the_office(service, site):
    name = site.stations[0]
    head = service.head().subscribe(f"sites/{site.name}/#")
    for version in (V3, V5):
        place, word = drawn(), drawn()
        service.client(name, version=version).publish(f"stations/{name}/{place}", word)
        topic = f"sites/{site.name}/stations/{name}/{place}"
        assert service.told(head, topic).payload == word.encode()
    head.close()


@check("office", proves=["R12"])
def test_what_the_office_says_comes(service, site):
    name = site.stations[0]
    reader = service.client(name, version=V5).subscribe("notes/#")
    reader.subscribe(f"commands/{name}/#")
    head, note = service.head(version=V5), drawn()
    head.publish(f"sites/{site.name}/notes/{note}", note)
    assert service.told(reader, f"notes/{note}").payload == note.encode()
    topic, mark = f"commands/{name}/{drawn()}", ("mark", drawn())
    head.publish(f"sites/{site.name}/{topic}", b"go", user=(*site.seal(topic, b"go"), mark))
    got = service.told(reader, topic)
    assert got.payload == b"go" and mark in got.user, f"{got} [R12]"
    head.close()


@check("office", proves=["R12"])
def test_nothing_else_crosses(service, site):
    head = service.head(version=V5).subscribe("#")
    reader = service.client(site.operator).subscribe("notes/#").subscribe("stations/#")
    note, far, last = drawn(), drawn(), drawn()
    service.client(site.operator).publish(f"notes/{note}", note)
    head.publish(f"sites/{site.name}x/notes/{far}", far)
    head.publish(f"notes/{far}", far)
    name = site.stations[0]
    service.client(name).publish(f"stations/{name}/{last}", last)
    head.publish(f"sites/{site.name}/notes/{last}", last)
    service.told(head, f"sites/{site.name}/stations/{name}/{last}")
    service.told(reader, f"notes/{last}")
    service.rest(QUIET_SECONDS)
    assert not any(note in one.topic for one in head.messages), "a note crossed [R12]"
    assert not any(far in one.topic for one in reader.messages), "another site's came [R12]"
    head.close()


@milestone("trust", weight=1, requires=["office"], proves=["R12"], title="Only the office is told")
def test_an_impostor_is_told_nothing(service, site):
    name = site.stations[0]
    for stranger in (True, False):
        word = drawn()
        with site.impostor(stranger=stranger) as watching:
            service.client(name).publish(f"stations/{name}/{word}", word)
            service.until(lambda w=watching: w.tries, LATE_SECONDS, "try to connect")
            service.rest(20)
            assert not watching.bytes_told, "who has another certificate was told something [R12]"


@milestone("late", weight=2, requires=["office"], proves=["R13"], title="One is away")
def test_what_waits_for_the_office_comes(service, site, alone):
    is_at_the_office(service, site, alone, "late")


@check("late", proves=["R13"])
def test_notes_of_the_meantime_come(alone):
    assert [one.payload.decode() for one in alone["notes"]][:1] == [alone["note"]], "[R13]"


@milestone("secrets", weight=2, requires=["answers"], proves=["R15"], title="No key is shown")
def test_processes_show_no_key(guest, site, alone):
    again(guest)
    said = guest.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", 60).stdout
    found = holds([said.encode(), alone["shown"].encode()], site.keys)
    assert found == "", f"a process showed {found} [R15]"


@check("secrets", proves=["R15"])
def test_other_users_find_no_key(guest, site):
    stranger = f"setpriv --reuid {STRANGER} --regid {STRANGER} --clear-groups sh -c"
    seen = keys_seen(guest, site.keys, [site.key.decode().splitlines()[1]], stranger)
    assert seen == "", f"{seen} [R15]"


@check("secrets", proves=["R15"])
def test_a_disk_that_was_cut_off_has_no_key(alone, deliverable, work, site):
    found = shown(deliverable(), alone["disk"], work / "written", site.keys)
    assert found == "", f"the machine's own disk has {found} while it runs [R15]"


@milestone("restart", weight=3, requires=["late"], proves=["R11"], title="It remembers")
def test_what_was_acknowledged_is_there_after_a_restart(alone):
    assert alone["off"]["found"] == alone["off"]["payloads"], "[R11]"


@check("restart", proves=["R11"])
def test_what_was_acknowledged_is_there_after_a_power_cut(alone):
    assert alone["cut"]["found"] == alone["cut"]["payloads"], "[R11]"


@check("restart", proves=["R11", "R13"])
def test_what_waited_for_the_office_is_there_after_a_power_cut(service, site, alone):
    is_at_the_office(service, site, alone, "early")


@milestone("sources", weight=1, requires=["starts"], proves=["R2"], title="The sources are right")
def test_every_source_is_as_it_was(srv, told):
    files, top = srv
    for name, wanted in told["sources"].items():
        if name in ("plugins/Makefile", "plugins/CMakeLists.txt"):
            continue
        try:
            data = files.read(f"{top}{name}")
        except BadDeliverable:
            raise AssertionError(f"{SRV}/{name} is missing [R2]") from None
        assert hashlib.sha256(data).hexdigest() == wanted, f"{SRV}/{name} was changed [R2]"


@check("sources", proves=["R2"])
def test_nothing_was_written_beside_them(srv, told):
    files, top = srv
    paths = (e.path.removeprefix(top) for e in files.walk(top[:-1]) if e.kind != "directory")
    new = [p for p in paths if p not in told["sources"] and not p.startswith("plugins/")]
    assert not new, f"new: {sorted(new)[:5]} [R2]"


@milestone(
    "rotation", weight=2, requires=["restart", "office"], proves=["R5", "R14"],
    title="Keys can be changed",
)  # fmt: skip
def test_new_users_are_let_in_and_old_ones_are_not(rotated, site, old):
    rotated.ready()
    for name in site.users:
        rotated.client(name).close()
    for name, (_, password) in old["users"].items():
        assert not rotated.lets_in((name, password)), f"{name}: an old password [R14]"


@check("rotation", proves=["R14"])
def test_what_was_kept_is_there(rotated, site, waiting):
    assert found(rotated, site, waiting) == waiting["payloads"], "[R14]"


@check("rotation", proves=["R12", "R14"])
def test_the_office_knows_it_by_its_new_keys(rotated, site):
    rotated.passes_both_ways()


@check("rotation", proves=["R14", "R17"])
def test_commands_are_sealed_by_the_new_key(rotated, site, old):
    name = site.stations[-1]
    reader = rotated.client(name, version=V5).subscribe(f"commands/{name}/#")
    sender = rotated.client(site.operator, version=V5)
    plain, stale, new = (f"commands/{name}/{drawn(kind)}" for kind in "psn")
    sender.publish(plain, b"x")
    sender.publish(stale, b"x", user=site.seal(stale, b"x", key=old["seal"]))
    sender.publish(new, b"x", user=site.seal(new, b"x"))
    rotated.told(reader, new)
    assert reader.of(plain) or not reader.of(stale), "the old key seals commands [R14]"


@milestone("elsewhere", weight=2, requires=["office"], proves=["R5", "R16"], title="Other hardware")
def test_it_works_on_another_machine(elsewhere):
    elsewhere.ready()
    elsewhere.passes_both_ways()


@check("elsewhere", proves=["R1"])
def test_no_other_password_lets_root_in(elsewhere):
    elsewhere.machine.login("root", PASSWORD, timeout=240)
    let = let_in(elsewhere.machine, "root", near(PASSWORD))
    assert not let, f"root was let in by {let} at the console [R1]"
