"""How long `benchflow merge` takes for many trials, beside copying the same files.

    python benchmarks/merge.py [TRIALS]        default 10,000, in eight parts

The trials are copies of one made-up trial. Both sides write to the same disk, one after the other,
and each is followed by a sync.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from timing import headline, row

from benchflow.results.jobs.merging import merge
from benchflow.results.synthetic import Design, write_job

PARTS = 8


def parts(top: Path, trials: int) -> list[Path]:
    made = []
    model = write_job(top / "model", Design(agents=1, tasks=1, attempts=1, steps=4))
    (trial,) = (path.parent for path in model.glob("*/result.json"))
    for part in range(PARTS):
        job = top / f"part-{part + 1}"
        job.mkdir()
        for n in range(part, trials, PARTS):
            shutil.copytree(trial, job / f"trial-{n:06}")
        record = {
            "schema": 1, "benchflow": "0", "created": "2026-01-01", "tasks": [], "agents": [],
            "models": [], "attempts": 1, "n_trials": len(range(part, trials, PARTS)),
            "shard": f"{part + 1}/{PARTS}", "host": {"harbor": "0"},
        }  # fmt: skip
        (job / "benchflow.json").write_text(json.dumps(record))
        made.append(job)
    return made


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    os.sync()
    return time.perf_counter() - started


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    headline(f"merging {trials:,} trials of {PARTS} parts (aim: 60 s for 10,000)")
    with tempfile.TemporaryDirectory(dir=Path.home() / ".cache") as folder:
        top = Path(folder)
        jobs = parts(top, trials)
        files = sum(len(names) for job in jobs for _, _, names in os.walk(job))
        os.sync()

        def copy() -> None:
            for job in jobs:
                shutil.copytree(job, top / "copied" / job.name)

        copied = timed(copy)
        merged = timed(lambda: merge(jobs, top / "merged"))
        again = timed(lambda: merge(jobs, top / "merged"))
        row("copying the folders", f"{copied:.1f} s", f"{files:,} files")
        row("merging them", f"{merged:.1f} s")
        row("merging again, nothing new", f"{again:.1f} s")
        row("merging to copying", f"{merged / copied:.2f}×")


if __name__ == "__main__":
    main()
