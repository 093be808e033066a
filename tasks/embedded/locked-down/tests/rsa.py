"""RSA keys, certificates, signature lists and Authenticode's PKCS #7, in plain Python.

Signature lists and Authenticode are no library's. Only as much of DER as is needed, with every
length checked: the files come from a stranger.
"""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import uuid
from dataclasses import dataclass

X509_LIST = uuid.UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072")
_PEM = rb"-----BEGIN %s-----\s+([A-Za-z0-9+/=\s]+)-----END %s-----"

LARGEST = 16384  # bits: what the firmware's OpenSSL takes
SEQUENCE, SET, INTEGER, BITS, OCTETS, OID = 0x30, 0x31, 0x02, 0x03, 0x04, 0x06
_RSA = bytes.fromhex("2a864886f70d010101")
_SHA256 = bytes.fromhex("608648016503040201")
_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_CONTENT_TYPE = bytes.fromhex("2a864886f70d010903")
_MESSAGE_DIGEST = bytes.fromhex("2a864886f70d010904")
_INDIRECT = bytes.fromhex("2b060104018237020104")  # SPC_INDIRECT_DATA
_PE_IMAGE = bytes.fromhex("2b06010401823702010f")  # SPC_PE_IMAGE_DATA
# The head of what PKCS #1 v1.5 signs: DigestInfo with SHA-256 (RFC 8017, 9.2).
_DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")


def tlv(tag: int, *parts: bytes) -> bytes:
    """A DER element."""
    body = b"".join(parts)
    if len(body) < 0x80:
        return bytes([tag, len(body)]) + body
    length = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + body


