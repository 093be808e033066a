"""Machines, files, order of events.

PCs, with the medium in each: `lent` (a drive, an owner's disks) is asked most and left beside
`keeping` (our disk, full; a power cut), then `uefi` (keys in the menu), `stick` (UEFI), `bare`
(BIOS, a stick), `rescue`, and `damaged` and `spoiled`, whose media have one bit changed. While one
is asked the next one starts; never more than two run. Files: disks of ours and of owners, made
for each run (disks.py); the wire's record of each PC (wire.py).

What fails in a start is raised in the checks that ask for that PC, and in no others.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import disks
import pytest
from keys import choose_rescue, press_r, try_keys
from medium import Medium, flipped
from pc import START_SECONDS, Pc

from benchflow.boot import Disk, GuestError

CLOCK = "2031-03-05T10:00:00"  # of one PC, so that a clock that is set or guessed is seen
CLOCK_EPOCH = 1930471200
DAMAGED = "EXPO MEDIUM DAMAGED"


@dataclass
class Story:
    """What earlier starts left for later checks."""

    acknowledged: dict[int, str] = field(default_factory=dict)
    machine_ids: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    system: dict[str, str] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    ours: disks.Ours | None = None
    used: Path | None = None
    tried_keys: list[str] = field(default_factory=list)
    tried_by_bios: list[str] | None = None
    refused: list[str] = field(default_factory=list)


class Bench:
    """Makes PCs, each once; one that failed to come up fails at once when it is asked for again."""

    def __init__(self, machines: Any, medium: Callable[[], Path], work: Path, story: Story) -> None:
        self.machines, self.medium, self.work, self.story = machines, medium, work, story
        self._pcs: dict[str, Pc] = {}
        self._begun: dict[str, Future[Any]] = {}
        self._failed: dict[str, str] = {}

    def begin(self, name: str, work: Callable[[Bench], Any]) -> None:
        """Begin this work in a thread of its own, if it was not begun before."""
        if name in self._begun:
            return
        outcome = self._begun[name] = Future()

        def run() -> None:
            try:
                outcome.set_result(work(self))
            except BaseException as error:
                outcome.set_exception(error)

        threading.Thread(target=run, name=name, daemon=True).start()

    def ended(self, name: str, work: Callable[[Bench], Any]) -> None:
        """Wait for the end of this work, whatever comes of it."""
        self.begin(name, work)
        wait([self._begun[name]])

    def outcome(self, name: str, work: Callable[[Bench], Any]) -> Any:
        """What came of this work: as a rule, a PC that is up."""
        if name in self._failed:
            raise GuestError(f"{name} failed before: {self._failed[name]}")
        self.begin(name, work)
        try:
            return self._begun[name].result()
        except (GuestError, AssertionError) as error:
            self._failed[name] = str(error)[:200]
            raise

    def running(self, name: str) -> Pc | None:
        """The PC of this name, if it was made and runs."""
        pc = self._pcs.get(name)
        return pc if pc is not None and pc.machine.alive else None

    def off(self, name: str) -> None:
        """Make room: there are processors and memory for two PCs."""
        pc = self.running(name)
        if pc is not None:
            pc.power_cut()

    def create(self, name: str, **more: Any) -> Pc:
        """A PC that is still off."""
        medium = more.pop("medium", None) or self.medium()
        pc = self._pcs[name] = Pc(self.machines, name, medium, self.work, **more)
        return pc

    def disk(self, name: str, make: Callable[[Path], Path]) -> Path:
        """A disk of ours, made once; its digest is kept."""
        path = self.work / f"{name}.img"
        if not path.exists():
            make(path)
            self.story.digests[name] = disks.digest(path)
        return path

    def unchanged(self, pc: Pc, names: dict[int, str]) -> list[str]:
        """Which of the PC's disks are not as they were."""
        return [
            name
            for index, name in names.items()
            if disks.digest(pc.machine.flatten(index)) != self.story.digests[name]
        ]

    def close(self) -> None:
        """Switch all off; a start that is under way then ends too."""
        end = time.monotonic() + 60
        while True:
            for name in list(self._pcs):
                self.off(name)
            if not wait(self._begun.values(), 0.5).not_done or time.monotonic() > end:
                break
        for pc in list(self._pcs.values()):
            pc.wire.close()


