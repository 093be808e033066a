"""spin/installer: a medium that installs as the answers say, and nothing else."""

from __future__ import annotations

import re
import secrets
from dataclasses import replace

import cases
from answers import report_of, strangers_on, word
from bench import INSTALL_SECONDS, START_SECONDS, root_files
from decisions import is_data, refusals, refuses_two
from installed import (
    MOUNTS,
    TARGETS,
    all_new,
    has_zone,
    is_debian,
    laid_out,
    mounted,
    packages_and_order,
    people_and_address,
    reported,
    survey,
)
from kept import grew, is_as_it_was, who_gets_in, whose_files
from lvm import Group

from benchflow.bench.delivered_files import sparse_digest
from benchflow.bench.media_disks import files_on
from benchflow.boot import GuestError, Image, check, milestone

SWAPS = "tail -n +2 /proc/swaps | awk '{print $3}'"


# ---- medium -----------------------------------------------------------------------------------


@milestone("medium", weight=1, proves=["R1"], title="A medium")
def test_it_is_an_iso(deliverable):
    disk = Image(deliverable())
    name = disk.bytes_at(32808, 32).rstrip()
    assert name == b"QUAY_5520", f"the volume is called {name!r}; [R1]: QUAY_5520"
    assert [entry for entry in disk.iso().walk("/") if entry.kind == "file"]


@check("medium", proves=["R1"])
def test_it_is_small_and_can_be_a_stick(deliverable):
    size = deliverable().stat().st_size
    assert size <= 300 << 20, f"it has {size} bytes; [R1]: at most 300 MiB"
    assert Image(deliverable()).has_boot_signature(), "BIOS does not start it from a stick [R1]"


# ---- installed --------------------------------------------------------------------------------


@milestone("installed", weight=2, proves=["R2", "R3"], title="BIOS and a DVD")
def test_it_installs_and_restarts(first):
    seconds = first["alpha"].seconds
    assert seconds <= INSTALL_SECONDS, f"it took {seconds:.0f} s; [R3]: at most 240"


@check("installed", proves=["R3"])
def test_it_says_how_far_it_is(first):
    numbers = [
        int(n) for n in re.findall(r"(?m)^QUAY PROGRESS (\d{1,3})$", first["alpha"].setup_text)
    ]
    assert numbers == sorted(numbers) and numbers[-1:] == [100], f"progress: {numbers} [R3]"
    # Ten while the system is being written, and 100 at the end.
    assert len(set(numbers)) >= 11, f"{len(set(numbers))} different numbers: {numbers} [R3]"


@check("installed", proves=["R10", "R12"])
def test_it_is_a_debian(first):
    is_debian(first["alpha"], first["alpha said"].root)


# ---- layout -----------------------------------------------------------------------------------


@milestone("layout", weight=2, requires=["installed"], proves=["R11"], title="Laid out as told")
def test_what_is_mounted(first):
    said, alpha = first["alpha said"], first["alpha"]
    mounted(alpha.say(said.root, MOUNTS), said)
    used = alpha.say(said.root, SWAPS).split()
    assert len(used) == 1 and abs(int(used[0]) - said.swap * 1024) <= 8, (
        f"swap of {used} KiB is in use; wanted: {said.swap} MiB [R11]"
    )


@check("layout", proves=["R11"])
def test_the_volumes_on_the_disk(first, running):
    tables = {part.table for part in Image(running).partitions()}
    assert tables == {"gpt"}, f"the partition table is {tables}; [R11]: a GPT"
    laid_out(Group(running), first["alpha said"])


@check("layout", proves=["R8", "R11"])
def test_little_is_lost(first, running):
    lost = first["alpha size"] - Group(running).megabytes()
    assert 0 < lost <= 160, f"{lost} MiB lie outside of the group; [R8]: at most 160"


# ---- settings ---------------------------------------------------------------------------------


@milestone("settings", weight=2, requires=["installed"], proves=["R12"], title="It is as told")
def test_names_and_times(first):
    said, alpha = first["alpha said"], first["alpha"]
    name = alpha.say(said.root, "uname -n")
    assert name == said.hostname, f"its host name is {name!r}, not {said.hostname!r} [R12]"
    has_zone(alpha, said)


@check("settings", proves=["R12"])
def test_the_banner(first):
    said, alpha = first["alpha said"], first["alpha"]
    lines = [text.strip() for text in alpha.last_start().splitlines()]
    assert said.banner in lines, f"no line {said.banner!r} [R12], but {lines[-8:]}"


