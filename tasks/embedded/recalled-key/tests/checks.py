"""recalled-key: does the fleet come to the release for good, and does board B live by it too?"""

from __future__ import annotations

import secrets
import time

import pytest
import questions
from bundle import MANIFEST, RECALL, SLOT
from fleet import is_recalled, no_way_back, refuses_the_old_key, updated
from media import REFUSED
from power import FIRST_STARTS, NEXT, WRITING
from unit import START_SECONDS, TEXTS, TRIAL_SECONDS, same

from benchflow.bench.ext4_edit import is_ext4
from benchflow.bench.hidden_secrets import holds, of_ed25519, unpacked
from benchflow.boot import check, milestone
from benchflow.boot.inspect import ed25519
from benchflow.boot.inspect.ext4 import Ext4

HEAD = MANIFEST + 64
#: What a new unit with board B says.
NEW = {"slot": "a", "version": str(RECALL), "state": "confirmed", "try": "0",
       "other": "none", "other_version": "-", "floor": str(RECALL)}  # fmt: skip

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
def test_slot_b_holds_nothing(disk_b, layout_b, old, next_vendor):
    data = disk_b.bytes_at(*layout_b.place("slot-b"))
    for vendor in (old, next_vendor):
        found = vendor.read("/boot/vmlinuz")[1 << 16 :][:64] in data
        assert not found, "slot b of unit-b.img holds a kernel [R9]"
    part = next(part for part in disk_b.partitions() if part.name == "slot-b")
    kind = disk_b.filesystem(part)
    if kind != "ext4":
        assert not kind, f"slot b of unit-b.img holds {kind} [R9]"
        return
    found = [each.path for each in disk_b.ext4(part).walk("/") if each.kind != "directory"]
    assert not found, f"slot b of unit-b.img holds {len(found)} files: {found[:3]} [R9]"


# ---- boots-b --------------------------------------------------------------------------------


@milestone("boots-b", weight=2, requires=["image-b"], proves=["R10"], title="Board B starts")
def test_board_b_starts(rev_b, metric):
    rev_b.start(START_SECONDS)
    metric("boot_seconds_b", rev_b.machine.elapsed)


@check("boots-b", proves=["R10"])
def test_a_new_unit_says_what_it_is(rev_b):
    same(rev_b.status(), NEW, "update status of a new unit with board B [R10]")
    rev_b.keeps()


@check("boots-b", proves=["R10"])
def test_it_never_trusted_the_old_key(rev_b, media):
    refuses_the_old_key(rev_b, media)


@check("boots-b", proves=["R11"])
def test_what_is_mounted_where_on_board_b(rev_b, media):
    questions.what_is_mounted_where(rev_b, media)


@check("boots-b", proves=["R11"])
def test_board_b_lets_in_by_the_password_alone(rev_b):
    rev_b.refuses_other_passwords("[R11]")


@check("boots-b", proves=["R11"])
def test_board_b_keeps_records(rev_b):
    rev_b.configure(f"mast-{secrets.token_hex(4)}")
    for text in secrets.SystemRandom().sample(TEXTS, 2):
        rev_b.add(text)
    rev_b.cut(START_SECONDS)
    rev_b.keeps()


@check("boots-b", proves=["R11"])
def test_a_crash_of_board_b(rev_b):
    rev_b.crashes()


@check("boots-b", proves=["R10", "R11"])
def test_board_b_without_a_second_disk(new_b):
    one = new_b("alone-b", alone=True)
    try:
        one.start(START_SECONDS)
        same(one.status(), NEW, "update status without a second disk [R10]")
    finally:
        one.machine.close()


# ---- field ----------------------------------------------------------------------------------


@milestone("field", weight=2, requires=["bundle"], proves=["R3"], title="A unit in the field")
def test_a_unit_in_slot_a_comes_to_the_release(unit):
    assert unit.status()["slot"] == "b"


@check("field", proves=["R3"])
def test_the_field_unit_starts_in_time(unit, metric):
    unit.cut(START_SECONDS)
    metric("boot_seconds_a", unit.machine.elapsed)


@check("field", proves=["R3"])
def test_the_field_unit_lets_in_by_the_password_alone(unit):
    unit.refuses_other_passwords("[R3]")


@check("field", proves=["R3"])
def test_what_is_mounted_where_in_the_field(unit, media):
    questions.what_is_mounted_where(unit, media)


@check("field", proves=["R3"])
def test_records_of_the_field_unit(unit):
    for text in TEXTS:
        unit.add(text)
    unit.keeps()


@check("field", proves=["R3"])
def test_the_field_unit_without_a_second_disk(make, recalled):
    one = make("alone-a", recalled, alone=True)
    try:
        one.start(START_SECONDS)
        same(one.status()["state"], "confirmed", "its state without a second disk [R3]")
        one.keeps()
    finally:
        one.machine.close()


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
    wrong = {what: (found[what], due) for what, due in REFUSED.items() if found[what] != due}
    assert not wrong, f"status, and what is due, for bundles that are none to take [R8]: {wrong}"
    same(unit.install("/media"), 10, "status for a folder [R8]")
    same(unit.install(f"/media/{secrets.token_hex(4)}"), 10, "status for no file [R8]")
    same(unit.status(), before, "a refusal changes nothing")


# ---- no-way-back ----------------------------------------------------------------------------


@milestone("no-way-back", weight=2, requires=["field"], proves=["R6"], title="No way back")
def test_there_is_no_way_back(unit, media):
    unit.up()
    no_way_back(unit)
    is_recalled(unit, media, "b")
    unit.whole(unit.status())


@check("no-way-back", proves=["R6"])
def test_the_other_slot_is_left_alone(unit, old):
    unit.holds("a", old.release1, "the old version's slot after the recall [R6]")


