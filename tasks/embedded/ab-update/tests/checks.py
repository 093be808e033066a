"""ab-update: does the unit refuse what is false, take what is good, and always come back?"""

from __future__ import annotations

import secrets

import delivered
import pytest
import questions
from dead import given_up
from power import CUTS_WHILE_WRITING, MOMENTS, survives
from questions import refused, sound
from unit import START_SECONDS, parse_status, same

from benchflow.bench.account_files import ways_in
from benchflow.boot import GuestTimeout, check, milestone

# ---- image ----------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R1"], title="The disk and its partitions")
def test_the_disk(disk, layout):
    delivered.the_disk(disk, layout)


@check("image", proves=["R2", "R8"])
def test_slot_a_is_the_first_bundle(disk, layout, vendor):
    delivered.slot_a_is_the_first_bundle(disk, layout, vendor)


@check("image", proves=["R2"])
def test_slot_b_holds_nothing(disk, layout, vendor):
    delivered.slot_b_holds_nothing(disk, layout, vendor)


@check("image", proves=["R9"])
def test_the_first_bundle_is_signed(vendor):
    delivered.the_first_bundle_is_signed(vendor)


@check("image", proves=["R4"])
def test_the_private_key_is_not_on_the_disk(disk, vendor):
    delivered.the_private_key_is_not_on_the_disk(disk, vendor)


# ---- boots ----------------------------------------------------------------------------------


@milestone("boots", weight=1, proves=["R5"], title="It starts by itself")
def test_it_starts(unit, metric, shared):
    unit.machine.boot()
    try:
        unit.enter(START_SECONDS)
        shared["in time"] = True
    except GuestTimeout:
        unit.enter(120)
    metric("boot_seconds", unit.machine.elapsed)


# ---- records --------------------------------------------------------------------------------


@milestone(
    "records", weight=2, requires=["boots"], proves=["R5"],
    title="It is what was ordered, and keeps records",
)  # fmt: skip
def test_it_started_in_time(shared):
    assert "in time" in shared, f"the login prompt did not come within {START_SECONDS} s [R5]"


@check("records", proves=["R6"])
def test_what_is_mounted_where(unit, word):
    questions.what_is_mounted_where(unit, word)


@check("records", proves=["R6", "R8"])
def test_the_system_is_the_slots(unit):
    questions.the_system_is_the_slots(unit)


@check("records", proves=["R7", "R13"])
def test_what_it_says_of_itself(unit):
    same(unit.say("cat /etc/board"), "varde-3", "/etc/board [R7]")
    text = unit.say("cat /etc/release")
    assert "version=1" in text.splitlines(), f"/etc/release: {text!r}; version=1 is due [R7]"
    expected = {"slot": "a", "version": "1", "state": "confirmed", "try": "0",
                "other": "none", "other_version": "-", "floor": "1"}  # fmt: skip
    same(unit.status(), expected, "update status of a new unit [R2, R13]")


@check("records", proves=["R15"])
def test_nowhere_to_go_back_to(unit):
    same(unit.machine.shell.run("update rollback").status, 16, "rollback of a new unit [R15]")


@check("records", proves=["R21"])
def test_records(unit):
    for text in ("lamp on", "a  b", "100 %s \\n", 'it\'s "so" $HOME `x` *', "-n", "x" * 200,
                 "Lygte grøn – 3 °C"):  # fmt: skip
        unit.add(text)
    unit.add(secrets.token_hex(16))
    unit.keeps_records()
    questions.odd_records(unit)


@check("records", proves=["R22"])
def test_the_host_name(unit, nonce, shared, idle):
    same(unit.say("hostname"), "unit", "the host name without a configuration [R22]")
    name, shared["config"] = f"mast-{nonce()[:8]}", nonce()
    unit.say(f"mkdir -p /data/config; cd /data/config; printf '{name}\\nmore\\n' >hostname;"
             f" echo {shared['config']} >ours; sync")  # fmt: skip
    unit.restart()
    same(unit.say("hostname"), name, "the first line of /data/config/hostname [R22]")
    unit.hostname = name
    unit.keeps_records()


@check("records", proves=["R5"])
def test_no_other_password(idle):
    same(idle.result("passwords"), [], "wrong passwords with which root got in [R5]")


