"""locked-down: does it run what is signed, keep what is secret, and open for one key only?"""

from __future__ import annotations

import secrets
import shutil
import time
from pathlib import Path

import at_rest
import pytest
import service_key
from desk import holds_value, keeps_awkward_values, keeps_values, knows_no_other_line
from disk import EFI, without_programs
from luks2 import Volume, same_key
from probes import BEFORE, ENOENT
from rsa import LARGEST
from tampering import KEYS, STRANGE, locked, nothing_starts, refuses_root, unused

from benchflow.boot import check, milestone
from benchflow.boot.inspect import ed25519

# ---- image ----------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R1"], title="The disk and what is on it")
def test_the_disk(layout):
    size = layout.image.size
    assert size <= 160 << 20, f"the order wants at most 160 MiB: the image has {size} bytes"
    data = layout.read("data")
    assert len(data) >= 32 << 20, f"[R1] wants 32 MiB at least: data has {len(data)} bytes"
    assert not data.strip(b"\0"), "[R1] wants every byte of data zero: it is not empty"


@check("image", proves=["R2"])
def test_one_program_on_the_esp(layout):
    files = [entry.path for entry in layout.esp.walk("/") if entry.kind == "file"]
    assert [path.upper() for path in files] == [EFI], f"[R2] wants {EFI} alone on the ESP: {files}"
    for name in (".linux", ".cmdline", ".initrd"):
        layout.program.section(name)


@check("image", proves=["R2"])
def test_room_on_the_esp(copy):
    copy("room").add("/room.bin", secrets.token_bytes(1 << 20)).path.unlink()


# ---- keys -----------------------------------------------------------------------------------


@milestone("keys", weight=2, proves=["R3"], title="Three lists, two keys")
def test_the_lists(certificates):
    sizes = {name: one.modulus.bit_length() for name, one in certificates.items()}
    moduli = {one.modulus for one in certificates.values()}
    assert len(moduli) == 3, "[R3] wants three keys that differ: two of the lists have the same"
    assert all(2048 <= size <= LARGEST for size in sizes.values()), (
        f"[R3] wants RSA keys of at least 2048 bits: {sizes}"
    )


@check("keys", proves=["R3"])
def test_the_private_keys_fit(db_key, certificates, service):
    public = certificates["db"]
    assert db_key.modulus == public.modulus, "[R3] wants db.key to be that of the list db.esl"
    message = secrets.token_bytes(16)
    number = int.from_bytes(db_key.sign(message), "big")
    again = pow(pow(number, public.exponent, public.modulus), db_key.exponent, public.modulus)
    assert again == number, "[R3] wants db.key to be that of the list db.esl: it signs otherwise"
    assert ed25519.verify(ed25519.public(service), message, ed25519.sign(service, message))


@check("keys", proves=["R3"])
def test_the_private_keys_are_not_on_the_disk(delivered, db_key, service):
    at_rest.private_keys_lie_nowhere(delivered, db_key, service)


# ---- verity ---------------------------------------------------------------------------------


@milestone("verity", weight=1, proves=["R4"], title="The hash tree")
def test_the_tree_is_that_of_root(layout, copy):
    tree = copy("tree").tree()
    covered, size = layout.superblock.data_blocks * 4096, layout.places["root"][1]
    assert covered == size, f"[R4] wants all of root covered: {covered} of {size} bytes are"
    assert tree.root_hash == layout.root_hash.lower(), (
        f"[R4] wants the root hash, {tree.root_hash}: roothash= is {layout.root_hash}"
    )
    found = layout.read("root-verity")[4096 : 4096 + len(tree.blocks)]
    assert found == tree.blocks, "[R4] wants the hash tree of root in root-verity: it is another"


@check("verity", proves=["R5"])
def test_a_number_in_root(layout):
    number = layout.number_in_ext()
    assert layout.has_number(number), (
        "[R5] wants a line of 64 hexadecimal digits that stand on root as they are, once: "
        f"/etc/build has {number!r}"
    )


# ---- boots ----------------------------------------------------------------------------------


