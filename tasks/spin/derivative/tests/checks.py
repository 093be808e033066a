"""derivative: is it a Debian of one's own, that trusts whom it should and gets from 1.0 to 2.0?"""

from __future__ import annotations

import re
import secrets

from cutting import START_SECONDS, UPGRADE_SECONDS, at_drawn_moments
from debs import Deb
from delivered import SUITES, never_ends
from owned import not_a_packages
from refusing import hold_from, spoil, still_one, tampered
from releases import ALKE, CONTENT, debians, not_as_ordered, not_the_content, not_unchanged
from second import changed_package_is_refused, mirrors_hold, name_stays, ours_come_first
from station import PORT

from benchflow.bench.packed_secrets import disk_has_secret, forms, has_secret
from benchflow.boot import Initramfs, check, milestone


@milestone("archive", weight=1, proves=["R1"], title="The archives and their keys")
def test_the_keys(keys, armours):
    assert len({key.public for key in keys.values()}) == 3, "the three keys do not differ [R1]"
    ending = [name for name, text in armours.items() if not never_ends(text)]
    assert not ending, f"{ending}: keys that end; [R1]: without end"


@check("archive", proves=["R1"])
def test_no_secret_key_is_given_away(keys, armours, deliverable, archive):
    secret = [part for name, key in keys.items() for part in forms(key, armours[name])]
    initrd = deliverable("/app/out/initrd").read_bytes()
    inside = any(has_secret(data, secret) for _, data in Initramfs(initrd).contents("/"))
    assert not inside and not has_secret(initrd, secret), "a secret key is in initrd [R1]"
    for path in sorted(archive.rglob("*")):
        if path.is_file():
            assert not has_secret(path.read_bytes(), secret), f"a secret key: {path.name} [R1]"
    station = deliverable("/app/out/station.img")
    assert not disk_has_secret(station, secret), "a secret key is on station.img [R1]"


@check("archive", proves=["R2"])
def test_the_suites(suites):
    wrong = [line for suite in suites.values() for line in not_as_ordered(suite)]
    assert not wrong, f"{wrong[:4]} [R2]"


@check("archive", proves=["R3"])
def test_the_packages_of_both_releases(suites):
    wrong = [line for name in CONTENT for line in not_the_content(suites[name])]
    assert not wrong, f"{wrong[:4]} [R3]"


@check("archive", proves=["R3", "R4"])
def test_what_is_debians_is_in_base_alone(suites):
    wrong = not_unchanged(suites["bookworm"])
    assert not wrong, f"in bookworm {wrong} is not Debian's, unchanged [R4]"
    for name in CONTENT:
        theirs = debians(suites[name], suites["bookworm"])
        assert not theirs, f"{name} has packages of Debian's: {theirs[:5]} [R3]"


@milestone("boots", weight=1, proves=["R5"], title="A station starts")
def test_it_starts(station, metric):
    station.start(START_SECONDS)
    station.ask("version", seconds=max(1.0, START_SECONDS - station.machine.elapsed))
    metric("boot_seconds", seconds := station.machine.elapsed)
    assert seconds <= START_SECONDS + 5, f"login and port {PORT} after {seconds:.0f} s [R5]"


@check("boots", proves=["R5"])
def test_the_disk(image, station):
    assert image("/app/out/station.img").ext4().exists("/etc/os-release"), "no ext4 [R5]"
    free = int(station.say("df -Pk /").splitlines()[-1].split()[3])
    assert free >= 100 << 10, f"{free} KiB are free; [R5]: 100 MiB"


@check("boots", proves=["R5"])
def test_root_has_this_password_alone(station):
    station.refuses_other_passwords()


@check("boots", proves=["R6"])
def test_it_says_who_it_is(station):
    station.is_called("holm 1.0 alke", "a new station")
    assert station.say(". /etc/os-release; echo $ID_LIKE") == "debian", "ID_LIKE [R6]"


