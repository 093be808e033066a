"""ab-update: does the unit refuse what is false, take what is good, and always come back?"""

from __future__ import annotations

import base64
import secrets
import time
from pathlib import PurePosixPath

import pytest
from bundle import MANIFEST, SLOT, WHOLE, Release, manifest
from dead import given_up
from power import CUTS_WHILE_WRITING, MOMENTS, survives
from unit import PASSWORD, SPOILT, parse_status

from benchflow.boot import check, milestone
from benchflow.boot.errors import LoginFailed
from benchflow.boot.inspect import ed25519

#: Real seconds: the watchdog's 60, and what a unit may take to act on them.
LEFT_ALONE = 85


# ---- image ----------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R1"], title="The disk and its partitions")
def test_the_disk(disk, layout):
    assert disk.size <= 128 << 20, f"the image has {disk.size} bytes"
    assert all(part.table == "gpt" for part in disk.partitions())
    sizes = {name: size for name, (_, size) in layout.places.items()}
    assert sizes["slot-a"] == sizes["slot-b"] == SLOT, sizes
    assert sizes["data"] >= 32 << 20, sizes


@check("image", proves=["R2"])
def test_slot_a_is_the_first_bundle(disk, layout, vendor):
    assert vendor.release1.path.stat().st_size == WHOLE
    assert layout.digest(disk.path, "a") == vendor.release1.digest
    part = next(part for part in disk.partitions() if part.name == "slot-a")
    assert disk.filesystem(part) == "ext4"
    assert disk.ext4(part).problems() == ""


@check("image", proves=["R9"])
def test_the_first_bundle_is_signed(vendor):
    text = manifest(1, vendor.release1.digest)
    assert vendor.head()[:MANIFEST] == text, "another manifest than the order's"
    assert vendor.head()[MANIFEST:] == vendor.sign(text), "not signed with vendor.pem"


@check("image", proves=["R4"])
def test_the_private_key_is_not_on_the_disk(disk, vendor):
    der = base64.b64encode(ed25519.PKCS8_HEAD + vendor.seed)
    secret = [vendor.seed, der[-40:], vendor.seed.hex().encode()]
    data = disk.path.read_bytes()
    assert not any(part in data for part in secret), "the private key is on the disk"


# ---- boots ----------------------------------------------------------------------------------


@milestone("boots", weight=2, requires=["image"], proves=["R5"], title="It starts by itself")
def test_it_starts_in_time(unit, metric):
    unit.start(seconds=30)
    metric("boot_seconds", unit.machine.elapsed)


@check("boots", proves=["R6"])
def test_what_is_mounted_where(unit, media):
    assert unit.say("head -n 1 /media/word") == media.word
    rows = [line.split() for line in unit.say("cat /proc/mounts").splitlines()]
    mounts = {row[1]: (row[2], row[3].split(",")) for row in rows if len(row) > 3}
    assert mounts["/"][0] == "ext4" and "ro" in mounts["/"][1], mounts["/"]
    assert mounts["/data"][0] == "ext4" and "rw" in mounts["/data"][1], mounts.get("/data")
    assert "ro" in mounts["/media"][1], mounts.get("/media")
    for place in ("/tmp", "/run", "/data"):
        unit.say(f"echo word >{place}/bench && rm {place}/bench")
    for place in ("/tmp", "/run"):
        real = PurePosixPath(unit.say(f"readlink -f {place}"))
        kind = next(mounts[f"{one}"][0] for one in (real, *real.parents) if f"{one}" in mounts)
        assert kind in ("tmpfs", "ramfs"), f"{place} lies in {kind}"
    assert unit.machine.shell.run("echo word >/etc/bench").status != 0


@check("boots", proves=["R7", "R13"])
def test_what_it_says_of_itself(unit):
    assert unit.say("cat /etc/board") == "varde-3"
    assert "version=1" in unit.say("cat /etc/release").splitlines()
    expected = {"slot": "a", "version": "1", "state": "confirmed", "try": "0",
                "other": "none", "other_version": "-", "floor": "1"}  # fmt: skip
    assert unit.status() == expected


# ---- records --------------------------------------------------------------------------------


@milestone("records", weight=1, requires=["boots"], proves=["R21"], title="It keeps records")
def test_records(unit, dead):
    for text in ("lamp on", "a  b", "100 %s \\n", 'it\'s "so" $HOME `x` *', "-n", "x" * 200):
        unit.add(text)
    unit.add(secrets.token_hex(16))
    unit.keeps_records()


