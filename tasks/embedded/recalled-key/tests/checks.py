"""recalled-key: does the fleet come to the release for good, and does board B live by it too?"""

from __future__ import annotations

import secrets
import time

import pytest
from bundle import MANIFEST, RECALL, SLOT
from fleet import is_recalled, no_way_back, refuses_the_old_key, updated
from media import REFUSED
from power import FIRST_STARTS, NEXT, WRITING
from unit import GIVEN_UP_SECONDS, START_SECONDS, TRIAL_SECONDS, in_trial, same

from benchflow.bench.ext4_edit import is_ext4
from benchflow.bench.hidden_secrets import holds, of_ed25519, unpacked
from benchflow.boot import BadDeliverable, check, milestone
from benchflow.boot.inspect import ed25519
from benchflow.boot.inspect.ext4 import Ext4

HEAD = MANIFEST + 64
#: From when its kernel started, which is before its first process says its word.
HANG_SECONDS = 60

# ---- bundle ---------------------------------------------------------------------------------


@milestone("bundle", weight=1, proves=["R1"], title="Release 2 as a bundle of the old key")
def test_the_bundle(old, next_vendor):
    release = next_vendor.release1
    same(release.path.stat().st_size, HEAD + SLOT, "bytes of recall.bundle [R1]")
    head, text = next_vendor.head(), old.manifest(RECALL, release.digest)
    same(head[:MANIFEST].rstrip(b"\0"), text.rstrip(b"\0"), "the manifest of recall.bundle [R1]")
    assert head[:MANIFEST] == text, "the manifest is not filled up with zero bytes [R1]"
    right = ed25519.verify(ed25519.public(old.seed), text, head[MANIFEST:])
    assert right, "recall.bundle is not signed with vendor.pem [R1]"


@check("bundle", proves=["R1"])
def test_what_its_slot_image_says(next_vendor, work):
    with next_vendor.release1.path.open("rb") as stream:
        stream.seek(HEAD)
        assert is_ext4(stream.read(2048), SLOT), "the slot image is no ext4 of 32 MiB [R1]"
    files = Ext4(next_vendor.release1.path, HEAD, scratch=work)
    same(files.read("/etc/board").strip(), b"varde-3", "/etc/board [R1]")
    said = files.read("/etc/release").splitlines()
    assert b"version=1000" in said, f"/etc/release says {said}, version=1000 is due [R1]"
    assert "health.d" in files.listdir("/etc"), "the slot image has no /etc/health.d [R1]"


# ---- key ------------------------------------------------------------------------------------


@milestone("key", weight=1, requires=["bundle"], proves=["R2"], title="A key of its own")
def test_it_is_another_key(old, next_vendor):
    assert next_vendor.seed != old.seed, "next.pem is vendor.pem [R2]"


@check("key", proves=["R2"])
def test_no_private_key_in_the_slot_image(old, next_vendor):
    data = next_vendor.release1.path.read_bytes()[HEAD:]
    _nowhere(data, old, next_vendor, "the slot image")


@check("key", proves=["R2"])
def test_no_private_key_on_the_new_disk(deliverable, old, next_vendor):
    data = deliverable("/app/out/unit-b.img").read_bytes()
    _nowhere(data, old, next_vendor, "unit-b.img")


def _nowhere(data: bytes, old, next_vendor, where: str) -> None:
    for name, seed in (("vendor.pem", old.seed), ("next.pem", next_vendor.seed)):
        found = holds(unpacked(data), of_ed25519(seed))
        assert not found, f"in {where}, or packed in it, lies {found} of {name} [R2]"


# ---- image-b --------------------------------------------------------------------------------


@milestone("image-b", weight=1, requires=["bundle"], proves=["R9"], title="A disk for board B")
def test_its_partitions(disk_b, layout_b):
    assert disk_b.size <= 128 << 20, f"unit-b.img has {disk_b.size} bytes [R9]"
    assert not layout_b.faults, f"{layout_b.faults} [R9]"
    sizes = {name: size for name, (_, size) in layout_b.places.items()}
    assert sizes["slot-a"] == sizes["slot-b"] == SLOT, f"{sizes}: slots of 32 MiB are due [R9]"
    assert sizes["data"] >= 32 << 20, f"{sizes}: data of at least 32 MiB is due [R9]"


@check("image-b", proves=["R9"])
def test_slot_a_is_the_bundles(disk_b, layout_b, next_vendor):
    same(layout_b.slot(disk_b.path, "a"), next_vendor.release1.digest, "slot a of unit-b.img [R9]")