@milestone("packaged", weight=2, requires=["boots"], proves=["R7"], title="All of it is packages")
def test_what_is_installed(station):
    there = station.installed()
    wanted = ALKE | {"holm-archive-keyring": "1.0", "bc": None}
    wrong = {name: there.get(name) for name in wanted if there.get(name) != wanted[name]}
    assert not wrong, f"a new station has {wrong}, not {wanted} [R4], [R7]"
    assert (there["dpkg"][:5], there["apt"][:4]) == ("1.21.", "2.6."), (
        f"dpkg {there['dpkg']}, apt {there['apt']}; [R7]: Debian 12's"
    )


@check("packaged", proves=["R7"])
def test_every_file_of_ours_is_a_packages(station, image):
    alien = not_a_packages(image("/app/out/station.img").ext4())
    assert not alien, f"{alien[:8]} belong to no package [R7]"
    wrong = station.say(f"dpkg --verify {' '.join(ALKE)}", 120)
    assert wrong == "", f"dpkg --verify finds {wrong[:200]} [R7]"


@check("packaged", proves=["R6"])
def test_base_files_cannot_take_the_name_away(station, word):
    name_stays(station, word("base-more"), "holm 1.0 alke")


@milestone("service", weight=1, requires=["boots"], proves=["R8"], title="The registers")
def test_it_counts(station, nonce, shared):
    name = shared["counted"] = nonce()
    asked = ("version", "name", f"get {name}", "get x")
    said = station.ask(*asked)
    assert said == ["version 1.0", "name station", "total 0", "total 0"], f"{asked}: {said} [R8]"
    # Singly: what is asked anew, after the service hung up on a slow machine, is added twice.
    for number, total in ((40, 40), (2, 42)):
        said = station.ask(f"add {name} {number}")
        assert said == [f"total {total}"], f"add {number}: {said}, not total {total} [R8]"
    assert station.ask(f"get {name}") == ["total 42"], "what was added is not there [R8]"


@check("service", proves=["R8"])
def test_registers_are_its_own(station, shared):
    path = f"/var/lib/holm-tally/{shared['counted']}"
    assert station.say(f"cat {path}") == "42", "its register does not lie where SERVICES.md says"
    user = station.service_user()
    assert user == "holm-tally", f"it runs as {user}; SERVICES.md: as holm-tally"
    others = station.who_can_write("holm-tally", "/var/lib/holm-tally", path)
    assert not others, f"can write: {others.splitlines()[:5]}; [R8]: nobody but its user and root"


@check("service", proves=["R8"])
def test_it_comes_back(station, shared):
    for signal in ("KILL", secrets.choice(("SEGV", "ABRT", "KILL"))):
        station.end_service(signal)
        said = station.ask(f"get {shared['counted']}", seconds=60)
        assert said == ["total 42"], f"killed by {signal} it says {said} [R8]"
    station.say(f"rm /var/lib/holm-tally/{shared['counted']}")


@milestone("supply", weight=2, requires=["boots"], proves=["R9"], title="Packages come from there")
def test_the_delivered_archives_are_taken(station, publisher, archive):
    for name, folder in SUITES.items():
        if name != "bris":
            root = archive / folder
            paths = [p for p in sorted((root / "dists" / name).rglob("*")) if p.is_file()]
            publisher.deliver(name, {str(p.relative_to(root)): p.read_bytes() for p in paths})
    station.look_to(publisher)
    station.online()
    station.update("with the archives as delivered [R9]")
    found = station.candidate("holm-archive-keyring")
    assert found == "1.1", f"of holm-archive-keyring it knows {found}, not alke's 1.1 [R9]"
    assert station.candidate("bc"), "it knows no bc, which the base has [R9]"
    sources = sorted(station.sources())
    assert len(sources) == 2, f"it has the sources {sources[:5]}; [R9]: no others than two"


