"""rpm-kickstart: is it a distribution of RPMs, and does its tool make the image that is wanted?"""

from __future__ import annotations

import random
import re

import closure
import known
import refusals
import trade
from bench import COMPOSE_SECONDS, PLACE, START_SECONDS
from packed import FORMATS
from plain import settled
from rootfs import RootFs
from rpms import Rpm
from second import open_accounts

from benchflow.bench.lanes import Aside
from benchflow.bench.packed_secrets import disk_has_secret, forms, has_secret
from benchflow.boot import check, milestone


@milestone("repository", weight=1, proves=["R1", "R2"], title="A repository, signed")
def test_the_index_and_its_packages(early, repository):
    assert repository.packages, "there are no packages [R2]"
    assert not repository.unlisted(), (
        f"nothing else is in `repository` [R2]: {repository.unlisted()[:5]}"
    )


@check("repository", proves=["R1"])
def test_no_secret_key_is_given_away(key, armour, repository, deliverable):
    secret = forms(key, armour)
    for path in sorted(repository.root.rglob("*")):
        if path.is_file():
            found = has_secret(path.read_bytes(), secret, FORMATS)
            assert not found, f"the secret key: {path.name} [R1]"
    image = deliverable("/app/out/machine.img")
    assert not disk_has_secret(image, secret, FORMATS), "the secret key is on machine.img [R1]"


@check("repository", proves=["R3"])
def test_nothing_is_required_that_is_not_there(repository):
    assert not repository.unresolved(), f"{repository.unresolved()[:5]}, which nobody has [R3]"


@milestone("built", weight=2, proves=["R4"], title="Packages from sources")
def test_our_sources_are_in_the_source_packages(sources):
    for name, files in known.SOURCES.items():
        assert name in sources, f"no source package of {name} [R4]"
        held = {file.path.rpartition("/")[2]: file.digest for file in sources[name].files()}
        for file, digest in files.items():
            assert held.get(file) == digest, f"{name}: {file} is not as it was [R4]"


@check("built", proves=["R4", "R5"])
def test_our_packages_have_their_files(repository):
    for name in known.OURS:
        wrong = known.faults(repository.named(name))
        assert not wrong, f"{wrong} [R4]"


@check("built", proves=["R7"])
def test_what_is_debians_is_as_debian_has_it(repository):
    files = [file for one in repository.packages for file in one.package.files()]
    wrong = known.not_debians(files)
    assert not wrong, f"to the bit [R7]: {wrong[:5]}"


@check("built", proves=["R6"])
def test_what_every_machine_has(repository):
    packages = [one.package for one in repository.packages]
    names = closure.reachable(["almar-base"], packages)
    files = {
        file.path for one in packages if one.name in names for file in one.files() if file.digest
    }
    missing = set(known.EVERYWHERE) - files
    assert not missing, f"almar-base does not bring {sorted(missing)} [R6]"
    assert any(re.match("/(usr/)?lib/modules/|/boot/vmlinu", path) for path in files), (
        "almar-base brings no kernel [R6]"
    )
    more = names & {*known.OURS, "almar-compose"}
    assert not more, f"almar-base requires {sorted(more)} [R6]"


@milestone("boots", weight=1, proves=["R8", "R9"], title="The image starts")
def test_it_starts(first, strange, metric):
    metric("boot_seconds", first.start_seconds)
    assert first.start_seconds <= START_SECONDS, (
        f"a login after {first.start_seconds:.0f} s; [R8]: within 150"
    )


@check("boots", proves=["R8", "R9"])
def test_it_is_the_machine_that_was_ordered(first, taker):
    said = first.say(". /etc/os-release; echo $ID $VERSION_ID; cat /etc/hostname /etc/almar-note")
    assert said.split() == ["almar", "1", "almar-one", "composed", "by", "order"], (
        f"os-release, host name and note say {said!r} [R8], [R9]"
    )
    zone = first.say("readlink /etc/localtime")
    assert zone.endswith("/zoneinfo/Europe/Stockholm"), f"/etc/localtime leads to {zone} [R9]"
    words = first.say("cat /proc/cmdline").split()
    assert words[-2:] == ["panic=-1", "loglevel=3"], f"the command line is {words} [R9]"
    for name in (*known.OURS, "almar-compose", "almar-base"):
        assert first.version(name), f"{name} is not installed [R9]"


@check("boots", proves=["R9"])
def test_its_disk(disk):
    sizes = [part.size >> 20 for part in disk.partitions]
    assert sizes == [48, 720], f"partitions of {sizes} MiB; [R9]: 48 and 720"
    assert disk.image.filesystem(disk.partitions[0]) == "fat", "/boot/efi is no FAT [R9]"