def elements(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """Tag, content and whole encoding of each element. AssertionError for what is not DER."""
    found: list[tuple[int, bytes, bytes]] = []
    position = 0
    while position < len(data):
        assert position + 2 <= len(data), "DER is cut off"
        tag, length, body = data[position], data[position + 1], position + 2
        if length >= 0x80:
            size = length & 0x7F
            assert 1 <= size <= 3 and body + size <= len(data), "DER has a strange length"
            length = int.from_bytes(data[body : body + size], "big")
            body += size
        assert body + length <= len(data), "DER is cut off"
        found.append((tag, data[body : body + length], data[position : body + length]))
        position = body + length
    return found


def _one(data: bytes, tag: int) -> list[tuple[int, bytes, bytes]]:
    outer = elements(data)
    assert len(outer) == 1 and outer[0][0] == tag, "not the DER structure that is expected"
    return elements(outer[0][1])


@dataclass(frozen=True)
class Certificate:
    """What is needed of an X.509 certificate with an RSA key."""

    der: bytes
    issuer: bytes
    serial: bytes
    modulus: int
    exponent: int

    @classmethod
    def of(cls, der: bytes) -> Certificate:
        assert len(der) <= 16384, "a certificate of more than 16 KiB"
        parts = _one(der, SEQUENCE)
        assert len(parts) == 3 and parts[0][0] == SEQUENCE, "not an X.509 certificate"
        fields = elements(parts[0][1])
        if fields and fields[0][0] == 0xA0:
            fields = fields[1:]
        assert len(fields) >= 6 and fields[0][0] == INTEGER, "not an X.509 certificate"
        key = elements(fields[5][1])
        assert len(key) == 2 and key[1][0] == BITS, "a certificate without a public key"
        assert _RSA in key[0][1], "the certificate's key is not RSA"
        numbers = [int.from_bytes(part[1], "big") for part in _one(key[1][1][1:], SEQUENCE)]
        assert len(numbers) == 2, "a certificate without a public key"
        return cls(der, fields[2][2], fields[0][2], numbers[0], numbers[1])


@dataclass(frozen=True)
class Key:
    """A private key with its certificate."""

    modulus: int
    exponent: int
    primes: tuple[int, int]
    certificate: Certificate

    def sign(self, message: bytes) -> bytes:
        """RSASSA-PKCS1-v1_5 with SHA-256."""
        size = (self.modulus.bit_length() + 7) // 8
        text = _DIGEST_INFO + hashlib.sha256(message).digest()
        padded = b"\0\1" + b"\xff" * (size - 3 - len(text)) + b"\0" + text
        number = pow(int.from_bytes(padded, "big"), self.exponent, self.modulus)
        return number.to_bytes(size, "big")


def pem(text: bytes, label: bytes) -> bytes:
    """The first block with this label. AssertionError where there is none."""
    found = re.search(_PEM % (label, label), text[:32768])
    assert found, f"no PEM block {label.decode()}"
    try:
        return base64.b64decode(b"".join(found[1].split()), validate=True)
    except ValueError:
        raise AssertionError("a PEM block that is not base64") from None


def private_key(text: bytes, certificate: Certificate) -> Key:
    """An RSA key from PEM, PKCS #8, not encrypted."""
    parts = _one(pem(text, b"PRIVATE KEY"), SEQUENCE)
    assert len(parts) >= 3 and parts[2][0] == OCTETS and _RSA in parts[1][1], "not an RSA key"
    numbers = [int.from_bytes(part[1], "big") for part in _one(parts[2][1], SEQUENCE)]
    assert len(numbers) >= 6, "not an RSA key"
    _, modulus, _, exponent, p, q = numbers[:6]
    assert p > 1 and q > 1 and p * q == modulus, "not an RSA key"
    assert 2048 <= modulus.bit_length() <= LARGEST and 0 < exponent < modulus, "not an RSA key"
    return Key(modulus, exponent, (p, q), certificate)


def signature_lists(data: bytes) -> list[tuple[uuid.UUID, list[bytes]]]:
    """The types and entries of EFI signature lists (UEFI 2.10, 32.4.1)."""
    assert 0 < len(data) <= 20480, f"a signature list of {len(data)} bytes"
    lists: list[tuple[uuid.UUID, list[bytes]]] = []
    position = 0
    while position < len(data):
        assert position + 28 <= len(data), "a signature list is cut off"
        kind = uuid.UUID(bytes_le=data[position : position + 16])
        size, head, each = struct.unpack_from("<III", data, position + 16)
        assert size >= 28 + head and position + size <= len(data), "a signature list is cut off"
        assert each > 16 and (size - 28 - head) % each == 0, "a signature list with a strange size"
        first = position + 28 + head
        entries = [data[at + 16 : at + each] for at in range(first, position + size, each)]
        lists.append((kind, entries))
        position += size
    return lists


def attribute_pkcs7(digest: bytes, key: Key) -> bytes:
    """Authenticode's SignedData over a program's digest."""
    algorithm = tlv(SEQUENCE, tlv(OID, _SHA256), b"\x05\x00")
    image = tlv(
        SEQUENCE,
        tlv(OID, _PE_IMAGE),
        tlv(SEQUENCE, tlv(BITS, b"\0"), tlv(0xA0, tlv(0xA2, tlv(0x80, b"")))),
    )
    body = image + tlv(SEQUENCE, algorithm, tlv(OCTETS, digest))
    attributes = b"".join(
        sorted(
            (
                tlv(SEQUENCE, tlv(OID, _CONTENT_TYPE), tlv(SET, tlv(OID, _INDIRECT))),
                tlv(
                    SEQUENCE,
                    tlv(OID, _MESSAGE_DIGEST),
                    tlv(SET, tlv(OCTETS, hashlib.sha256(body).digest())),
                ),
            )
        )
    )
    certificate = key.certificate
    signer = tlv(
        SEQUENCE,
        tlv(INTEGER, b"\1"),
        tlv(SEQUENCE, certificate.issuer, certificate.serial),
        algorithm,
        tlv(0xA0, attributes),
        tlv(SEQUENCE, tlv(OID, _RSA), b"\x05\x00"),
        tlv(OCTETS, key.sign(tlv(SET, attributes))),
    )
    signed = tlv(
        SEQUENCE,
        tlv(INTEGER, b"\1"),
        tlv(SET, algorithm),
        tlv(SEQUENCE, tlv(OID, _INDIRECT), tlv(0xA0, tlv(SEQUENCE, body))),
        tlv(0xA0, certificate.der),
        tlv(SET, signer),
    )
    return tlv(SEQUENCE, tlv(OID, _SIGNED_DATA), tlv(0xA0, signed))