@check("settings", proves=["R10", "R12"])
def test_users_and_the_address(first, lists):
    people_and_address(first, lists)


@check("settings", proves=["R10"])
def test_ssh_takes_keys_only(first):
    said = first["alpha said"]
    for name in ("root", *(user.name for user in said.users), word()):
        offered = first["alpha"].offered(name)
        assert offered == ["publickey"], f"SSH offers {name} {offered}; [R10]: keys only"


@check("settings", proves=["R13", "R14"])
def test_packages_and_the_order(first):
    packages_and_order(first)


# ---- uefi -------------------------------------------------------------------------------------


@milestone("uefi", weight=2, proves=["R1", "R3"], title="UEFI and a stick")
def test_it_installs_from_a_stick(first):
    seconds = first["bravo"].seconds
    assert seconds <= INSTALL_SECONDS, f"it took {seconds:.0f} s; [R3]: at most 240"


@check("uefi", proves=["R10", "R11"])
def test_it_answers_and_is_laid_out(first):
    first.wait("bravo", "bravo told")
    told, said = first["bravo told"].splitlines(), first["bravo said"]
    mounted("\n".join(told[:-2]), said)
    state, name = told[-2:]
    assert state.strip() == "ii", f"a package of the answers, which lie on FAT: {state!r} [R13]"
    assert name == said.hostname


@check("uefi", proves=["R10"])
def test_the_power_button(left):
    deaf = [name for name in ("alpha", "bravo") if not left[f"{name} obeys"]]
    assert not deaf, f"the power button did not switch off {deaf}"


@check("uefi", proves=["R11", "R12"])
def test_its_disk(left):
    disk, said = left["bravo disks"][1], left["bravo said"]
    laid_out(Group(disk), said)
    files = root_files(left, disk, said, "bravo")
    assert not files.problems(), "switched off by its button, its / is not in order [R10]"
    shadow = files.read_text("/etc/shadow").splitlines()
    fields = {row.split(":")[0]: row.split(":")[1] for row in shadow if row.count(":") >= 2}
    assert fields["root"][:1] in ("!", "*"), "root has a password that no answer gives [R12]"
    hashed = fields[said.users[0].name]
    assert hashed == said.users[0].hash, f"a user's password is {hashed!r} in /etc/shadow [R12]"


# ---- spared -----------------------------------------------------------------------------------


@milestone(
    "spared", weight=2, requires=["installed", "uefi"], proves=["R4"], title="Nothing else touched"
)
def test_other_disks(left):
    assert sparse_digest(left["alpha disks"][1]) == left["other digest"], "another disk was written"
    assert sparse_digest(left["bravo disks"][0]) == left["mate digest"], "another disk was written"


@check("spared", proves=["R5"])
def test_the_medium(left, deliverable):
    now = sparse_digest(left["bravo disks"][2])
    assert now == sparse_digest(deliverable()), "the stick was written"


@check("spared", proves=["R5", "R18"])
def test_the_answers_disk(left):
    for name, index in (("alpha", 2), ("bravo", 3)):
        found = files_on(left[f"{name} disks"][index])
        assert not (more := strangers_on(left[f"{name} disks"][index])), f"{name}: {more} [R5]"
        assert found.pop("report.txt", None), f"{name}: there is no report"
        assert found == left[f"{name} said"].files(), f"{name}: more than the report was changed"


@check("spared", proves=["R18"])
def test_the_report(left):
    said = left["alpha said"]
    report = report_of(left["alpha disks"][2])
    assert (report.get("result"), report.get("order"), report.get("disk")) == (
        "installed",
        said.order,
        said.disk,
    )
    assert report.get("machine-id") == left["alpha old id"], "it has another machine-id"
    old = {"note", "reason"} & report.keys()
    assert not old, f"{old} are of an earlier start's report [R18]"


# ---- identity ---------------------------------------------------------------------------------


@milestone(
    "identity",
    weight=2,
    requires=["installed", "uefi"],
    proves=["R16", "R18"],
    title="Each is itself",
)
def test_host_keys_and_machine_ids(left, lists):
    reported(left, lists)


@check("identity", proves=["R16"])
def test_identifiers(left):
    all_new([left[f"{name} disks"][disk] for name, disk in TARGETS.items()])
    shared = survey(left, "alpha").private & survey(left, "bravo").private
    assert not shared, f"two machines share {len(shared)} private keys [R16]"


@check("identity", proves=["R17"])
def test_nothing_of_the_setup_is_left(left):
    found = [f"{name}: {text}" for name in TARGETS for text in survey(left, name).left]
    assert not found, f"{found[:5]} [R12], [R17]"


