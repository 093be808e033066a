"""Ed25519 signatures (RFC 8032) in plain Python: the verifier's image has no library for them.

Slow and not constant in time, which is of no consequence for keys that live as long as one trial.
"""

from __future__ import annotations

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P

Point = tuple[int, int, int, int]


def _base() -> Point:
    y = 4 * pow(5, P - 2, P) % P
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return (P - x if x & 1 else x, y, 1, (P - x if x & 1 else x) * y % P)


def _add(p: Point, q: Point) -> Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(scalar: int, point: Point) -> Point:
    result: Point = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point = _add(point, point)
        scalar >>= 1
    return result


def _packed(point: Point) -> bytes:
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE = _base()


def _expanded(seed: bytes) -> tuple[int, bytes]:
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ((1 << 254) - 8) | (1 << 254), digest[32:]


def public(seed: bytes) -> bytes:
    """The 32 bytes of the public key that belongs to a private one."""
    return _packed(_times(_expanded(seed)[0], BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    """The signature of 64 bytes."""
    scalar, prefix = _expanded(seed)
    own = _packed(_times(scalar, BASE))
    r = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % ORDER
    point = _packed(_times(r, BASE))
    k = int.from_bytes(hashlib.sha512(point + own + message).digest(), "little") % ORDER
    return point + ((r + k * scalar) % ORDER).to_bytes(32, "little")


def _unpacked(data: bytes) -> Point | None:
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P:
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` is that of `message` under the key."""
    own = _unpacked(public_key) if len(public_key) == 32 else None
    if own is None or len(signature) != 64:
        return False
    point, s = _unpacked(signature[:32]), int.from_bytes(signature[32:], "little")
    if point is None or s >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    k = int.from_bytes(digest, "little") % ORDER
    return _packed(_times(s, BASE)) == _packed(_add(point, _times(k, own)))