@check("image-b", proves=["R9"])
def test_slot_b_holds_nothing(disk_b, layout_b):
    layout_b.place("slot-b")
    part = next(part for part in disk_b.partitions() if part.name == "slot-b")
    kind = disk_b.filesystem(part)
    if kind != "ext4":
        assert not kind, f"slot b of unit-b.img holds {kind} [R9]"
        return
    try:
        files = disk_b.ext4(part)
    except BadDeliverable:  # nobody can mount what cannot be opened
        return
    found = [each.path for each in files.walk("/") if each.kind != "directory"]
    assert not found, f"slot b of unit-b.img holds {len(found)} files: {found[:3]} [R9]"


# ---- boots-b --------------------------------------------------------------------------------


@milestone("boots-b", weight=2, requires=["image-b"], proves=["R10"], title="Board B starts")
def test_board_b_starts(rev_b, metric):
    rev_b.start(START_SECONDS)
    metric("boot_seconds_b", rev_b.machine.elapsed)


@check("boots-b", proves=["R10"])
def test_a_new_unit_says_what_it_is(rev_b):
    due = {"slot": "a", "version": str(RECALL), "state": "confirmed", "try": "0",
           "other": "none", "other_version": "-", "floor": str(RECALL)}  # fmt: skip
    same(rev_b.status(), due, "update status of a new unit with board B [R10]")


@check("boots-b", proves=["R10"])
def test_it_never_trusted_the_old_key(rev_b, media):
    refuses_the_old_key(rev_b, media)


@check("boots-b", proves=["R11"])
def test_what_is_mounted_where_on_board_b(rev_b, media):
    same(rev_b.say("head -n 1 /media/word"), media.word, "the second disk's word [R11]")
    rows = [line.split() for line in rev_b.say("cat /proc/mounts").splitlines()]
    mounts = {row[1]: (row[2], row[3].split(",")) for row in rows if len(row) > 3}
    for place, kinds, option in (("/", ["ext4"], "ro"), ("/data", ["ext4"], "rw"),
                                 ("/media", ["ext2", "ext3", "ext4"], "ro")):  # fmt: skip
        kind, options = mounts.get(place, ("nothing", []))
        assert kind in kinds and option in options, (
            f"{place} is {kind} {options}; {kinds} and {option} are due [R11]"
        )


@check("boots-b", proves=["R11"])
def test_board_b_keeps_records(rev_b):
    rev_b.configure(f"mast-{secrets.token_hex(4)}")
    for _ in range(2):
        rev_b.add(secrets.token_hex(8))
    rev_b.cut(START_SECONDS)
    rev_b.keeps()


# ---- field ----------------------------------------------------------------------------------


@milestone("field", weight=2, requires=["bundle"], proves=["R3"], title="A unit in the field")
def test_a_unit_in_slot_a_comes_to_the_release(unit):
    assert unit.status()["slot"] == "b"


@check("field", proves=["R3"])
def test_the_field_unit_starts_in_time(unit, metric):
    unit.cut(START_SECONDS)
    metric("boot_seconds_a", unit.machine.elapsed)


# ---- recalled -------------------------------------------------------------------------------


@milestone(
    "recalled", weight=2, requires=["field"], proves=["R5"], title="The old key is worth nothing"
)
def test_the_old_key_is_refused(unit, media):
    unit.up()
    refuses_the_old_key(unit, media)


@check("recalled", proves=["R5", "R8"])
def test_what_the_new_key_signs_is_read(unit, media):
    before = unit.status()
    found = {what: unit.install(media.path(what)) for what in REFUSED}
    same(found, REFUSED, "status for bundles by the new key that are none to take [R8]")
    same(unit.status(), before, "a refusal changes nothing")


# ---- no-way-back ----------------------------------------------------------------------------


@milestone("no-way-back", weight=2, requires=["field"], proves=["R6"], title="No way back")
def test_there_is_no_way_back(unit, media):
    unit.up()
    no_way_back(unit)
    is_recalled(unit, media, "b")
    unit.whole(unit.status())


@check("no-way-back", proves=["R6"])
def test_the_other_slot_is_left_alone(unit, field, layout, old):
    disk = unit.machine.flatten()
    found = layout.slot(disk, "a")
    disk.unlink()
    same(found, old.release1.digest, "the old version's slot after the recall [R6]")


