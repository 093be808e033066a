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
from lane import Lane
from media import Media
from unit import SECTOR, Unit, on_bench

from benchflow.boot import GuestError

#: When the power goes around the first start of a new version.
MOMENTS = ("at once", "early", "late", "at its confirmation")
SPOILT = 2


@dataclass(frozen=True)
class Ready:
    """A unit in front of an update, and one like it beside.

    `seconds`: how long the update takes on this host. `beside`: its steps are MOMENTS and
    `stages`, copies of the disk before an update, after it, and after its confirmation.
    """

    unit: Unit
    records: Sequence[str]
    floor: int
    seconds: float
    beside: Lane

    def restore(self, unit: Unit) -> None:
        """Back to the snapshot `ready`, records too."""
        back(unit, self.records)


def back(unit: Unit, records: Sequence[str]) -> None:
    """Restore the snapshot `ready` of a unit that had these records."""
    unit.machine.restore("ready")
    unit.records[:] = records


def around_the_first_start(
    unit: Unit, media: Media, now: Release
) -> dict[str, Callable[[], object]]:
    """The steps of a unit that loses its power around the first start of a new version."""
    machine, cuts = unit.machine, media.releases["cuts"]
    records = list(unit.records)

    def start() -> None:
        unit.start(120)
        unit.runs(now)
        machine.snapshot("ready")

    def moment(name: str) -> None:
        back(unit, records)
        unit.installs(media.path("cuts"))
        unit.add(secrets.token_hex(8))
        if name != "at once":
            unit.leave()
            if name == "at its confirmation":
                unit.await_text(media.words["cuts"])
                time.sleep(secrets.randbelow(1000) / 1000)
            else:
                time.sleep((1 + 2 * (name == "late")) + secrets.randbelow(2000) / 1000)
        machine.power_cut()
        status = came_back(unit, cuts)
        assert status["other"] == "good", status

    def stages() -> list[Path]:
        back(unit, records)
        copies = [machine.flatten()]
        unit.installs(media.path("cuts"))
        machine.power_cut()
        copies.append(machine.flatten())
        unit.start(90)
        unit.runs(cuts)
        machine.power_cut()
        copies.append(machine.flatten())
        return copies

    return {"start": start, **{name: partial(moment, name) for name in MOMENTS}, "stages": stages}


def came_back(unit: Unit, *releases: Release) -> dict[str, str]:
    """After a power cut: a whole version of `releases`, with all records; its status."""
    unit.start(120)
    status = unit.status()
    assert status["version"] in {str(release.version) for release in releases}, status
    unit.runs(next(r for r in releases if str(r.version) == status["version"]))
    unit.whole(status)
    unit.keeps_records()
    return status


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
    unit: Unit,
    records: Sequence[str],
    second_disk,
    work: Path,
    disks: tuple[Path, Path],
    name: str,
    asked: Callable[[Unit], None],
) -> None:
    """Spoil some of the sectors that changed from one of `disks` to the other, each on a disk of
    its own; each has to come up beside the others, and to be as `asked` wants it."""
    before, after = disks
    changed = unit.layout.changed(before, after)
    assert changed, "the unit keeps no state outside of slots and data"
    chosen = secrets.SystemRandom().sample(changed, min(SPOILT, len(changed)))
    kinds = secrets.SystemRandom().sample(range(3), SPOILT)

    def comes_up(number: int) -> None:
        sector, kind = chosen[number], kinds[number]
        disk = spoil(after, work / f"{name}{number}.raw", sector, kind)
        machine = on_bench(machines, f"{name}{number}", disk, second_disk)
        one = Unit(machine, unit.layout, unit.releases, list(records))
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
