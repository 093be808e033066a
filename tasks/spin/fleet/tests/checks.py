"""fleet: does every station come to 3.0 by the archives alone, and believe no thief meanwhile?"""

from __future__ import annotations

import secrets

from archives import INDEX, SIGNERS, SUITES
from fleet import ONE, becomes_three, one_bad_package, refuses, stays
from releases import ALKE, CONTENT, not_as_ordered, not_kept, not_the_content, not_the_programs
from station import UPGRADE_SECONDS

from benchflow.bench.apt_archive import read_suite
from benchflow.bench.deb_package import Deb
from benchflow.bench.packed_secrets import forms, has_secret
from benchflow.boot import check, milestone

# ---- archive --------------------------------------------------------------------------------


@milestone("archive", weight=1, proves=["R1"], title="The archives and the new key")
def test_the_new_key(keys, armours):
    known = {keys[name].public for name in ("alke", "bris", "base")}
    assert keys["dorg"].public not in known, "dorg.key is one of the three [R1]"


@check("archive", proves=["R1"])
def test_no_secret_key_is_in_the_archives(keys, armours, archive):
    secret = [part for name, text in armours.items() for part in forms(keys[name], text)]
    for path in sorted(archive.rglob("*")):
        if path.is_file():
            assert not has_secret(path.read_bytes(), secret), f"a secret key: {path.name} [R1]"


@check("archive", proves=["R2"])
def test_who_has_signed_the_suites(archive, keys):
    for name, signers in SIGNERS.items():
        try:
            read_suite(archive / SUITES[name], name, INDEX, *(keys[key] for key in signers))
        except AssertionError as error:
            raise AssertionError(
                f"{name}, to be signed by {' and '.join(signers)} and no other: {error} [R2]"
            ) from error


@check("archive", proves=["R2"])
def test_the_suites(suites):
    wrong = [line for suite in suites.values() for line in not_as_ordered(suite)]
    assert not wrong, f"{wrong[:4]} [R2]"


# ---- content --------------------------------------------------------------------------------


@milestone("content", weight=1, requires=["archive"], proves=["R3", "R4"], title="What is in them")
def test_the_packages(suites):
    wrong = [line for name in CONTENT for line in not_the_content(suites[name])]
    assert not wrong, f"{wrong[:4]} [R3], [R4]"


@check("content", proves=["R3"])
def test_what_was_there_is_there(suites, suites_then):
    wrong = not_kept(suites, suites_then)
    assert not wrong, f"{wrong[:4]} [R3]"


# ---- updates: a 1.0 that was switched off for long ------------------------------------------


@milestone("updates", weight=2, requires=["archive"], proves=["R5"], title="A 1.0 is updated")
def test_a_1_0_takes_the_updates(one, site):
    one.nightly("on a 1.0")
    site.still(one, ONE, ALKE)
    one.machine.snapshot("updated")


@check("updates", proves=["R5", "R16"])
def test_its_configuration_is_still_its_own(one, site):
    lines = one.say("cat /etc/holm/tally.conf").splitlines()
    assert lines[-2:] == [f"name={site.name}", f"port={site.port}"], f"tally.conf: {lines} [R5]"
    changed = one.run("dpkg --verify holm-base").stdout.splitlines()
    own = ("/etc/holm/mirrors/", "/etc/holm/site.conf")
    wrong = [line for line in changed if not any(path in line for path in own)]
    assert not wrong, f"dpkg --verify holm-base: {wrong[:5]} [R5]"
    site.changes_are_there(one)


# ---- recalled -------------------------------------------------------------------------------


@milestone(
    "recalled", weight=3, requires=["updates"], proves=["R6", "R7"], title="1.0 believes no thief"
)
def test_a_1_0_does_not_believe_the_stolen_key(one, now, site):
    refuses(one, now, site.spares[0], alke="bris", bookworm="bris")


@check("recalled", proves=["R6", "R8"])
def test_nor_other_keys(one, now, site):
    refuses(one, now, site.spares[1], alke="stranger", bookworm="dorg")


@check("recalled", proves=["R5", "R6"])
def test_nor_does_one_that_had_learnt_it(half):
    half.result("unlearnt")


# ---- refuses --------------------------------------------------------------------------------


@milestone("refuses", weight=2, requires=["updates"], proves=["R10"], title="Not on bad ground")
def test_a_3_0_that_a_thief_has_signed(one, now, site):
    one.line.serve({**now.all(), **now.suite("dorg", keys=("bris",))})
    stays(one, now, "dorg is signed by bris.key alone")
    site.still(one, ONE, ALKE)


@check("refuses", proves=["R10"])
def test_a_3_0_that_is_not_to_be_had(one, now, site):
    one.line.serve(now.all(), "holm/dists/dorg/")
    stays(one, now, "dorg is away")
    site.still(one, ONE, ALKE)


@check("refuses", proves=["R10"])
def test_a_3_0_with_one_bad_package(one, now, site):
    stays(one, now, one_bad_package(one, now, site))
    site.still(one, ONE, ALKE)