@check("records", proves=["R22", "R5"])
def test_the_host_name_and_the_password(unit, nonce):
    assert unit.say("hostname") == "unit"
    name = f"mast-{nonce()[:8]}"
    unit.say(f"mkdir -p /data/config && echo {name} >/data/config/hostname && sync")
    unit.leave()
    with pytest.raises(LoginFailed):
        unit.machine.login("root", f"{PASSWORD[:-1]}8", timeout=60)
    unit.login()
    assert unit.say("hostname") == name
    unit.hostname = name
    unit.keeps_records()


# ---- refuses --------------------------------------------------------------------------------


def refused(unit, media, status: int, kind: str) -> None:
    """Each bundle whose kind begins with `kind` is refused with this exit status."""
    names = [name for name in media.names if name.startswith(kind)]
    assert names
    said = {name: unit.install(media.path(name)) for name in names}
    wrong = {name: code for name, code in said.items() if code != status}
    assert not wrong, f"{status} was to be said, and this was: {wrong}"


@milestone(
    "refuses", weight=2, requires=["records"], proves=["R11"],
    title="False bundles are refused",
)  # fmt: skip
def test_what_is_no_bundle(unit, media, shared, idle):
    shared["status"] = unit.status()
    assert unit.install("/media/no-such.bundle") == 10
    assert unit.install("/media") == 10
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
    assert unit.install(media.path("first")) == 13


@check("refuses", proves=["R11"])
def test_other_content(unit, media):
    refused(unit, media, 14, "content")


@check("refuses", proves=["R11"])
def test_the_first_reason_counts(unit, media):
    assert unit.install(media.path("order-signature")) == 11
    assert unit.install(media.path("order-board")) == 12
    assert unit.install(media.path("order-floor")) == 13


@check("refuses", proves=["R3", "R11"])
def test_what_was_refused_changed_nothing(unit, disk, layout, shared):
    assert unit.status() == shared["status"]
    now = unit.machine.flatten()
    for slot in "ab":
        assert layout.digest(now, slot) == layout.digest(disk.path, slot), f"slot {slot} changed"
    now.unlink()


# ---- installs -------------------------------------------------------------------------------


@milestone(
    "installs", weight=2, requires=["refuses"], proves=["R10", "R13"],
    title="A bundle is installed",
)  # fmt: skip
def test_install(unit, media):
    second = media.releases["second"]
    unit.say(f"mkdir {media.place}")
    unit.installs(media.path("second"))
    status = unit.status()
    assert (status["version"], status["other"]) == ("1", "ready"), status
    assert status["other_version"] == str(second.version) and status["floor"] == "1", status
    unit.whole(status)


@check("installs", proves=["R11"])
def test_a_refusal_leaves_what_waits(unit, media):
    before = unit.status()
    for what, status in (("content-other", 14), ("signature-other", 11), ("form-more", 10)):
        assert unit.install(media.path(what)) == status
    assert unit.status() == before
    unit.whole(before)


@check("installs", proves=["R16", "R20"])
def test_the_next_start_runs_it(unit, media):
    second = media.releases["second"]
    unit.restart(90)
    status = unit.runs(second)
    assert (status["slot"], status["try"], status["other"]) == ("b", "0", "good"), status
    assert (status["other_version"], status["floor"]) == ("1", str(second.version)), status
    assert unit.say(f"cat {media.place}/runs") == "run", "its own health scripts were not run"
    unit.whole(status)


@check("installs", proves=["R22", "R23"])
def test_records_and_configuration_are_the_same(unit):
    unit.keeps_records()
    assert unit.say("hostname") == unit.hostname
    unit.add(secrets.token_hex(8))


# ---- stays ----------------------------------------------------------------------------------


@milestone("stays", weight=1, requires=["installs"], proves=["R11", "R14"], title="It stays")
def test_older_ones_are_refused(unit, media):
    for what in ("first", "second", "between"):
        assert unit.install(media.path(what)) == 13, f"{what} was not refused as old"


@check("stays", proves=["R8", "R10", "R20"])
def test_the_way_back_to_slot_a(unit, media):
    unit.installs(media.path("third"))
    unit.restart(90)
    status = unit.runs(media.releases["third"])
    assert (status["slot"], status["other"]) == ("a", "good"), status
    assert status["other_version"] == str(media.releases["second"].version), status
    assert unit.say(f"cat {media.place}/order") == "first\nsecond"
    unit.whole(status)
    unit.keeps_records()


@check("stays", proves=["R20"])
def test_it_is_asked_once(cuts, media):
    assert cuts.result("start") == "first\nsecond"


