"""The questions that an appliance image has to answer, in ten boots of four units."""

from __future__ import annotations

import re
import secrets
import subprocess
import time

import brand
from boot_entry import entry_of, esp_of, field_of
from logbook import (
    hangs_at_its_start,
    has_no_privileges,
    is_built_from_the_source,
    may_always_start,
    service_pid,
    taken,
)
from models import is_like_the_first, keeps_what_its_first_start_made
from outside import closed_to_all, no_datagram_comes_in, no_door_is_open
from powers import (
    accounts,
    console_is_shut,
    no_other_roots,
    no_passwords,
    only_one_key,
    pam_is_debians,
)
from reset import another_word_resets, is_forgotten, nothing_is_left, obeyed_once
from scripts import BURST, LEFTOVERS, TELLS, TOOLS
from story import (
    DISK_BYTES,
    IDENTITY,
    OTHER_BYTES,
    RESET_SECONDS,
    data_start,
    disk_of_a,
    grown,
    is_itself,
    part_of_a_start,
    second_boot,
    unchanged,
)
from system import cannot_be_written, is_debian, logs_are_bounded, packages_are_listed

from benchflow.bench.delivered_files import found_in
from benchflow.boot import Image, check, milestone

STORED_MB = 192


# ---- image ------------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R1"], title="A UEFI disk image")
def test_disk_has_gpt_esp_and_loader(image):
    disk = image()
    assert {p.table for p in disk.partitions()} == {"gpt"}, "[R1]: it has a GPT"
    _, esp = esp_of(disk)
    # The one place where firmware looks that has never seen the disk (UEFI 2.10, 3.5.1.1).
    assert esp.read("/EFI/BOOT/BOOTX64.EFI")[:2] == b"MZ", "/EFI/BOOT/BOOTX64.EFI is no program"


@check("image", proves=["R1", "R31"])
def test_one_boot_entry_with_one_options_line(image):
    _, entry = entry_of(image())
    _, esp = esp_of(image())
    lines = len(field_of(entry, "options"))
    assert lines == 1, f"{lines} options lines in the boot entry; [R1]: one"
    kernels = field_of(entry, "linux") + field_of(entry, "efi")
    assert len(kernels) == 1, f"the boot entry names {len(kernels)} kernels [R1]"
    for path in kernels + field_of(entry, "initrd"):
        found = esp.exists(path) and esp.stat(path)
        assert found and found.kind == "file" and found.size > 0, (
            f"{path} of the boot entry is not on the EFI system partition [R1]"
        )


@check("image", proves=["R2"])
def test_image_is_within_its_size(deliverable, metric):
    status = deliverable().stat()
    stored = status.st_blocks * 512 / (1 << 20)
    metric("stored_mb", round(stored, 1))
    assert status.st_size <= 512 << 20, f"{status.st_size} bytes; [R2]: at most 512 MiB"
    assert stored <= STORED_MB, f"{stored:.1f} MiB are stored; [R2]: at most {STORED_MB}"


# ---- boots ------------------------------------------------------------------------------------


@milestone("boots", weight=2, proves=["R3", "R5"], title="Boots unattended")
def test_boots_to_a_log_in_with_the_customers_key(unit):
    unit.power_on()
    assert unit.say("id -u") == "0"


@check("boots", proves=["R4"])
def test_is_debian_with_systemd(unit):
    is_debian(unit)


@check("boots", proves=["R4"])
def test_everything_started(unit):
    unit.is_running()


# ---- ssh --------------------------------------------------------------------------------------


@milestone("ssh", weight=2, requires=["boots"], proves=["R5"], title="Keys only")
def test_only_keys_are_offered_to_anybody(unit, story):
    people = ["root", f"{secrets.token_hex(4)}x", *(row[0] for row in accounts(unit))]
    with story.asked("keys"):
        for user in dict.fromkeys(people):
            offered = unit.client.offered(user, 30)
            assert offered == ["publickey"], f"{user} is offered {offered}; [R5]: a public key"


@check("ssh", proves=["R5"])
def test_no_other_key_opens(unit, work):
    key = work / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    assert not unit.client.opens("root", key, 30), "a key that nobody knows lets root in [R5]"
    pub = subprocess.run(
        ["ssh-keygen", "-y", "-f", str(unit.client.key)], check=True, capture_output=True, text=True
    )
    only_one_key(unit, pub.stdout, work)


@check("ssh", proves=["R6"])
def test_no_account_has_a_password(unit):
    no_passwords(unit)
    pam_is_debians(unit)
    console_is_shut(unit)