@pytest.fixture(scope="session")
def story() -> Story:
    return Story()


@pytest.fixture(scope="session")
def bench(
    machines: Any, deliverable: Callable[[], Path], work: Path, story: Story
) -> Iterator[Bench]:
    made = Bench(machines, deliverable, work, story)
    yield made
    made.close()


@pytest.fixture(scope="session")
def medium(deliverable: Callable[[], Path]) -> Medium:
    return Medium(deliverable())


#: The owners' disks in the PC `lent`, by their numbers.
OWNERS = {0: "unclean", 1: "swap", 2: "decoy", 3: "alike"}


def start_lent(bench: Bench) -> Pc:
    owners = [
        Disk(bench.disk("unclean", disks.unclean)),
        Disk(bench.disk("swap", disks.swap)),
        Disk(bench.disk("decoy", disks.decoy), bus="sata"),
        Disk(bench.disk("alike", disks.fat_alike)),
    ]
    pc = bench.create("lent", disks=owners, extra=["-rtc", f"base={CLOCK}"])
    pc.start()
    return pc


@pytest.fixture
def lent(bench: Bench) -> Pc:
    """BIOS, the medium in the drive, disks of the PC's owner in it, none of ours."""
    pc: Pc = bench.outcome("lent", start_lent)
    bench.begin("keeping", start_keeping)
    return pc


def leave(bench: Bench) -> dict[str, object]:
    """The end of `lent`, as the exhibition leaves a town."""
    found: dict[str, object] = {}
    lent = bench.running("lent")
    if lent is None:
        return found
    try:
        in_use = "grep -E '^/dev/(vd|sd)' /proc/mounts; tail -n +2 /proc/swaps; :"
        found["in use"] = lent.say(in_use)
        found["switched off"] = lent.press_power()
        found["changed"] = bench.unchanged(lent, OWNERS)
    except GuestError as error:
        found["error"] = str(error)[:300]
    return found


@pytest.fixture
def owners(bench: Bench) -> dict[str, object]:
    """What was seen when `lent` was left."""
    found: dict[str, object] = bench.outcome("left", leave)
    return found


def start_keeping(bench: Bench) -> Pc:
    bench.story.ours = disks.Ours(bench.work / "ours.img")
    pc = bench.create("keeping", disks=[Disk(bench.story.ours.path)])
    pc.switch_on()
    bench.story.tried_by_bios = try_keys(pc)
    pc.is_up()
    return pc


@pytest.fixture
def keeping(bench: Bench) -> Pc:
    """BIOS, with a disk of ours that was full and written elsewhere; keys are pressed in the
    menu."""
    bench.begin("left", leave)
    bench.begin("uefi", start_uefi)
    pc: Pc = bench.outcome("keeping", start_keeping)
    return pc


@pytest.fixture
def tried_by_bios(bench: Bench) -> list[str] | None:
    """What keys opened in the menu of `keeping`, which is started for it where no check before
    asked for it; None where there was no menu."""
    bench.ended("keeping", start_keeping)
    bench.off("keeping")
    return bench.story.tried_by_bios


def start_uefi(bench: Bench) -> Pc:
    bench.ended("left", leave)
    bench.off("lent")
    disk = Disk(bench.disk("lost", disks.not_mendable), bus="sata")
    pc = bench.create("uefi", firmware="uefi", disks=[disk], nic="virtio-net-pci")
    pc.switch_on()
    bench.story.tried_keys = try_keys(pc)
    pc.is_up()
    return pc


@pytest.fixture
def uefi(bench: Bench) -> Pc:
    """UEFI, the other card, a disk of ours that cannot be mended; keys are pressed in the menu."""
    bench.off("keeping")
    bench.begin("stick", start_stick)
    pc: Pc = bench.outcome("uefi", start_uefi)
    return pc