@milestone("owned", weight=3, requires=["boots"], proves=["R10"], title="All of it is packages")
def test_the_database_is_the_repositorys(disk, repository):
    there, had = disk.installed(), set(repository.by_nevra())
    assert there and there <= had, f"not the repository's [R10]: {sorted(there - had)[:5]}"


@check("owned", proves=["R7", "R9", "R12"])
def test_every_file_is_a_packages(disk, strange):
    wrong = open_accounts(disk.text("/etc/passwd"), disk.text("/etc/shadow"), {"root"})
    assert not wrong, f"{wrong} [R9]"
    found = strange.result()
    assert not found, f"{found[:8]} [R12]"
    for name in ("bin", "sbin", "lib", "lib64"):
        target = disk.files.readlink(f"/{name}").strip("/")
        assert target == f"usr/{name}", f"/{name} leads to {target} [R7]"


@check("owned", proves=["R9"])
def test_nobody_gets_in_with_another_password(taker):
    taker.say("true")
    assert not taker.let_in, f"let in with a wrong password or none [R9]: {taker.let_in}"


@check("owned", proves=["R10"])
def test_whoever_asks_gets_the_same_answer(first, disk):
    count = len(disk.installed())
    for home, user in (("/root", 0), ("/tmp", 0), ("/nowhere", 0), ("/", 65534)):
        names = first.packages_for(home, user)
        assert names == count, (
            f"with HOME={home} rpm knows {names} packages for user {user}, not {count} [R10]"
        )


@check("owned", proves=["R11"])
def test_rpm_has_nothing_to_complain_of(first):
    assert not first.differences(), f"rpm -Va [R11]: {first.differences()[:5]}"


@check("owned", proves=["R11"])
def test_rpm_finds_what_was_changed(first, repository):
    ours, debians = known.probed([one.package for one in repository.packages])
    for path in (*random.sample(ours, 2), random.choice(first.there(debians))):
        size, mode, user, gone, back = said = first.judged_when_changed(path)
        seen = size[:3] == "S.5" and mode[1:2] == "M" and user[5:6] == "U" and gone == "missing"
        assert seen and back == "right", (
            f"{path}: longer, of another mode and user, gone, and back: rpm says {said} [R11]"
        )


@check("owned", proves=["R13"])
def test_a_machine_id_of_its_own(disk, first, shared):
    assert not disk.machine_id(), "one is in the image [R13]"
    shared["machine-id"] = first.say("cat /etc/machine-id")
    assert re.fullmatch(r"[0-9a-f]{32}", shared["machine-id"]), "it has no machine-id [R13]"


@milestone("beacon", weight=1, requires=["boots"], proves=["R5"], title="Our service runs")
def test_it_answers(first, nonce):
    word = nonce()
    answers = first.ask(f"ping {word}", "release", "ping x")
    wanted = [f"pong {word} unset 1", "1.4-2", "pong x unset 2"]
    assert answers == wanted, f"the beacon says {answers}, not {wanted} [R4], [R5]"
    said = first.say("tidelog --release")
    assert said == "0.9-1", f"tidelog --release says {said!r} [R4]"


@check("beacon", proves=["R5"])
def test_it_comes_back_with_its_count(first, nonce):
    user = first.say("stat -c %U /proc/$(systemctl show -P MainPID beacon)")
    assert user == "beacon", f"it runs as {user} [R5]"
    others = first.who_can_write("beacon", "/var/lib/beacon", "/var/lib/beacon/count")
    assert not others, f"{others[:5]} can write its count [R5]"
    first.say("kill -9 $(systemctl show -P MainPID beacon)")
    word = nonce()
    answers = first.ask(f"ping {word}", seconds=60)
    assert answers == [f"pong {word} unset 3"], f"killed it says {answers} [R5]"


@milestone("supply", weight=2, requires=["boots"], proves=["R14"], title="dnf takes packages")
def test_packages_of_the_bench_are_installed(taker, supplier, composing, word, nonce, shared):
    trade.installed(taker, supplier, word, nonce, shared)


@check("supply", proves=["R14", "R16"])
def test_an_upgrade_comes_at_once_and_keeps_configuration(taker, supplier, shared, word, nonce):
    trade.upgraded(taker, supplier, shared, word, nonce)


@check("supply", proves=["R17"])
def test_conflicts_are_refused(taker, shared):
    trade.conflicts_refused(taker, shared)