# ---- refused ----------------------------------------------------------------------------------


@milestone("refused", weight=2, requires=["uefi"], proves=["R6", "R7"], title="Data is refused")
def test_it_says_why_and_switches_off(second):
    pc = second["refused"][0]
    assert pc.reason() == "data", f"the reason is {pc.reason()}; [R6]: data"
    assert pc.seconds <= START_SECONDS, f"off after {pc.seconds:.0f} s; [R7]: within 120"
    assert "QUAY INSTALLED" not in pc.printed()


@check("refused", proves=["R6"])
def test_nothing_was_written(second):
    assert second["refused"][1] == second["charlie digest"], "the disk was written"


@check("refused", proves=["R18"])
def test_the_refusal_is_reported(second):
    report = report_of(second["refused"][2])
    assert (report.get("result"), report.get("reason")) == ("refused", "data"), (
        f"the report: {report}"
    )
    assert report.get("order") == second["charlie said"].order


# ---- power-cut --------------------------------------------------------------------------------


@milestone("power-cut", weight=3, requires=["uefi"], proves=["R19"], title="The power may go")
def test_the_second_start_finishes(second):
    said = second["charlie said"]
    mounted(second["charlie"].say(said.root, MOUNTS), said)
    assert second["charlie"].say(said.root, "uname -n") == said.hostname


@check("power-cut", proves=["R18", "R19"])
def test_the_report_said_begun(second):
    said = second["charlie said"]
    report = report_of(second["charlie cut"][1])
    assert (report.get("result"), report.get("order"), report.get("disk")) == (
        "begun",
        said.order,
        second["charlie serial"],
    )


@check("power-cut", proves=["R4", "R11", "R19"])
def test_it_is_as_if_nothing_had_been(charlie_over):
    bench = charlie_over
    laid_out(Group(bench["charlie disk"]), bench["charlie said"])
    report = report_of(bench["charlie answers"])
    files = root_files(bench, bench["charlie disk"], bench["charlie said"], "charlie")
    assert report.get("result") == "installed"
    assert report.get("machine-id") == files.read_text("/etc/machine-id").strip()
    assert not files.problems(), "the file system is not in order"


@check("power-cut", proves=["R16"])
def test_nothing_of_the_system_before(charlie_over):
    # Alpha's is another machine's, bravo's was on the same disk.
    bench = charlie_over
    disks = [bench[f"{name} disks"][disk] for name, disk in TARGETS.items()]
    all_new([bench["charlie disk"], disks[0]], "charlie and alpha")
    all_new([bench["charlie disk"], disks[1]], "charlie and bravo, whose disk it was")


# ---- kept -------------------------------------------------------------------------------------


@milestone("kept", weight=3, requires=["installed"], proves=["R20", "R23"], title="Kept")
def test_everything_in_it_is_as_it_was(again):
    is_as_it_was(again)


@check("kept", proves=["R22"])
def test_whose_files_they_are(again):
    whose_files(again)


@check("kept", proves=["R12", "R22"])
def test_who_gets_in(again):
    who_gets_in(again)


@check("kept", proves=["R20", "R21"])
def test_it_grew_and_is_the_same_volume(over):
    laid_out(Group(over["again disk"]), over["again said"])
    grew(over)


@check("kept", proves=["R16", "R20"])
def test_everything_else_is_new(over):
    before, after = Group(over["alpha disks"][0]), Group(over["again disk"])
    kept = over["alpha home"].name
    shared = {v.uuid for v in before.volumes.values()} & {v.uuid for v in after.volumes.values()}
    assert shared == {after.volumes[kept].uuid}, "other volumes stayed"
    files = root_files(over, over["again disk"], over["again said"], "again")
    assert files.read_text("/etc/machine-id").strip() != over["alpha old id"], (
        "the machine-id stayed"
    )
    assert not files.exists(f"/etc/{over['proof'][0]}"), "the old system is still there"
    report, old = report_of(over["again answers"]), report_of(over["alpha disks"][2])
    assert report.get("result") == "installed"
    assert report.get("hostkey") != old.get("hostkey"), "the host key stayed"


# ---- answers ----------------------------------------------------------------------------------


@milestone("answers", weight=3, proves=["R8", "R9"], title="Every rule")
def test_right_answers_are_not_refused(desk):
    said = desk.ask(cases.taken(desk.serials))
    wrong = {
        name: found
        for name, found in said.items()
        if found != ("WOULD INSTALL", desk.serials["blank"])
    }
    assert not wrong, f"refused, or for another disk: {wrong} [R8]"


