"""The field tools' side of the seal: the same function as seal_tag() in the driver."""

from __future__ import annotations

import re

MASK = (1 << 64) - 1


def tag(order: str, challenge: str | bytes, count: int) -> str:
    asked = challenge.encode() if isinstance(challenge, str) else challenge
    value = 0xCBF29CE484222325
    for byte in order.encode() + count.to_bytes(8, "little") + asked:
        value = ((value ^ byte) * 0x100000001B3) & MASK
        value = (((value << 23) | (value >> 41)) & MASK) ^ (value >> 17)
    value ^= value >> 33
    value = (value * 0xFF51AFD7ED558CCD) & MASK
    value ^= value >> 33
    return f"{value:016x}"


def verify(order: str, challenge: str | bytes, answer: str) -> int:
    """The COUNT of an answer, which must carry the right tag."""
    match = re.fullmatch(r"seal1 (\d+) ([0-9a-f]{16})\s*", answer)
    assert match is not None, f"not an answer of the seal: {answer!r}"
    count = int(match[1])
    assert match[2] == tag(order, challenge, count), f"wrong tag: {answer!r}"
    return count