@check("ssh", proves=["R6"])
def test_nobody_else_has_roots_powers(unit):
    no_other_roots(unit)


# ---- readonly ---------------------------------------------------------------------------------


@milestone("readonly", weight=2, requires=["boots"], proves=["R7"], title="A read-only system")
def test_the_system_cannot_be_written(unit):
    cannot_be_written(unit)


@check("readonly", proves=["R7"])
def test_not_even_after_a_remount(unit, story):
    unit.ssh("mount -o remount,rw / ; mount -o remount,rw /usr; mount -o remount,rw /etc; :")
    with story.asked("readonly"):
        cannot_be_written(unit)


@check("readonly", proves=["R8"])
def test_scratch_places_can_be_written(unit):
    unit.ssh("for d in /tmp /var/tmp /run; do echo x >$d/scratch || exit 1; done")


# ---- data -------------------------------------------------------------------------------------


@milestone(
    "data", weight=1, requires=["boots"], proves=["R9"], title="/data on the rest of the disk"
)
def test_data_is_the_last_partition(unit, story):
    story.data_start = data_start(unit)
    for place in ("/data/", "/data/.", "/data/skerry/", f"/data/{secrets.token_hex(4)}/.deep/"):
        word, name = secrets.token_hex(16), f"owner-{secrets.token_hex(8)}"
        path = f"{place}{name}"
        unit.ssh(
            f"mkdir -p $(dirname {path}); echo {word} >{path} && sync && grep -q {word} {path}"
        )
        story.owners_files.append(name)
        story.private.append(word.encode())


@check("data", proves=["R10"])
def test_data_takes_what_the_disk_has(unit, story, deliverable):
    with story.asked("grown"):
        grown(unit, deliverable().stat().st_size, DISK_BYTES)


# ---- service ----------------------------------------------------------------------------------


@milestone("service", weight=2, requires=["boots"], proves=["R11"], title="The logbook service")
def test_service_signs_with_the_key_on_data(unit, story, nonce):
    key = story.device_key = unit.device_key()
    assert len(key) == 32, (
        f"/data/skerry/device.key has {len(key)} bytes, not the service's 32 [R11]"
    )
    assert unit.signature_is(key, nonce()), "it signs with another key than that on /data [R11]"


@check("service", proves=["R11"])
def test_service_keeps_records(unit, story, nonce):
    records = {f"first.{i}": nonce() for i in range(5)}
    for key, value in records.items():
        assert unit.ask(f"PUT {key} {value}")[0].startswith("OK ")
    assert unit.ask(*[f"GET {key}" for key in records]) == [f"VALUE {v}" for v in records.values()]
    for value in records.values():
        unit.ssh(f"grep -q {value} /data/skerry/logbook")
    story.records.update(records)


@check("service", proves=["R3"])
def test_service_answered_in_time(unit, metric):
    assert unit.service_in_time(), "no answer within 90 s of the first power-on [R3]"
    metric("boot_seconds", round(unit.service_seconds, 1))


@check("service", proves=["R11"])
def test_service_is_built_from_the_source(unit):
    is_built_from_the_source(unit)


@check("service", proves=["R12"])
def test_service_has_no_privileges(unit, story):
    with story.asked("privileges"):
        has_no_privileges(unit)


# ---- firewall ---------------------------------------------------------------------------------


@milestone("firewall", weight=2, requires=["boots"], proves=["R13"], title="Two open ports")
def test_nothing_else_can_be_reached(unit, story, neighbour):
    with story.asked("closed"):
        closed_to_all(unit, neighbour, story.closed_ports)


@check("firewall", proves=["R13"])
def test_no_datagram_comes_in(unit, neighbour):
    no_datagram_comes_in(unit, neighbour)


@check("firewall", proves=["R13"])
def test_no_single_port_was_left_open(unit, neighbour):
    no_door_is_open(unit, neighbour)


@check("firewall", proves=["R13"])
def test_both_open_ports_stay_open(unit, nonce):
    unit.answers(20)
    assert unit.ssh("true").status == 0


# ---- supervision ------------------------------------------------------------------------------

BACK_SECONDS, HUNG_SECONDS = 10, 60  # [R14], [R15]
DEATHS = ["KILL", "SEGV", "ABRT", "TERM", "INT", "HUP"]


