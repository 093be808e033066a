"""Ed25519 signatures (RFC 8032) in plain Python: the verifier's image has no library for them.

Slow and not constant in time, which is of no consequence for keys that were delivered or that live
as long as one trial.
"""

from __future__ import annotations

import base64
import hashlib
import re

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
#: RFC 8410: the head of a PKCS #8 structure of version 0 that holds an Ed25519 key.
PKCS8_HEAD = bytes.fromhex("302e020100300506032b657004220420")
_PEM = re.compile(rb"-----BEGIN PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----")

_Point = tuple[int, int, int, int]


def public(seed: bytes) -> bytes:
    """The 32 bytes of the public key that belongs to the 32 of a private one."""
    return _packed(_times(_expanded(seed)[0], _BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    """The signature of 64 bytes."""
    scalar, prefix = _expanded(seed)
    own = _packed(_times(scalar, _BASE))
    r = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % _ORDER
    point = _packed(_times(r, _BASE))
    k = int.from_bytes(hashlib.sha512(point + own + message).digest(), "little") % _ORDER
    return point + ((r + k * scalar) % _ORDER).to_bytes(32, "little")


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` is that of `message` by the owner of the public `key`.

    No for a key of small order: it would accept one signature for every message.
    """
    if len(key) != 32 or len(signature) != 64:
        return False
    own, point = _unpacked(key), _unpacked(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if own is None or point is None or s >= _ORDER:
        return False
    if _packed(_times(8, own)) == _packed((0, 1, 1, 0)):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % _ORDER
    return _packed(_times(s, _BASE)) == _packed(_add(point, _times(k, own)))


def seed_of(pem: bytes, name: str) -> bytes:
    """The secret bytes of an Ed25519 key as PEM and PKCS #8; AssertionError, which calls the file
    `name`, for anything else."""
    found = _PEM.search(pem[:4096])
    assert found, f"{name} holds no unencrypted PKCS #8 private key"
    try:
        der = base64.b64decode(b"".join(found[1].split()), validate=True)
    except ValueError:
        raise AssertionError(f"{name} is not base64") from None
    assert der[:16] == PKCS8_HEAD and len(der) == 48, f"{name} is not an Ed25519 key"
    return der[16:]


def _expanded(seed: bytes) -> tuple[int, bytes]:
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ((1 << 254) - 8) | (1 << 254), digest[32:]


def _add(p: _Point, q: _Point) -> _Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % _P
    b = (p[1] + p[0]) * (q[1] + q[0]) % _P
    c = 2 * p[3] * q[3] * _D % _P
    d = 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(scalar: int, point: _Point) -> _Point:
    result: _Point = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point = _add(point, point)
        scalar >>= 1
    return result


def _packed(point: _Point) -> bytes:
    inverse = pow(point[2], _P - 2, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _unpacked(data: bytes) -> _Point | None:
    number = int.from_bytes(data, "little")
    y, odd = number & ((1 << 255) - 1), number >> 255
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * pow(2, (_P - 1) // 4, _P) % _P
    if (x * x - square) % _P or (x == 0 and odd):
        return None
    if x & 1 != odd:
        x = _P - x
    return x, y, 1, x * y % _P


def _base() -> _Point:
    # RFC 8032, 5.1: y = 4/5, and of the two x the even one.
    found = _unpacked((4 * pow(5, _P - 2, _P) % _P).to_bytes(32, "little"))
    assert found is not None
    return found


_BASE = _base()