@milestone("boots", weight=2, proves=["R6"], title="It starts by itself")
def test_it_is_ready_in_time(meter, metric):
    said = meter.starts()
    assert said == "READY", f"[R6] wants UNIT READY within 60 seconds: UNIT {said}"
    metric("boot_seconds", meter.machine.elapsed)


@check("boots", proves=["R6"])
def test_it_says_so_once(meter):
    time.sleep(1)
    said = meter.states()
    assert said == ["READY"], f"[R6] wants the line UNIT READY once and no other state: {said}"


# ---- desk -----------------------------------------------------------------------------------


@milestone("desk", weight=2, requires=["boots"], proves=["R14", "R15"], title="The commands")
def test_id_and_signature(meter):
    meter.settle()
    meter.id = meter.learn_id()
    word = secrets.token_hex(15)
    for nonce in (word + "0a", word.upper() + "0A"):
        assert meter.attests(nonce), "[R14]: not a signature by the meter's key"


@check("desk", proves=["R14"])
def test_values(meter, shared, work):
    shared["before"] = Path(shutil.move(meter.machine.flatten(), work / "before.img"))
    shared["values"] = {secrets.token_hex(6): secrets.token_hex(40) for _ in range(3)}
    keeps_values(meter, shared["values"])


@check("desk", proves=["R14", "R17"])
def test_values_that_a_shell_would_spoil(meter):
    keeps_awkward_values(meter)


@check("desk", proves=["R14", "R17"])
def test_hostile_lines(meter):
    knows_no_other_line(meter)


# ---- service --------------------------------------------------------------------------------


@milestone("service", weight=2, requires=["desk"], proves=["R16"], title="The service key opens")
def test_only_the_right_signature_opens(meter):
    service_key.opens_for_one_signature(meter)


@check("service", proves=["R16"])
def test_a_challenge_is_used_up(meter):
    service_key.uses_challenges_up(meter)


@check("service", proves=["R5", "R16"])
def test_the_shell(meter, layout, shared):
    shell = meter.open()
    said = meter.probe("getuid")
    assert said == 0, f"[R16] wants root, who runs our programs on /mnt: status {said}"
    shared["number at"] = layout.place_of(shell.run("cat /etc/build").stdout.strip().encode())


@check("service", proves=["R16"])
def test_the_shell_has_the_first_process_rights(meter):
    service_key.has_the_first_process_rights(meter)


@check("service", proves=["R11"])
def test_root_is_read_only(meter):
    service_key.cannot_write_to_root(meter)


@check("service", proves=["R2", "R22"])
def test_the_kernel_and_its_command_line_are_the_signed_ones(meter, layout):
    service_key.runs_what_was_signed(meter, layout)


# ---- lockdown -------------------------------------------------------------------------------


@milestone("lockdown", weight=2, requires=["service"], proves=["R19"], title="Locked down")
def test_the_level(meter):
    said = meter.sees("lockdown")
    assert "[confidentiality]" in said, f"[R19] wants the highest level: lockdown is {said!r}"


@check("lockdown", proves=["R19"])
@pytest.mark.parametrize("what", ["kcore", "memory", "port"])
def test_memory_and_ports_cannot_be_read(meter, what):
    said = meter.probe(what)
    assert 0 < said < BEFORE, f"[R19] wants no {what} for root: reading it ended with {said}"


@check("lockdown", proves=["R19"])
@pytest.mark.parametrize("call", ["iopl", "ioperm"])
def test_no_ports(meter, call):
    service_key.refused(meter, call, "R19")


# ---- sealed ---------------------------------------------------------------------------------


@milestone("sealed", weight=2, requires=["service"], proves=["R20"], title="No other kernel code")
@pytest.mark.parametrize("call", ["kexec-load", "kexec-file-load"])
def test_no_other_kernel(meter, call):
    service_key.refused(meter, call, "R20")


@check("sealed", proves=["R20"])
@pytest.mark.parametrize("call", ["init-module", "finit-module"])
def test_no_module(meter, call):
    service_key.refused(meter, call, "R20")


@check("sealed", proves=["R16"])
def test_back_to_the_commands(meter):
    meter.to_commands()
    assert meter.learn_id() == meter.id
    said = meter.ask("exit")
    assert said == "unknown", f"[R16] wants the commands back after `exit`: {said!r}"


