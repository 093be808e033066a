"""The station: one start of the delivered image with a table and a queue, and what it says.

In every start an analyser listens on the serial chip, and memory holds what nobody chose. A guest
can feel that its instructions are counted, so those of every short answer are: nothing but what was
drawn tells a measured start from a trial. A long answer's cannot be: while it counts, QEMU lets the
guest wait in a loop for who reads the console, and some 278 single bytes fill its socket.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from pathlib import Path

import rounds
from analyser import Analyser, violation

from benchflow.boot import BadDeliverable, GuestError

START, END, TOP = 0x8000_0000, 0x80FF_0000, 0x8100_0000
LOADED, PAGE = 1, 1 << 12
GAPS = 16  # of an image's free memory so many are filled, the largest first
BEHIND = 1 << 20  # bytes that are filled behind the table and behind the queue
IDLE = 100_000_000  # instructions after all is said: no work is left that takes as many
SECONDS = 15  # of any one answer: a naive image needs less than one
LATE = 3  # real seconds in which one that sleeps is watched for a timer that wakes it
MOST_SAID = 4 << 20
LINGER = 0.1  # real seconds for words after the due ones, where nobody waits until it sleeps
SHORT = 200  # bytes of an answer: those are counted


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
    """Starts machines; each has its own files in `folder`. `noise` is what memory holds else."""

    def __init__(self, machines, firmware: Path, folder: Path, noise: bytes) -> None:
        self._machines, self._firmware, self._folder = machines, firmware, folder
        self._noise, self._starts = noise, 0
        self.restless = False  # after a reply it went on executing; counted, it blocks QEMU

    def start(self, table: bytes, queue: bytes, *, counted=True, memory: bytes = b"") -> Start:
        """One that is switched off; `write` changes what its next start finds.

        `memory`, repeated, is in all memory that is nobody's, in place of the noise.
        """
        self._starts += 1
        name = f"start-{self._starts}"
        holds = memory or self._noise
        self.write(name, table, queue, holds)
        gaps = sorted(free(self._firmware.read_bytes()), key=lambda gap: -gap[1])[:GAPS]
        places = [(name + ".table", rounds.TABLE), (name + ".queue", rounds.QUEUE)]
        places += [
            (self._filled(holds, size), address) for address, size in [*gaps, (END, TOP - END)]
        ]
        loaded = [
            word
            for file, address in places
            for word in (
                "-device", f"loader,file={self._folder / file},addr={address:#x},force-raw=on",
            )
        ]  # fmt: skip
        chip = Analyser(self._folder / f"{name}.trace")
        machine = self._machines.create(
            name, kernel=self._firmware, rng=False,
            extra_args=["-bios", "none", *loaded, *chip.arguments],
        )  # fmt: skip
        if counted:
            machine.count_instructions()
        made = [self._folder / f"{name}.{part}" for part in ("table", "queue")]
        return Start(machine, chip, made)

    def write(self, name: str, table: bytes, queue: bytes, holds: bytes = b"") -> None:
        """The table and the queue that the machine of this name finds at its next start."""
        behind = repeated(holds or self._noise, BEHIND)
        (self._folder / f"{name}.table").write_bytes(table + behind)
        (self._folder / f"{name}.queue").write_bytes(queue + behind)

    def says(
        self, table, queue, due: str, why: str, *, counted=True, chip=True, memory=b""
    ) -> None:  # fmt: skip
        """One start: it says what is due and nothing else.

        `counted`: where the answer is short. `chip`: and no byte of it without room.
        """
        counted = counted and len(due) <= SHORT and not self.restless
        start = self.start(table, queue, counted=counted, memory=memory)
        try:
            start.hears(due, why)
            time.sleep(LINGER)
            if counted:
                self.restless = not start.rests()
            start.said_nothing_more()
            if chip:
                start.asked_for_room()
        finally:
            start.off()

    def counts(
        self, table: bytes, queue: bytes, due: str, why: str, *, step: float = 0.25, late: float = 0
    ) -> int:
        """The instructions of one start that says what is due, and nothing else, and sleeps.

        `step`: real seconds between readings, of which four have to be the same. `late`: real
        seconds in which it is then watched whether it goes on.
        """
        start = self.start(table, queue)
        try:
            start.hears(due, why)
            count = start.asleep(step)
            time.sleep(late)
            assert not late or start.machine.instructions() == count, "it woke up again [R15]"
            start.said_nothing_more()
            start.asked_for_room()
        finally:
            start.off()
        return count

    def _filled(self, holds: bytes, size: int) -> str:
        """A file of `size` bytes of it; the same for all starts, since disks are small."""
        path = self._folder / f"memory-{holds[:8].hex()}-{size:x}"
        if not path.exists():
            path.write_bytes(repeated(holds, size))
        return path.name


def repeated(pattern: bytes, size: int) -> bytes:
    """`size` bytes of a pattern, again and again."""
    return (pattern * (size // len(pattern) + 1))[:size]


class Start:
    """One machine with what it said, byte by byte: the console itself shows only what is text."""

    def __init__(self, machine, chip: Analyser, files: list[Path]) -> None:
        self.machine, self._chip, self._files = machine, chip, files
        self._said, self._from, self._due, self._why = bytearray(), 0, b"", ""
        machine.console.subscribe(self._take)

    def _take(self, _: float, data: bytes) -> None:
        if len(self._said) < MOST_SAID:
            self._said += data

    @property
    def said(self) -> bytes:
        """All bytes since it was switched on."""
        return bytes(self._said[self._from :])

    def hears(self, due: str, why: str) -> None:
        """Switch on and wait until it said what is `due`, or something else."""
        self._from, self._due, self._why = len(self._said), due.encode(), why
        self.machine.boot()
        deadline = self.machine.deadline(SECONDS)
        while True:
            alive = self.machine.alive
            said = self.said
            over = said == self._due or not self._due.startswith(said)
            if over or not alive or deadline.remaining() <= 0:
                break
            time.sleep(0.02)
        self.said_nothing_more()

    def said_nothing_more(self) -> None:
        """What it said is what is due, to the byte."""
        said, due = self.said, self._due
        pairs = zip(said, due, strict=False)
        at = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(said), len(due)))
        has, wants = said[at : at + 70], due[at : at + 70]
        why = f"after {at} bytes it said {has!r}, due was {wants!r}: {self._why}"
        assert said == due, why

    def rests(self) -> bool:
        """Whether no instruction is executed between two of three readings."""
        readings = []
        for _ in range(3):
            try:
                readings.append(self.machine.instructions())
            except GuestError:
                return False
            if readings[-1:] == readings[-2:-1]:
                return True
            time.sleep(0.05)
        return False

    def asleep(self, step: float) -> int:
        """The count once no instruction is executed any more."""
        deadline, first = self.machine.deadline(SECONDS), self.machine.instructions()
        last, same = -1, 0
        while deadline.remaining() > 0:
            now = self.machine.instructions()
            same = same + 1 if now == last else 0
            if same == 3:
                return now
            last = now
            if now - first > IDLE:
                break
            time.sleep(step)
        raise AssertionError(f"{last} instructions and more to come: [R15] wants it asleep")

    def asked_for_room(self) -> None:
        """No byte was sent without room, as the analyser saw it."""
        why = violation(self._chip.record(len(self._due))) if self._due else ""
        assert not why, f"{why} [R12]"

    def off(self) -> None:
        """Off for good, whatever came of it: one that waits in a loop takes a whole processor."""
        self.cut()
        self._chip.close()
        for path in self._files:
            path.unlink(missing_ok=True)

    def cut(self) -> None:
        """Its power is cut; it may be switched on again."""
        if self.machine.alive:
            self.machine.power_cut()


def quick(station: Station, table: bytes, queue: bytes, due: str, why: str) -> Start:
    """A start that said what is due and was told to switch itself off.

    On a busy host it may be off before QEMU was greeted, which is taken for a kernel that cannot be
    loaded; other checks have seen that it can, so it is tried again.
    """
    for left in reversed(range(10)):
        start = station.start(table, queue, counted=False)  # else it is off before it is greeted
        try:
            start.hears(due, why)
            return start
        except BadDeliverable:
            start.off()
            if not left:
                raise
        except BaseException:
            start.off()
            raise
    raise AssertionError("not reached")


@dataclass(frozen=True)
class Measured:
    """The instructions of a round beside its par."""

    count: int
    par: int

    @property
    def score(self) -> float:
        return self.par / self.count

    def holds(self, times: float, why: str) -> None:
        most = int(times * self.par)
        assert self.count <= most, f"{self.count} instructions, {most} are allowed: {why}"


def measured(station: Station, drawn: rounds.Round, par: int, why: str) -> Measured:
    """What one round took."""
    return Measured(station.counts(drawn.table, drawn.queue, drawn.due, why), par)
