"""Random choices from a seed, one stream a label: a further draw moves no other."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Draw:
    """All choices of one instance. Only `random.Random.random` and SHA-256 are used, which give
    the same on every Python and every host."""

    name: str
    seed: int

    def stream(self, label: str) -> Stream:
        """The stream of one decision; the same label gives it from its beginning."""
        return Stream(f"{self.name}/{self.seed}/{label}")

    def hex(self, label: str, digits: int) -> str:
        """`digits` hexadecimal digits, at most 64."""
        return hashlib.sha256(f"{self.name}/{self.seed}/{label}".encode()).hexdigest()[:digits]

    def uuid(self, label: str) -> str:
        """A UUID of version 4 in its text form."""
        digits = self.hex(label, 32)
        variant = "89ab"[int(digits[16], 16) % 4]
        return (
            f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
        )


class Stream:
    """Choices one after another."""

    def __init__(self, label: str) -> None:
        self._random = random.Random(label)

    def below(self, bound: int) -> int:
        """A whole number from 0 to `bound` - 1."""
        return min(int(self._random.random() * bound), bound - 1)

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """All of `items` in a drawn order."""
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            other = self.below(last + 1)
            found[last], found[other] = found[other], found[last]
        return found