# ---- at rest --------------------------------------------------------------------------------


@milestone("at-rest", weight=3, requires=["desk"], proves=["R10"], title="Encrypted at rest")
def test_the_unit_secret_opens_the_volume(meter, layout, shared, own_secret, request):
    meter.to_commands()
    shared["replay"] = meter.signature(meter.challenge())
    # Acknowledged a moment before the power goes.
    shared["last"] = (secrets.token_hex(6), secrets.token_hex(40))
    meter.put(*shared["last"])
    shared["values"].update([shared["last"]])
    kept = request.getfixturevalue("kept")
    shared["volume"], shared["volume key"] = at_rest.opened(layout.read("data", kept), own_secret)


@check("at-rest", proves=["R12"])
def test_nothing_can_be_read(meter, layout, kept, shared, own_secret):
    at_rest.nothing_readable(layout, kept, meter.store.read_bytes(), shared["values"], own_secret)


@check("at-rest", proves=["R12"])
def test_all_that_storing_writes_is_encrypted(layout, kept, shared, unlocked):
    before, after = (layout.read("data", disk) for disk in (shared["before"], kept))
    written = at_rest.encrypted_only(before, after, *unlocked)
    assert written, "[R10] wants what is stored in the volume: nothing was written to it"


@check("at-rest", proves=["R10", "R12"])
def test_the_volume_key_lies_nowhere(delivered, layout, kept, unlocked):
    at_rest.key_lies_nowhere(delivered, layout, kept, unlocked[1])


@check("at-rest", proves=["R11"])
def test_nothing_else_was_written(layout, kept):
    assert layout.same_but_data(kept), "[R11] wants changes in data alone: another place has some"


@check("at-rest", proves=["R10", "R15"])
def test_a_meter_that_was_emptied_is_a_new_one(
    bench, layout, copy, kept, own_secret, meter, shared
):
    disk = copy("emptied", kept).write("data", 0, bytes(layout.places["data"][1]))
    one = bench.meter("emptied", disk.path, own_secret)
    one.ready()
    assert one.id != meter.id, "[R10], [R15] want another id after data was emptied: it is the same"
    said = one.get(shared["last"][0])
    assert said == "none", f"[R10] wants a new meter after data was emptied: {said!r}"
    one.machine.power_cut()
    _, key = at_rest.opened(layout.read("data", one.machine.flatten()), own_secret)
    one.machine.close()
    assert not same_key(key, shared.get("volume key", b"")), (
        "[R10] wants a random volume key: after data was emptied it is the same again"
    )


# ---- keeps ----------------------------------------------------------------------------------


@milestone("keeps", weight=2, requires=["desk"], proves=["R10", "R18"], title="It is kept")
def test_it_starts_again(attacked):
    attacked.machine.boot()
    attacked.machine.expect(r"BdsDxe: starting Boot0000", timeout=60)
    for _ in range(5):
        attacked.machine.send(KEYS)
        time.sleep(0.5)
    said = attacked.says()
    assert said == "READY", f"[R10], [R22] want UNIT READY at the next start: UNIT {said}"
    attacked.settle()
    attacked.id = attacked.learn_id()


@check("keeps", proves=["R18"])
def test_the_values_are_there(attacked, shared):
    for name, value in shared["values"].items():
        holds_value(attacked, name, value)


@check("keeps", proves=["R15"])
def test_it_is_the_same_meter(attacked, meter):
    assert attacked.id == meter.id, "[R15] wants its key kept with its data: the id is another"
    assert attacked.attests(secrets.token_hex(16)), "[R15]: not a signature by the meter's key"


@check("keeps", proves=["R16"])
def test_a_challenge_does_not_outlive_a_start(attacked, meter, shared):
    attacked.refuses(shared["replay"], "since a challenge does not outlive a start")
    again = [attacked.challenge() for _ in range(2)]
    attacked.refuses(shared["replay"], "since it is for a challenge of another start")
    known = sorted(set(again) & set(meter.given))
    assert not known, f"[R16] wants new challenges: after a start it gives {known} again"