@check("refuses", proves=["R8", "R10"])
def test_it_still_takes_packages_of_1_0(one, now, site):
    status = one.apt("update")
    assert status == 0, f"apt-get update after refused upgrades: {status} [R10]"
    status = one.apt(f"-y install {site.spares[2]}")
    assert status == 0, f"no package of alke is taken any more [R10]: {one.log('apt')}"


@check("refuses", proves=["R6", "R7"])
def test_nothing_of_the_thief_is_taken_on_the_way(one, now, site):
    # Last: who does not ask for bris on the way is a 3.0 after it; `ready` takes it back.
    one.line.change(now.suite("bris", Deb(site.ahead, "9.9"), keys=("bris",)))
    one.upgrade()
    one.line.serve(now.all())
    found = one.version(site.ahead)
    assert found == "3.5", (
        f"{site.ahead} {found} is installed; of bris, which bris.key alone has signed [R7]"
    )


# ---- three: from 1.0 ------------------------------------------------------------------------


@milestone("three", weight=3, requires=["updates"], proves=["R9"], title="From 1.0 to 3.0")
def test_a_1_0_comes_to_3_0(ready, site, now, metric):
    ready.line.serve(now.all())
    began = ready.machine.elapsed
    becomes_three(ready, site)
    metric("upgrade_seconds", ready.machine.elapsed - began)


@check("three", proves=["R11"])
def test_it_is_a_whole_3_0(ready, site):
    missing = site.whole(ready)
    assert not missing, f"not a whole 3.0 [R11]: {missing}"
    site.program_is_new(ready)
    wrong = ready.run("dpkg --verify holm-base holm-ledger holm-report hello").stdout.splitlines()
    assert [line for line in wrong if " c /etc/" not in line] == [], f"{wrong[:5]} [R11]"


@check("three", proves=["R4"])
def test_its_programs_are_those_of_the_order(ready):
    wrong = not_the_programs(ready.say)
    assert not wrong, f"{wrong} [R4]; SERVICES.md"


@milestone("carried", weight=3, requires=["three"], proves=["R12"], title="All is still there")
def test_the_registers(ready, site):
    ready.port = site.port
    site.registers_are_there(ready)


@check("carried", proves=["R14"])
def test_the_settings_of_the_service(ready, site):
    site.settings_are_there(ready)


@check("carried", proves=["R16"])
def test_the_configuration(ready, site):
    site.configuration_is_right(ready)


@check("carried", proves=["R15"])
def test_the_tools(ready, site):
    said = ready.say("holm-clock 784800")
    assert said == "1 w 2 d 2 h 0 min", f"holm-clock says {said!r} [R15]"
    heading = site.heading.partition("\n")[0].removeprefix("heading=")
    said = ready.run("holm-report 12").stdout.strip()
    assert said == f"{heading}: litres 1728000", f"holm-report says {said!r} [R15]"
    said = ready.say("dpkg -S /usr/bin/holm-report /etc/holm/report.conf").splitlines()
    due = ["holm-report: /usr/bin/holm-report", "holm-report: /etc/holm/report.conf"]
    assert said == due, f"dpkg -S: {said} [R15]"


@check("carried", proves=["R23"])
def test_nothing_is_left_behind(ready, site):
    site.nothing_is_left(ready)


@milestone("stays", weight=2, requires=["three"], proves=["R9"], title="It stays a 3.0")
def test_twice_is_once(ready):
    before = ready.installed()
    ready.say("touch /run/before; sleep 1")
    assert ready.upgrade() == 0, "holm-upgrade on a 3.0 does not end with 0 [R9]"
    after = ready.installed()
    changed = {n for n in before | after if before.get(n) != after.get(n)}
    places = "/etc /usr /boot /root /home /var/lib/holm-ledger"
    files = ready.say(f"find {places} -xdev -type f -cnewer /run/before | head -n 5", 120)
    assert not changed and not files, f"on a 3.0 it changed {changed} {files.split()} [R9]"


@check("stays", proves=["R18"])
def test_it_starts_as_a_3_0(ready, site):
    ready.restart()
    missing = site.three(ready)
    assert not missing, f"restarted, it is not a 3.0 [R18]: {missing}"
    said = ready.ask("version", seconds=60)
    assert said == ["version 3.0"], f"restarted, the service says {said} [R18]"


@check("stays", proves=["R18"])
def test_it_lets_in_by_the_password_alone(ready):
    ready.refuses_other_passwords()


@check("stays", proves=["R17"])
def test_a_3_0_believes_no_older_key(ready, now, site):
    ready.online()
    assert ready.apt("update") == 0, f"apt-get update on a 3.0 [R18]: {ready.log('apt')}"
    refuses(ready, now, site.spares[3], dorg="bris", bookworm="bris")
    refuses(ready, now, site.spares[4], dorg="alke", bookworm="dorg")


@check("stays", proves=["R18"])
def test_packages_of_3_0_are_taken(ready, now, site, word, nonce):
    name, text = word("own"), nonce()
    later = Deb(site.ahead, "3.6")
    ready.line.change(now.suite("dorg", Deb(name, "1", {f"/usr/share/{name}": text}), later))
    ready.nightly("on a 3.0")
    assert ready.apt(f"-y install {name}") == 0, f"a package of dorg [R18]: {ready.log('apt')}"
    assert ready.say(f"cat /usr/share/{name}") == text, "it has another content [R18]"
    found = ready.version(site.ahead)
    assert found == "3.6", f"apt-get upgrade left {site.ahead} {found}; dorg has 3.6 [R18]"


