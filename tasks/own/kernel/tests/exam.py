"""Starts of the delivered kernel, and what the hidden programs say in them.

A program is given the names of its parts. Of each that holds, it prints a proof: a hash of its
salt (32 bytes, drawn for this verification and written into the program), the part's name and
whatever it found on the way. A kernel that only pretends would have to know what the program
computes.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import re
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from rootfs import Root

from benchflow.boot import Disk, GuestError

PART = re.compile(r"^@([a-z-]+) (ok|no) ([^\n]*)\n", re.MULTILINE)
PATIENCE = 40  # reference seconds without a word of a program
MOST_STARTS = 3  # of one sitting that died


def proof(salt: bytes, part: str, mixed: bytes = b"") -> str:
    """What a program says of a part that holds."""
    return hashlib.sha256(salt + part.encode() + mixed).hexdigest()[:16]


def draws(seed: int):
    """The numbers that a program draws from `seed=`."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & (1 << 64) - 1
        z = state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & (1 << 64) - 1
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & (1 << 64) - 1
        yield z ^ z >> 31


class Start:
    """One start of the kernel, switched off at its end whatever came of it."""

    def __init__(self, machine, why: str) -> None:
        self.machine, self.why = machine, why
        self._from = machine.console.end
        machine.boot(20)

    @property
    def text(self) -> str:
        """All that it printed."""
        return self.machine.console.since(self._from)

    def hears(self, pattern: str, seconds: float, why: str = "") -> re.Match[str]:
        """Wait for a pattern; AssertionError, with the console's end, when it does not come."""
        compiled = re.compile(pattern, re.MULTILINE)
        deadline = self.machine.deadline(seconds)
        while True:
            alive = self.machine.alive
            late = deadline.remaining() <= 0
            found = compiled.search(self.text)
            if found:
                return found
            if not alive or late:
                state = (
                    "was not said in time" if alive else "was not said before the machine went off"
                )
                raise AssertionError(
                    f"{why or self.why}: /{pattern}/ {state}; the console ends: {self.end()}"
                )
            time.sleep(0.02)

    def off(self, seconds: float, why: str = "") -> None:
        """Wait until it has switched itself off."""
        deadline = self.machine.deadline(seconds)
        while self.machine.alive:
            assert deadline.remaining() > 0, (
                f"{why or self.why}: it is still on after {seconds} "
                f"s; the console ends: {self.end()}"
            )
            time.sleep(0.02)

    def end(self) -> str:
        """The last of the console, on one line."""
        return repr(self.text[-400:]) if self.text else "(nothing)"

    def close(self) -> None:
        """Switched off, its files removed."""
        with contextlib.suppress(GuestError):
            if self.machine.alive:
                self.machine.power_cut()
        self.machine.close()


@dataclass
class Bench:
    """What every start needs."""

    machines: object
    kernel: Path
    work: Path
    rng: random.Random
    starts: int = 0

    def start(self, append: str, why: str, image: Path | None = None, **more) -> Start:
        """Switch a new machine on. `image` is its root disk."""
        self.starts += 1
        if image is not None:
            more["disks"] = [Disk(image), *more.get("disks", [])]
            append = f"root=/dev/vda {append}"
        machine = self.machines.create(
            f"start-{self.starts}", kernel=self.kernel, append=append, rng=False, **more
        )
        return Start(machine, why)

    def path(self, suffix: str) -> Path:
        """A new file's path."""
        self.starts += 1
        return self.work / f"{self.starts}.{suffix}"


@dataclass
class Sitting:
    """One program asked for its parts, in as few starts as it takes; asked when first needed.

    `expected`: what a part mixes in, where that is known here.
    """

    bench: Bench
    program: str
    parts: list[str]
    root: Root
    params: list[str] = field(default_factory=list)
    expected: dict[str, bytes] = field(default_factory=dict)
    spec: dict = field(default_factory=dict)
    patience: float = PATIENCE
    keeps_disk: bool = False
    disk: Path | None = None
    image: Path | None = None
    _said: dict[str, tuple[str, str]] = field(default_factory=dict)
    _over: str = ""

    def holds(self, *parts: str) -> None:
        """These parts hold; AssertionError says of each that does not what was found."""
        self._ask()
        wrong = []
        for part in parts or self.parts:
            verdict, text = self._said.get(part, ("", self._over))
            if verdict != "ok":
                wrong.append(f"{part}: {text}")
            elif text != proof(self.root.salts[self.program], part, self.expected.get(part, b"")):
                wrong.append(f"{part}: what it found is not what was there")
        assert not wrong, "; ".join(wrong)

    def _ask(self) -> None:
        if self._over:
            return
        if self.image is None:
            self.image = self.root.image(self.bench.path("root.img"))
        left = list(self.parts)
        for _ in range(MOST_STARTS):
            left = self._sit(left)
            if not left:
                break
        for part in left:
            self._said[part] = ("no", "not asked: the kernel stopped too often before")
        self._over = "it said nothing of it"

    def _sit(self, left: list[str]) -> list[str]:
        append = f"init={self.program} -- {' '.join([*self.params, *left])}"
        start = self.bench.start(
            append, f"parts of a program ({', '.join(left)})", self.image, **self.spec
        )
        ended = ""
        try:
            self._listen(start, left)
        except AssertionError as error:
            ended = str(error)
        finally:
            text = start.text
            if self.keeps_disk and not ended and not start.machine.alive:
                kept = self.bench.path("kept.img")
                shutil.move(start.machine.flatten(), kept)
                self.disk = kept
            start.close()
        for name, verdict, more in PART.findall(text):
            if name in left and self._said.get(name, ("ok", ""))[0] == "ok":
                self._said[name] = (verdict, more)
        rest = [part for part in left if part not in self._said]
        if rest:
            self._said[rest[0]] = (
                "no",
                f"no word of it; {ended or 'the console ends: ' + repr(text[-300:])}",
            )
        return rest[1:]

    def _listen(self, start: Start, left: list[str]) -> None:
        seen, deadline = -1, start.machine.deadline(self.patience)
        while True:
            alive, text = start.machine.alive, start.text
            if not alive:
                return
            told = len(PART.findall(text))
            if told != seen:
                seen, deadline = told, start.machine.deadline(self.patience)
            assert deadline.remaining() > 0, (
                f"it is silent for {self.patience} s; the console ends: {start.end()}"
            )
            time.sleep(0.02)