# ---- outside --------------------------------------------------------------------------------


@milestone("outside", weight=2, requires=["service"], proves=["R21", "R22"], title="From outside")
def test_sysrq_is_off(attacked):
    attacked.open()
    said = attacked.sees("sysrq", missing=ENOENT).strip()
    assert said in ("", "0"), f"[R21] wants kernel.sysrq to be 0: it is {said}"
    said = attacked.machine.shell.run(f"ls {STRANGE}").status
    assert said, f"[R22] wants strings of the firmware to change nothing: they made {STRANGE}"


@check("outside", proves=["R22"])
def test_the_command_line_is_still_the_signed_one(attacked, layout):
    said, wanted = attacked.sees("cmdline").strip(), layout.command_line.strip()
    assert said == wanted, f"[R22] wants the signed command line, {wanted!r}: {said!r}"


@check("outside", proves=["R11", "R12"])
def test_a_later_start_writes_to_the_volume_alone(attacked, layout, kept, shared):
    after = attacked.machine.flatten()
    assert layout.same_but_data(after, attacked.disk.path), (
        "[R11] wants changes in data alone: a later start wrote to another place"
    )
    if "volume key" in shared:  # where it is not, at-rest has said why
        states = (layout.read("data", disk) for disk in (kept, after))
        at_rest.encrypted_only(*states, shared["volume"], shared["volume key"])


# ---- watched --------------------------------------------------------------------------------


@milestone("watched", weight=2, requires=["service"], proves=["R9"], title="Root is watched")
def test_a_block_that_goes_bad(attacked, number_at):
    attacked.probe("getuid")  # what is on `bench` is there
    # However often it was read in order before.
    attacked.machine.shell.run("cat /etc/build >/dev/null; /mnt/reads-root >/dev/null")
    # The machine's disk lies over this file; the block was never written in the machine.
    bad = secrets.token_hex(32)
    attacked.disk.write("root", number_at, bad.encode())
    mark = attacked.machine.console.end
    # Read as a file, and past all caches, in which a file may be however they are dropped.
    attacked.machine.shell.leave(
        "echo 3 >/proc/sys/vm/drop_caches; cat /etc/build; /mnt/reads-root"
    )
    assert attacked.ends(10), "[R9] wants a restart or the power off: it goes on after a bad block"
    read = attacked.machine.console.since(mark)
    assert bad not in read, "[R9] wants nothing of the bad block for whoever reads: it was shown"
    attacked.machine.close()


# ---- locked ---------------------------------------------------------------------------------


@milestone("locked", weight=2, requires=["boots"], proves=["R12", "R13"], title="It says why")
def test_another_secret(bench, layout, copy, kept):
    locked(bench, layout, copy("other", kept), "other", secrets.token_bytes(32), "key")


@check("locked", proves=["R13"])
def test_no_secret(bench, layout, copy, kept):
    locked(bench, layout, copy("none", kept), "none", None, "secret")


@check("locked", proves=["R13"])
def test_data_without_its_beginning(bench, layout, copy, kept, own_secret):
    # All that is before the volume's sectors; of those, what was stored is left.
    begin = Volume(layout.read("data", kept)).begin
    disk = copy("torn", kept).write("data", 0, bytes(begin))
    locked(bench, layout, disk, "torn", own_secret, "data")


@check("locked", proves=["R10", "R13"])
def test_data_that_are_not_quite_empty(bench, layout, copy, own_secret):
    place = secrets.randbelow(layout.places["data"][1])
    disk = copy("speck").write("data", place, b"\x01")
    locked(bench, layout, disk, "speck", own_secret, "data")


# ---- tampering ------------------------------------------------------------------------------


@milestone("tampering", weight=3, requires=["boots", "keys"], proves=["R7"], title="Tampering")
@pytest.mark.parametrize("section", [".linux", ".cmdline", ".initrd"])
def test_a_changed_byte_of_the_program(bench, layout, copy, own_secret, section):
    place = layout.program.section(section)
    at = place.start + secrets.randbelow(place.size)
    changed = layout.program.patched(at, bytes([layout.program.data[at] ^ 1]))
    disk = copy(section[1:]).add(EFI, changed.data)
    nothing_starts(bench, disk, section[1:], own_secret)


