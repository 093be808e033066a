"""`<trial>/host.json`: the machine before and after a trial (docs/results.md)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.base.atomic import write_json
from benchflow.results.jobs.host import NAME
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run.host.identity import facts

if TYPE_CHECKING:
    from harbor.job import Job
    from harbor.trial.hooks import TrialHookEvent

_SCHEMA = 1
#: Processor seconds of `_work` on a host whose boots are as fast as the reference's.
_REFERENCE = 0.0077
_TIMES = 3
_EXPONENT, _MODULUS = (1 << 1024) - 105, (1 << 2048) - 1942289
_STEAL = 7


def attach(job: Job) -> None:
    """Has the machine of each trial of `job` written down."""
    job.on_trial_started(_started)
    job.on_trial_ended(_ended)


async def _started(event: TrialHookEvent) -> None:
    await asyncio.to_thread(begin, event.config.trials_dir / event.config.trial_name)


async def _ended(event: TrialHookEvent) -> None:
    await asyncio.to_thread(end, event.config.trials_dir / event.config.trial_name)


def begin(trial: Path) -> None:
    """Writes down what the machine is, and how it is now. A trial is not lost over a full disk."""
    with contextlib.suppress(OSError):
        trial.mkdir(parents=True, exist_ok=True)
        write_json(trial / NAME, {"schema": _SCHEMA, **facts(), "before": moment()})


def end(trial: Path) -> None:
    """Adds how it is after the trial, where `begin` was heard of it."""
    with contextlib.suppress(OSError, UnreadableRecord):
        record = read_object(trial / NAME)
        before, after = record.get("before"), moment()
        steal = share_stolen(before, after) if isinstance(before, dict) else None
        write_json(trial / NAME, {**record, "after": after, "steal": steal})


def moment() -> dict[str, Any]:
    """How fast the machine is now, and the counters from which shares of time are made."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "speed": speed(),
        "load": round(os.getloadavg()[0], 2),
        "up_seconds": round(time.clock_gettime(time.CLOCK_BOOTTIME), 2),
        "steal_seconds": _stolen(),
    }


def speed() -> float:
    """A fixed piece of arithmetic, in times of the reference host: the best of three.

    It counts processor time, so that what runs beside is left out: other than the verifier's own
    figure (`boot.machine.calibrate`) it needs no QEMU, which an agent's machine may lack.
    """
    return round(_REFERENCE / min(_work() for _ in range(_TIMES)), 3)


def _work() -> float:
    started = time.thread_time()
    pow(3, _EXPONENT, _MODULUS)
    return max(1e-6, time.thread_time() - started)


def share_stolen(before: dict[str, Any], after: dict[str, Any]) -> float | None:
    """The share of all processors' time that the machine's own host took between two moments.

    None where the kernel does not count it, or the machine was started again meanwhile.
    """
    try:
        wall = float(after["up_seconds"]) - float(before["up_seconds"])
        stolen = float(after["steal_seconds"]) - float(before["steal_seconds"])
    except (KeyError, TypeError, ValueError):
        return None
    there = wall * (os.cpu_count() or 1)
    return round(min(1.0, stolen / there), 4) if there > 0 and stolen >= 0 else None


def _stolen(stat: Path = Path("/proc/stat")) -> float | None:
    """proc_stat(5): seconds of all processors together that the machine's own host took."""
    try:
        fields = stat.read_text().split("\n", 1)[0].split()[1:]
        return round(int(fields[_STEAL]) / os.sysconf("SC_CLK_TCK"), 2)
    except (OSError, ValueError, IndexError):
        return None