@check("records", proves=["R5"])
def test_nobody_else_can_log_in(disk, unit):
    part = next(part for part in disk.partitions() if part.name == "slot-a")
    found = ways_in(disk.ext4(part))
    assert not found, f"{found}; root alone, with the one password, is due [R5]"
    questions.nobody_else_can_log_in(unit)


# ---- refuses --------------------------------------------------------------------------------


@milestone(
    "refuses", weight=2, requires=["boots"], proves=["R11"],
    title="False bundles are refused",
)  # fmt: skip
def test_what_is_no_bundle(unit, media, shared, dead):
    unit.up()
    shared["status"] = unit.status()
    same(unit.install("/media/no-such.bundle"), 10, "status for a file that is not there [R11]")
    same(unit.install("/media"), 10, "status for a folder [R11]")
    for kind in ("short", "long", "empty"):
        refused(unit, media, 10, kind)


@check("refuses", proves=["R9", "R11"])
def test_manifests_of_another_form(unit, media):
    refused(unit, media, 10, "form")


@check("refuses", proves=["R9", "R11"])
def test_signatures_that_are_not_ours(unit, media):
    refused(unit, media, 11, "signature")


@check("refuses", proves=["R11"])
def test_other_boards(unit, media):
    refused(unit, media, 12, "board")


@check("refuses", proves=["R11", "R14"])
def test_the_version_that_runs(unit, media):
    same(unit.install(media.path("first")), 13, "status for the version that runs [R11]")


@check("refuses", proves=["R11"])
def test_other_content(unit, media):
    refused(unit, media, 14, "content")
    found = unit.install(media.names["content-blank"], folder="/media")
    same(found, 14, "status for other content, by a name without its folder [R10, R11]")


@check("refuses", proves=["R11"])
def test_the_first_reason_counts(unit, media):
    due = {"order-form": 10, "order-long": 10, "order-signature": 11, "order-board": 12,
           "order-floor": 13}  # fmt: skip
    found = {what: unit.install(media.path(what)) for what in due}
    same(found, due, "the first reason counts [R11]")


@check("refuses", proves=["R3", "R11"])
def test_what_was_refused_changed_nothing(unit, disk, layout, shared):
    same(unit.status(), shared["status"], "update status after refusals [R11]")
    now = unit.machine.flatten()
    changed = [slot for slot in "ab" if layout.digest(now, slot) != layout.digest(disk.path, slot)]
    now.unlink()
    assert not changed, f"slots {changed} changed; a refusal changes nothing [R3, R11]"


# ---- installs -------------------------------------------------------------------------------


@milestone(
    "installs", weight=2, requires=["boots"], proves=["R10", "R13"],
    title="A bundle is installed",
)  # fmt: skip
def test_install(unit, media):
    unit.up()
    second = media.releases["second"]
    unit.say(f"mkdir -p {media.place}")
    unit.installs(media.path("second"))
    status = unit.status()
    found = [status[key] for key in ("version", "other", "other_version", "floor")]
    same(found, ["1", "ready", str(second.version), "1"], "status after installing [R13]")
    unit.whole(status)


@check("installs", proves=["R11"])
def test_a_refusal_leaves_what_waits(unit, media):
    before = unit.status()
    for what in ("content-other", "signature-other", "form-more"):
        assert unit.install(media.path(what)) != 0, f"{what} was installed [R11]"
    same(unit.status(), before, "what waits still waits after a refusal [R11]")
    unit.whole(before)


@check("installs", proves=["R16", "R20"])
def test_the_next_start_runs_it(unit, media):
    second = media.releases["second"]
    unit.restart(90)
    status = unit.runs(second)
    due = {"slot": "b", "version": str(second.version), "state": "confirmed", "try": "0",
           "other": "good", "other_version": "1", "floor": str(second.version)}  # fmt: skip
    same(status, due, "status after the confirmation [R13, R14, R20]")
    same(unit.say(f"cat {media.place}/runs"), "run", "its health scripts were run, once [R20]")
    same(unit.say(f"cat {media.place}/user"), "0", "they run as root [R20]")
    unit.whole(status)


@check("installs", proves=["R22", "R23"])
def test_configuration_is_the_same(unit, shared):
    if "config" in shared:
        same(unit.say("cat /data/config/ours"), shared["config"], "our configuration [R22, R23]")
        same(unit.say("hostname"), unit.hostname, "the host name [R22, R23]")
    unit.keeps_records()


# ---- stays ----------------------------------------------------------------------------------