@milestone("history", weight=2, requires=["supply"], proves=["R15"], title="It goes back")
def test_an_upgrade_is_undone(taker, shared):
    assert taker.dnf("history undo last") == 0, f"[R15]: {taker.log()}"
    said = (taker.version(shared["main"]), taker.say(shared["main"]))
    assert said == ("1", shared["text"]), f"after history undo it is {said} [R15]"


@check("history", proves=["R15", "R14"])
def test_back_to_what_was_before(taker, shared):
    assert taker.dnf(f"remove {shared['weak']}") == 0, f"[R14]: {taker.log()}"
    assert taker.version(shared["weak"]) is None, "removed, it is still there [R14]"
    assert taker.dnf(f"history rollback {shared['number']}", 300) == 0, f"[R15]: {taker.log()}"
    assert taker.version(shared["weak"]) == "1", "what was removed did not come back [R15]"
    assert taker.dnf(f"history undo {shared['number']}", 300) == 0, f"[R15]: {taker.log()}"
    assert taker.installed() == shared["before"], "not what was installed before [R15]"


@milestone("removed", weight=1, requires=["supply"], proves=["R5"], title="It goes, too")
def test_removed_it_stops(taker):
    assert taker.ask("release") == ["1.4-2"], "the beacon does not answer [R5]"
    assert taker.dnf("remove beacon") == 0, f"[R14]: {taker.log()}"
    assert taker.run("systemctl is-active beacon").stdout.strip() != "active", (
        "removed, it still runs [R5]"
    )
    links = taker.run("find /etc/systemd/system -name 'beacon*'").stdout.strip()
    assert not links, f"removed, it is still enabled: {links[:200]} [R5]"


@check("removed", proves=["R5"])
def test_installed_it_waits_to_be_told(taker):
    assert taker.dnf("install beacon") == 0, f"[R14]: {taker.log()}"
    assert taker.run("systemctl is-active beacon").stdout.strip() != "active", (
        "it runs, and nobody said so [R5]"
    )
    assert taker.run("systemctl is-enabled beacon").stdout.strip() == "disabled", "enabled [R5]"
    taker.say("systemctl -q enable --now beacon")
    assert taker.ask("release") == ["1.4-2"], "told to start, it does not answer [R5]"


@check("removed", proves=["R5", "R13"])
def test_a_restart_changes_neither_count_nor_machine_id(taker, shared):
    count = int(taker.ask("ping x")[0].split()[-1])
    identity = taker.say("cat /etc/machine-id")
    assert identity != shared["machine-id"], "two machines of one image have one id [R13]"
    taker.restart()
    said = taker.ask("ping y")
    assert said == [f"pong y unset {count + 1}"], f"after {count} pings and a restart: {said} [R5]"
    assert taker.say("cat /etc/machine-id") == identity, "restarted it has another id [R13]"
    taker.say("systemctl -q disable --now beacon")
    taker.online()


@milestone("trust", weight=3, requires=["supply"], proves=["R18"], title="Who is believed")
def test_an_index_that_nobody_or_somebody_else_signed(taker, supplier, stranger, word):
    trade.index_of_a_stranger(taker, supplier, stranger, word)


@check("trust", proves=["R18"])
def test_packages_that_are_not_ours(taker, supplier, stranger, word):
    trade.packages_of_strangers(taker, supplier, stranger, word)


@check("trust", proves=["R18"])
def test_rpm_alone_refuses_strangers(taker, stranger, word, key):
    trade.rpm_alone(taker, stranger, word, key)


@milestone("composed", weight=3, requires=["boots"], proves=["R19", "R28"], title="Its tool works")
def test_it_makes_an_image_of_a_new_file(composing, second, shared, metric, work):
    made = composing.result()
    metric("compose_seconds", made.seconds)
    assert made.status == 0, f"it ends with {made.status} [R19]: {made.said[-400:]}"
    assert made.seconds <= COMPOSE_SECONDS, f"{made.seconds:.0f} s; [R19]: within 600"
    shared["image"] = made.image
    shared["root"] = RootFs(shared["image"], work)
    name = shared["root"].text("/etc/hostname").strip()
    assert name == second.host, f"it is an image of {name!r} [R19]"


@check("composed", proves=["R20"])
def test_it_leaves_nothing_else(first, composing, second):
    before = composing.result().traces
    written = first.written()
    assert not written, f"written outside of $TMPDIR [R19]: {written[:300]}"
    assert first.left() == ["two.img"], f"in the folder of OUTPUT: {first.left()[:5]} [R20]"
    assert first.traces() == before, "the machine is not what it was [R20]"
    assert not first.has(f"/etc/{second.app}.note"), (
        "a script ran on the machine that composes [R25]"
    )


