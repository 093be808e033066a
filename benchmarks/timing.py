"""What the benchmarks share: repeat, take the median, and print both sides of a ratio."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BENCHFLOW = str(Path(sys.executable).parent / "benchflow")


@dataclass(frozen=True)
class Cost:
    """Seconds on the wall, and of processor time (the processes that were waited for)."""

    wall: float
    cpu: float


def cost_of(command: Sequence[str], **options: object) -> Cost:
    """Runs a command, output away, and says what it cost. Raises when it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        **options,  # type: ignore[call-overload]
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command} exited with {done.returncode}:\n{done.stdout.decode()}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu)


def median(costs: Sequence[Cost]) -> Cost:
    """The medians of wall and processor time, each by itself."""
    return Cost(statistics.median(c.wall for c in costs), statistics.median(c.cpu for c in costs))


def usual_environment() -> dict[str, str]:
    """The environment with Python's bytecode cache on, as it is unless somebody turns it off."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def headline(title: str) -> None:
    """Names the benchmark and says how busy the machine is: that inflates the wall, not the cpu."""
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    print(f"{title}\n  machine: {cores} cores, load average {load:.1f}")


def row(name: str, value: str, wanted: str = "") -> None:
    """One figure, with what it should reach."""
    print(f"  {name:<58} {value:>14}  {wanted}".rstrip(), flush=True)