@check("no-way-back", proves=["R7"])
def test_a_crash_changes_nothing(unit, media):
    unit.up()
    boots = unit.machine.boots
    unit.machine.shell.leave("echo c >/proc/sysrq-trigger")
    unit.enter(TRIAL_SECONDS)
    assert unit.machine.boots > boots, "a crash did not restart it [R7]"
    is_recalled(unit, media, "b")
    refuses_the_old_key(unit, media)


# ---- histories ------------------------------------------------------------------------------


@milestone(
    "histories", weight=3, requires=["recalled", "no-way-back"], proves=["R3"], title="The fleet"
)
@pytest.mark.parametrize("history", ["gone-back", "mid-trial"])
def test_a_history(make, field, media, history):
    one = updated(make, history, field.result(history), media)
    try:
        is_recalled(one, media, one.status()["slot"])
        one.whole(one.status())
        refuses_the_old_key(one, media)
        no_way_back(one)
    finally:
        one.machine.close()


@check("histories", proves=["R3"])
def test_a_unit_in_which_another_version_waits(make, field, media):
    one = make("waiting", field.result("slot-a"))
    try:
        one.start(TRIAL_SECONDS)
        one.installs(media.path("low"))
        one.installs(media.path("recall"))
        one.restart(TRIAL_SECONDS)
        is_recalled(one, media, "b")
    finally:
        one.machine.close()


# ---- next -----------------------------------------------------------------------------------


@milestone("next", weight=2, requires=["recalled"], proves=["R8"], title="The next release")
def test_the_next_release(unit, media):
    unit.up()
    before = unit.status()
    unit.installs(media.path("next"))
    waits = before | {"other": "ready", "other_version": str(media.releases["next"].version)}
    same(unit.status(), waits, "status before the next release is tried [R8]")
    unit.restart(TRIAL_SECONDS)
    number = str(media.releases["next"].version)
    due = {"slot": "a", "version": number, "state": "confirmed", "try": "0", "other": "good",
           "other_version": str(RECALL), "floor": number}  # fmt: skip
    same(unit.runs(media.releases["next"]), due, "status after the next release [R8]")
    same(unit.say(f"cat {media.place}/media"), media.word, "/media during its trial [R8]")
    [told] = unit.statuses(f"cat {media.place}/status")
    assert told["try"] in ("1", "2", "3"), f"try of a version on trial: {told} [R8]"
    same(told, in_trial(int(number), int(told["try"]), before), "status during its trial [R8]")
    refused = unit.say(f"cat {media.place}/refused").split()
    same(refused, ["15", "15"], "install and rollback of a version on trial [R8]")
    unit.whole(unit.status())
    unit.keeps()


@check("next", proves=["R5", "R7"])
def test_the_next_release_refuses_the_old_key(unit, media):
    refuses_the_old_key(unit, media)


@check("next", proves=["R5", "R7", "R8"])
def test_one_that_is_rolled_back_does(unit, media):
    unit.say("update rollback")
    unit.restart()
    status = unit.runs(media.releases["recall"])
    same((status["other"], status["floor"]), ("good", str(media.releases["next"].version)),
         "status after going back [R8]")  # fmt: skip
    refuses_the_old_key(unit, media)


# ---- falls-back -----------------------------------------------------------------------------


@milestone("falls-back", weight=2, requires=["next"], proves=["R7", "R8"], title="Fall-back")
def test_a_sick_release_is_given_up(unit, media):
    unit.up()
    runs = unit.releases[int(unit.status()["version"])]

    def given_up():
        unit.say(f"rm -f {media.place}/tries")
        unit.installs(media.path("sick"))
        unit.restart(GIVEN_UP_SECONDS)
        unit.runs(runs)
        same(unit.say(f"cat {media.place}/tries"), "3", "tries of an unhealthy version [R8]")

    unit.unspoilt(given_up)
    status = unit.status()
    found = (status["other"], status["other_version"])
    same(found, ("failed", str(media.releases["sick"].version)), "status after three tries [R8]")
    unit.keeps()


@check("falls-back", proves=["R5", "R7"])
def test_after_falling_back_the_old_key_is_refused(unit, media):
    refuses_the_old_key(unit, media)
    no_way_back(unit)


# ---- data-lost ------------------------------------------------------------------------------


@milestone("data-lost", weight=1, requires=["next"], proves=["R7"], title="Without its data")
def test_the_recall_is_not_data(lost, media):
    unit, before = lost
    unit.start(TRIAL_SECONDS)
    same(unit.status(), before, "status after the data were lost [R7]")
    refuses_the_old_key(unit, media)