@milestone("stays", weight=1, requires=["installs"], proves=["R11", "R14"], title="It stays")
def test_older_ones_are_refused(unit, media):
    unit.up()
    found = {what: unit.install(media.path(what)) for what in ("first", "second", "between")}
    same(found, dict.fromkeys(found, 13), "status for versions not above the floor [R11, R14]")


@check("stays", proves=["R8", "R10", "R20"])
def test_the_way_back_to_slot_a(unit, media):
    third = media.releases["third"]
    unit.installs(media.path("third"))
    unit.restart(90)
    status = unit.runs(third)
    due = {"slot": "a", "version": str(third.version), "state": "confirmed", "try": "0",
           "other": "good", "other_version": str(media.releases["second"].version),
           "floor": str(third.version)}  # fmt: skip
    same(status, due, "status after the second update [R13, R14]")
    same(unit.say(f"cat {media.place}/order"), "first\nsecond", "scripts in their order [R20]")
    unit.whole(status)
    unit.keeps_records()


@check("stays", proves=["R20"])
def test_it_is_asked_once(cuts):
    same(cuts.result("start"), "first\nsecond", "a confirmed version is not asked again [R20]")


# ---- falls back -----------------------------------------------------------------------------


@milestone(
    "falls-back", weight=2, requires=["installs"], proves=["R16", "R20"],
    title="Unhealthy versions are given up",
)  # fmt: skip
def test_an_unhealthy_version(unit, media, cuts):
    questions.an_unhealthy_version(unit, media, cuts)


@check("falls-back", proves=["R13", "R16"])
def test_the_tries_were_counted(unit, media):
    questions.the_tries_were_counted(unit, media)


@check("falls-back", proves=["R15", "R16"])
def test_it_stays_with_what_it_went_back_to(unit, media):
    questions.it_stays_with_what_it_went_back_to(unit, media)


@check("falls-back", proves=["R16", "R20"])
def test_a_version_that_is_healthy_at_the_third_try(unit, media):
    questions.a_version_that_is_healthy_at_the_third_try(unit, media)


@check("falls-back", proves=["R23"])
def test_records_after_failed_tries(unit, shared):
    unit.keeps_records()
    if "config" in shared:
        same(unit.say("cat /data/config/ours"), shared["config"], "our configuration [R23]")


# ---- dead versions --------------------------------------------------------------------------


@milestone(
    "dead-versions", weight=2, requires=["installs"], proves=["R19", "R23"],
    title="Dead versions are given up",
)  # fmt: skip
def test_a_crash_of_a_confirmed_version(cuts):
    cuts.result("crash")


@check("dead-versions", proves=["R16", "R17"])
def test_a_first_process_that_ends(dead):
    dead.result("ends")


@check("dead-versions", proves=["R8", "R17"])
def test_a_first_process_that_is_missing(dead):
    dead.result("missing")


@check("dead-versions", proves=["R8", "R17"])
def test_a_kernel_that_is_none(dead):
    dead.result("garbage")


@check("dead-versions", proves=["R8", "R17"])
def test_a_kernel_that_ends_too_soon(dead):
    dead.result("torn")


# ---- hangs ----------------------------------------------------------------------------------


@milestone(
    "hangs", weight=2, requires=["installs"], proves=["R8", "R16", "R25"],
    title="Hanging versions are given up",
)  # fmt: skip
def test_lost_power_uses_up_tries(dead):
    dead.result("hangs")


@check("hangs", proves=["R18"])
def test_it_restarts_by_itself(dead):
    dead.result("restarts")


@check("hangs", proves=["R16", "R18"])
def test_scripts_that_take_too_long_together(dead):
    dead.result("dawdles")


@check("hangs", proves=["R18"])
def test_a_confirmed_version_is_left_alone(idle):
    """The watchdog that ended the hanging version must not end one that works."""
    status = parse_status(idle.result("alone"))
    same((status["version"], status["state"]), ("1", "confirmed"), "left to itself [R20]")


# ---- on trial -------------------------------------------------------------------------------


@milestone(
    "on-trial", weight=1, requires=["installs"], proves=["R12"],
    title="Nothing changes under a trial",
)  # fmt: skip
def test_on_trial_nothing_is_installed(unit, media):
    unit.up()
    for what in ("install", "rollback"):
        found = unit.say(f"cat {media.place}/{what}")
        same(found, "15", f"status of update {what} during a trial [R12]")