@milestone("service", weight=2, requires=["three"], proves=["R19"], title="The service comes back")
def test_it_comes_back_however_often_it_ends(ready, site):
    ready.hang_up(20)
    said = ready.ask("version", seconds=15)
    assert said == ["version 3.0"], f"after sensors that hung up too early it says {said} [R19]"
    for signal in ("TERM", "KILL"):
        ready.end_service("holm-ledger", 20, signal)
        said = ready.ask("version", seconds=15)
        assert said == ["version 3.0"], f"ended by SIG{signal} again and again it says {said} [R19]"


@check("service", proves=["R12", "R19"])
def test_it_counts(ready, site, nonce):
    name = nonce()
    for number, total in ((40, 40), (2, 42)):
        said = ready.ask(f"add {name} {number}")
        assert said == [f"total {total}"], f"add {number}: {said}, not total {total} [R12]"
    ready.end_service("holm-ledger")
    # Of this start alone: later checks go back to a snapshot from before it.
    site.registers[name] = 42
    try:
        site.registers_are_there(ready)
    finally:
        del site.registers[name]


@check("service", proves=["R19"])
def test_registers_are_its_own(ready):
    folder = "/var/lib/holm-ledger"
    others = ready.who_can_write("holm-ledger", folder, f"{folder}/ledger")
    assert not others, f"can write: {others.splitlines()[:5]}; [R19]: its user and root alone"


# ---- a 2.0 ----------------------------------------------------------------------------------


@milestone("updates-2", weight=2, requires=["archive"], proves=["R5"], title="A 2.0 is updated")
def test_a_2_0_takes_the_updates(one, two):
    two.result("nightly")


@milestone("recalled-2", weight=3, requires=["updates-2"], proves=["R6", "R8"],
           title="2.0 believes no thief")  # fmt: skip
def test_a_2_0_does_not_believe_the_stolen_key(two):
    two.result("recalled")


@check("recalled-2", proves=["R6", "R10"])
def test_nor_does_it_upgrade_on_bad_ground(two):
    two.result("refuses")


@milestone("three-2", weight=2, requires=["updates-2"], proves=["R9", "R11", "R19"],
           title="From 2.0 to 3.0")  # fmt: skip
def test_a_2_0_comes_to_3_0(two):
    two.result("three")


@check("three-2", proves=["R12", "R13", "R14", "R16", "R23"])
def test_what_was_booked_by_hand_is_counted(two):
    two.result("data")


@milestone("power", weight=3, requires=["updates-2"], proves=["R20"], title="Cut off twice")
def test_power_goes_while_it_installs(two):
    two.result("cut")


@check("power", proves=["R20", "R12", "R13", "R16", "R23"])
def test_all_is_there_all_the_same(two):
    two.result("data-after-cut")


@check("power", proves=["R20", "R12", "R13", "R16"])
def test_it_may_go_at_any_moment(two):
    two.result("any-moment")


# ---- those that were on their way -----------------------------------------------------------


@milestone("old-way", weight=2, requires=["archive"], proves=["R7", "R22"],
           title="The upgrade of then, by the archives of now")  # fmt: skip
def test_the_fields_own_upgrade_ends_well(one, half):
    half.result("old-way")


@milestone("half-way", weight=3, requires=["archive"], proves=["R21"],
           title="Half way to 2.0")  # fmt: skip
def test_it_comes_to_its_end_by_itself(one, half):
    half.result("half-way")


@check("half-way", proves=["R5", "R9", "R21"])
def test_then_it_comes_to_3_0(half):
    half.result("three")


@check("half-way", proves=["R12", "R14", "R16", "R21"])
def test_its_data_have_come_twice(half):
    half.result("data")


# ---- line -----------------------------------------------------------------------------------


@milestone("line", weight=2, requires=["three"], proves=["R20"], title="Cut off while it fetches")
def test_power_goes_while_it_fetches(ready, now, site):
    ready.machine.restore("ready")
    ready.port = site.port
    ready.line.serve(now.all())
    ready.online()
    # No more than the order itself adds to every station.
    number = 1 + secrets.randbelow(6)
    seen = ready.line.hold_debs_from(number)
    ready.begin_upgrade()
    ready.until(lambda: len(seen) >= number, UPGRADE_SECONDS, f"package {number}")
    ready.machine.power_cut()
    ready.line.down = True
    ready.line.let_go()
    ready.start()
    ready.until(lambda: ready.machine.elapsed > 60, 120, "a minute without the archives")
    ready.line.down = False
    site.becomes(ready, site.whole, 400)


@check("line", proves=["R12", "R14", "R16", "R20"])
def test_all_is_there_after_it(ready, site):
    site.registers_are_there(ready)
    site.settings_are_there(ready)
    site.configuration_is_right(ready)
