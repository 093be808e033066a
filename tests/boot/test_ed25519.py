"""Signatures after RFC 8032: those of the standard, OpenSSL's word, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchflow.boot.inspect import ed25519

SEED = bytes.fromhex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7")
OWN = bytes.fromhex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025")
TEXT = bytes.fromhex("af82")
SIGNATURE = bytes.fromhex(
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
    "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
)
IDENTITY = (1).to_bytes(32, "little")


def test_signatures_are_those_of_the_standard() -> None:
    """RFC 8032, 7.1, tests 1 and 3."""
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    own = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert ed25519.public(seed).hex() == own
    assert ed25519.sign(seed, b"").hex() == (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    )
    assert ed25519.public(SEED) == OWN
    assert ed25519.sign(SEED, TEXT) == SIGNATURE
    assert ed25519.verify(OWN, TEXT, SIGNATURE)


@pytest.mark.parametrize(
    ("key", "text", "signature"),
    [
        pytest.param(OWN, b"\xaf\x83", SIGNATURE, id="another text"),
        pytest.param(ed25519.public(bytes(32)), TEXT, SIGNATURE, id="another key"),
        pytest.param(OWN, TEXT, SIGNATURE[:63], id="cut off"),
        pytest.param(OWN, TEXT, SIGNATURE + b"\0", id="longer"),
        pytest.param(OWN[:31], TEXT, SIGNATURE, id="a key cut off"),
        pytest.param(OWN, TEXT, bytes([SIGNATURE[0] ^ 1]) + SIGNATURE[1:], id="a bit"),
        pytest.param(OWN, TEXT, SIGNATURE[:32] + b"\xff" * 32, id="beyond the order"),
        pytest.param(OWN, TEXT, bytes(64), id="nothing"),
        pytest.param(b"\xff" * 32, TEXT, SIGNATURE, id="no point"),
        pytest.param(IDENTITY, TEXT, IDENTITY + bytes(32), id="a key that signs all texts"),
    ],
)
def test_what_differs_is_refused(key: bytes, text: bytes, signature: bytes) -> None:
    assert not ed25519.verify(key, text, signature)


_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_EIGHTH = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"
_Y = int.from_bytes(bytes.fromhex(_EIGHTH), "little")


@pytest.mark.parametrize("y", [0, 1, _P - 1, _P, _P + 1, _Y, _P - _Y])
@pytest.mark.parametrize("odd", [0, 1])
def test_a_key_of_small_order_signs_nothing(y: int, odd: int) -> None:
    key = (y | odd << 255).to_bytes(32, "little")
    for text in (bytes([number]) for number in range(16)):
        assert not ed25519.verify(key, text, IDENTITY + bytes(32))
        assert not ed25519.verify(key, text, key + bytes(32))


@pytest.mark.parametrize("times", [1, 2, 15])
def test_a_signature_has_one_form(times: int) -> None:
    s = int.from_bytes(SIGNATURE[32:], "little") + times * _ORDER
    assert not ed25519.verify(OWN, TEXT, SIGNATURE[:32] + s.to_bytes(32, "little"))


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_seed_of_another_length_is_told(length: int) -> None:
    with pytest.raises(ValueError, match=f"a seed of {length} bytes"):
        ed25519.public(bytes(length))
    with pytest.raises(ValueError, match=f"a seed of {length} bytes"):
        ed25519.sign(bytes(length), TEXT)


@pytest.mark.needs("openssl")
def test_openssl_accepts_them_and_its_keys_are_read(tmp_path: Path) -> None:
    key, public, text, signature = (tmp_path / name for name in ("key", "public", "text", "sig"))
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)], check=True)
    subprocess.run(["openssl", "pkey", "-in", str(key), "-pubout", "-out", str(public)], check=True)
    text.write_bytes(b"unit 7\n")
    seed = ed25519.seed_of(key.read_bytes(), "key")
    signature.write_bytes(ed25519.sign(seed, text.read_bytes()))
    verify = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(public), "-rawin",
              "-in", str(text), "-sigfile", str(signature)]  # fmt: skip
    assert subprocess.run(verify, capture_output=True).returncode == 0
    text.write_bytes(b"unit 8\n")
    assert subprocess.run(verify, capture_output=True).returncode != 0


@pytest.mark.parametrize(
    "pem",
    [
        b"",
        b"-----BEGIN PRIVATE KEY-----\n!!!!\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    ],
)
def test_other_keys_are_the_deliverers_fault(pem: bytes) -> None:
    with pytest.raises(AssertionError, match=r"^vendor\.pem "):
        ed25519.seed_of(pem, "vendor.pem")
