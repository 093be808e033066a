"""The name under which OpenSSL looks for a certificate: the hash of its subject."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

_TEXTS = {12: "utf-8", 19: "ascii", 20: "latin-1", 22: "ascii", 26: "ascii", 28: "utf-32-be",
          30: "utf-16-be"}  # fmt: skip
_SEQUENCE, _SET, _UTF8, _VERSION = 0x30, 0x31, 12, 0xA0
_SPACES = " \t\n\v\f\r"


def subject_hash(der: bytes) -> str:
    """Eight hexadecimal digits, as `openssl x509 -subject_hash`. Raises ValueError for no X.509."""
    (_, certificate, _) = next(_read(der))
    (_, body, _) = next(_read(certificate))
    fields = [field for field in _read(body) if field[0] != _VERSION]
    names = b""
    # serial, algorithm, issuer, validity, subject
    for _, relative, _ in _read(fields[4][1]):
        pairs = sorted(_pair(pair) for _, pair, _ in _read(relative))
        names += _write(_SET, b"".join(pairs))
    return hashlib.sha1(names).digest()[3::-1].hex()


def _pair(pair: bytes) -> bytes:
    (_, _, kind), (tag, value, whole) = _read(pair)
    if tag in _TEXTS:
        # OpenSSL's canonical form (crypto/x509/x_name.c): one space, small letters, UTF-8.
        text = value.decode(_TEXTS[tag]).strip(_SPACES)
        words = "".join(" " if c in _SPACES else c for c in text).split(" ")
        text = " ".join(word for word in words if word)
        plain = "".join(c.lower() if c.isascii() else c for c in text)
        whole = _write(_UTF8, plain.encode())
    return _write(_SEQUENCE, kind + whole)


def _read(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """(tag, value, the whole element) of each element."""
    at = 0
    while at < len(data):
        if at + 2 > len(data):
            raise ValueError("cut off")
        tag, size, start = data[at], data[at + 1], at + 2
        if size & 0x80:
            count = size & 0x7F
            size, start = int.from_bytes(data[start : start + count], "big"), start + count
        if start + size > len(data):
            raise ValueError("cut off")
        yield tag, data[start : start + size], data[at : start + size]
        at = start + size


def _write(tag: int, value: bytes) -> bytes:
    size = len(value)
    if size < 0x80:
        return bytes((tag, size)) + value
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(digits))) + digits + value
