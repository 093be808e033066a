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

from benchflow.boot import GuestError

CUTS_WHILE_WRITING = 6
#: When the power goes around the first start of a new version.
MOMENTS = ("at once", "early", "late", "at its confirmation")
SPOILT = 2


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
    """A unit that loses its power ten times, around the update from `now` to `cuts`."""

    def __init__(self, unit: Unit, media: Media, now: Release) -> None:
        self._unit = unit
        self._machine = unit.machine
        self._path = media.path("cuts")
        self._word, self._place = media.words["cuts"], media.place
        self._now, self._cuts = now, media.releases["cuts"]
        self._kept: dict[str, list[str]] = {}
        self._seconds = 0.0

    def steps(self) -> dict[str, Callable[[], object]]:
        """`start`, MOMENTS (the first returns Stages), cuts while writing, `updated`."""
        first, *others = MOMENTS
        return {
            "start": self._start,
            first: self._at_once,
            "installs": self._installs,
            **{name: partial(self._moment, name) for name in others},
            **{str(part): partial(self._while_writing, part) for part in range(CUTS_WHILE_WRITING)},
            "updated": self._updated,
        }

    def _start(self) -> str:
        """What the health scripts have written down once the unit was started again."""
        self._unit.start(120)
        self._unit.runs(self._now)
        self._snapshot("ready")
        return self._unit.say(f"cat {self._place}/order")

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
        assert found, status
        unit.runs(found[0])
        unit.whole(status)
        unit.keeps_records()
        return status

    def _is_updated(self) -> None:
        status = self._came_back(self._cuts)
        assert status["other"] == "good", status

    def _at_once(self) -> Stages:
        unit, machine = self._unit, self._machine
        floor, before = int(unit.status()["floor"]), machine.flatten()
        unit.installs(self._path)
        unit.add(secrets.token_hex(8))
        machine.power_cut()
        installed, kept = machine.flatten(), list(unit.records)
        self._is_updated()
        machine.power_cut()
        return Stages(unit, before, installed, machine.flatten(), floor, kept)

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
            assert deadline.remaining() > 0, "update install beside records has no end"
            unit.add(secrets.token_hex(8))
        assert status == "0", f"status {status} of a good bundle beside records"
        self._seconds = time.monotonic() - began
        self._snapshot("installed")

    def _moment(self, name: str) -> None:
        unit = self._unit
        self._back("installed")
        unit.add(secrets.token_hex(8))
        unit.leave()
        if name == "at its confirmation":
            unit.await_text(self._word)
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
        if unit.status()["version"] == str(self._now.version):
            unit.installs(self._path)
            unit.restart(90)
        unit.runs(self._cuts)
        unit.keeps_records()
        self._machine.power_cut()


def torn(kind: int, sector: bytes) -> bytes:
    """What a torn write leaves of a sector: zeros, noise, or noise in its second half."""
    half = SECTOR // 2
    return (
        bytes(SECTOR),
        secrets.token_bytes(SECTOR),
        sector[:half] + secrets.token_bytes(half),
    )[kind]


def spoil(disk: Path, target: Path, sector: int, kind: int) -> Path:
    """A copy of a disk with one sector torn."""
    shutil.copyfile(disk, target)
    with target.open("r+b") as stream:
        stream.seek(sector * SECTOR)
        content = torn(kind, stream.read(SECTOR))
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
    """Spoil some of the sectors that changed from one of `disks` to the other, each on a disk of
    its own; each has to come up beside the others, and to be as `asked` wants it."""
    before, after = disks
    unit = stages.unit
    changed = unit.layout.changed(before, after)
    assert changed, "the unit keeps no state outside of slots and data"
    chosen = secrets.SystemRandom().sample(changed, min(SPOILT, len(changed)))
    kinds = secrets.SystemRandom().sample(range(3), SPOILT)

    def comes_up(number: int) -> None:
        sector, kind = chosen[number], kinds[number]
        disk = spoil(after, work / f"{name}{number}.raw", sector, kind)
        machine = on_bench(machines, f"{name}{number}", disk, second_disk)
        one = Unit(machine, unit.layout, unit.releases, list(stages.records))
        try:
            one.start(120)
            asked(one)
        except (GuestError, AssertionError) as error:
            how = ("zeros", "noise", "noise in its second half")[kind]
            raise AssertionError(f"sector {sector} of {changed[:20]}, {how}: {error}") from error
        finally:
            machine.close()
            disk.unlink()

    with ThreadPoolExecutor(SPOILT) as pool:
        list(pool.map(comes_up, range(len(chosen))))
