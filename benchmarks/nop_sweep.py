"""A sweep of 500 nop trials: trials a second, and whether the memory of who runs them stays flat.

    python benchmarks/nop_sweep.py [TRIALS]

Each trial has a sandbox for its agent and another for its verifier. Memory is that of the process
that runs the job, with its helpers on the host, after a tenth of the trials and at the end
(proportional set sizes, so that shared pages count once). The other side: 10 trials, the same way.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from nop_trial import write_task
from orchestrator_memory import family, pss_mb
from timing import BENCHFLOW, headline, row, usual_environment

from benchflow.results.jobs import lock
from benchflow.results.jobs.trials import read_job
from benchflow.results.json_values import seconds_between

TRIALS, FEW = 500, 10
SWEEP = """name = "nops-{trials}"
tasks = ["./task"]
attempts = {trials}
[[entry]]
agent = "nop"
"""


@dataclass(frozen=True)
class Swept:
    """Trials a second, from the first one's start to the last one's end; MiB, early and late."""

    rate: float
    early_mb: float
    late_mb: float


def sweep(folder: Path, trials: int) -> Swept:
    """Runs one sweep to its end. Raises SystemExit where a trial ended in an error."""
    (folder / "sweep.toml").write_text(SWEEP.format(trials=trials))
    process = subprocess.Popen(
        [BENCHFLOW, "sweep", "sweep.toml"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=usual_environment(),
    )
    job = folder / "jobs" / f"nops-{trials}-1"
    early = late = 0.0
    while process.poll() is None:
        time.sleep(0.5)
        worker = lock.holder(job) if job.is_dir() else None
        if worker is None:
            continue
        now = sum(map(pss_mb, family(worker)))
        done = len(list(job.glob("*/result.json")))
        if trials // 10 <= done < trials // 5:
            early = max(early, now)
        elif done >= trials * 4 // 5:
            late = max(late, now)
    found = read_job(job)
    wrong = [trial.name for trial in found.trials if trial.cause]
    if wrong or len(found.trials) != trials:
        raise SystemExit(f"{len(found.trials)} of {trials} results, {len(wrong)} errors: {job}")
    begun = min(trial.started_at for trial in found.trials)
    lasts = [seconds_between(begun, t.started_at) for t in found.trials]
    ends = [
        start + (trial.phases.total or 0.0)
        for start, trial in zip(lasts, found.trials, strict=True)
        if start is not None
    ]
    return Swept(trials / max(ends), early, late)


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    with tempfile.TemporaryDirectory(prefix="benchflow-benchmark-", dir="/var/tmp") as name:
        folder = Path(name)
        write_task(folder / "task")
        headline(f"a sweep of {trials} nop trials, each with two sandboxes")
        few = sweep(folder, FEW)  # builds the image, too
        found = sweep(folder, trials)
        row("trials a second", f"{found.rate:.2f}", "≥ 4")
        row(f"trials a second, {FEW} trials (the other side)", f"{few.rate:.2f}")
        row("memory of the worker, after a tenth of the trials", f"{found.early_mb:.0f} MiB")
        row("memory of the worker, at the end", f"{found.late_mb:.0f} MiB", "flat")


if __name__ == "__main__":
    sys.exit(main())
