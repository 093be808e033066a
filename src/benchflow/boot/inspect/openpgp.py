"""OpenPGP (RFC 4880, EdDSA as GnuPG 2.2 writes it), as much as packages and their archives need.

What is read was made by an agent: AssertionError says what is wrong with it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
import time
from dataclasses import dataclass

from benchflow.boot.inspect import ed25519

ARMOUR_MAX = 16384
_EDDSA = 22
_CURVE = bytes.fromhex("2b06010401da470f01")
_HASHES = {8: "sha256", 9: "sha384", 10: "sha512"}
_CLEARSIGNED = re.compile(
    r"\A-----BEGIN PGP SIGNED MESSAGE-----\n(?:Hash: [A-Za-z0-9, -]+\n)*\n"
    r"(?P<text>.*)\n(?P<signature>-----BEGIN PGP SIGNATURE-----\n.*)\Z",
    re.DOTALL,
)


@dataclass(frozen=True)
class Key:
    """A key pair: its seed, its public point, and the packet from which its name is made."""

    seed: bytes
    public: bytes
    body: bytes

    @property
    def fingerprint(self) -> bytes:
        """Its name, of 20 bytes."""
        return hashlib.sha1(b"\x99" + struct.pack(">H", len(self.body)) + self.body).digest()

    @classmethod
    def stranger(cls, seed: bytes) -> Key:
        """A key of ours that nobody trusts."""
        public = ed25519.public(seed)
        made = struct.pack(">BIB", 4, int(time.time()) - 86400, _EDDSA)
        return cls(seed, public, made + bytes([len(_CURVE)]) + _CURVE + _mpi(b"\x40" + public))

    def clearsigned(self, text: str) -> bytes:
        """`text` as gpg --clearsign writes it."""
        canonical = "\r\n".join(line.rstrip(" \t") for line in text.rstrip("\n").split("\n"))
        body = self._signature(1, canonical.encode())
        escaped = re.sub(r"^-", "- -", text, flags=re.MULTILINE)
        head = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n"
        return (head + escaped.rstrip("\n") + "\n").encode() + _armoured(body)

    def detached(self, data: bytes) -> bytes:
        """A detached signature over `data` in ASCII armour."""
        return _armoured(self.signature(data))

    def signature(self, data: bytes) -> bytes:
        """The packet of a signature over `data`, as a package's header holds it."""
        return self._signature(0, data)

    def _signature(self, kind: int, data: bytes) -> bytes:
        hashed = _sub(2, struct.pack(">I", int(time.time()))) + _sub(33, b"\4" + self.fingerprint)
        head = struct.pack(">BBBBH", 4, kind, _EDDSA, 10, len(hashed)) + hashed
        digest = hashlib.sha512(data + head + b"\4\xff" + struct.pack(">I", len(head))).digest()
        unhashed = _sub(16, self.fingerprint[-8:])
        point = ed25519.sign(self.seed, digest)
        body = head + struct.pack(">H", len(unhashed)) + unhashed + digest[:2]
        body += _mpi(point[:32]) + _mpi(point[32:])
        return b"\xc2" + struct.pack(">BI", 255, len(body)) + body


