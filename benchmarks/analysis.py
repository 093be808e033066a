"""What `benchflow report` costs: on the published trials, and as the number of trials grows."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from timing import BENCHFLOW, cost_of, headline, row

from benchflow.report.document import as_markdown
from benchflow.results.collect import collect
from benchflow.results.records import Collection
from benchflow.study.findings import findings

PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "terminal-bench-core-0.1.1.jsonl"
SIZES = (1_000, 10_000, 100_000)
RUNGS = 10


def made_up(path: Path, n_trials: int) -> Path:
    """A list of `n_trials`: 20 agents × models, 5 attempts, 10 milestones, spending recorded."""
    generator = np.random.default_rng(1)
    n_tasks = n_trials // 100
    hard = generator.normal(0, 1.5, size=n_tasks)
    with path.open("w") as file:
        for task in range(n_tasks):
            for who in range(20):
                for attempt in range(5):
                    chance = 1 / (1 + np.exp(hard[task] - 0.1 * who))
                    passed = int(generator.binomial(RUNGS, min(0.95, chance + 0.3)))
                    line = {
                        "agent": f"synthetic-agent-{who % 5}",
                        "model": f"synthetic-model-{who // 5}",
                        "task": f"synthetic/{task}",
                        "trial": f"{task}.{who}.{attempt}",
                        "resolved": passed == RUNGS,
                        "agent_seconds": float(generator.exponential(900)) + 1,
                        "cost_usd": float(generator.exponential(0.4)) + 0.01,
                        "said_done": bool(generator.random() < 0.7),
                        "ended_itself": bool(generator.random() < 0.8),
                        "milestones": [
                            {"id": f"m{i}", "status": _status(i, passed)} for i in range(RUNGS)
                        ],
                    }
                    file.write(json.dumps(line) + "\n")
    return path


def _status(rung: int, passed: int) -> str:
    if rung < passed:
        return "passed"
    return "failed" if rung == passed else "not reached"


def timed[T](work: Callable[[], T]) -> tuple[T, float, float]:
    """What it gave, seconds on the wall and of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def show(name: str, work: Callable[[], object]) -> None:
    _, wall, cpu = timed(work)
    row(name, f"{wall:.1f} s", f"({cpu:.1f} s of processor)")


def report(table: Collection) -> str:
    """All that `--markdown` computes and writes."""
    return as_markdown(findings(table), [Path("trials")])


def published() -> None:
    """The whole command, and its parts in a warm process."""
    if not PUBLISHED.is_file():
        row("the published trials are not here", "left out")
        return
    cost = cost_of([BENCHFLOW, "report", str(PUBLISHED), "--markdown"])
    row(
        "benchflow report, 2,352 trials, the whole process",
        f"{cost.wall:.1f} s",
        f"({cost.cpu:.1f} s of processor; the libraries' start included)",
    )
    show("  reading and plain counts alone (the other side)", lambda: collect([PUBLISHED]))
    table = collect([PUBLISHED])
    report(table)
    show("  every statistic, warm", lambda: report(table))


def growth() -> None:
    """1,000 to 100,000 trials with ten milestones each, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            path = made_up(Path(folder) / f"{size}.jsonl", size)
            table, wall, _ = timed(lambda path=path: collect([path]))  # type: ignore[misc]
            row(f"reading {size:,} trials", f"{wall:.1f} s")
            show(f"every statistic of {size:,} trials", lambda table=table: report(table))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            row("  memory, greatest so far", f"{peak:,.0f} MB")


if __name__ == "__main__":
    headline("analysis: every statistic over finished trials")
    published()
    if "--growth" in sys.argv:
        growth()