# ---- falls back -----------------------------------------------------------------------------


@milestone(
    "falls-back", weight=2, requires=["stays"], proves=["R16", "R20"],
    title="Unhealthy versions are given up",
)  # fmt: skip
def test_an_unhealthy_version(unit, media):
    def given_up():
        unit.say(f"rm -f {media.place}/tries")
        unit.installs(media.path("unhealthy"))
        unit.restart(180)
        unit.runs(media.releases["third"])
        assert unit.say(f"cat {media.place}/tries") == "3"

    unit.unspoilt(given_up)
    status = unit.status()
    assert status["other"] == "failed", status
    assert status["other_version"] == str(media.releases["unhealthy"].version), status
    assert status["floor"] == status["version"], status
    unit.whole(status)


@check("falls-back", proves=["R13", "R16"])
def test_the_tries_were_counted(unit, media):
    for number in ("1", "2", "3"):
        status = parse_status(unit.say(f"cat {media.place}/status.{number}"))
        assert (status["state"], status["try"]) == ("trial", number), status


@check("falls-back", proves=["R16", "R20"])
def test_a_version_that_is_healthy_at_the_third_try(unit, media):
    def at_the_third():
        unit.say(f"rm -f {media.place}/flaky")
        unit.installs(media.path("flaky"))
        unit.restart(240)
        unit.runs(media.releases["flaky"])
        assert unit.say(f"cat {media.place}/flaky") == "3"

    unit.unspoilt(at_the_third)
    status = unit.status()
    assert (status["try"], status["other"]) == ("0", "good"), status
    unit.whole(status)


@check("falls-back", proves=["R23"])
def test_records_after_failed_tries(unit):
    unit.keeps_records()
    assert unit.say("hostname") == unit.hostname


# ---- dead versions --------------------------------------------------------------------------


@milestone(
    "dead-versions", weight=2, requires=["falls-back"], proves=["R19", "R23"],
    title="Dead versions are given up",
)  # fmt: skip
def test_a_crash_of_a_confirmed_version(unit, media):
    before = unit.status()
    unit.add(secrets.token_hex(8))
    boots = unit.machine.boots
    unit.machine.shell.leave("echo c >/proc/sysrq-trigger")
    unit.login(90)
    assert unit.machine.boots > boots
    assert unit.runs(media.releases["flaky"]) == before
    unit.keeps_records()


@check("dead-versions", proves=["R16", "R17"])
def test_a_first_process_that_ends(dead):
    dead.result("ends")


@check("dead-versions", proves=["R8", "R17"])
def test_a_kernel_that_is_none(dead):
    dead.result("garbage")


@check("dead-versions", proves=["R8", "R17"])
def test_a_kernel_that_ends_too_soon(dead):
    dead.result("torn")


# ---- hangs ----------------------------------------------------------------------------------


@milestone(
    "hangs", weight=2, requires=["dead-versions"], proves=["R16", "R25"],
    title="Hanging versions are given up",
)  # fmt: skip
def test_lost_power_uses_up_tries(dead):
    dead.result("hangs")


@check("hangs", proves=["R18"])
def test_it_restarts_by_itself(dead):
    dead.result("restarts")


@check("hangs", proves=["R18"])
def test_a_confirmed_version_is_left_alone(idle):
    """The watchdog that ended the hanging version must not end one that works."""
    machine, lane = idle
    since = lane.result("start")
    while machine.alive and time.monotonic() - since < LEFT_ALONE:
        time.sleep(0.5)
    assert machine.boots == 1, "a confirmed version was restarted"
    assert parse_status(machine.shell.run("update status").stdout)["state"] == "confirmed"
    machine.close()


# ---- on trial -------------------------------------------------------------------------------


@milestone(
    "on-trial", weight=1, requires=["hangs"], proves=["R12"],
    title="Nothing changes under a trial",
)  # fmt: skip
def test_on_trial_nothing_is_installed(unit, media):
    assert unit.say(f"cat {media.place}/install") == "15", "update install during a trial"
    assert unit.say(f"cat {media.place}/rollback") == "15", "update rollback during a trial"


@check("on-trial", proves=["R13", "R20"])
def test_what_a_trial_says_of_itself(unit, media):
    status = parse_status(unit.say(f"cat {media.place}/status"))
    first = status["try"] if SPOILT in unit.machine.console.since(0) else "1"
    expected = {"slot": "b", "version": str(media.releases["second"].version), "state": "trial",
                "try": first, "other": "good", "other_version": "1", "floor": "1"}  # fmt: skip
    assert status == expected
    assert unit.say(f"cat {media.place}/media") == media.word


