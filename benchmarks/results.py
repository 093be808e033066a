"""Reading finished work: seconds and memory at 1,000, 10,000 and 100,000 synthetic trials.

Each trial is a folder as `benchflow run` leaves it, with 10 milestones and a trajectory of 100
steps; the largest size writes some 4 GB below $TMPDIR and removes them again.

    python benchmarks/results.py [SIZE…]            default: 1000 10000 100000
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import headline, row

from benchflow.results.synthetic import Design, write_job

PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "terminal-bench-core-0.1.1.jsonl"
AGENTS, ATTEMPTS = 4, 5

#: Run in a process of their own, so that each one's peak memory is its own.
READ = "collect([Path(sys.argv[1])], trajectories={trajectories})"
PARTS = {
    "report's table (no trajectories)": f"c = {READ.format(trajectories=False)}",
    "the whole table": f"c = {READ.format(trajectories=True)}",
    "export: DuckDB, Parquet, CSV": f"c = {READ.format(trajectories=True)}; "
    "export(c, Path(sys.argv[2]))",
    "the other side: json.loads of the same files": "c = [json.loads(p.read_bytes()) and None "
    "for p in Path(sys.argv[1]).rglob('*.json')]",
}
PRELUDE = """
import json, os, resource, sys
from pathlib import Path
from benchflow.results.index import export
from benchflow.results.collect import collect
"""


def measure(source: Path, code: str) -> tuple[float, float, float]:
    """Seconds on the wall, seconds of processor, and peak MB of a process that runs `code`.

    The peak is at most what is said: the process and its workers need not peak together.
    """
    with tempfile.TemporaryDirectory() as out:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        report = (
            "; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss"
            " + len(os.sched_getaffinity(0)) * "
            "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-c", f"{PRELUDE}{code}{report}", str(source), out],
            capture_output=True,
            text=True,
            check=True,
        )
        wall = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, int(done.stdout) / 1024


def show(source: Path, name: str) -> None:
    for part, code in PARTS.items():
        wall, cpu, peak = measure(source, code)
        row(f"{name}: {part}", f"{wall:.1f} s", f"processor {cpu:.1f} s, {peak:,.0f} MB")


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [1_000, 10_000, 100_000]
    headline("results: one table from anywhere")
    if PUBLISHED.is_file():
        for part, code in list(PARTS.items())[1:3]:
            wall, cpu, peak = measure(PUBLISHED, code)
            row(f"2,352 published trials: {part}", f"{wall:.1f} s",
                f"processor {cpu:.1f} s, {peak:,.0f} MB")  # fmt: skip
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="benchflow-benchmark-") as folder:
            started = time.perf_counter()
            tasks = size // (AGENTS * ATTEMPTS)
            design = Design(agents=AGENTS, attempts=ATTEMPTS, tasks=tasks, steps=100,
                            consoles=False)  # fmt: skip
            job = write_job(Path(folder) / "job", design)
            made = time.perf_counter() - started
            row(f"{size:,} trials: made", f"{made:.0f} s")
            show(job, f"{size:,} trials")
            shutil.rmtree(job)


if __name__ == "__main__":
    main()
