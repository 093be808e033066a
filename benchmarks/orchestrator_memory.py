"""Memory of the orchestrator with 50 trials at once, against one trial.

The scripted agent sleeps until all trials live at the same moment. Counted are the orchestrator
(the command and its job's worker) and every helper process that it keeps on the host for its
sandboxes (proportional set sizes, so that shared pages count once); not counted is what runs inside
the sandboxes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nop_trial import write_task
from timing import BENCHFLOW, headline, row, usual_environment

from benchflow.results.jobs import lock

TRIALS = 50
BASE_MB, PER_TRIAL_MB = 400, 25


def pss_mb(pid: int) -> float:
    """Proportional set size; 0 for a process that is gone or not ours to read."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in text.splitlines() if line[:4] == "Pss:")


def family(pid: int) -> list[int]:
    """`pid` and its descendants that are in its own pid namespace: nothing inside a sandbox."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            child = int(path.parent.name)
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        children.setdefault(parent, []).append(child)
    own = namespace(pid)
    found, queue = [], [pid]
    while queue:
        current = queue.pop()
        if namespace(current) == own:
            found.append(current)
        queue += children.get(current, [])
    return found


def namespace(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def peak(folder: Path, trials: int) -> tuple[float, float, int, int]:
    """Peak MiB of the command with its worker, and with all helpers; most trials at once;
    processes."""
    script = folder / "play.txt"
    script.write_text(f"sleep {5 + trials}\n")
    command = [BENCHFLOW, "run", "task", "-a", "scripted", "--script", str(script)]
    command += ["-k", str(trials), "-n", str(trials), "--job-name", f"memory-{trials}", "--json"]
    said = folder / f"said-{trials}.json"  # what 50 trials say is more than a pipe holds
    with said.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, env=usual_environment())
    alone = whole = 0.0
    most = processes = 0
    job = folder / "jobs" / f"memory-{trials}"
    while process.poll() is None:
        members = family(process.pid)
        whole = max(whole, sum(map(pss_mb, members)))
        worker = lock.holder(job)
        alone = max(alone, pss_mb(process.pid) + (pss_mb(worker) if worker else 0.0))
        live = len(list(job.glob("*/agent/scripted.jsonl"))) - len(list(job.glob("*/result.json")))
        most, processes = max(most, live), max(processes, len(members))
        time.sleep(0.5)
    counts = json.loads(said.read_text())["jobs"][0]["counts"]
    if counts["error"]:
        raise SystemExit(f"{counts['error']} of {trials} trials ended in an error")
    return alone, whole, most, processes


def main() -> None:
    most_trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    with tempfile.TemporaryDirectory(prefix="benchflow-benchmark-", dir="/var/tmp") as name:
        folder = Path(name)
        write_task(folder / "task")
        headline(f"memory of the orchestrator, {most_trials} trials at once")
        for trials in (1, most_trials):
            alone, whole, most, processes = peak(folder, trials)
            allowed = BASE_MB + PER_TRIAL_MB * trials
            row(f"{trials} trials: at once, at most", f"{most}")
            row(f"{trials} trials: the orchestrator alone", f"{alone:.0f} MiB")
            wanted = f"≤ {allowed} MiB"
            row(f"{trials} trials: with its {processes - 1} helpers", f"{whole:.0f} MiB", wanted)


if __name__ == "__main__":
    sys.exit(main())