@check("composed", proves=["R12"])
def test_nothing_of_nobodys_has_come(first, taker):
    others = Aside(taker.nobodys)
    for found in (first.nobodys(), others.result()):
        assert not found, f"nobody's [R12]: {found[:300]}"


@milestone("refused", weight=3, requires=["composed"], proves=["R27", "R28"], title="What is wrong")
def test_mistakes_are_found_where_they_are(
    first, publisher, second, composed_strange, differences, made_plain
):
    refusals.refused(first, PLACE, *refusals.texts(publisher.url, second.app))


@check("refused", proves=["R27"])
def test_packages_that_cannot_be_had(first, publisher, word, made_plain):
    good, hollow = Rpm(word("good"), "1"), Rpm(word("hollow"), "1", requires=(word("no"),))
    needy = Rpm(word("needy"), "1", requires=(good.name,))
    settled(made_plain)
    publisher.offer(good, hollow, needy)
    publisher.publish()
    names = (one.name for one in (good, hollow, needy))
    refusals.refused(first, PLACE, *refusals.packages(publisher.url, *names))


@check("refused", proves=["R25", "R27"])
def test_a_script_that_matters_fails(first, publisher, nonce):
    one = refusals.failing(publisher.url, nonce())
    refusals.refused(first, PLACE, one, seconds=COMPOSE_SECONDS)


@check("refused", proves=["R27"])
def test_repositories_that_are_not_believed(first, publisher, stranger, word):
    alien = Rpm(word("alien"), "1", {"/usr/share/alien": "x"})
    publisher.offer(alien, key=stranger)
    publisher.publish()
    refusals.refused(first, PLACE, refusals.trust(publisher.url, alien.name, "alien"))
    publisher.publish(stranger)
    refusals.refused(first, PLACE, refusals.trust(publisher.url, alien.name, "stranger"))
    publisher.publish()


@check("refused", proves=["R27", "R20"])
def test_nothing_of_it_is_left(first, composing, made_plain):
    settled(made_plain)
    assert first.left() == ["two.img"], f"in the folder of OUTPUT: {first.left()[:5]} [R20]"
    assert first.traces() == composing.result().traces, "the machine is not what it was [R20]"


@milestone("laid-out", weight=2, requires=["composed"], proves=["R21", "R26"], title="It starts")
def test_the_other_machine_starts(other, second):
    name = other.say("cat /proc/sys/kernel/hostname")
    assert name == second.host, f"its host name is {name!r} [R24], [R26]"


@check("laid-out", proves=["R21"])
def test_its_partitions(composed, second):
    wrong = second.partition_faults(composed)
    assert not wrong, f"{wrong} [R21]"


@check("laid-out", proves=["R21"])
def test_its_file_systems_are_in_use(other, second):
    wrong = second.mount_faults(other)
    assert not wrong, f"{wrong} [R21]"


@milestone("chosen", weight=2, requires=["composed"], proves=["R22"], title="What was asked for")
def test_its_packages(composed, second, repository):
    names = {one.name for one in composed.packages()} - {"gpg-pubkey"}
    missing = {"almar-base", *second.wanted} - names
    assert not missing, f"not installed [R22]: {sorted(missing)}"
    assert not names & set(second.absent), f"too much [R22]: {sorted(names & set(second.absent))}"
    packages = [one.package for one in repository.packages]
    asked = closure.reachable(["almar-base", *second.wanted], packages, second.packages())
    assert names <= asked, f"nobody asked for {sorted(names - asked)[:8]} [R22]"


@check("chosen", proves=["R19", "R22"])
def test_what_is_recommended_comes_unless_it_is_excluded(plain, made_plain, repository):
    packages = [one.package for one in repository.packages]
    wrong = plain.package_faults(made_plain.result(), packages)
    assert not wrong, f"{wrong} [R22]"


@milestone("accounts", weight=2, requires=["composed"], proves=["R23"], title="Who there is")
def test_its_accounts(composed, second):
    texts = [composed.text(f"/etc/{name}") for name in ("passwd", "shadow", "group")]
    wrong = second.account_faults(*texts)
    assert not wrong, f"{wrong} [R23]"


@check("accounts", proves=["R23"])
def test_accounts_of_which_little_is_said(plain, made_plain):
    wrong = plain.account_faults(made_plain.result())
    assert not wrong, f"{wrong} [R23]"


@check("accounts", proves=["R23"])
def test_nobody_gets_in_with_what_is_not_theirs(other):
    other.say("true")
    assert not other.let_in, f"let in with a wrong password or none [R23]: {other.let_in}"