@check("no-way-back", proves=["R7"])
def test_a_crash_changes_nothing(unit, media):
    unit.up()
    unit.crashes()
    is_recalled(unit, media, "b")
    refuses_the_old_key(unit, media)


# ---- histories ------------------------------------------------------------------------------


@milestone(
    "histories", weight=3, requires=["recalled", "no-way-back"], proves=["R3"], title="The fleet"
)
@pytest.mark.parametrize(("history", "ran"), [("gone-back", "low"), ("mid-trial", "slow")])
def test_a_history(make, field, media, history, ran):
    one = updated(make, history, field.result(history), media)
    try:
        status = one.status()
        is_recalled(one, media, status["slot"])
        one.whole(status)
        other = "b" if status["slot"] == "a" else "a"
        one.holds(other, media.releases[ran], "the old version's slot after the recall [R6]")
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
def test_the_next_release(unit, media, dead_a):
    unit.up()
    before = unit.status()
    questions.installs_beside_another(unit, "next", media)
    waits = before | {"other": "ready", "other_version": str(media.releases["next"].version)}
    same(unit.status(), waits, "status before the next release is tried [R8]")
    questions.a_refusal_leaves(unit, media)
    unit.restart(TRIAL_SECONDS)
    number = str(media.releases["next"].version)
    due = {"slot": "a", "version": number, "state": "confirmed", "try": "0", "other": "good",
           "other_version": str(RECALL), "floor": number}  # fmt: skip
    same(unit.runs(media.releases["next"]), due, "status after the next release [R8]")
    questions.told_on_trial(unit, media, "next", before)
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
    questions.a_refusal_leaves(unit, media)
    refuses_the_old_key(unit, media)


# ---- falls-back -----------------------------------------------------------------------------


@milestone("falls-back", weight=2, requires=["next"], proves=["R7", "R8"], title="Fall-back")
def test_a_sick_release_is_given_up(unit, media):
    unit.up()
    questions.gives_up_a_sick_one(unit, media)
    status = unit.status()
    found = (status["other"], status["other_version"])
    same(found, ("failed", str(media.releases["sick"].version)), "status after three tries [R8]")
    unit.keeps()


@check("falls-back", proves=["R5", "R7"])
def test_after_falling_back_the_old_key_is_refused(unit, media):
    refuses_the_old_key(unit, media)
    no_way_back(unit)
    unit.machine.power_cut()


@check("falls-back", proves=["R8"])
@pytest.mark.parametrize("what", ["dawdles", "hangs", "end"])
def test_one_that_is_not_confirmed_in_time(dead_a, what):
    dead_a.result(what)


# ---- data-lost ------------------------------------------------------------------------------


@milestone("data-lost", weight=1, requires=["next"], proves=["R7"], title="Without its data")
def test_the_recall_is_not_data(lost, media):
    lost.start(TRIAL_SECONDS)
    is_recalled(lost, media, "b")
    no_way_back(lost)
    refuses_the_old_key(lost, media)


@check("data-lost", proves=["R7", "R8"])
def test_what_was_made_anew_keeps_records(lost):
    lost.add(secrets.token_hex(8))
    lost.cut(START_SECONDS)
    lost.keeps()
    lost.machine.close()


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
def test_the_same_bundle_on_board_b(rev_b, media, dead_b):
    """The power goes around its confirmation, too."""
    rev_b.up()
    before = rev_b.status()
    rev_b.say(f"mkdir -p {media.place}; sync")
    rev_b.installs(media.path("next"))
    rev_b.leave()
    rev_b.await_word(media.words["next"], TRIAL_SECONDS)
    time.sleep(secrets.randbelow(1500) / 1000)
    rev_b.cut()
    status = rev_b.runs(media.releases["next"])
    found = (status["slot"], status["other"], status["other_version"])
    same(found, ("b", "good", str(RECALL)), "status of board B after the next release [R8]")
    questions.told_on_trial(rev_b, media, "next", before)
    rev_b.whole(status)
    rev_b.keeps()
    refuses_the_old_key(rev_b, media)


@check("bundles-b", proves=["R8"])
def test_board_b_goes_back_and_forth(rev_b, media):
    for what, other in (("recall", "next"), ("next", "recall")):
        rev_b.say("update rollback")
        rev_b.restart()
        status = rev_b.runs(media.releases[what])
        found, due = (status["other"], status["other_version"]), media.releases[other].version
        same(found, ("good", str(due)), "status of board B after going back [R8]")
    rev_b.keeps()


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
    refuses_the_old_key(rev_b, media)


@check("bundles-b", proves=["R7", "R11"])
def test_board_b_lives_without_its_data(rev_b, new_b, layout_b, media, noise):
    before = rev_b.status()
    rev_b.say("sync")
    rev_b.machine.power_cut()
    disk = rev_b.machine.flatten()
    layout_b.wipe(disk, noise == "b")
    one = new_b("lost-b", disk)
    try:
        one.start(TRIAL_SECONDS)
        same(one.status(), before, "status of board B after its data were lost [R11]")
        one.add(secrets.token_hex(8))
        one.cut(START_SECONDS)
        one.keeps()
        refuses_the_old_key(one, media)
    finally:
        one.machine.close()


# ---- hangs-b --------------------------------------------------------------------------------


@milestone("hangs-b", weight=2, requires=["bundles-b"], proves=["R12"], title="No hang of board B")
def test_a_hanging_release_is_given_up_on_board_b(dead_b):
    dead_b.result("hangs")


@check("hangs-b", proves=["R8", "R12"])
@pytest.mark.parametrize("what", ["garbage", "ends", "end"])
def test_a_dead_release_is_given_up_on_board_b(dead_b, what):
    dead_b.result(what)
