"""locked-down: does it run what is signed, keep what is secret, and open for one key only?"""

from __future__ import annotations

import secrets
import time

import pytest
from disk import EFI, luks
from probes import ENOSYS, EPERM
from tampering import ATTACK_FILES, ATTACK_QEMU, LOAD_OPTIONS, nothing_starts, refuses_root, unused

from benchflow.boot import Initramfs, check, ed25519, milestone

HOSTILE = ("", "; sh", "$(reboot)", "`id`; id", "*", "id id", "get ../../etc/build", "put A b",
           "attest 00", "open", "\x03", "\x04", "\x1a", "\x1c", "\x13", "\x16", "\x1b[A",
           "x" * 1000)  # fmt: skip
AWKWARD = (
    "$(cat /etc/build) `id` ${HOME}",
    "-n -e \\n\\t\\0",
    "'\"; exit #",
    "a  b   *  %s %d",
    "~" * 200,
)


# ---- image ----------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R1"], title="The disk and what is on it")
def test_the_disk(layout):
    assert layout.image.size <= 160 << 20, f"the image has {layout.image.size} bytes"
    data = layout.read("data")
    assert len(data) >= 32 << 20, f"data has {len(data)} bytes"
    assert not data.strip(b"\0"), "data is not empty"


@check("image", proves=["R2"])
def test_one_program_on_the_esp(layout):
    files = [entry.path for entry in layout.esp.walk("/") if entry.kind == "file"]
    assert [path.upper() for path in files] == [EFI], f"files on the ESP: {files}"
    for name in (".linux", ".cmdline", ".initrd"):
        layout.program.section(name)
    assert layout.program.content(".linux")[0x202:0x206] == b"HdrS", ".linux is no x86 kernel"


# ---- keys -----------------------------------------------------------------------------------


@milestone("keys", weight=1, requires=["image"], proves=["R3"], title="Three lists, two keys")
def test_the_lists(certificates):
    moduli = {certificate.modulus for certificate in certificates.values()}
    assert len(moduli) == 3, "the three keys do not differ"
    assert all(2048 <= modulus.bit_length() <= 4096 for modulus in moduli)


@check("keys", proves=["R3"])
def test_the_private_keys_fit(db_key, certificates, service):
    assert db_key.modulus == certificates["db"].modulus, "db.key is not the key of db.esl"
    message = secrets.token_bytes(16)
    number = int.from_bytes(db_key.sign(message), "big")
    assert pow(pow(number, 65537, db_key.modulus), db_key.exponent, db_key.modulus) == number
    assert ed25519.verify(ed25519.public(service), message, ed25519.sign(service, message))