def start_stick(bench: Bench) -> Pc:
    disk = Disk(bench.disk("linked", disks.linked))
    pc = bench.create("stick", firmware="uefi", stick=True, disks=[disk], nic="virtio-net-pci")
    pc.start()
    return pc


@pytest.fixture
def stick(bench: Bench) -> Pc:
    """UEFI, the medium as a stick, a disk with our label whose `wall` leads to /etc."""
    bench.off("uefi")
    bench.begin("bare", start_bare)
    pc: Pc = bench.outcome("stick", start_stick)
    return pc


def start_bare(bench: Bench) -> Pc:
    disk = Disk(bench.disk("bare", disks.bare), bus="sata")
    pc = bench.create("bare", stick=True, disks=[disk])
    pc.start()
    return pc


@pytest.fixture
def bare(bench: Bench) -> Pc:
    """BIOS, the medium as a stick, a partition of ours that was never in a PC."""
    bench.off("stick")
    bench.begin("rescue", start_rescue)
    pc: Pc = bench.outcome("bare", start_bare)
    return pc


def plain(path: Path) -> Path:
    return disks.ext4(path, disks.LABEL, {"wall/messages": b"one\n"})


#: The disks in the PC `rescue`, by their numbers.
RESCUED = {1: "plain", 2: "unclean"}


def start_rescue(bench: Bench) -> Pc:
    both = [Disk(bench.disk("plain", dirty)), Disk(bench.disk("unclean", disks.unclean))]
    pc = bench.create("rescue", stick=True, disks=both)
    pc.switch_on()
    choose_rescue(pc)
    return pc


@pytest.fixture
def rescue(bench: Bench) -> Pc:
    """BIOS, the medium as a stick, `r` pressed in the menu; our disk and one of the owner's."""
    bench.off("bare")
    bench.begin("damaged", start_damaged)
    pc: Pc = bench.outcome("rescue", start_rescue)
    return pc


def dirty(path: Path) -> Path:
    plain(path)
    disks.debugfs(path, "feature needs_recovery")
    return path


def start_damaged(bench: Bench, name: str = "damaged", rescue: bool = False) -> Pc:
    medium = Medium(bench.medium())
    size = sum(piece.size for piece in medium.system())
    # Once anywhere, and once near the end, which a check that tires would not reach.
    where = secrets.randbelow(size) if rescue else size - 1 - secrets.randbelow(size // 20 + 1)
    copy = flipped(medium, bench.work / f"{name}.iso", where)
    disk = Disk(bench.disk("spare", plain))
    pc = bench.create(name, medium=copy, disks=[disk])
    pc.switch_on()
    if rescue:
        press_r(pc)
    # Here and not in the check, which comes later than what it has a time for.
    with suppress(GuestError):
        pc.until(lambda: DAMAGED in pc.printed() or not pc.machine.alive,
                 START_SECONDS, "word of the damage")  # fmt: skip
    deadline = pc.machine.deadline(max(5.0, START_SECONDS - pc.machine.elapsed))
    while pc.machine.alive and deadline.remaining() > 0:
        time.sleep(0.3)
    if not pc.machine.alive:
        bench.story.refused.append(name)
    return pc


@pytest.fixture
def damaged(bench: Bench) -> Pc:
    """BIOS; one bit of the system file is not as it was. It had its time to say so."""
    bench.off("rescue")
    bench.begin("spoiled", start_spoiled)
    pc: Pc = bench.outcome("damaged", start_damaged)
    return pc


def start_spoiled(bench: Bench) -> Pc:
    return start_damaged(bench, "spoiled", rescue=True)


@pytest.fixture
def spoiled(bench: Bench) -> Pc:
    """The same with another bit, and `r` was pressed in the menu."""
    bench.off("rescue")
    pc: Pc = bench.outcome("spoiled", start_spoiled)
    return pc