@milestone("supervision", weight=1, requires=["service"], proves=["R14"], title="Crash and hang")
def test_service_comes_back_however_often_it_dies(unit, nonce):
    for signal in secrets.SystemRandom().sample(DEATHS, len(DEATHS)):
        pid = service_pid(unit)
        unit.ssh(f"kill -{signal} {pid}; while kill -0 {pid} 2>/dev/null; do sleep 0.1; done")
        unit.answers(BACK_SECONDS)
    unit.ssh(BURST.format(pid=service_pid(unit)), seconds=240)
    unit.answers(BACK_SECONDS)
    may_always_start(unit)
    assert unit.signature_is(unit.device_key(), nonce())


@check("supervision", proves=["R15"])
def test_a_hung_service_is_replaced(unit):
    pid = service_pid(unit)
    told = unit.say(TELLS.format(pid=pid))
    assert told == "2", "the service has nobody to tell that it is alive [R15]"
    unit.ssh(f"kill -STOP {pid}")
    unit.answers(HUNG_SECONDS)
    assert service_pid(unit) != pid, "the same process answers again: it was not replaced [R15]"
    hangs_at_its_start(unit)
    unit.answers(HUNG_SECONDS)


# ---- brand ------------------------------------------------------------------------------------


@milestone("brand", weight=1, requires=["boots"], proves=["R16"], title="The customer's name")
def test_os_release(unit):
    brand.names_the_product(unit)


@check("brand", proves=["R17"])
def test_hostname_follows_from_the_machine_id(unit, story):
    with story.asked("name"):
        brand.hostname_follows(unit)


@check("brand", proves=["R18"])
def test_greetings(unit):
    brand.greets(unit)


# ---- lean -------------------------------------------------------------------------------------


@milestone("lean", weight=1, requires=["boots"], proves=["R19"], title="Nothing left over")
def test_no_tools_to_build_or_fetch_with(unit):
    said = unit.say(TOOLS, seconds=120)
    assert said == "", f"{said[:500]} [R19]"


@check("lean", proves=["R20"])
def test_no_caches_sources_or_manuals(unit):
    said = unit.say(LEFTOVERS, seconds=240)
    assert said == "", f"{said[:500]} [R20]"


@check("lean", proves=["R21"])
def test_packages_can_be_listed_and_keep_their_licences(unit):
    packages_are_listed(unit)


# ---- logs -------------------------------------------------------------------------------------


@milestone("logs", weight=2, requires=["boots"], proves=["R22"], title="Logs kept and bounded")
def test_logs_stay_within_their_budget(unit, story):
    story.log_word = f"word-{secrets.token_hex(8)}"
    logs_are_bounded(unit, story.log_word)


@check("logs", proves=["R23"])
def test_previous_boots_log_can_be_read(unit, story):
    second_boot(unit, story)
    text = unit.say("journalctl -b -1 -t question -o cat 2>&1; :", seconds=120)
    assert story.log_word in text, f"the previous start's log lacks its last word [R23]: {text!r}"


# ---- identity ---------------------------------------------------------------------------------


@milestone("identity", weight=2, requires=["boots"], proves=["R24"], title="Stays who it is")
def test_identity_survives_a_restart(unit, story):
    second_boot(unit, story)
    assert re.fullmatch("[0-9a-f]{32}", story.machine_id), f"machine-id {story.machine_id!r} [R24]"
    is_itself(unit, story)
    assert unit.service_in_time(), "no answer within 90 s of a restart with a full /data [R25]"


@check("identity", proves=["R4", "R25"])
def test_full_disk_does_no_harm(unit, story, nonce):
    keys = list(story.records)
    said = unit.ask(*[f"GET {k}" for k in keys])
    count = re.fullmatch(r"COUNT (\d+)", unit.ask("COUNT")[0])
    assert count and int(count[1]) >= len(keys), "it does not count with a full /data [R25]"
    assert said == [f"VALUE {v}" for v in story.records.values()], "reading fails [R25]"
    assert unit.signature_is(story.device_key, nonce()), "no signature with a full /data [R25]"
    unit.is_running()
    unit.ssh("rm /data/filler*; sync")
    key, value = f"later.{secrets.token_hex(4)}", nonce()
    unit.until(lambda: taken(unit, key, value), 30, "record that is taken, with room again [R25]")
    story.records[key] = value


# ---- power-cut --------------------------------------------------------------------------------


@milestone(
    "power-cut", weight=3, requires=["service"], proves=["R26"], title="Survives a power cut"
)
def test_acknowledged_records_survive(unit, story, metric):
    second_boot(unit, story)
    unit.ssh("rm -f /data/filler*; sync")
    kept = unit.put_many("cut", 4.0, least=5)
    unit.power_cut()
    assert len(kept) >= 5, f"{len(kept)} records were acknowledged"
    metric("records_before_cut", len(kept))
    story.records.update(kept)
    unit.power_on()
    assert unit.service_in_time(), "no answer within 90 s of a power cut [R27]"
    got = unit.ask(*[f"GET {key}" for key in story.records], seconds=60)
    lost = sum(a != f"VALUE {b}" for a, b in zip(got, story.records.values(), strict=True))
    assert not lost, f"{lost} of {len(got)} acknowledged records are lost [R26]"


