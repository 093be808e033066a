"""A task of words that is built in no time: a lamp is a file of the rungs that it reached."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lamp import TASK_TOML
from tests.run.plain import write

from benchflow.base.home import home

CHECKS = """from benchflow.boot import milestone


def lines(deliverable):
    return deliverable().read_text(errors="replace").split()


@milestone("switched", proves=["R1"])
def test_it_is_switched_on(deliverable):
    assert "switched" in lines(deliverable)


@milestone("lit", requires=["switched"], proves=["R2"])
def test_it_is_lit(deliverable):
    assert "lit" in lines(deliverable)


@milestone("warm", requires=["lit"], proves=["R3"])
def test_it_is_warm(deliverable):
    assert "warm" in lines(deliverable)
"""
RUNGS = ("switched", "lit", "warm")


def script(body: str, *, begin: str = "", rungs: tuple[str, ...] = RUNGS) -> str:
    """An oracle that does `body` for each `$rung` and ends where it is told to."""
    return f"""#!/bin/sh -e
{begin}
for rung in {" ".join(rungs)}; do
  {body}
  [ "${{STOP_AFTER:-}}" != $rung ] || exit 0
done
"""


ANEW = script("echo $rung >> /app/lamp.img", begin=": > /app/lamp.img")
_UNLESS_THERE = "grep -qx $rung /app/lamp.img 2>/dev/null || echo $rung >> /app/lamp.img"
GOES_ON = script(_UNLESS_THERE)
#: Says on each run which run it was, and goes on where it stopped.
SIGNED = script(_UNLESS_THERE, begin="cat /proc/sys/kernel/random/uuid >> /app/lamp.img")


@contextmanager
def written(top: Path, solve: str) -> Iterator[Path]:
    """The task's folder in `top`; its name nobody else has, so that nothing is remembered of it."""
    name = f"lamp-{uuid.uuid4().hex[:8]}"
    folder = top / "embedded" / name
    manifest = TASK_TOML.split("[[metadata.benchflow.exploits]]")[0]
    manifest = manifest.replace('kind = "disk"', 'kind = "file"').replace('lamp"', f'{name}"')
    write(folder / "task.toml", manifest)
    write(folder / "instruction.md", "Build a lamp. [R1] It is on. [R2] It is lit. [R3] Warm.\n")
    write(folder / "environment" / "Dockerfile", "FROM debian:bookworm\nRUN mkdir /app\n")
    write(folder / "solution" / "solve.sh", solve)
    write(folder / "tests" / "checks.py", CHECKS)
    yield folder
    for path in (home() / "checks").glob(f"embedded-{name}-*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def incremental(task: Path) -> None:
    """The task says from here on that its oracle goes on where it stopped."""
    manifest = task / "task.toml"
    goes_on = "oracle_minutes = 1\noracle_incremental = true"
    manifest.write_text(manifest.read_text().replace("oracle_minutes = 1", goes_on))