@check("supply", proves=["R9", "R10"])
def test_packages_of_the_bench_are_installed(station, publisher, bench, word, nonce, shared):
    ours, theirs, text = word("own"), word("deb"), nonce()
    needs = {"Depends": theirs}
    publisher.offer("alke", Deb(ours, "1.0", {f"/usr/share/{ours}": text}, fields=needs))
    publisher.offer("bookworm", Deb(theirs, "1.0", {f"/usr/share/{theirs}": text}))
    bench.offer_spares()
    publisher.publish_all("alke", "bookworm")
    shared["old"] = publisher.served("alke", "bookworm")
    station.update("with archives of the bench [R9]")
    assert station.apt(f"install {ours}") == 0, "a package of the bench's is not installed [R9]"
    said = station.say(f"cat /usr/share/{ours} /usr/share/{theirs}")
    assert said == text * 2, "it, or what it needs of the base, has another content [R10]"
    shared["ours"] = ours


@milestone("precedence", weight=2, requires=["supply"], proves=["R10"], title="Ours come first")
def test_ours_before_a_higher_version(station, publisher, word, nonce, shared):
    both, alien, lure, text = word("both"), word("holm"), word("lure"), nonce()
    shared["alien"], shared["lure"] = alien, lure
    publisher.offer(
        "alke", Deb(both, "1.0", {f"/usr/share/{both}": text}), Deb(shared["ours"], "1.1")
    )
    publisher.offer(
        "bookworm", Deb(both, "7:9", {f"/usr/share/{both}": "theirs"}), Deb(alien, "1"),
        Deb("hello", "9:99"), Deb(shared["ours"], "99"), Deb("holm-base", "99"),
        Deb(lure, "1", fields={"Depends": alien}),
    )  # fmt: skip
    publisher.publish_all("alke", "bookworm")
    station.update()
    assert station.apt(f"install {both}") == 0, "what both archives have is not installed [R10]"
    assert station.say(f"cat /usr/share/{both}") == text, "the base's came, not ours [R10]"
    found = station.candidate("hello")
    assert found == ALKE["hello"], f"of hello it would take {found}, not ours [R10]"


@check("precedence", proves=["R11"])
def test_no_holm_from_the_base(station, shared):
    for name in ("alien", "lure"):
        station.apt(f"install {shared[name]}")
        assert station.version(shared["alien"]) is None, "a holm-… came from the base [R11]"


@check("precedence", proves=["R10", "R12"])
def test_an_upgrade_keeps_to_it(station, shared):
    status = station.apt(f"install --only-upgrade {shared['ours']} hello holm-base")
    assert status == 0, "apt-get install --only-upgrade fails [R9]"
    there = station.installed()
    wanted = {shared["ours"]: "1.1", "hello": ALKE["hello"], "holm-base": "1.0"}
    wrong = {name: there.get(name) for name in wanted if there.get(name) != wanted[name]}
    assert not wrong, f"{wrong}: not {wanted}, the highest of ours [R10], [R12]"


@milestone("trust", weight=3, requires=["supply"], proves=["R13", "R17"], title="Who is believed")
def test_other_signatures_are_refused(bench):
    bench.refused(0)
    bench.refused(6)


@check("trust", proves=["R13", "R14"])
def test_another_of_our_keys_and_a_changed_index(bench):
    bench.refused(1)
    bench.refused(4)


@check("trust", proves=["R13", "R15"])
def test_no_signature_and_a_base_that_calls_itself_ours(bench, station):
    bench.refused(2)
    found = station.candidate("hello")
    assert found == ALKE["hello"], f"of hello it would take {found}, from the base [R15]"


@check("trust", proves=["R16", "R20"])
def test_the_key_of_two_and_an_expired_release(bench):
    bench.refused(3)
    bench.refused(5)


@check("trust", proves=["R14", "R17"])
def test_a_package_that_was_changed(station, publisher, word, nonce):
    changed_package_is_refused(station, publisher, "alke", word("own"), (nonce(), nonce()))