@check("data-lost", proves=["R7", "R8"])
def test_what_was_made_anew_keeps_records(lost):
    unit, _ = lost
    unit.add(secrets.token_hex(8))
    unit.cut(START_SECONDS)
    unit.keeps()
    unit.machine.close()


# ---- power-cuts -----------------------------------------------------------------------------


@milestone("power-cuts", weight=3, requires=["next"], proves=["R4", "R7"], title="Power cuts")
@pytest.mark.parametrize("part", range(WRITING))
def test_power_is_cut_while_an_old_updater_writes(cuts, part):
    cuts.result(f"writing-{part}")


@check("power-cuts", proves=["R4"])
def test_a_release_that_is_tried_in_vain_leaves_the_unit_as_it_was(cuts):
    cuts.result("in-vain")


@check("power-cuts", proves=["R4", "R6", "R7"])
@pytest.mark.parametrize("part", range(len(FIRST_STARTS)))
def test_power_is_cut_around_the_first_start(cuts, part):
    cuts.result(f"first-{part}")


@check("power-cuts", proves=["R7", "R8"])
@pytest.mark.parametrize("part", range(NEXT))
def test_power_is_cut_while_the_new_updater_writes(cuts, part):
    cuts.result(f"next-{part}")


# ---- bundles-b ------------------------------------------------------------------------------


@milestone(
    "bundles-b",
    weight=2,
    requires=["boots-b", "next"],
    proves=["R8"],
    title="The same bundle on board B",
)
def test_the_same_bundle_on_board_b(rev_b, media):
    rev_b.up()
    rev_b.say(f"mkdir -p {media.place}")
    rev_b.installs(media.path("next"))
    rev_b.restart(TRIAL_SECONDS)
    status = rev_b.runs(media.releases["next"])
    found = (status["slot"], status["other"], status["other_version"])
    same(found, ("b", "good", str(RECALL)), "status of board B after the next release [R8]")
    rev_b.whole(status)
    rev_b.keeps()
    refuses_the_old_key(rev_b, media)


@check("bundles-b", proves=["R8", "R12"])
def test_power_is_cut_while_board_b_writes(rev_b, media):
    rev_b.say(f"update install {media.path('cuts')} >/dev/null 2>&1 &")
    time.sleep(secrets.randbelow(6000) / 1000)
    rev_b.cut()
    runs = rev_b.status()["version"]
    due = [str(media.releases[what].version) for what in ("next", "cuts")]
    assert runs in due, f"after the cut one of {due} is due, and {runs} runs [R12]"
    rev_b.whole(rev_b.status())
    rev_b.keeps()


@check("bundles-b", proves=["R11"])
def test_board_b_lives_without_its_data(rev_b, new_b, layout_b):
    before = rev_b.status()
    rev_b.say("sync")
    rev_b.machine.power_cut()
    disk = rev_b.machine.flatten()
    layout_b.wipe(disk)
    one = new_b("lost-b", disk)
    try:
        one.start(TRIAL_SECONDS)
        same(one.status(), before, "status of board B after its data were lost [R11]")
        one.add(secrets.token_hex(8))
    finally:
        one.machine.close()


# ---- hangs-b --------------------------------------------------------------------------------


@milestone("hangs-b", weight=2, requires=["bundles-b"], proves=["R12"], title="No hang of board B")
def test_a_hanging_release_is_given_up_on_board_b(new_b, media):
    one, word = new_b("hang-b"), media.words["hangs"]
    machine = one.machine
    one.start(START_SECONDS)

    def hangs():
        one.up()
        one.installs(media.path("hangs"))
        one.leave()
        one.await_word(word, TRIAL_SECONDS)
        for _ in range(2):
            machine.power_cut()
            machine.boot()
            one.await_word(word, TRIAL_SECONDS)

    try:
        one.unspoilt(hangs)
        boots, deadline = machine.boots, machine.deadline(HANG_SECONDS)
        while machine.boots == boots and deadline.remaining() > 0:
            time.sleep(0.2)
        assert machine.boots > boots, f"no restart within {HANG_SECONDS} s [R12]"
        one.enter(TRIAL_SECONDS)
        one.runs(media.releases["recall"])
        same(one.status()["other"], "failed", "what hung at three tries [R12]")
        refuses_the_old_key(one, media)
    finally:
        machine.close()
