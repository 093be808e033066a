"""Power cuts and what they leave: the state before, the state after, and torn sectors."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

from unit import SECTOR, Unit, on_bench

from benchflow.boot import GuestError


def restore(unit, shared) -> None:
    """Back to where `ready` was, records too."""
    unit.machine.restore("ready")
    unit.records[:] = shared["records"]


def came_back(unit, *releases) -> dict[str, str]:
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
    second_disk,
    work: Path,
    disks: tuple[Path, Path],
    name: str,
    asked: Callable[[Unit], None],
) -> None:
    """Spoil two of the sectors that changed from one of `disks` to the other, each on a disk of
    its own; each has to come up, and to be as `asked` wants it."""
    before, after = disks
    changed = unit.layout.changed(before, after)
    assert changed, "the unit keeps no state outside of slots and data"
    chosen = secrets.SystemRandom().sample(changed, min(2, len(changed)))
    kinds = secrets.SystemRandom().sample(range(3), 2)
    for number, (sector, kind) in enumerate(zip(chosen, kinds, strict=False)):
        disk = spoil(after, work / f"{name}{number}.raw", sector, kind)
        machine = on_bench(machines, f"{name}{number}", disk, second_disk)
        one = Unit(machine, unit.layout, unit.releases, list(unit.records))
        try:
            one.start(120)
            asked(one)
        except (GuestError, AssertionError) as error:
            how = ("zeros", "noise", "noise in its second half")[kind]
            raise AssertionError(f"sector {sector} of {changed[:20]}, {how}: {error}") from error
        finally:
            machine.close()
            disk.unlink()