@milestone("forward", weight=2, requires=["supply"], proves=["R16", "R17"], title="Never backwards")
def test_an_older_release(station, publisher, word, shared):
    name, theirs = word("own"), word("deb")
    publisher.offer("alke", Deb(name, "1"), Deb(shared["ours"], "1.1"))
    publisher.offer("bookworm", Deb(theirs, "1"))
    publisher.publish_all("alke", "bookworm")
    station.update()
    now = publisher.served("alke", "bookworm")
    publisher.files |= shared["old"]
    station.apt("update")
    found = station.candidate(shared["ours"])
    assert found in ("1.1", "99"), f"an older Release was believed: {found} for 1.1 [R16]"
    done = station.apt(f"install {name} {theirs}") == 0
    assert done, "what only the newer Releases had is forgotten [R16], [R17]"
    publisher.files |= now


@check("forward", proves=["R18"])
def test_a_lower_version(station, publisher, word):
    name, lower = word("own"), word("own")
    # The keyring of 1.1 is not to be had yet: see the next milestone.
    publisher.offer("alke", Deb("holm-archive-keyring", "0.9"))
    publisher.offer("alke", Deb(name, "1"), Deb(lower, "1.2"))
    publisher.publish("alke")
    station.update()
    assert station.apt(f"install {name} {lower}") == 0, "packages of ours are not installed [R9]"
    publisher.offer("alke", Deb(name, "1.1"), Deb(lower, "1.0"))
    publisher.publish("alke")
    station.update()
    status, there = station.apt("upgrade"), station.installed()
    publisher.offer("alke", Deb(lower, "1.2"))
    publisher.publish("alke")
    assert status == 0, "apt-get -y upgrade fails where one version is lower than before [R18]"
    assert there[lower] == "1.2", f"{lower} 1.2 was replaced by {there[lower]} [R18]"
    assert there[name] == "1.1", f"{name} was not brought up to date: {there[name]} [R18]"


@milestone("gate", weight=2, requires=["supply"], proves=["R20", "R21"], title="Not on bad ground")
def test_without_the_key_of_two(settled, site):
    status = settled.upgrade()
    assert status != 0, "holm-upgrade ends with 0, without a holm-archive-keyring 1.1 [R20]"
    still_one(settled, site)


@check("gate", proves=["R21"])
def test_a_base_that_is_not_to_be_believed(settled, publisher, site, stranger):
    publisher.own["alke"].pop("holm-archive-keyring", None)
    publisher.publish("alke")
    tampered(publisher, site.extra, "bookworm", "stranger", stranger)
    status = settled.upgrade()
    site.offer(publisher)
    publisher.publish("bookworm")
    assert status != 0, "holm-upgrade ends with 0, and a stranger has signed the base [R21]"
    still_one(settled, site)


@check("gate", proves=["R21"])
def test_a_two_that_is_not_to_be_had(settled, publisher, site, stranger):
    if secrets.randbelow(2):
        publisher.take_away("bris")
    else:
        publisher.publish("bris", key=stranger)
    status = settled.upgrade()
    publisher.publish("bris")
    assert status != 0, "holm-upgrade ends with 0, and bris is away or a stranger's [R21]"
    still_one(settled, site)


@check("gate", proves=["R14", "R21"])
def test_a_two_with_one_bad_package(settled, publisher, site):
    suite, name = secrets.choice((("bris", "holm-clock"), ("bris", site.local), ("bookworm", "bc")))
    spoil(publisher, suite, name)
    status = settled.upgrade()
    publisher.publish(suite)
    assert status != 0, f"holm-upgrade ends with 0, and {name} is broken or missing [R21]"
    still_one(settled, site)


