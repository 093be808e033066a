"""embedded/locked-down: its parts agree with each other, and its helpers can tell yes from no."""

from __future__ import annotations

import base64
import ctypes
import hashlib
import json
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
HELPERS = (
    "rsa",
    "pe",
    "verity",
    "probes",
    "variables",
    "gcrypt",
    "luks2",
    "disk_states",
    "disk",
    "at_rest",
)


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


def test_what_the_oracle_and_its_exploits_edit_is_there() -> None:
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
    states = re.search(r"\)UNIT \(([^)]*)\)", (TASK / "tests/meter.py").read_text())
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


@pytest.mark.needs("openssl")
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


@pytest.mark.needs("ovmf")
def test_a_store_holds_what_is_enrolled(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    variables = helpers["variables"]
    store = variables.enrolled(tmp_path / "store", b"p" * 50, b"k" * 60, b"d" * 70, b"options")
    data = store.read_bytes()
    assert len(data) == variables.PRISTINE.stat().st_size
    assert all(part in data for part in (b"p" * 50, b"k" * 60, b"d" * 70, b"options"))
    with pytest.raises(AssertionError):
        variables.enrolled(tmp_path / "full", b"p", b"k", b"d" * 300000)


def test_a_probe_ends_with_the_error_number(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    probes = helpers["probes"]
    path = tmp_path / "probe"
    for program, status in (
        (probes.asks(102 + 1000, 0), 38),  # no such call: ENOSYS
        (probes.asks(3, 0xFFFFFFFF), 9),  # close of no descriptor: EBADF
        (probes.asks(39), 0),  # getpid
        (probes.Code().call(3, 0xFFFFFFFF).or_end(probes.BEFORE).program(), 109),
    ):
        path.write_bytes(program)
        path.chmod(0o755)
        assert subprocess.run([str(path)]).returncode == status


def test_a_probe_prints_what_it_read(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    """Opened and read as the programs do that ask /proc, but for the mount, which needs root."""
    probes = helpers["probes"]
    code = probes.Code().call(2, probes.Text(b"/proc/version"), 0, 0).keep("one")
    code.recall("one").or_end().call(0, "one", probes._BUFFER, 4096).or_end().keep("two")
    path = tmp_path / "probe"
    path.write_bytes(code.call(1, 1, probes._BUFFER, "two").program())
    path.chmod(0o755)
    assert subprocess.run([str(path)], capture_output=True).stdout == PROC_VERSION.read_bytes()


# -- the volume ----------------------------------------------------------------------------------

PROC_VERSION = Path("/proc/version")
KEY, SECRET = bytes(range(64)), b"\n\0" + b"s" * 29 + b"\n"
BEGIN = 0x50000


def test_keys_are_derived_as_the_standards_say(helpers: dict[str, ModuleType]) -> None:
    """`printf password | argon2 somesalt -id -t 2 -m 8 -p 1` of Debian; hashlib for PBKDF2."""
    gcrypt = helpers["gcrypt"]
    found = gcrypt.argon2("argon2id", b"password", b"somesalt", (2, 256, 1), 32)
    assert found.hex() == "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe"
    derived = hashlib.pbkdf2_hmac("sha512", b"p", b"salt", 77, 40)
    assert gcrypt.pbkdf2("sha512", b"p", b"salt", 77, 40) == derived


def volume(helpers: dict[str, ModuleType], secrets: list[bytes], **other: Any) -> bytearray:
    """A LUKS2 volume of 64 KiB with a key slot for each secret (two at most)."""
    gcrypt = helpers["gcrypt"]
    slots, areas = {}, {}
    for number, secret in enumerate(secrets):
        at = 0x8000 + number * 0x20000
        stripes, salt = 1000, bytes([number]) * 32
        parts, mixed = [], bytes(len(KEY))
        for index in range(stripes - 1):
            parts.append(hashlib.shake_128(bytes([number]) + struct.pack(">I", index)).digest(64))
            mixed = bytes(a ^ b for a, b in zip(mixed, parts[-1], strict=True))
            mixed = b"".join(
                hashlib.sha256(struct.pack(">I", n) + mixed[32 * n : 32 * n + 32]).digest()
                for n in range(2)
            )
        parts.append(bytes(a ^ b for a, b in zip(mixed, KEY, strict=True)))
        derived = hashlib.pbkdf2_hmac("sha256", secret, salt, 1000, 64)
        areas[at] = encrypted(gcrypt, derived, b"".join(parts), 512)
        slots[str(number)] = {
            "type": "luks2", "key_size": 64,
            "af": {"type": "luks1", "stripes": stripes, "hash": "sha256"},
            "area": {"type": "raw", "offset": str(at), "size": str(0x20000),
                     "encryption": "aes-xts-plain64", "key_size": 64},
            "kdf": {"type": "pbkdf2", "hash": "sha256", "iterations": 1000,
                    "salt": base64.b64encode(salt).decode()},
        }  # fmt: skip
    proof = hashlib.pbkdf2_hmac("sha256", KEY, b"d" * 32, 1000, 32)
    facts = {
        "keyslots": slots, "tokens": {},
        "segments": {"0": {"type": "crypt", "offset": str(BEGIN), "size": "dynamic",
                           "iv_tweak": "0", "encryption": "aes-xts-plain64", "sector_size": 512}},
        "digests": {"0": {"type": "pbkdf2", "keyslots": list(slots), "segments": ["0"],
                          "hash": "sha256", "iterations": 1000,
                          "salt": base64.b64encode(b"d" * 32).decode(),
                          "digest": base64.b64encode(proof).decode()}},
        "config": {"json_size": "12288", "keyslots_size": "262144"}, **other,
    }  # fmt: skip
    data = bytearray(BEGIN + 0x10000)
    for at, area in areas.items():
        data[at : at + len(area)] = area
    for at, magic in ((0, b"LUKS\xba\xbe"), (16384, b"SKUL\xba\xbe")):
        head = bytearray(16384)
        struct.pack_into(">6sHQQ48s32s", head, 0, magic, 2, 16384, 3, b"", b"sha256")
        struct.pack_into(">Q", head, 256, at)
        text = json.dumps(facts).encode()
        head[4096 : 4096 + len(text)] = text
        head[448:480] = hashlib.sha256(head).digest()
        data[at : at + 16384] = head
    return data


def encrypted(gcrypt: ModuleType, key: bytes, data: bytes, unit: int) -> bytes:
    """AES-XTS as dm-crypt writes it, from the first sector on."""
    handle = gcrypt.Cipher("aes-xts-plain64", key)._handle
    library, out = gcrypt._library(), []
    for at in range(0, len(data), unit):
        library.gcry_cipher_setiv(handle, (at // 512).to_bytes(16, "little"), ctypes.c_size_t(16))
        block = ctypes.create_string_buffer(unit)
        size = ctypes.c_size_t(unit)
        library.gcry_cipher_encrypt(handle, block, size, data[at : at + unit], size)
        out.append(block.raw)
    return b"".join(out)


def test_the_secret_opens_the_volume(helpers: dict[str, ModuleType]) -> None:
    data = volume(helpers, [SECRET])
    luks2, at_rest = helpers["luks2"], helpers["at_rest"]
    assert at_rest.opened(bytes(data), SECRET)[1] == KEY
    with pytest.raises(AssertionError, match="they do not"):
        at_rest.opened(bytes(data), SECRET[:31] + b"x")
    data[10] ^= 1  # the first header is spoilt, and cryptsetup takes the second
    assert luks2.Volume(bytes(data)).opened_by(SECRET) == {"0": KEY}
    data[16384 + 5000] ^= 1
    with pytest.raises(AssertionError, match="right checksum"):
        luks2.Volume(bytes(data))


def test_a_second_slot_is_somebody_elses(helpers: dict[str, ModuleType]) -> None:
    data = bytes(volume(helpers, [SECRET, b"everybody"]))
    with pytest.raises(AssertionError, match="nothing else"):
        helpers["at_rest"].opened(data, SECRET)


@pytest.mark.parametrize(
    "other",
    [
        {"segments": {}},
        {"segments": {"0": 7}},
        {"digests": []},
        {"keyslots": {"0": {"type": "luks2"}}},
        {"keyslots": {str(n): {} for n in range(33)}},
    ],
)
def test_broken_volumes_are_the_deliverers_fault(
    helpers: dict[str, ModuleType], other: dict[str, Any]
) -> None:
    with pytest.raises(AssertionError):
        helpers["at_rest"].opened(bytes(volume(helpers, [SECRET], **other)), SECRET)


def test_what_is_not_the_volumes_is_seen(helpers: dict[str, ModuleType]) -> None:
    at_rest = helpers["at_rest"]
    before = bytes(volume(helpers, [SECRET]))
    opened, key = at_rest.opened(before, SECRET)
    plain = b"".join(b"a value".ljust(512, bytes([n])) for n in range(8))
    sealed = encrypted(helpers["gcrypt"], KEY, plain, 512)
    after = before[:BEGIN] + sealed + before[BEGIN + len(sealed) :]
    assert at_rest.encrypted_only(before, after, opened, key) == 8
    said = {0: opened.remarks}
    assert at_rest._not_by_the_key(after, opened, key) == said
    at_rest.same_but_for_the_volume((before, opened, key), (after, opened, key))
    noise = hashlib.shake_128(b"noise").digest(512)
    text = base64.b64encode(noise)[:512]
    for content in (text, noise):
        wrong = after[: BEGIN + 4096] + content + after[BEGIN + 4608 :]
        assert at_rest._not_by_the_key(wrong, opened, key) == {**said, BEGIN + 4096: content}
        with pytest.raises(AssertionError, match="the same in every meter"):
            at_rest.same_but_for_the_volume((after, opened, key), (wrong, opened, key))
        with pytest.raises(AssertionError, match="R12"):
            at_rest.encrypted_only(before, wrong, opened, key)
    beside = after[:0x20000] + b"x" + after[0x20001:]
    with pytest.raises(AssertionError, match="beside the volume"):
        at_rest.encrypted_only(before, beside, opened, key)


def test_what_a_header_says_besides_is_seen(helpers: dict[str, ModuleType]) -> None:
    luks2 = helpers["luks2"]
    plain = luks2.Volume(bytes(volume(helpers, [SECRET]))).remarks
    token = volume(helpers, [SECRET], tokens={"0": {"type": "vakt", "keyslots": [], "x": "y"}})
    stray = volume(helpers, [SECRET])
    stray[BEGIN - 9] = 1  # behind the headers and the area of the key slots
    label = volume(helpers, [SECRET])
    for at in (0, 16384):
        label[at + 24 : at + 30] = b"secret"
        label[at + 448 : at + 512] = bytes(64)
        label[at + 448 : at + 480] = hashlib.sha256(label[at : at + 16384]).digest()
    for data in (token, stray, label):
        assert luks2.Volume(bytes(data)).remarks != plain


def test_vectors_are_those_of_dm_crypt(helpers: dict[str, ModuleType]) -> None:
    gcrypt = helpers["gcrypt"]
    number = (1 << 32) + 5
    found = {name: vector(number).hex() for name, vector in gcrypt._VECTORS.items()}
    assert found == {
        "plain": "05000000" + "00" * 12,
        "plain64": "0500000001" + "00" * 11,
        "plain64be": "00" * 8 + "0000000100000005",
        "benbi": "00" * 8 + "00000020000000a1",
        "null": "00" * 16,
    }
    for encryption in ("aes-cbc-essiv:sha256", "aes-cbc-essiv:md5", "twofish-xts-plain64be"):
        gcrypt.Cipher(encryption, bytes(range(32)))
    for encryption in ("aes-cbc-essiv:sha512", "aes-cbc-tcw", "aes-ctr-plain64"):
        with pytest.raises(AssertionError, match="encrypted by"):
            gcrypt.Cipher(encryption, bytes(range(32)))


def test_a_hash_that_is_drawn_is_one(helpers: dict[str, ModuleType]) -> None:
    verity = helpers["verity"]
    tree = verity.tree_of(b"x" * (300 * 4096), verity.Superblock(b"", 300, b""))
    drawn = {tree.some_hash() for _ in range(300)}
    assert {0, 32, 64, 4096 + 299 * 32} < drawn and max(drawn) == 4096 + 299 * 32


def test_a_line_said_twice_in_a_row_is_seen_twice() -> None:
    text = (TASK / "tests/meter.py").read_text()
    pattern = re.search(r'STATE = re\.compile\(\s*r"(.*)"', text)
    assert pattern
    said = "UNIT READY\nUNIT READY\nUNIT LOCKED key\nxUNIT READY\n"
    assert re.findall(pattern[1], said) == ["READY", "READY", "LOCKED key"]


def test_what_changed_is_found(helpers: dict[str, ModuleType]) -> None:
    states = helpers["disk_states"]
    before = bytes(4096)
    after = before[:512] + b"x" * 600 + before[1112:4000] + b"y" + before[4001:]
    found = states.changed(before, after)
    assert found == [512, 1024, 3584]
    assert states.runs(after, found) == [after[512:1536], after[3584:4096]]
