"""embedded/locked-down: its parts agree with each other, and its helpers can tell yes from no."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.catalogue import checkers

TASK = Path(__file__).parents[2] / "tasks/embedded/locked-down"
HELPERS = ("rsa", "pe", "verity", "probes", "variables")


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("embedded/locked-down", *HELPERS) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def key(helpers: dict[str, ModuleType]) -> Any:
    rsa = helpers["rsa"]
    text = (TASK / "tests/foreign.pem").read_bytes()
    return rsa.private_key(text, rsa.Certificate.of(rsa.pem(text, b"CERTIFICATE")))


def program(sections: dict[str, bytes]) -> bytes:
    """The smallest EFI program that has these sections."""
    table, body, start = b"", b"", 0x400
    for name, content in sections.items():
        raw = content.ljust(-(-len(content) // 512) * 512, b"\0")
        table += struct.pack("<8sIIII", name.encode(), len(content), 0x1000, len(raw), start)
        table += bytes(16)
        body += raw
        start += len(raw)
    head = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + b"PE\0\0"
    head += struct.pack("<HHIIIHH", 0x8664, len(sections), 0, 0, 0, 240, 0)
    optional = bytearray(240)
    struct.pack_into("<H", optional, 0, 0x20B)
    struct.pack_into("<H", optional, 68, 10)
    struct.pack_into("<I", optional, 108, 16)
    return (head + bytes(optional) + table).ljust(0x400, b"\0") + body


def test_what_the_oracle_and_its_cheats_edit_is_there() -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    rc = (TASK / "solution/rootfs/etc/rc").read_text()
    desk = (TASK / "solution/rootfs/usr/sbin/desk").read_text()
    init = (TASK / "solution/initrd-init").read_text()
    solve = (TASK / "solution/solve.sh").read_text()
    assert '\necho "UNIT ' in rc and "kexec_load_disabled" in rc and 'echo "LOCKED key"' in rc
    assert "if [ ! -s /data/identity.pem ]" in rc and "kernel/sysrq" in rc
    assert '--key-file "$secret" --keyfile-size 32 "$data"\n' in rc
    assert "if all_zero" in rc and "elif ! cryptsetup isLuks" in rc and "\topen_data || {" in rc
    assert "then answer attest" in desk and "\n\topenssl pkeyutl -verify" in desk
    assert "\n\t\tchallenge=$(head" in desk and "\n\tprintf '%s' \"$2\" >/data/values/.new" in desk
    assert "--restart-on-corruption" in init and "\ndd if" in init
    assert "\nmkdir -p /run/cryptsetup\n" in init and "\nveritysetup open" in init
    assert "/dev/mapper/root /root" in init
    assert "lockdown=confidentiality" in solve and "sysrq=0" in solve


def test_the_letter_names_every_answer() -> None:
    letter = (TASK / "instruction.md").read_text()
    states = re.search(r'r"\(\?:\^\|\\n\)UNIT \(([^)]*)\)', (TASK / "tests/meter.py").read_text())
    assert states
    for state in states[1].split("|"):
        assert f"`UNIT {state}`" in letter


def test_the_hash_tree_is_that_of_veritysetup(helpers: dict[str, ModuleType]) -> None:
    """cryptsetup 2.6.1: veritysetup format --salt 0102030405060708 --uuid 1111…"""
    verity = helpers["verity"]
    head = struct.pack("<8sII", b"verity\0\0", 1, 1)
    head += uuid.UUID("11111111-2222-3333-4444-555555555555").bytes + b"sha256".ljust(32, b"\0")
    head += struct.pack("<IIQH6x", 4096, 4096, 300, 8) + bytes(range(1, 9))
    head = head.ljust(4096, b"\0")
    data = (b"v" * 1200000).ljust(300 * 4096, b"\0")
    tree = verity.tree_of(data, verity.Superblock.of(head))
    assert tree.root_hash == "5d23e28a5929b3861def5c99deb693a970569bb3222dd53f26d05270c38b6c60"
    whole = hashlib.sha256(head + tree.blocks).hexdigest()
    assert whole == "1a5b1ba03dc702c91d1cc07fb1637413c6f768d01da2a82915f6902a85c1adc0"
    assert tree.leaves_at == 4096


def test_a_program_is_signed_and_every_byte_counts(
    helpers: dict[str, ModuleType], key: Any
) -> None:
    pe, rsa = helpers["pe"], helpers["rsa"]
    one = pe.Program(program({".linux": b"kernel" * 100, ".cmdline": b"quiet"}))
    assert one.content(".cmdline") == b"quiet"
    signed = pe.Program(one.signed(key))
    assert signed.digest() == one.digest() and signed.unsigned().data == one.data
    assert pe.Program(signed.signed(key)).data == signed.data
    at = one.section(".linux").start
    assert signed.patched(at, b"K").digest() != one.digest()
    entry = signed.data[signed.signatures_at + 8 :]
    parts = rsa.elements(rsa.elements(entry.rstrip(b"\0"))[0][1])
    assert len(parts) == 2 and one.digest() in parts[1][1] and key.certificate.der in parts[1][1]


def test_openssl_accepts_what_the_key_signs(key: Any, tmp_path: Path) -> None:
    text, signature, public = (tmp_path / name for name in ("text", "signature", "public"))
    text.write_bytes(b"a program")
    signature.write_bytes(key.sign(b"a program"))
    pem = TASK / "tests/foreign.pem"
    run = ["openssl", "pkey", "-in", str(pem), "-pubout", "-out", str(public)]
    subprocess.run(run, check=True)
    verify = ["openssl", "dgst", "-sha256", "-verify", str(public), "-signature", str(signature)]
    assert subprocess.run([*verify, str(text)], capture_output=True).returncode == 0


@pytest.mark.parametrize("cut", [0, 2, 0x40, 0x60, 0x150, 0x170, 0x410])
def test_broken_programs_are_the_deliverers_fault(helpers: dict[str, ModuleType], cut: int) -> None:
    data = program({".linux": b"kernel" * 100})
    with pytest.raises(AssertionError):
        helpers["pe"].Program(data[:cut])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x" * 27,
        bytes(28),
        b"\xff" * 64,
        bytes(16) + struct.pack("<III", 44, 0, 0) + bytes(16),
    ],
)
def test_broken_lists_are_the_deliverers_fault(helpers: dict[str, ModuleType], data: bytes) -> None:
    with pytest.raises(AssertionError):
        helpers["rsa"].signature_lists(data)


def test_a_list_gives_its_certificates(helpers: dict[str, ModuleType], key: Any) -> None:
    rsa = helpers["rsa"]
    der = key.certificate.der
    one = rsa.X509_LIST.bytes_le + struct.pack("<III", 44 + len(der), 0, 16 + len(der))
    lists = rsa.signature_lists((one + bytes(16) + der) * 2)
    assert lists == [(rsa.X509_LIST, [der])] * 2
    assert rsa.Certificate.of(der).modulus == key.modulus


def test_a_store_holds_what_is_enrolled(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    variables = helpers["variables"]
    store = variables.enrolled(tmp_path / "store", b"p" * 50, b"k" * 60, b"d" * 70, b"options")
    data = store.read_bytes()
    assert len(data) == variables.PRISTINE.stat().st_size
    assert all(part in data for part in (b"p" * 50, b"k" * 60, b"d" * 70, b"options"))
    with pytest.raises(AssertionError):
        variables.enrolled(tmp_path / "full", b"p", b"k", b"d" * 300000)


def test_a_probe_is_a_program(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    """Its exit status is the kernel's answer, negated: error numbers come out as they are."""
    path = tmp_path / "probe"
    path.write_bytes(helpers["probes"].program(39))  # getpid: the number, negated, modulo 256
    path.chmod(0o755)
    done = subprocess.Popen([str(path)])
    assert done.wait() == -done.pid % 256