@check("gate", proves=["R20", "R21"])
def test_it_still_takes_packages_of_one(settled, publisher, word):
    name = word("own")
    publisher.offer("alke", Deb(name, "1"))
    publisher.publish("alke")
    settled.update("after refused upgrades [R21]")
    assert settled.apt(f"install {name}") == 0, "no package of alke is taken any more [R20], [R21]"


@milestone("release", weight=3, requires=["supply"], proves=["R19"], title="From 1.0 to 2.0")
def test_the_upgrade(ready, metric, cut, shared):
    began = ready.machine.elapsed
    status = ready.upgrade(UPGRADE_SECONDS)
    assert status == 0, f"holm-upgrade: {status} [R19], {ready.upgrade_log()}"
    shared["upgrade_seconds"] = ready.machine.elapsed - began
    metric("upgrade_seconds", shared["upgrade_seconds"])
    ready.is_called("holm 2.0 bris", "after holm-upgrade, [R19]")


@milestone("carried", weight=3, requires=["release"], proves=["R22"], title="All is still there")
def test_it_is_a_whole_two(ready, site):
    missing = site.whole(ready)
    assert not missing, f"not a whole 2.0 [R22]: {missing}"
    site.program_is_new(ready)
    wrong = ready.run("dpkg --verify holm-base hello").stdout.splitlines()
    assert [line for line in wrong if " c /etc/" not in line] == [], f"{wrong[:5]} [R22]"


@check("carried", proves=["R18", "R19"])
def test_twice_is_once(ready):
    before = ready.installed()
    ready.say("touch /run/before; sleep 1")
    assert ready.upgrade() == 0, "holm-upgrade on a 2.0 does not end with 0 [R19]"
    after = ready.installed()
    changed = {n for n in before | after if before.get(n) != after.get(n)}
    places = "/etc /usr /boot /root /home /var/lib/holm-registry"
    files = ready.say(f"find {places} -xdev -type f -cnewer /run/before | head -n 5", 120)
    assert not changed and not files, f"on a 2.0 it changed {changed} {files.split()} [R19]"


@check("carried", proves=["R23"])
def test_the_registers(ready, site):
    ready.port = site.port
    site.registers_are_there(ready)


@check("carried", proves=["R23"])
def test_the_settings_of_the_service(ready, site):
    site.settings_are_there(ready)


@check("carried", proves=["R9", "R25"])
def test_the_configuration(ready, site):
    site.configuration_is_right(ready)


@check("carried", proves=["R24"])
def test_the_tools(ready, site):
    said = ready.say("holm-clock 180000")
    assert said == "2 d 2 h 0 min", f"holm-clock says {said!r} [R24]"
    heading = re.search(r"heading=(.*)\n", site.heading)[1]
    said = ready.run("holm-report 12").stdout.strip()
    assert said == f"{heading}: volume 1728", f"holm-report says {said!r} [R24]"
    said = ready.say("dpkg -S /usr/bin/holm-clock")
    assert said == "holm-clock: /usr/bin/holm-clock", f"{said} [R24]: a package of its own"


@check("carried", proves=["R31"])
def test_nothing_is_left_behind(ready, site):
    site.nothing_is_left(ready)


@milestone("retired", weight=2, requires=["release"], proves=["R27"], title="What was, is over")
def test_it_starts_as_two(ready, site):
    ready.restart()
    missing = site.two(ready)
    assert not missing, f"restarted, it is not a 2.0 [R27]: {missing}"
    said = ready.ask("version", seconds=60)
    assert said == ["version 2.0"], f"restarted, the service says {said} [R27]"


@check("retired", proves=["R13", "R14", "R15", "R26"])
def test_the_old_key_is_worth_nothing(ready, publisher, bench, word, nonce):
    ready.online()
    publisher.publish_all("bris", "bookworm")
    ready.update()
    bench.refuses(bris="alke", bookworm="alke")
    bench.refuses(bris="base", bookworm="bris")
    bench.refuses(bris="unsigned", bookworm="origin")
    changed_package_is_refused(ready, publisher, "bris", word("own"), (nonce(), nonce()))


