"""What a verification draws, and what the verifier's program makes of it (image/probe.c)."""

from __future__ import annotations

import random
import string
from collections.abc import Iterable, Iterator

WHOLE = (1 << 64) - 1
MANY = 48  # of the numbers that a part carries

#: The parts of what programs ask of a kernel.
CALLS = ("threads", "epoll", "eventfd", "timerfd", "signalfd", "timers")
CALLS += ("mutexes", "edges", "heard")
FILES = ("unix", "shared", "mapped", "inotify", "locks", "packets", "sealed", "watches", "ranges")


def numbers(seed: int) -> Iterator[int]:
    """The numbers that the program draws."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & WHOLE
        z = state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & WHOLE
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & WHOLE
        yield z ^ z >> 31


def first(seed: int, many: int) -> list[int]:
    drawn = numbers(seed)
    return [next(drawn) for _ in range(many)]


def total(values: Iterable[int]) -> str:
    """The sum of what arrived, in its order."""
    made = 0
    for value in values:
        made = (made * 31 + value) & WHOLE
    return f"{made:016x}"


def due(part: str, seed: int) -> str:
    """What a part says."""
    values = first(seed, MANY)
    changed = {
        "threads": lambda: [value + n % 4 for n, value in enumerate(values)],
        "signalfd": lambda: [value & 0x7FFFFFFF for value in values],
        "eventfd": lambda: [sum(value >> 8 for value in values) & WHOLE],
        "inotify": lambda: [
            value
            for a, b in zip(*[iter(first(seed, MANY // 2))] * 2, strict=True)
            for value in (a, a, b, b)
        ],
        "watches": lambda: [
            value
            for a, b in zip(*[iter(first(seed, MANY // 6))] * 2, strict=True)
            for value in (a,) * 7 + (b,) * 4 + (a,) * 2
        ],
        "locks": lambda: [int(total(values), 16)],
        "both": lambda: [value + n for n, value in enumerate(first(seed, 2 * MANY))],
    }
    return f"{part} {total(changed.get(part, lambda: values)())}"


def seed(rng: random.Random) -> int:
    return rng.randrange(1, 1 << 63)


def word(rng: random.Random, length: int = 10) -> str:
    return "".join(rng.choice(string.ascii_lowercase) for _ in range(length))


def strange_name(rng: random.Random) -> str:
    """A file's name in several alphabets."""
    letters = "äöüßéñçøåłžšαβγδωдежзийあいうえ中文字한글🙂"
    return "".join(rng.choice(letters) for _ in range(8)) + word(rng, 3)
