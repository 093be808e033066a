"""Versions in the drawn ordering: compared, and drawn."""

from __future__ import annotations

import random
import re
from functools import cmp_to_key

from ordered import AXES

KIND = AXES["ordering"]


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(".")]


def compare(one: str, other: str) -> int:
    """-1, 0 or 1."""
    if KIND == "epoch":
        heads = [text.split(":")[0] if ":" in text else "0" for text in (one, other)]
        if int(heads[0]) != int(heads[1]):
            return -1 if int(heads[0]) < int(heads[1]) else 1
        one, other = (text.rpartition(":")[2] for text in (one, other))
    tails = ["", ""]
    if KIND in ("letters", "tilde"):
        found = [re.fullmatch(r"([0-9.]+)(.*)", text) for text in (one, other)]
        (one, tails[0]), (other, tails[1]) = ((each[1], each[2]) for each in found)
    a, b = _numbers(one), _numbers(other)
    length = max(len(a), len(b))
    a, b = a + [0] * (length - len(a)), b + [0] * (length - len(b))
    if a != b:
        return -1 if a < b else 1
    if KIND == "tilde":
        ranks = [int(tail[1:]) if tail else 10**9 for tail in tails]
        return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])
    return (tails[0] > tails[1]) - (tails[0] < tails[1])


#: Pairs that a plain comparison of text, or of the numbers alone, gets wrong.
_TRAPS = {
    "numbers": [("1.9", "1.10"), ("9", "10"), ("2.9.9", "2.10"), ("0.99", "1")],
    "letters": [("1.9", "1.9a"), ("1.9b", "1.10"), ("2a", "2b"), ("9z", "10")],
    "epoch": [("9.9", "1:0.1"), ("1:9", "1:10"), ("20", "2:1"), ("1.9", "1.10")],
    "tilde": [("2.0~1", "2.0"), ("2.0~9", "2.0~10"), ("1.9", "1.10~1"), ("1.9~2", "1.9")],
}  # fmt: skip


def trap(draw: random.Random) -> tuple[str, str]:
    """An older and a later version that are easily taken for each other's."""
    return draw.choice(_TRAPS[KIND])


def rising(draw: random.Random, count: int) -> list[str]:
    """So many versions, each above the one before it."""
    made: list[str] = []
    while len(made) < count:
        text = ".".join(str(draw.randrange(12)) for _ in range(draw.randrange(1, 4)))
        if KIND == "epoch" and draw.random() < 0.4:
            text = f"{draw.randrange(1, 4)}:{text}"
        if KIND == "letters" and draw.random() < 0.5:
            text += draw.choice("abcxyz")
        if KIND == "tilde" and draw.random() < 0.5:
            text += f"~{draw.randrange(1, 20)}"
        if not any(compare(text, other) == 0 for other in made):
            made.append(text)
    return sorted(made, key=cmp_to_key(compare))