@check("retired", proves=["R26", "R27"])
def test_packages_of_two_are_taken(ready, publisher, site, word, nonce):
    name, text = word("own"), nonce()
    publisher.offer("bris", Deb(name, "1", {f"/usr/share/{name}": text}), Deb(site.ahead, "3.2"))
    publisher.offer("alke", Deb(name, "5", {f"/usr/share/{name}": "old"}))
    publisher.publish_all(*SUITES)
    ready.update()
    assert ready.apt(f"install {name}") == 0, "a package of bris is not installed [R26], [R27]"
    assert ready.say(f"cat /usr/share/{name}") == text, "that of alke came [R26]"
    assert ready.apt("upgrade") == 0, "apt-get upgrade fails on a 2.0 [R27]"
    found = ready.version(site.ahead)
    publisher.offer("bris", Deb(site.ahead, "2.5"))
    assert found == "3.2", f"apt-get upgrade left {site.ahead} {found}; bris has 3.2 [R27]"


@check("retired", proves=["R6", "R9", "R10", "R11"])
def test_it_keeps_to_what_a_one_did(ready, publisher, word, nonce):
    ours_come_first(ready, publisher, word("both"), word("holm"), nonce())
    mirrors_hold(ready, publisher, word("own"))
    name_stays(ready, word("base-more"), "holm 2.0 bris")


@milestone("line", weight=2, requires=["release"], proves=["R28"], title="Cut off while it fetches")
def test_power_goes_while_it_fetches(ready, publisher, site):
    ready.machine.restore("ready")
    ready.port = site.port
    publisher.publish_all(*SUITES)
    seen = hold_from(publisher, 3)
    ready.begin_upgrade()
    ready.until(lambda: len(seen) > 2, UPGRADE_SECONDS, "third package")
    ready.machine.power_cut()
    publisher.down = True
    publisher.let_go()
    ready.start(START_SECONDS)
    ready.until(lambda: ready.machine.elapsed > 60, 120, "a minute without the archives")
    publisher.down = False
    site.becomes_whole(ready, 400)


@check("line", proves=["R22", "R28"])
def test_it_is_a_whole_two_after_it(ready, site):
    missing = site.whole(ready)
    assert not missing, f"cut off while it fetched, not a whole 2.0 [R22], [R28]: {missing}"


@check("line", proves=["R28", "R30"])
def test_all_is_there_after_it(ready, site):
    site.all_is_carried(ready)


@check("line", proves=["R28", "R30"])
def test_power_goes_at_drawn_moments(ready, publisher, site, shared):
    ready.machine.restore("ready")
    ready.port = site.port
    publisher.publish_all(*SUITES)
    at_drawn_moments(ready, site, shared["upgrade_seconds"])
    missing = site.whole(ready)
    assert not missing, f"cut off at drawn moments, not a whole 2.0 [R22], [R28]: {missing}"
    site.all_is_carried(ready)


@milestone("power", weight=3, requires=["release"], proves=["R28", "R29"], title="Cut off twice")
def test_power_goes_while_it_installs(cut):
    cut.becomes_whole.result()


@check("power", proves=["R22", "R30"])
def test_it_is_a_whole_two_all_the_same(cut, site):
    missing = site.whole(cut.station)
    assert not missing, f"cut off while it installed, not a whole 2.0 [R22], [R28]: {missing}"
    site.program_is_new(cut.station)


@check("power", proves=["R30"])
def test_no_register_is_lost(cut, site):
    site.registers_are_there(cut.station)
    site.settings_are_there(cut.station)


@check("power", proves=["R25", "R30"])
def test_no_configuration_is_lost(cut, site):
    site.configuration_is_right(cut.station)


@check("power", proves=["R31"])
def test_nothing_is_left_after_that(cut, site):
    site.nothing_is_left(cut.station)
