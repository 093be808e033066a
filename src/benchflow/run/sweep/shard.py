"""One of several equal parts of a sweep, for machines that share nothing while they work."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchflow.errors import UsageError
from benchflow.run.sweep.sweepfile import ModelLimits, SweepFile


@dataclass(frozen=True)
class Shard:
    """Part `index` of `count`, from 1. As a text: `2/8`."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @property
    def slug(self) -> str:
        """For names of files."""
        return f"{self.index}of{self.count}"

    def attempts_of(self, cell: int, cells: int, attempts: int) -> int:
        """How many of the `attempts` at the `cell`-th of `cells` belong to this part.

        All attempts of the matrix are numbered, attempt by attempt, each beginning one cell later
        than the one before, and dealt out in turn: each belongs to exactly one part, each part has
        the same number, give or take one, and no part has the same cells each time.
        """
        numbers = (attempt * cells + (cell + attempt) % cells for attempt in range(attempts))
        return sum(number % self.count == self.index - 1 for number in numbers)


#: The whole of a sweep.
WHOLE = Shard(1, 1)
MOST = 100_000


def read(text: str) -> Shard:
    """The part that `I/N` names. Raises UsageError."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
    if not found or not 1 <= int(found[1]) <= int(found[2]) <= MOST:
        raise UsageError(
            f"--shard {text!r} is no part of a sweep",
            hint=f"I/N, with I from 1 to N and N at most {MOST:,}: --shard 2/8",
        )
    return Shard(int(found[1]), int(found[2]))


def share(file: SweepFile, shard: Shard) -> SweepFile:
    """`file` with its part of what the whole may spend and of what providers allow.

    Parts know nothing of each other, so each has an equal share. Raises UsageError where a number
    is too small to be shared.
    """
    n = shard.count
    if n == 1:
        return file
    tokens = file.max_tokens
    return file.model_copy(
        update={
            "max_usd": None if file.max_usd is None else file.max_usd / n,
            "max_tokens": None if tokens is None else _part("max_tokens", tokens, n),
            "limit": [_limit(each, n) for each in file.limit],
        }
    )


def _limit(limit: ModelLimits, n: int) -> ModelLimits:
    shares = {
        key: _part(key, value, n)
        for key in ("rpm", "tpm", "concurrent")
        if (value := getattr(limit, key)) is not None
    }
    return limit.model_copy(update=shares)


def _part(key: str, value: int, n: int) -> int:
    if value < n:
        raise UsageError(
            f"{key} = {value:,} cannot be shared by {n:,} parts: each would have less than 1",
            hint=f"use at most {value:,} parts, or raise it in the file",
        )
    return value // n