@check("accounts", proves=["R23"])
def test_homes_belong_to_their_users(composed, second):
    for user, home in ((second.user, second.home), (second.other, f"/home/{second.other}")):
        entry = composed.files.stat(home)
        line = re.search(rf"^{user}:x:(\d+):(\d+):", composed.text("/etc/passwd"), re.MULTILINE)
        assert line and (entry.uid, entry.gid) == (int(line[1]), int(line[2])), (
            f"{home} is not {user}'s [R23]"
        )


@milestone("settings", weight=2, requires=["composed"], proves=["R24"], title="As it was written")
def test_its_settings(composed, second, other):
    assert composed.text("/etc/hostname").strip() == second.host, "/etc/hostname [R24]"
    lang = composed.text("/etc/locale.conf").splitlines()
    assert f"LANG={second.lang}" in lang, f"/etc/locale.conf says {lang}, not {second.lang} [R24]"
    zone = other.say("readlink /etc/localtime")
    assert zone.endswith(f"/zoneinfo/{second.zone}"), f"/etc/localtime leads to {zone} [R24]"
    words = other.say("cat /proc/cmdline")
    assert words.endswith(f" {second.append}"), f"the command line is {words[-200:]!r} [R24]"


@check("settings", proves=["R24"])
def test_settings_of_which_nothing_is_said(plain, made_plain):
    wrong = plain.setting_faults(made_plain.result())
    assert not wrong, f"{wrong} [R24]"


@check("settings", proves=["R24"])
def test_its_services(other, second):
    states = other.run(
        f"systemctl is-enabled {second.app} {second.names['idle']} systemd-networkd; "
        f"systemctl is-active {second.app} {second.names['idle']} systemd-networkd"
    )
    said = states.stdout.split()
    wanted = ["enabled", "disabled", "disabled", "active", "inactive", "inactive"]
    # What is masked does not start with the machine either.
    said = ["disabled" if word == "masked" else word for word in said]
    assert said == wanted, f"services are {said}, not {wanted} [R24]"
    ran = other.say(f"cat /var/lib/{second.app}")
    assert ran == second.words["app"], f"{second.app} left {ran!r} when it started [R24]"


@milestone("scripts", weight=2, requires=["composed"], proves=["R25"], title="What scripts do")
def test_what_its_scripts_left(composed, second):
    note = composed.text(f"/etc/{second.app}.note")
    assert note == second.note(), f"scripts left {note!r}, not {second.note()!r} [R25]"


@check("scripts", proves=["R25", "R21"])
def test_scripts_see_all_file_systems(other, composed, second):
    assert other.has(f"{second.place}/from-post"), "from-post is not on its file system [R25]"
    assert not composed.files.exists(f"{second.place}/from-post"), (
        "from-post lies below the mount point [R25]"
    )
    for top in ("/root", "/tmp", "/var/tmp"):
        for entry, data in composed.files.contents(top):
            assert second.words["after"].encode() not in data, (
                f"a script stayed: {entry.path} [R25]"
            )


@milestone("whole", weight=3, requires=["composed"], proves=["R26", "R12"], title="Whole, too")
def test_every_file_of_it_is_a_packages(composed_strange):
    found = composed_strange.result()
    assert not found, f"{found[:8]} [R12], [R26]"


@check("whole", proves=["R26", "R11", "R13"])
def test_rpm_finds_nothing_and_its_name_is_its_own(other, composed, differences, shared):
    assert not composed.machine_id(), "a machine-id is in the image [R13]"
    assert not differences.result(), f"rpm -Va [R11], [R26]: {differences.result()[:5]}"
    assert other.say("cat /etc/machine-id") != shared["machine-id"], (
        "two machines have one id [R13]"
    )


@check("whole", proves=["R26", "R14", "R18"])
def test_it_takes_packages_and_refuses_others(other, publisher, stranger, word):
    other.say("systemctl start systemd-networkd")
    other.online()
    other.look_to(publisher)
    good, evil = Rpm(word("good"), "1", {"/usr/share/good": "x"}), Rpm(word("evil"), "1")
    publisher.offer(good)
    publisher.offer(evil, key=stranger)
    publisher.publish()
    assert other.dnf(f"install {good.name}") == 0, f"[R14], [R26]: {other.log()}"
    assert other.dnf(f"install {evil.name}") != 0, "a stranger's package was taken [R18], [R26]"
    assert other.version(evil.name) is None, "a stranger's package is installed [R18], [R26]"
    assert other.dnf("history undo last") == 0, f"[R15], [R26]: {other.log()}"
    assert other.version(good.name) is None, "history undo left it [R15], [R26]"