@check("tampering", proves=["R7"])
def test_an_unsigned_program(bench, layout, copy, own_secret):
    disk = copy("unsigned").add(EFI, layout.program.unsigned().data)
    nothing_starts(bench, disk, "unsigned", own_secret)


@check("tampering", proves=["R7"])
def test_a_program_signed_by_another(bench, layout, copy, own_secret, foreign_key):
    disk = copy("foreign").add(EFI, layout.program.signed(foreign_key))
    nothing_starts(bench, disk, "foreign", own_secret)


@check("tampering", proves=["R8"])
def test_a_byte_that_nobody_uses(bench, layout, copy, kept, own_secret):
    disk = copy("unused", kept).flip("root", unused(layout.read("root")))
    refuses_root(bench, layout, disk, "unused", own_secret)


@check("tampering", proves=["R8"])
def test_a_hash(bench, layout, copy, kept, own_secret):
    disk = copy("hash", kept)
    disk.flip("root-verity", 4096 + disk.tree().some_hash())
    refuses_root(bench, layout, disk, "hash", own_secret)


@check("tampering", proves=["R4", "R8"])
def test_a_root_that_fits_its_tree(bench, layout, copy, kept, own_secret, number_at):
    disk = copy("fitting", kept)
    disk.rebuild(number_at, secrets.token_hex(32).encode())
    refuses_root(bench, layout, disk, "fitting", own_secret)


@check("tampering", proves=["R4", "R8"])
def test_a_root_without_programs(bench, layout, copy, kept, own_secret):
    # Nothing of root is run: so what refuses one without programs is not on it.
    disk = copy("hollow", kept)
    disk.rebuild(0, without_programs(layout.read("root")))
    refuses_root(bench, layout, disk, "hollow", own_secret)


# ---- update ---------------------------------------------------------------------------------


@milestone(
    "update", weight=3, requires=["boots", "keys", "verity"], proves=["R23"],
    title="A system of ours",
)  # fmt: skip
def test_our_system_starts(second):
    second.ready()
    assert second.attests(secrets.token_hex(16)), "[R23]: not a signature by the meter's key"


@check("update", proves=["R15"])
def test_another_meter_is_another(second, meter, shared):
    assert second.id != meter.id, "[R15] wants another key in another meter: the ids are the same"
    challenge = second.challenge()
    second.refuses(second.signature(challenge, unit=meter.id), "for another meter's id")
    for name in shared.get("values", {}):
        said = second.get(name)
        assert said == "none", f"[R14] wants '= none' for {name}, which nobody put here: {said!r}"


@check("update", proves=["R5", "R23"])
def test_it_is_our_system_that_runs(second, shared):
    shell = second.open()
    said = shell.run("cat /etc/build").stdout.strip()
    assert said == shared["number"], f"[R23] wants our number, {shared['number']}: {said!r}"
    said, wanted = second.sees("cmdline").split(), f"roothash={shared['root hash']}"
    assert wanted in said, f"[R23] wants our {wanted}: {said}"


@check("update", proves=["R10"])
def test_the_volume_keys_differ(second, layout, kept, own_secret, shared):
    second.machine.power_cut()
    _, one = at_rest.opened(layout.read("data", kept), own_secret)
    after = layout.read("data", second.machine.flatten())
    shared["second volume"], two = at_rest.opened(after, shared["second secret"])
    shared["second key"], shared["second data"] = two, after
    assert not same_key(one, two), "[R10] wants another volume key in each meter: two have the same"
    assert not Volume(after).opened_by(own_secret), (
        "[R10] wants the volume opened by this meter's secret: another's opens it"
    )


@check("update", proves=["R12"])
def test_what_the_key_does_not_encrypt_is_the_same_in_every_meter(shared, layout, unlocked):
    assert "second key" in shared, "[R10]: the second meter's secret did not open its volume"
    second = (shared["second data"], shared["second volume"], shared["second key"])
    at_rest.same_but_for_the_volume((layout.read("data", shared["before"]), *unlocked), second)