@check("on-trial", proves=["R12"])
def test_one_at_a_time(unit, media):
    install = f"update install {media.path('next')} >/dev/null 2>&1"
    said = unit.say(f"{install} & first=$!; {install}; echo $?; wait $first; echo $?", 90)
    assert sorted(said.split()) == ["0", "15"], f"two installations at once ended with {said!r}"
    assert unit.status()["other"] == "ready"


# ---- rollback -------------------------------------------------------------------------------


@milestone("rollback", weight=1, requires=["on-trial"], proves=["R15"], title="Back by hand")
def test_only_to_a_good_version(unit, media):
    assert unit.machine.shell.run("update rollback").status == 16
    unit.restart(90)
    unit.runs(media.releases["next"])


@check("rollback", proves=["R15", "R20"])
def test_back_to_the_version_before(unit, media):
    unit.say("update rollback")
    unit.restart()
    status = unit.runs(media.releases["flaky"])
    assert (status["other"], status["try"]) == ("good", "0"), status
    assert status["other_version"] == str(media.releases["next"].version), status
    unit.whole(status)
    unit.keeps_records()


@check("rollback", proves=["R14"])
def test_the_floor_stays(unit, media):
    assert unit.status()["floor"] == str(media.releases["next"].version)
    assert unit.install(media.path("hangs")) == 13
    assert unit.install(media.path("next")) == 13


# ---- keeps ----------------------------------------------------------------------------------


@milestone(
    "keeps", weight=1, requires=["rollback"], proves=["R24"],
    title="It lives without its data",
)  # fmt: skip
def test_data_is_lost(unit, media, layout):
    before = unit.status()
    unit.say("d=$(sed -n 's#^/dev/\\([^ ]*\\) /data .*#\\1#p' /proc/mounts | tail -n 1); sync;"
             " dd if=/dev/zero of=/dev/$d bs=1M count=32 conv=fsync")  # fmt: skip
    unit.machine.power_cut()
    unit.records.clear()
    unit.start(90)
    assert unit.runs(media.releases["flaky"]) == before
    assert unit.say("hostname") == "unit"
    unit.keeps_records()
    unit.add(secrets.token_hex(8))


@check("keeps", proves=["R14"])
def test_the_floor_is_not_data(unit, media):
    assert unit.install(media.path("next")) == 13


# ---- power cuts -----------------------------------------------------------------------------


@milestone(
    "power-cuts", weight=3, requires=["keeps"], proves=["R13", "R25"],
    title="Ten power cuts",
)  # fmt: skip
@pytest.mark.parametrize("part", range(CUTS_WHILE_WRITING))
def test_power_is_cut_during_an_installation(cuts, part):
    cuts.result(str(part))


@check("power-cuts", proves=["R10", "R25"])
def test_it_can_be_updated_after_a_cut(cuts):
    cuts.result("updated")


@check("power-cuts", proves=["R10", "R16", "R25"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_power_is_cut_around_the_first_start(cuts, moment):
    cuts.result(moment)


# ---- spoilt sectors -------------------------------------------------------------------------


def sound(one, media, floor) -> Release:
    """Assert that a unit runs one of the last two versions, whole and with its records; which."""
    status = one.status()
    found = [media.releases[name] for name in ("third", "cuts")]
    found = [release for release in found if status["version"] == str(release.version)]
    assert found, status
    assert int(status["floor"]) >= floor, f"the floor fell: {status}"
    one.whole(status)
    one.keeps_records()
    return found[0]


@milestone(
    "spoilt-sector", weight=2, requires=["power-cuts"], proves=["R14", "R26"],
    title="Torn sectors",
)  # fmt: skip
def test_a_sector_of_the_installation(machines, media, second_disk, work, cuts):
    stages = cuts.result(MOMENTS[0])

    def asked(one) -> None:
        if sound(one, media, stages.floor) is media.releases["third"]:
            one.installs(media.path("cuts"))

    disks = stages.before, stages.installed
    survives(machines, stages, second_disk, work, disks, "torn", asked)


@check("spoilt-sector", proves=["R14", "R16", "R26"])
def test_a_sector_of_the_confirmation(machines, media, second_disk, work, cuts):
    """Tries are counted somewhere, too: where that is spoilt, a dead version still has an end."""
    stages = cuts.result(MOMENTS[0])

    def asked(one) -> None:
        given_up(one, media, "last", sound(one, media, stages.floor))

    disks = stages.installed, stages.confirmed
    survives(machines, stages, second_disk, work, disks, "proud", asked)