@check("keys", proves=["R3"])
def test_the_private_keys_are_not_on_the_disk(layout, db_key, service, deliverable):
    places = [layout.image.path.read_bytes()]
    places += [data for _, data in Initramfs(layout.program.content(".initrd")).contents("/")]
    private = [prime.to_bytes((prime.bit_length() + 7) // 8, "big") for prime in db_key.primes]
    text = [deliverable(f"/app/out/{name}.key").read_bytes().split() for name in ("db", "service")]
    lines = [line for words in text for line in words if len(line) > 40]
    secret = [*private, service, service.hex().encode(), *lines]
    assert not any(part in place for part in secret for place in places), "a private key is there"


# ---- verity ---------------------------------------------------------------------------------


@milestone("verity", weight=1, requires=["keys"], proves=["R4"], title="The hash tree")
def test_the_tree_is_that_of_root(layout, copy):
    tree = copy("tree").tree()
    assert layout.superblock.data_blocks * 4096 == layout.places["root"][1], "not all is covered"
    assert tree.root_hash == layout.root_hash, "roothash= is not the root hash"
    found = layout.read("root-verity")[4096 : 4096 + len(tree.blocks)]
    assert found == tree.blocks, "root-verity is not the tree of root"


@check("verity", proves=["R5"])
def test_the_number_in_root(number_at):
    assert number_at > 0


# ---- boots ----------------------------------------------------------------------------------


@milestone("boots", weight=2, requires=["verity"], proves=["R6"], title="It starts by itself")
def test_it_is_ready_in_time(meter, metric):
    assert meter.starts() == "READY"
    metric("boot_seconds", meter.machine.elapsed)


@check("boots", proves=["R6"])
def test_it_says_so_once(meter):
    time.sleep(1)
    assert meter.machine.console.since(0).count("UNIT ") == 1


# ---- desk -----------------------------------------------------------------------------------


@milestone("desk", weight=2, requires=["boots"], proves=["R14", "R15"], title="The commands")
def test_id_and_signature(meter):
    meter.settle()
    meter.id = meter.learn_id()
    for _ in range(2):
        assert meter.attests(secrets.token_hex(16)), "not a signature by the meter's key"


@check("desk", proves=["R14"])
def test_values(meter, shared):
    shared["values"] = {secrets.token_hex(6): secrets.token_hex(40) for _ in range(3)}
    for name, value in shared["values"].items():
        assert meter.get(name) == "none"
        meter.put(name, value)
    name = next(iter(shared["values"]))
    shared["values"][name] = secrets.token_hex(20)
    meter.put(name, shared["values"][name])
    for name, value in shared["values"].items():
        assert meter.get(name) == f"value {value}"


@check("desk", proves=["R14", "R17"])
def test_values_that_a_shell_would_spoil(meter):
    for value in AWKWARD:
        name = "awkward-" + secrets.token_hex(4)
        meter.put(name, value)
        assert meter.get(name) == f"value {value}"


@check("desk", proves=["R17"])
def test_hostile_lines(meter):
    for line in HOSTILE:
        said = meter.ask(line)
        assert said in ("unknown", "refused" if line == "open" else "unknown"), (
            f"{line!r}: {said!r}"
        )
    assert meter.learn_id() == meter.id


# ---- service --------------------------------------------------------------------------------


@milestone("service", weight=2, requires=["desk"], proves=["R16"], title="The service key opens")
def test_only_the_right_signature_opens(meter):
    assert meter.ask("open " + "0" * 128) == "refused", "without a challenge"
    somebody = secrets.token_bytes(32)
    for wrong in (
        lambda given: secrets.token_hex(64),
        lambda given: ed25519.sign(somebody, f"vakt-open:{meter.id}:{given}".encode()).hex(),
        lambda given: meter.signature(given, unit=secrets.token_hex(32)),
        lambda given: meter.signature(secrets.token_hex(16)),
    ):
        assert meter.ask("open " + wrong(meter.challenge())) == "refused"


@check("service", proves=["R16"])
def test_a_challenge_is_used_up(meter):
    older, newer = meter.challenge(), meter.challenge()
    assert older != newer, "the challenge is always the same"
    assert meter.ask("open " + meter.signature(older)) == "refused", "not the newest challenge"
    assert meter.ask("open " + meter.signature(newer)) == "refused", "used up by an attempt"


@check("service", proves=["R16"])
def test_the_shell(meter, layout, number_at):
    shell = meter.open()
    assert shell.run("id -u").stdout.strip() == "0"
    number = layout.read("root")[number_at : number_at + 64].decode()
    assert shell.run("cat /etc/build").stdout.strip() == number
    assert meter.probe("getuid") == 0, "our programs do not run"


@check("service", proves=["R11"])
def test_root_is_read_only(meter):
    shell = meter.machine.shell
    mounts = [line.split() for line in shell.run("cat /proc/mounts").stdout.splitlines()]
    root = [
        mount for mount in mounts if len(mount) > 3 and mount[1] == "/" and mount[0] != "rootfs"
    ]
    assert root and "ro" in root[-1][3].split(","), f"mounts: {mounts}"
    assert shell.run("mount -o remount,rw / && touch /etc/written").status != 0


@check("service", proves=["R2", "R22"])
def test_the_command_line_is_the_signed_one(meter, layout):
    said = meter.machine.shell.run("cat /proc/cmdline").stdout.strip()
    assert said == layout.command_line.strip()


# ---- lockdown -------------------------------------------------------------------------------


@milestone("lockdown", weight=2, requires=["service"], proves=["R19"], title="Locked down")
def test_the_level(meter):
    shell = meter.machine.shell
    shell.run("[ -e /sys/kernel/security/lockdown ] || mount -t securityfs s /sys/kernel/security")
    said = shell.run("cat /sys/kernel/security/lockdown").stdout
    assert "[confidentiality]" in said, f"lockdown: {said!r}"


@check("lockdown", proves=["R19"])
def test_kernel_memory_cannot_be_read(meter):
    said = meter.machine.shell.run("head -c 64 /proc/kcore 2>/dev/null | wc -c").stdout.strip()
    assert said == "0", f"{said} bytes of /proc/kcore were read"


@check("lockdown", proves=["R19"])
def test_raw_memory_and_ports_cannot_be_had(meter):
    read = "mknod $d/raw c 1 1; head -c 16 $d/raw; rm -f $d/raw"
    read = f"for d in /tmp /run /dev; do {read}; done"
    said = meter.machine.shell.run(f"{{ {read}; }} 2>/dev/null | wc -c").stdout.strip()
    assert said == "0", f"{said} bytes of raw memory were read"
    assert meter.probe("iopl") in (EPERM, ENOSYS), "root gets I/O ports"


# ---- sealed ---------------------------------------------------------------------------------


@milestone("sealed", weight=2, requires=["lockdown"], proves=["R20"], title="No other kernel code")
@pytest.mark.parametrize("call", ["kexec-load", "kexec-file-load"])
def test_no_other_kernel(meter, call):
    assert meter.probe(call) in (EPERM, ENOSYS), f"{call} was not refused"


@check("sealed", proves=["R20"])
@pytest.mark.parametrize("call", ["init-module", "finit-module"])
def test_no_module(meter, call):
    assert meter.probe(call) in (EPERM, ENOSYS), f"{call} was not refused"


@check("sealed", proves=["R16"])
def test_back_to_the_commands(meter):
    meter.leave()
    assert meter.learn_id() == meter.id
    assert meter.ask("exit") == "unknown"


# ---- at rest --------------------------------------------------------------------------------


@milestone("at-rest", weight=3, requires=["sealed"], proves=["R10"], title="Encrypted at rest")
def test_an_encrypted_volume(meter, layout, shared):
    # Acknowledged a moment before the power goes.
    shared["last"] = (secrets.token_hex(6), secrets.token_hex(40))
    meter.put(*shared["last"])
    shared["values"].update([shared["last"]])
    shared["replay"] = meter.signature(meter.challenge())


@check("at-rest", proves=["R10"])
def test_luks2(layout, kept):
    data = layout.read("data", kept)
    begin, cipher = luks(data)
    assert cipher.startswith("aes-"), f"it is encrypted by {cipher!r}"
    assert 0 < begin < len(data) and data[begin:].strip(b"\0"), "nothing is stored in it"


@check("at-rest", proves=["R12"])
def test_nothing_can_be_read(kept, shared, own_secret):
    disk = kept.read_bytes()
    for name, value in shared["values"].items():
        assert name.encode() not in disk and value.encode() not in disk, (
            "a stored value is readable"
        )
    for form in (own_secret[2:31], own_secret.hex().encode()):
        assert form not in disk, "the unit secret is readable"


@check("at-rest", proves=["R11"])
def test_nothing_else_was_written(layout, kept):
    assert layout.same_but_data(kept), "another place than data was written to"


# ---- keeps ----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def attacked(bench, copy, kept, own_secret):
    """The meter again, on a disk to whose ESP files were added, started by another's boot entry."""
    disk = copy("attacked", kept)
    for where, text in ATTACK_FILES.items():
        disk.add(where, text)
    again = bench.meter(
        "again", disk.path, own_secret, boot_options=LOAD_OPTIONS, extra_args=ATTACK_QEMU
    )
    again.disk = disk
    return again


@milestone("keeps", weight=2, requires=["at-rest"], proves=["R10", "R18"], title="It is kept")
def test_it_starts_again(attacked):
    attacked.machine.boot()
    attacked.machine.expect(r"BdsDxe: starting Boot0000", timeout=60)
    for _ in range(5):
        attacked.machine.send("\x03\x04\x1c\x1a\n")
        time.sleep(0.5)
    assert attacked.says() == "READY"
    attacked.settle()
    attacked.id = attacked.learn_id()


@check("keeps", proves=["R18"])
def test_the_values_are_there(attacked, shared):
    for name, value in shared["values"].items():
        assert attacked.get(name) == f"value {value}"


@check("keeps", proves=["R15"])
def test_it_is_the_same_meter(attacked, meter):
    assert attacked.id == meter.id
    assert attacked.attests(secrets.token_hex(16))


@check("keeps", proves=["R16"])
def test_a_challenge_does_not_outlive_a_start(attacked, shared):
    assert attacked.ask("open " + shared["replay"]) == "refused"


# ---- outside --------------------------------------------------------------------------------


@milestone("outside", weight=2, requires=["keeps"], proves=["R21"], title="From outside")
def test_sysrq_is_off(attacked):
    shell = attacked.open()
    said = shell.run("cat /proc/sys/kernel/sysrq 2>/dev/null || echo 0").stdout.strip()
    assert said == "0", f"kernel.sysrq is {said}"


@check("outside", proves=["R22"])
def test_the_command_line_is_still_the_signed_one(attacked, layout):
    said = attacked.machine.shell.run("cat /proc/cmdline").stdout.strip()
    assert said == layout.command_line.strip()


# ---- watched --------------------------------------------------------------------------------


@milestone("watched", weight=2, requires=["outside"], proves=["R9"], title="Root is watched")
def test_a_block_that_goes_bad(attacked, number_at):
    shell = attacked.machine.shell
    before = shell.run("cat /etc/build").stdout.strip()
    # The machine's disk lies over this file; the block was never written in the machine.
    attacked.disk.write("root", number_at, secrets.token_hex(32).encode())
    shell.leave("echo 3 >/proc/sys/vm/drop_caches; cat /etc/build")
    mark = attacked.machine.console.end
    assert attacked.ends(10), "it goes on after a bad block was read"
    assert len(before) == 64 and before not in attacked.machine.console.since(mark)
    attacked.machine.close()


# ---- locked ---------------------------------------------------------------------------------


def locked(bench, layout, disk, name: str, unit_secret, state: str) -> None:
    """A meter on a copied disk says why it is locked, answers nothing else, changes nothing."""
    one = bench.meter(name, disk.path, unit_secret)
    try:
        assert one.starts() == f"LOCKED {state}"
        for line in ("id", "get x", "put x y", "challenge", "open " + "0" * 128, "\x03"):
            assert one.ask(line) == "locked"
        one.machine.power_cut()
        after = one.machine.flatten()
        assert layout.read("data", after) == layout.read("data", disk.path), "data was changed"
    finally:
        one.machine.close()
        disk.path.unlink()


@milestone("locked", weight=2, requires=["watched"], proves=["R12", "R13"], title="It says why")
def test_another_secret(bench, layout, copy, kept):
    locked(bench, layout, copy("other", kept), "other", secrets.token_bytes(32), "key")


@check("locked", proves=["R13"])
def test_no_secret(bench, layout, copy, kept):
    locked(bench, layout, copy("none", kept), "none", None, "secret")


@check("locked", proves=["R13"])
def test_data_without_its_beginning(bench, layout, copy, kept, own_secret):
    disk = copy("torn", kept).write("data", 0, bytes(4 << 20))
    locked(bench, layout, disk, "torn", own_secret, "data")


# ---- tampering ------------------------------------------------------------------------------


@milestone("tampering", weight=3, requires=["locked"], proves=["R7"], title="Tampering")
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
    tree = disk.tree()
    leaf = 32 * secrets.randbelow(layout.superblock.data_blocks)
    disk.flip("root-verity", 4096 + tree.leaves_at + leaf)
    refuses_root(bench, layout, disk, "hash", own_secret)


@check("tampering", proves=["R4", "R8"])
def test_a_root_that_fits_its_tree(bench, layout, copy, kept, own_secret, number_at):
    disk = copy("fitting", kept)
    disk.rebuild(number_at, secrets.token_hex(32).encode())
    refuses_root(bench, layout, disk, "fitting", own_secret)


# ---- update ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def second(bench, layout, copy, db_key, number_at, shared):
    """Another meter, with a system that we changed and signed."""
    disk = copy("second")
    shared["number"] = secrets.token_hex(32)
    root_hash = disk.rebuild(number_at, shared["number"].encode()).root_hash
    section = layout.program.section(".cmdline")
    place = layout.program.content(".cmdline").index(layout.root_hash.encode())
    changed = layout.program.patched(section.start + place, root_hash.encode())
    disk.add(EFI, changed.signed(db_key))
    shared["root hash"] = root_hash
    return bench.meter("second", disk.path, secrets.token_bytes(32))


@milestone("update", weight=3, requires=["tampering"], proves=["R23"], title="A system of ours")
def test_our_system_starts(second):
    second.ready()
    assert second.attests(secrets.token_hex(16))


@check("update", proves=["R15"])
def test_another_meter_is_another(second, meter, shared):
    assert second.id != meter.id
    challenge = second.challenge()
    assert second.ask("open " + second.signature(challenge, unit=meter.id)) == "refused"
    assert second.get(shared["last"][0]) == "none"


@check("update", proves=["R5", "R23"])
def test_it_is_our_system_that_runs(second, shared):
    shell = second.open()
    assert shell.run("cat /etc/build").stdout.strip() == shared["number"]
    assert f"roothash={shared['root hash']}" in shell.run("cat /proc/cmdline").stdout.split()


@check("update", proves=["R10"])
def test_the_volume_keys_differ(second, layout, kept):
    second.machine.power_cut()
    one, two = layout.read("data", kept), layout.read("data", second.machine.flatten())
    begin = max(luks(one)[0], luks(two)[0])
    same = [
        at for at in range(begin, len(one), 512)
        if one[at : at + 512] == two[at : at + 512] and one[at : at + 512].strip(b"\0")
    ]  # fmt: skip
    assert not same, f"{len(same)} encrypted sectors are alike in two meters: one volume key"