@check("answers", proves=["R7", "R8"])
def test_wrong_values(desk):
    asked = cases.values(desk.serials)
    refusals(desk, {name: (told, ("value",)) for name, told in asked.items()})


@check("answers", proves=["R8"])
def test_contradictions(desk):
    refusals(desk, cases.contradictions(desk.serials))


@check("answers", proves=["R8"])
def test_what_cannot_be_read(desk):
    refusals(desk, cases.unreadable(desk.serials))


@check("answers", proves=["R4", "R5", "R8"])
def test_disks_and_their_room(desk):
    refusals(desk, cases.disks(desk.serials))


@check("answers", proves=["R6", "R8"])
def test_what_is_data(desk):
    is_data(desk, desk.serials["unknown"])
    disk = desk.serials["between"]
    found = desk.ask({"": cases.case(cases.right(desk.serials), disk=disk)})
    assert found == {"": ("WOULD INSTALL", disk)}, (
        f"the first and last 4 MiB hold zeros, what lies between does not: {found} [R6]"
    )


@check("answers", proves=["R7", "R8"])
def test_two_volumes_of_answers(over):
    over.wait("moved", "two answers")
    refuses_two(*over["two answers"])


# ---- claims -----------------------------------------------------------------------------------


@milestone("claims", weight=2, proves=["R19"], title="Whose disk")
def test_unfinished_work_is_its_own(desk):
    said = replace(cases.right(desk.serials), disk=desk.serial("cut"))
    found = desk.ask({"cut": cases.case(said)})
    assert found == {"cut": ("WOULD INSTALL", said.disk)}, (
        f"an unfinished installation, other answers, no consent: {found} [R19]"
    )


@check("claims", proves=["R6"])
def test_a_finished_installation_is_data(desk):
    is_data(desk, desk.serial("finished"))


@check("claims", proves=["R8", "R23"])
def test_what_is_kept_is_data(desk, again):
    asked, wanted = cases.claims(again["again said"], desk.serial("kept"))
    said = desk.ask(asked)
    wrong = {k: f"{said[k]}, not {wanted[k]}" for k in wanted if said[k] != wanted[k]}
    assert not wrong, f"a disk on which a volume was being kept: {wrong} [R8], [R23]"


@check("claims", proves=["R8"])
def test_a_group_of_another_disk(desk, first):
    # A finished installation has a group without doubt; what is half made need not show one.
    assert desk.serial("finished")
    said = replace(cases.right(desk.serials), group=first["bravo said"].group)
    found = desk.ask({"taken": cases.case(said)})
    assert found == {"taken": ("REFUSED", "group-taken")}, f"{found} [R8]"


@check("claims", proves=["R9"])
def test_asking_writes_nothing(desk):
    desk.pc.machine.power_cut()
    changed = []
    for index, name in enumerate(desk.names):
        copy = desk.pc.copy(index)
        if sparse_digest(copy) != sparse_digest(desk.paths[name]):
            changed.append(name)
        copy.unlink()  # nine of them at once are more than the verifier needs to hold
    assert not changed, f"written by asking: {changed} [R9]"


# ---- moved ------------------------------------------------------------------------------------


@milestone("moved", weight=2, requires=["installed"], proves=["R10", "R15"], title="Disks wander")
def test_it_starts_elsewhere(third):
    said, moved = third["again said"], third["moved"]
    assert moved.say(said.root, "ls -d /sys/firmware/efi; ls -d /sys/block/sda").split() == [
        "/sys/firmware/efi",
        "/sys/block/sda",
    ]
    assert moved.say(said.root, "uname -n") == said.hostname


@check("moved", proves=["R15"])
def test_installed_by_uefi_it_starts_by_bios(second):
    assert second["charlie by bios"]


@check("moved", proves=["R11", "R15"])
def test_with_all_that_belongs_to_it(third):
    said = third["again said"]
    mounted(third["moved"].say(said.root, MOUNTS), said)
    used = third["moved"].say(said.root, SWAPS).split()
    assert len(used) == 1 and abs(int(used[0]) - said.swap * 1024) <= 8, f"swap: {used} KiB [R11]"


@check("moved", proves=["R12"])
def test_no_other_password_opens(third):
    plain = next(user for user in third["again said"].users if user.role == "plain")
    third["moved"].say(third["again said"].root, "true")
    try:
        third["moved"].machine.login(plain.name, secrets.token_hex(8), timeout=60)
    except GuestError:
        return
    raise AssertionError(f"{plain.name} gets in with a password drawn by lot [R12]")
