"""The station: one start of the delivered image with a table and a queue, and what it says."""

from __future__ import annotations

import random
import struct
import time
from dataclasses import dataclass
from pathlib import Path

import rounds

from benchflow.boot import BadDeliverable

START, END = 0x8000_0000, 0x80FF_0000
LOADED, PAGE = 1, 1 << 12
IDLE = 100_000_000  # instructions after all is said: no work is left that takes as many
SECONDS = 15  # of any one answer: a naive image needs less than one


def segments(data: bytes) -> list[tuple[int, int]]:
    """(address, bytes in memory) of what is loaded. A damaged file fails (struct.error)."""
    at, size, count = struct.unpack_from("<Q14xHH", data, 32)
    parts = [struct.unpack_from("<IIQQQQQ", data, at + size * n) for n in range(count)]
    return [(physical, memory) for kind, _, _, _, physical, _, memory in parts if kind == LOADED]


def free(data: bytes) -> list[tuple[int, int]]:
    """(address, bytes) of the image's memory that the image neither loads nor reserves."""
    gaps, at = [], START
    for address, size in [*sorted(segments(data)), (END, 0)]:
        if address - at >= PAGE:
            gaps.append((at, address - at))
        at = max(at, -(-(address + size) // PAGE) * PAGE)
    return gaps


class Station:
    """Starts machines; each has its own files in `folder`."""

    def __init__(self, machines, firmware: Path, folder: Path) -> None:
        self._machines, self._firmware, self._folder = machines, firmware, folder
        self._starts = 0

    def machine(self, table: bytes, queue: bytes, memory=None, more=()):
        """A machine that is switched off; `write` changes what its next start finds.

        `memory(size)` makes what is in the image's free memory.
        """
        self._starts += 1
        name = f"start-{self._starts}"
        self.write(name, table, queue)
        places = [(name + ".table", rounds.TABLE), (name + ".queue", rounds.QUEUE)]
        for address, size in free(self._firmware.read_bytes()) if memory else ():
            (self._folder / f"{name}.{address:x}").write_bytes(memory(size))
            places.append((f"{name}.{address:x}", address))
        loaded = [
            word
            for file, address in places
            for word in (
                "-device", f"loader,file={self._folder / file},addr={address:#x},force-raw=on",
            )
        ]  # fmt: skip
        return self._machines.create(
            name, kernel=self._firmware, rng=False, extra_args=["-bios", "none", *loaded, *more]
        )

    def write(self, name: str, table: bytes, queue: bytes) -> None:
        """The table and the queue that the machine of this name finds at its next start."""
        (self._folder / f"{name}.table").write_bytes(table)
        (self._folder / f"{name}.queue").write_bytes(queue)

    def says(self, table: bytes, queue: bytes, due: str, why: str, **more) -> None:
        """One start: it says what is due and nothing else."""
        machine = self.machine(table, queue, **more)
        try:
            hears(machine, due, why)
        finally:
            off(machine)

    def counts(self, table: bytes, queue: bytes, due: str, why: str) -> int:
        """The instructions of one start, from power-on until it sleeps, everything said."""
        machine = self.machine(table, queue)
        machine.count_instructions()
        try:
            hears(machine, due, why)
            count = asleep(machine)
            assert machine.console.since(0) == due, f"it said more later: {why}"
        finally:
            off(machine)
        return count


def off(machine) -> None:
    """Switched off, whatever came of it: a station that waits in a loop takes a whole processor."""
    if machine.alive:
        machine.power_cut()


def quick(station, table: bytes, queue: bytes, due: str, why: str):
    """A machine that said what is due and was told to switch itself off.

    On a busy host it may be off before QEMU was greeted, which is taken for a kernel that cannot be
    loaded; other checks have seen that it can, so it is tried again.
    """
    for left in reversed(range(10)):
        machine = station.machine(table, queue)
        try:
            hears(machine, due, why)
            return machine
        except BadDeliverable:
            if not left:
                raise
        except BaseException:
            off(machine)
            raise
    raise AssertionError("not reached")


def hears(machine, due: str, why: str) -> None:
    """Switch on and wait until the console has what is `due`, or something else."""
    start = machine.console.end
    machine.boot()
    deadline = machine.deadline(SECONDS)
    while True:
        alive = machine.alive
        text = machine.console.since(start)
        if text == due or not due.startswith(text) or not alive or deadline.remaining() <= 0:
            break
        time.sleep(0.02)
    pairs = zip(text, due, strict=False)
    at = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(text), len(due)))
    said, wanted = text[at : at + 70], due[at : at + 70]
    assert text == due, f"after {at} characters it said {said!r}, due was {wanted!r}: {why}"


def asleep(machine) -> int:
    """The count once no instruction is executed any more."""
    deadline, first, last, same = machine.deadline(SECONDS), machine.instructions(), -1, 0
    while deadline.remaining() > 0:
        now = machine.instructions()
        same = same + 1 if now == last else 0
        if same == 3:
            return now
        last = now
        if now - first > IDLE:
            break
        time.sleep(0.25)
    raise AssertionError(f"{last} instructions and more to come: [R15] wants it asleep")


@dataclass(frozen=True)
class Measured:
    """The instructions of a round beside its par."""

    count: int
    par: int

    def holds(self, times: float, why: str) -> None:
        most = int(times * self.par)
        assert self.count <= most, f"{self.count} instructions, {most} are allowed: {why}"


def first_answer(station, seed: str) -> Measured:
    """A round of one query for a table of some 2,000 records."""
    rng = random.Random(seed)
    records = rounds.draw(rng, rng.randint(1900, 2100))
    query = (rng.choice(records).key, rounds.nonce(rng))
    made = rounds.table(records, rng)
    due = rounds.replies(records, [query])
    count = station.counts(made, rounds.queue(rounds.get(*query)), due, "[R5] the first answer")
    return Measured(count, rounds.par(records, made, query[0]))
