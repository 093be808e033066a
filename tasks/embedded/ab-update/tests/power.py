"""Power cuts and what they leave: the state before, the state after, and torn sectors."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bundle import Release
from media import Media
from unit import SECTOR, Unit, on_bench

from benchflow.bench.lanes import Step
from benchflow.boot import GuestError

CUTS_WHILE_WRITING = 6
CUTS_WHILE_STARTING = 4
#: When the power goes around the first start of a new version.
MOMENTS = ("at once", "early", "late", "at its confirmation")
#: [R26] How many sectors may change outside of slots and data in one step, and how many of them
#: are spoilt, each on a disk of its own, so many at a time.
MOST_CHANGED = 32
SPOILT = 8
AT_A_TIME = 2
KINDS = ("zeros", "noise", "noise in its second half", "what was there before in its second half")


@dataclass(frozen=True)
class Stages:
    """Copies of a unit's disk before an update, after it, and after its confirmation.

    The floor is that of the first, the records are those of the other two.
    """

    unit: Unit
    before: Path
    installed: Path
    confirmed: Path
    floor: int
    records: Sequence[str]


class Cuts:
    """A unit that crashes once and loses its power ten times, around its update to `cuts`."""

    def __init__(self, unit: Unit, media: Media) -> None:
        self._unit = unit
        self._machine = unit.machine
        self._media, self._place = media, media.place
        self._kept: dict[str, list[str]] = {}
        self._floor, self._seconds, self._start_seconds = 0, 0.0, 0.0

    def steps(self) -> dict[str, Step]:
        """`start`, `crash`, MOMENTS (the first returns Stages), cuts while writing, `updated`."""
        first, *others = MOMENTS
        ready, installed = ("ready",), ("ready", "installs")
        return {
            "start": Step(self._start),
            "crash": Step(self._crash, ("start",)),
            "ready": Step(self._ready, ("start",)),
            first: Step(self._at_once, ready),
            "installs": Step(self._installs, ready),
            **{name: Step(partial(self._moment, name), installed) for name in others},
            **{str(part): Step(partial(self._while_writing, part), installed)
               for part in range(CUTS_WHILE_WRITING)},
            "updated": Step(self._updated, installed),
        }  # fmt: skip

    def _start(self) -> str:
        """What the health scripts have written down once the unit was started again."""
        began = time.monotonic()
        self._unit.start()
        self._start_seconds = time.monotonic() - began
        return self._unit.say(f"cat {self._place}/order")

    def _crash(self) -> None:
        """[R19], on a version that was confirmed after a trial. And the mains fail while it starts,
        more often than it had tries: it starts from then on [R20]."""
        unit = self._unit
        before = unit.status()
        unit.add(secrets.token_hex(8))
        boots = self._machine.boots
        self._machine.shell.leave("echo c >/proc/sysrq-trigger")
        unit.enter(90)
        assert self._machine.boots > boots, "a crash did not restart it [R19]"
        after = unit.status()
        assert after == before, f"after a crash it says {after}, and {before} is due [R19]"
        for _ in range(CUTS_WHILE_STARTING):
            self._machine.power_cut()
            self._machine.boot()
            time.sleep(self._start_seconds * (50 + secrets.randbelow(40)) / 100)
        self._machine.power_cut()
        unit.start(90)
        after = unit.status()
        assert after == before, (
            f"after cuts in its start it says {after}, and {before} is due [R20]"
        )
        unit.whole(after)
        unit.keeps_records()

    def _ready(self) -> None:
        self._unit.up()
        self._now = self._unit.now()
        self._cuts, self._path = self._media.releases["cuts"], self._media.path("cuts")
        self._floor = int(self._unit.status()["floor"])
        self._snapshot("ready")

    def _snapshot(self, name: str) -> None:
        self._machine.snapshot(name)
        self._kept[name] = list(self._unit.records)

    def _back(self, snapshot: str) -> None:
        self._machine.restore(snapshot)
        self._unit.records[:] = self._kept[snapshot]

    def _came_back(self, *releases: Release) -> dict[str, str]:
        """After a cut: a whole version of `releases`, with all records; its status."""
        unit = self._unit
        unit.start(120)
        status = unit.status()
        found = [release for release in releases if str(release.version) == status["version"]]
        due = [release.version for release in releases]
        assert found, f"after the cut one of {due} is due [R25], and this runs: {status}"
        unit.runs(found[0])
        unit.whole(status)
        unit.keeps_records()
        floor = max(self._floor, found[0].version)
        assert status["floor"] == str(floor), f"the floor {floor} is due [R14]: {status}"
        return status

    def _is_updated(self) -> None:
        status = self._came_back(self._cuts)
        assert status["other"] == "good", f"the version before is good [R13]: {status}"

    def _at_once(self) -> Stages:
        """Nothing comes between the end of an installation and the cut: what is safe is safe."""
        unit, machine = self._unit, self._machine
        unit.add(secrets.token_hex(8))
        before = machine.flatten()
        unit.installs(self._path)
        machine.power_cut()
        installed, kept = machine.flatten(), list(unit.records)
        self._is_updated()
        machine.power_cut()
        return Stages(unit, before, installed, machine.flatten(), self._floor, kept)

    def _installs(self) -> None:
        """Install beside records that are added, and see how long that takes.

        Alone it would be over sooner than the one that is then cut.
        """
        unit, said = self._unit, "/run/bench-installed"
        self._back("ready")
        deadline = self._machine.deadline(180)
        began = time.monotonic()
        unit.say(f"{{ update install {self._path} >/dev/null 2>&1; echo $? >{said}; }} &")
        while not (status := unit.say(f"[ ! -s {said} ] || cat {said}")):
            assert deadline.remaining() > 0, "update install beside records has no end [R10]"
            unit.add(secrets.token_hex(8))
        assert status == "0", f"status {status} of a good bundle beside records; 0 is due [R10]"
        self._seconds = time.monotonic() - began
        self._snapshot("installed")

    def _moment(self, name: str) -> None:
        unit = self._unit
        self._back("installed")
        unit.add(secrets.token_hex(8))
        unit.leave()
        if name == "at its confirmation":
            unit.await_word(self._media.words["cuts"])
            time.sleep(secrets.randbelow(1000) / 1000)
        else:
            time.sleep((1 + 2 * (name == "late")) + secrets.randbelow(2000) / 1000)
        self._machine.power_cut()
        self._is_updated()
        self._machine.power_cut()

    def _while_writing(self, part: int) -> None:
        unit = self._unit
        self._back("ready")
        share = (part + secrets.randbelow(1000) / 1000) / CUTS_WHILE_WRITING
        until = time.monotonic() + self._seconds * share
        unit.say(f"update install {self._path} >/dev/null 2>&1 &")
        while time.monotonic() < until:
            unit.add(secrets.token_hex(8))
        self._machine.power_cut()
        self._came_back(self._now, self._cuts)

    def _updated(self) -> None:
        unit = self._unit
        unit.up()
        if unit.status()["version"] == str(self._now.version):
            unit.installs(self._path)
            unit.restart(90)
        unit.runs(self._cuts)
        unit.keeps_records()
        self._machine.power_cut()


def torn(kind: int, meant: bytes, before: bytes) -> bytes:
    """What a torn write leaves of a sector, in the words of KINDS."""
    half = SECTOR // 2
    return (
        bytes(SECTOR),
        secrets.token_bytes(SECTOR),
        meant[:half] + secrets.token_bytes(half),
        meant[:half] + before[half:],
    )[kind]


def sector_of(disk: Path, sector: int) -> bytes:
    with disk.open("rb") as stream:
        stream.seek(sector * SECTOR)
        return stream.read(SECTOR)


def spoil(before: Path, after: Path, target: Path, sector: int, kind: int) -> Path:
    """A copy of the disk `after` with one sector torn."""
    shutil.copyfile(after, target)
    content = torn(kind, sector_of(after, sector), sector_of(before, sector))
    with target.open("r+b") as stream:
        stream.seek(sector * SECTOR)
        stream.write(content)
    return target


def survives(
    machines,
    stages: Stages,
    second_disk,
    work: Path,
    disks: tuple[Path, Path],
    name: str,
    asked: Callable[[Unit], None],
) -> None:
    """Spoil sectors that changed from one of `disks` to the other, each on a disk of its own; each
    has to come up beside the others, and to be as `asked` wants it. Where nothing has changed
    there is nothing to spoil."""
    before, after = disks
    unit = stages.unit
    changed = unit.layout.changed(before, after)
    assert len(changed) <= MOST_CHANGED, (
        f"{len(changed)} sectors outside of slots and data have changed; [R26] allows"
        f" {MOST_CHANGED} in a step: {changed[:MOST_CHANGED]} …"
    )
    draw = secrets.SystemRandom()
    chosen = draw.sample(changed, min(SPOILT, len(changed)))
    kinds = draw.sample(range(4), 4) * (SPOILT // 4)

    def comes_up(number: int) -> None:
        sector, kind = chosen[number], kinds[number]
        disk = spoil(before, after, work / f"{name}{number}.raw", sector, kind)
        machine = on_bench(machines, f"{name}{number}", disk, second_disk)
        one = Unit(machine, unit.layout, unit.releases, list(stages.records))
        try:
            one.start(120)
            asked(one)
        except (GuestError, AssertionError) as error:
            raise AssertionError(
                f"sector {sector} of {changed}, {KINDS[kind]} [R26]: {error}"
            ) from error
        finally:
            machine.close()
            disk.unlink()

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(comes_up, range(len(chosen))))
