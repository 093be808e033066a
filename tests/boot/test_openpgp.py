"""OpenPGP: gpgv's word on what is signed, and what is refused of what is read."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest

from benchflow.boot.inspect import openpgp
from benchflow.boot.inspect.openpgp import Key

PRIVATE, PUBLIC = "PGP PRIVATE KEY BLOCK", "PGP PUBLIC KEY BLOCK"


@pytest.fixture
def key() -> Key:
    return Key.stranger(bytes(range(32)))


def armoured_secret(key: Key, usage: bytes = b"\0") -> str:
    """A secret key as GnuPG writes one without a passphrase."""
    body = key.body + usage + openpgp._mpi(key.seed) + b"\0\0"
    packet = b"\xc5" + bytes([len(body)]) + body
    text = base64.encodebytes(packet).decode()
    return f"-----BEGIN {PRIVATE}-----\n\n{text}-----END {PRIVATE}-----\n"


def test_gpgv_believes_what_the_key_signs(key: Key, tmp_path: Path) -> None:
    user = b"x <x@example>"
    public = b"\xc6" + bytes([len(key.body)]) + key.body
    signed_over = b"\x99" + len(key.body).to_bytes(2, "big") + key.body
    signed_over += b"\xb4" + len(user).to_bytes(4, "big") + user
    ring = public + b"\xcd" + bytes([len(user)]) + user + key._signature(0x13, signed_over)
    (tmp_path / "ring.gpg").write_bytes(ring)
    text = "Origin: Holm\n- dash\nwith blanks  \n"
    for name, content in (
        ("good", key.clearsigned(text)),
        ("bad", key.clearsigned(text).replace(b"Holm", b"Helm")),
    ):
        (tmp_path / name).write_bytes(content)
    run = ["gpgv", "--keyring", str(tmp_path / "ring.gpg")]
    assert subprocess.run([*run, str(tmp_path / "good")], capture_output=True).returncode == 0
    assert subprocess.run([*run, str(tmp_path / "bad")], capture_output=True).returncode != 0
    assert openpgp.signed_text(key.clearsigned(text), key).startswith("Origin: Holm\n- dash\n")


def test_only_the_right_key_and_the_right_text_pass(key: Key) -> None:
    other = openpgp.Key.stranger(bytes(32))
    signed = key.clearsigned("Origin: Holm\n")
    assert openpgp.signed_text(signed, key) == "Origin: Holm"
    twice = signed.replace(b"Origin", b"Origin: x\nOrigin")
    for wrong in (
        other.clearsigned("Origin: Holm\n"),
        twice,
        b"",
        b"Origin: Holm\n",
        signed[:-60],
        b"\xff",
    ):
        with pytest.raises(AssertionError):
            openpgp.signed_text(wrong, key)


def test_secret_keys_are_read(key: Key) -> None:
    assert openpgp.secret_key(armoured_secret(key)) == key
    for wrong in (
        armoured_secret(key, b"\xfe"),
        "",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    ):
        with pytest.raises(AssertionError):
            openpgp.secret_key(wrong)


@pytest.mark.parametrize("data", [b"\x00", b"\xc5", b"\xc5\x05abc", b"\xc5\xe1abc", b"\x97abc"])
def test_broken_packets_are_the_deliverers_fault(data: bytes) -> None:
    with pytest.raises(AssertionError):
        openpgp.packets(data)


def test_a_detached_signature_is_the_keys_over_these_bytes_alone(key: Key) -> None:
    data, other = b"\0an index\n", Key.stranger(bytes(32))
    packet = key.signature(data)
    assert openpgp.unarmoured(key.detached(data).decode(), "PGP SIGNATURE")[:1] == packet[:1]
    assert openpgp.signed(data, packet, key)
    assert not openpgp.signed(data + b"\n", packet, key)
    assert not openpgp.signed(data, packet, other)
    assert not openpgp.signed(data, other.signature(data), key)
    assert not openpgp.signed(data, packet * 2, key)
    assert not openpgp.signed(data, b"", key)
    assert not openpgp.signed(data, key._signature(1, data), key), "a signature of a text"


def test_a_certificate_holds_one_primary_key(key: Key) -> None:
    def armoured(packets: bytes) -> str:
        text = base64.encodebytes(packets).decode()
        return f"-----BEGIN {PUBLIC}-----\n\n{text}-----END {PUBLIC}-----\n"

    one = b"\xc6" + bytes([len(key.body)]) + key.body
    assert openpgp.certificate(armoured(one)) == key.body
    for wrong in (armoured(one * 2), armoured(key.signature(b"")), ""):
        with pytest.raises(AssertionError):
            openpgp.certificate(wrong)