@check("power-cut", proves=["R4", "R24", "R27"])
def test_unit_is_whole_again(unit, story):
    unit.is_running()
    is_itself(unit, story)


@check("power-cut", proves=["R28"])
def test_all_but_data_is_as_delivered(unit, story, image):
    after = Image(disk_of_a(unit, story))
    unchanged(image(), after, story)
    last = max(after.partitions(), key=lambda p: p.start)
    assert last.start == story.data_start, "another partition than /data's is the last one [R9]"
    end = last.start + last.size
    assert end > 0.98 * DISK_BYTES, f"/data ends at {end} of {DISK_BYTES} bytes [R10]"


# ---- two machines -----------------------------------------------------------------------------


@milestone(
    "two-machines",
    weight=2,
    requires=["boots"],
    proves=["R29", "R30"],
    title="The other model, and a first boot that was cut short",
)
def test_other_model_boots_after_a_cut_first_boot(other, unit, nonce):
    other.machine.boot()
    time.sleep(part_of_a_start(unit, 0.4 + 0.04 * secrets.randbelow(10)))
    other.power_cut()
    other.power_on()
    assert other.service_in_time(), "no answer within 90 s after a first start cut short [R30]"
    keeps_what_its_first_start_made(other, nonce)
    other.is_running()


@check("two-machines", proves=["R29"])
def test_service_works_on_the_other_model(other, nonce):
    assert other.signature_is(other.device_key(), nonce())


@check("two-machines", proves=["R5", "R7", "R10", "R12", "R13", "R17", "R29"])
def test_the_other_model_is_like_the_first(other, story, deliverable):
    is_like_the_first(other, story, deliverable().stat().st_size, OTHER_BYTES)


@check("two-machines", proves=["R24"])
def test_no_two_units_share_an_identity(other, unit, story):
    mine = story.machine_id or unit.say(IDENTITY)
    assert other.say(IDENTITY) not in ("", mine), "two units have one machine-id [R24]"
    before = story.host_keys or unit.host_keys()
    shared = set(other.host_keys().values()) & set(before.values())
    assert not shared, f"two units share {len(shared)} of their host keys [R24]"
    assert other.device_key() != (story.device_key or unit.device_key()), "one device key [R24]"


@check("two-machines", proves=["R28"])
def test_the_other_models_disk_is_as_delivered(other, story, image):
    other.power_cut()
    unchanged(image(), Image(other.machine.flatten()), story)


# ---- factory reset ----------------------------------------------------------------------------


@milestone(
    "factory-reset",
    weight=3,
    requires=["service"],
    proves=["R31", "R33", "R34"],
    title="Like new by a word on the kernel's command line",
)
def test_a_reset_that_lost_power_completes(returned, unit, used, story, nonce):
    marks = [story.device_key, next(iter(story.records.values()), "").encode()]
    assert all(marks) and found_in(used, marks) == set(marks), (
        "the used disk does not show what is stored in /data; [R9]: it lies there in clear"
    )
    returned.machine.boot()
    time.sleep(part_of_a_start(unit, 0.3 + 0.04 * secrets.randbelow(10)))
    returned.power_cut()
    returned.machine.boot()
    returned.came_up(RESET_SECONDS)
    assert returned.service_in_time(), "no answer within 240 s of the reset [R31], [R34]"
    is_forgotten(returned, story)
    obeyed_once(returned, nonce)


@check("factory-reset", proves=["R31"])
def test_a_reset_unit_is_a_new_unit(returned, story, nonce):
    returned.is_running()
    assert returned.say(IDENTITY) not in ("", story.machine_id), "the old machine-id [R31]"
    old = set(returned.host_keys().values()) & set(story.host_keys.values())
    assert not old, f"{len(old)} old host keys [R31]"
    key = returned.device_key()
    assert key != story.device_key, "the old device key [R31]"
    assert returned.signature_is(key, nonce())


@check("factory-reset", proves=["R32"])
def test_nothing_of_the_owner_is_left_on_the_disk(returned, story):
    nothing_is_left(returned, story)


@check("factory-reset", proves=["R28", "R33"])
def test_another_word_resets_again(machines, returned, story, work, nonce):
    another_word_resets(machines, returned, story, work, nonce)