@check("on-trial", proves=["R13", "R20"])
def test_what_a_trial_says_of_itself(unit, media):
    questions.what_a_trial_says_of_itself(unit, media)


@check("on-trial", proves=["R11"])
def test_a_refusal_leaves_what_is_good(unit, media):
    before = unit.status()
    same(unit.install(media.path("late")), 14, "status for a new version of other content [R11]")
    same(unit.status(), before, "a refusal changes nothing [R11]")
    unit.whole(before)


@check("on-trial", proves=["R12", "R13"])
def test_one_at_a_time(unit, media, shared):
    questions.one_at_a_time(unit, media, shared)


# ---- rollback -------------------------------------------------------------------------------


@milestone("rollback", weight=1, requires=["installs"], proves=["R15"], title="Back by hand")
def test_only_to_a_good_version(unit, media, shared):
    unit.up()
    if unit.status()["other"] != "ready":
        shared["before next"] = unit.now()
        unit.installs(media.path("next"))
    same(unit.machine.shell.run("update rollback").status, 16, "rollback to what waits [R15]")
    unit.restart(90)
    unit.runs(media.releases["next"])


@check("rollback", proves=["R15", "R20", "R25"])
def test_back_to_the_version_before(unit, media, shared):
    questions.back_to_the_version_before(unit, media, shared["before next"])


@check("rollback", proves=["R14"])
def test_the_floor_stays(unit, media):
    floor = str(media.releases["next"].version)
    same(unit.status()["floor"], floor, "the floor after going back [R14]")
    found = {what: unit.install(media.path(what)) for what in ("hangs", "next")}
    same(found, dict.fromkeys(found, 13), "status for versions not above the floor [R14]")


# ---- keeps ----------------------------------------------------------------------------------


@milestone(
    "keeps", weight=1, requires=["installs"], proves=["R24"],
    title="It lives without its data",
)  # fmt: skip
def test_data_is_lost(lost, media):
    questions.the_data_are_lost(lost[0], media, lost[1])


@check("keeps", proves=["R14"])
def test_the_floor_is_not_data(lost, media):
    floor = lost[1]["floor"]
    assert int(floor) > 1, f"the floor was {floor} after updates [R14]"
    same(lost[0].install(media.path("between")), 13, "status for a version below the floor [R14]")


@check("keeps", proves=["R21", "R24", "R25"])
def test_what_was_made_anew_keeps_records(lost):
    unit, due = lost
    unit.cut()
    unit.keeps_records()
    same(unit.status(), due, "status after the data were lost, and the power [R24]")


# ---- power cuts -----------------------------------------------------------------------------


@milestone(
    "power-cuts", weight=3, requires=["installs"], proves=["R13", "R25"],
    title="Ten power cuts",
)  # fmt: skip
@pytest.mark.parametrize("part", range(CUTS_WHILE_WRITING))
def test_power_is_cut_during_an_installation(cuts, part):
    cuts.result(str(part))


@check("power-cuts", proves=["R10", "R25"])
def test_it_can_be_updated_after_a_cut(cuts):
    cuts.result("updated")


@check("power-cuts", proves=["R10", "R14", "R16", "R25"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_power_is_cut_around_the_first_start(cuts, moment):
    cuts.result(moment)


# ---- spoilt sectors -------------------------------------------------------------------------


@milestone(
    "spoilt-sector", weight=2, requires=["installs"], proves=["R14", "R26"],
    title="Torn sectors",
)  # fmt: skip
def test_a_sector_of_the_installation(machines, media, second_disk, work, cuts):
    stages = cuts.result(MOMENTS[0])

    def asked(one) -> None:
        sound(one, media, stages.floor)
        runs_old = one.now() is media.releases["third"]
        one.installs(media.path("cuts" if runs_old else "last"))

    disks = stages.before, stages.installed
    survives(machines, stages, second_disk, work, disks, "torn", asked)


@check("spoilt-sector", proves=["R14", "R16", "R26"])
def test_a_sector_of_the_confirmation(machines, media, second_disk, work, cuts):
    """Tries are counted somewhere, too: where that is spoilt, a dead version still has an end."""
    stages = cuts.result(MOMENTS[0])

    def asked(one) -> None:
        sound(one, media, stages.floor)
        given_up(one, media, "last")

    disks = stages.installed, stages.confirmed
    survives(machines, stages, second_disk, work, disks, "proud", asked)
