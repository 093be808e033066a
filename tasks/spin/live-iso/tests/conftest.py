"""The PCs of the bench, each switched on by the first check that asks for it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import disks
import pytest
from medium import Medium, flipped
from pc import Pc

from benchflow.boot import Disk, GuestError

CLOCK = "2031-03-05T10:00:00"  # of one PC, so that a clock that is set or guessed is seen
CLOCK_EPOCH = 1930471200


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
    owners: dict[str, object] = field(default_factory=dict)


class Bench:
    """Makes PCs, each once; one that failed to come up fails at once when it is asked for again."""

    def __init__(self, machines: Any, medium: Callable[[], Path], work: Path, story: Story) -> None:
        self.machines, self._medium, self.work, self.story = machines, medium, work, story
        self._pcs: dict[str, Pc] = {}
        self._failed: dict[str, str] = {}
        self.owners: dict[str, Path] = {}

    def pc(self, name: str, make: Callable[[], Pc]) -> Pc:
        """The PC of this name; `make` makes and starts it."""
        if name in self._failed:
            raise GuestError(f"{name} failed before: {self._failed[name]}")
        if name not in self._pcs:
            try:
                self._pcs[name] = make()
            except (GuestError, AssertionError) as error:
                self._failed[name] = str(error)[:200]
                raise
        return self._pcs[name]

    def running(self, name: str) -> Pc | None:
        """The PC of this name, if it was made and runs."""
        pc = self._pcs.get(name)
        return pc if pc is not None and pc.machine.alive else None

    def create(self, name: str, **more: Any) -> Pc:
        """A PC that is still off. The others are switched off: they share the processors."""
        for other in self._pcs.values():
            other.power_cut()
        medium = more.pop("medium", None) or self._medium()
        return Pc(self.machines, name, medium, self.work, **more)

    def started(self, name: str, **more: Any) -> Pc:
        def make() -> Pc:
            pc = self.create(name, **more)
            pc.start()
            return pc

        return self.pc(name, make)

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
        for pc in self._pcs.values():
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
OWNERS = {0: "unclean", 1: "swap", 2: "decoy"}


@pytest.fixture
def lent(bench: Bench) -> Pc:
    """BIOS, the medium in the drive, disks of the PC's owner in it, none of ours."""

    def make() -> Pc:
        owners = [
            Disk(bench.disk("unclean", disks.unclean)),
            Disk(bench.disk("swap", disks.swap)),
            Disk(bench.disk("decoy", disks.decoy), bus="sata"),
        ]
        pc = bench.create("lent", disks=owners, extra=["-rtc", f"base={CLOCK}"])
        pc.start()
        return pc

    return bench.pc("lent", make)


def leave(bench: Bench, story: Story) -> None:
    """The end of `lent`, as the exhibition leaves a town: what is kept of it for a later check."""
    lent = bench.running("lent")
    if lent is None:
        return
    try:
        in_use = "grep -E '^/dev/(vd|sd)' /proc/mounts; tail -n +2 /proc/swaps; :"
        story.owners["in use"] = lent.say(in_use)
        story.owners["switched off"] = lent.press_power()
        story.owners["changed"] = bench.unchanged(lent, OWNERS)
    except GuestError as error:
        story.owners["error"] = str(error)[:300]


@pytest.fixture
def keeping(bench: Bench, story: Story) -> Pc:
    """BIOS, with a disk of ours that was full and written elsewhere."""

    def make() -> Pc:
        leave(bench, story)
        story.ours = disks.Ours(bench.work / "ours.img")
        pc = bench.create("keeping", disks=[Disk(story.ours.path)])
        pc.start()
        return pc

    return bench.pc("keeping", make)


@pytest.fixture
def uefi(bench: Bench) -> Pc:
    """UEFI, the other card, a disk of ours that cannot be mended; keys are pressed in the menu."""

    def make() -> Pc:
        from keys import try_keys

        disk = Disk(bench.disk("lost", disks.not_mendable), bus="sata")
        pc = bench.create("uefi", firmware="uefi", disks=[disk], nic="virtio-net-pci")
        pc.switch_on()
        bench.story.tried_keys = try_keys(pc)
        pc.is_up()
        return pc

    return bench.pc("uefi", make)


@pytest.fixture
def stick(bench: Bench) -> Pc:
    """UEFI, the medium as a stick, a disk with our label whose `wall` leads to /etc."""
    disk = Disk(bench.disk("linked", disks.linked))
    return bench.started("stick", firmware="uefi", stick=True, disks=[disk], nic="virtio-net-pci")


def plain(path: Path) -> Path:
    return disks.ext4(path, disks.LABEL, {"wall/messages": b"one\n"})


#: The disks in the PC `rescue`, by their numbers.
RESCUED = {1: "plain", 2: "unclean"}


@pytest.fixture
def rescue(bench: Bench) -> Pc:
    """BIOS, the medium as a stick, `r` pressed in the menu; our disk and one of the owner's."""

    def make() -> Pc:
        from keys import choose_rescue

        both = [Disk(bench.disk("plain", dirty)), Disk(bench.disk("unclean", disks.unclean))]
        pc = bench.create("rescue", stick=True, disks=both)
        pc.switch_on()
        choose_rescue(pc)
        return pc

    return bench.pc("rescue", make)


def dirty(path: Path) -> Path:
    plain(path)
    disks.debugfs(path, "feature needs_recovery")
    return path


@pytest.fixture
def damaged(bench: Bench, medium: Medium) -> Pc:
    """BIOS; one bit of the system file is not as it was."""

    def make() -> Pc:
        size = sum(piece.size for piece in medium.system())
        copy = flipped(medium, bench.work / "flipped.iso", secrets.randbelow(size))
        disk = Disk(bench.disk("spare", plain))
        pc = bench.create("damaged", medium=copy, disks=[disk])
        pc.switch_on()
        return pc

    return bench.pc("damaged", make)