def _mpi(data: bytes) -> bytes:
    number = int.from_bytes(data, "big")
    return struct.pack(">H", number.bit_length()) + number.to_bytes(
        -(-number.bit_length() // 8), "big"
    )


def _sub(kind: int, data: bytes) -> bytes:
    return bytes([len(data) + 1, kind]) + data


def _armoured(packet: bytes) -> bytes:
    text = base64.encodebytes(packet).decode()
    crc = 0xB704CE
    for byte in packet:
        crc ^= byte << 16
        for _ in range(8):
            crc = crc << 1 ^ (0x1864CFB if crc & 0x800000 else 0)
    check = base64.b64encode((crc & 0xFFFFFF).to_bytes(3, "big")).decode()
    return (
        f"-----BEGIN PGP SIGNATURE-----\n\n{text}={check}\n-----END PGP SIGNATURE-----\n".encode()
    )


def armoured(signatures: bytes) -> bytes:
    """The packets of signatures in one armour."""
    return _armoured(signatures)


def unarmoured(text: str, what: str) -> bytes:
    """The packets in an armour. AssertionError for anything else."""
    assert len(text) <= ARMOUR_MAX, f"an armour of {len(text)} characters"
    text = text.replace("\r\n", "\n").strip() + "\n"
    found = re.fullmatch(
        rf"-----BEGIN {what}-----\n(?:[A-Za-z]+: [^\n]*\n)*\n(?P<body>[A-Za-z0-9+/=\n]+?)"
        rf"(?:\n=[A-Za-z0-9+/]{{4}})?\n-----END {what}-----\n",
        text,
    )
    assert found, f"no {what} in ASCII armour"
    try:
        return base64.b64decode(found["body"].replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        raise AssertionError(f"{what}: the armour is broken") from None


def packets(data: bytes) -> list[tuple[int, bytes]]:
    """Tags and bodies. AssertionError when they are cut off or of indeterminate length."""
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(data):
        head = data[at]
        assert head & 0x80 and len(found) < 100, "not an OpenPGP packet"
        rest = data[at + 1 : at + 6].ljust(5, b"\0")
        if head & 0x40:
            tag, first = head & 0x3F, rest[0]
            assert not 224 <= first < 255, "a packet of partial length"
            if first < 192:
                size, used = first, 1
            elif first < 224:
                size, used = ((first - 192) << 8) + rest[1] + 192, 2
            else:
                size, used = int.from_bytes(rest[1:5], "big"), 5
        else:
            tag, used = head >> 2 & 0xF, (1, 2, 4, 0)[head & 3]
            assert used, "a packet of indeterminate length"
            size = int.from_bytes(rest[:used], "big")
        at += 1 + used
        assert at + size <= len(data), "an OpenPGP packet is cut off"
        found.append((tag, data[at : at + size]))
        at += size
    return found


def _read_mpi(data: bytes, at: int, most: int) -> tuple[bytes, int]:
    assert at + 2 <= len(data), "a number is cut off"
    size = (int.from_bytes(data[at : at + 2], "big") + 7) // 8
    assert size <= most and at + 2 + size <= len(data), "a number is cut off or too long"
    return data[at + 2 : at + 2 + size], at + 2 + size


def secret_key(text: str) -> Key:
    """The primary key of a secret key in ASCII armour: Ed25519, without a passphrase."""
    found = [body for tag, body in packets(unarmoured(text, "PGP PRIVATE KEY BLOCK")) if tag == 5]
    assert found, "no secret key"
    body = found[0]
    assert len(body) > 20 and body[0] == 4 and body[5] == _EDDSA, "not an Ed25519 key (version 4)"
    at = 7 + body[6]
    assert body[7:at] == _CURVE, "not an Ed25519 key"
    point, at = _read_mpi(body, at, 33)
    public = body[:at]
    assert len(point) == 33 and point[0] == 0x40, "the public point has another form"
    assert at < len(body) and body[at] == 0, "the secret key has a passphrase"
    seed, _ = _read_mpi(body, at + 1, 32)
    key = Key(seed.rjust(32, b"\0"), point[1:], public)
    assert ed25519.public(key.seed) == key.public, "the halves of the key do not fit"
    return key


def certificate(text: str) -> bytes:
    """The body of the primary key of a public key in ASCII armour."""
    found = [body for tag, body in packets(unarmoured(text, "PGP PUBLIC KEY BLOCK")) if tag == 6]
    assert len(found) == 1, f"{len(found)} public keys in one file"
    return found[0]


def signed(data: bytes, signature: bytes, key: Key) -> bool:
    """Whether `key`, and only it, has made this signature (its packets) over `data`."""
    found = packets(signature)
    if len(found) != 1 or found[0][0] != 2 or found[0][1][1:2] != b"\0":
        return False
    return _fits(found[0][1], [data], key)


def signed_text(data: bytes, key: Key) -> str:
    """What a clearsigned file says. AssertionError unless `key`, and only it, has signed it."""
    try:
        text = data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise AssertionError("not a text") from None
    found = _CLEARSIGNED.match(text)
    assert found, "not a clearsigned file"
    said = re.sub(r"^- ", "", found["text"], flags=re.MULTILINE)
    canonical = "\r\n".join(line.rstrip(" \t") for line in said.split("\n")).encode()
    signatures = packets(unarmoured(found["signature"], "PGP SIGNATURE"))
    assert len(signatures) == 1 and signatures[0][0] == 2, "not exactly one signature"
    body = signatures[0][1]
    assert body[1:2] in (b"\0", b"\1"), "a signature of another form"
    forms = [canonical, said.encode(), f"{said}\n".encode()]
    assert _fits(body, forms, key), "it is not signed with that key, by Ed25519 and SHA-2"
    return said


def _fits(body: bytes, forms: list[bytes], key: Key) -> bool:
    """Whether a signature of version 4 is `key`'s over one of `forms`."""
    if len(body) <= 12 or body[0] != 4 or body[2] != _EDDSA or body[3] not in _HASHES:
        return False
    at = 6 + int.from_bytes(body[4:6], "big")
    head = body[:at]
    at += 2 + int.from_bytes(body[at : at + 2], "big") + 2
    first, at = _read_mpi(body, at, 32)
    second, at = _read_mpi(body, at, 32)
    point = first.rjust(32, b"\0") + second.rjust(32, b"\0")
    tail = head + b"\4\xff" + struct.pack(">I", len(head))
    digests = (hashlib.new(_HASHES[body[3]], form + tail).digest() for form in forms)
    return any(ed25519.verify(key.public, digest, point) for digest in digests)
