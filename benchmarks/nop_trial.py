"""One nop trial of a trivial task: inside the trial, and the whole `benchflow run` process.

The verifier's own work is excluded from the trial: the task's test script writes a constant, and
what it takes is measured by itself and taken off. The other side is Harbor's docker environment
with the same task, measured here when a daemon runs; else the figure that was measured on a
machine like ours with Debian's docker.io is named as such.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from timing import BENCHFLOW, Cost, cost_of, headline, median, row, usual_environment

ROUNDS = 9
DOCKER_ELSEWHERE_SECONDS = 14.7

TASK = {
    "task.toml": """schema_version = "1.4"
artifacts = ["/app/out.txt"]
[task]
name = "benchmark/trivial"
[agent]
timeout_sec = 600
[verifier]
timeout_sec = 60
environment_mode = "separate"
[verifier.environment]
memory_mb = 256
network_mode = "no-network"
[environment]
cpus = 1
memory_mb = 256
storage_mb = 1024
""",
    "instruction.md": "Do nothing.\n",
    "environment/Dockerfile": "FROM debian:bookworm\nWORKDIR /app\nRUN echo x > out.txt\n",
    "tests/Dockerfile": "FROM debian:bookworm\nCOPY . /tests\n",
    "tests/test.sh": "#!/bin/sh\ntouch /logs/verifier/begun\n"
    "echo 1 > /logs/verifier/reward.txt\ntouch /logs/verifier/ended\n",
}


def write_task(folder: Path) -> None:
    for name, text in TASK.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "tests/test.sh").chmod(0o755)


def one_run(folder: Path, sandbox: str, env: dict[str, str]) -> tuple[Cost, float, dict[str, Any]]:
    """A whole process, the seconds inside its one trial, and that trial."""
    name = f"{sandbox}-{len(list((folder / 'jobs').glob('*')))}"
    command = [BENCHFLOW, "run", "task", "-a", "nop", "--sandbox", sandbox, "--job-name", name]
    cost = cost_of(command, cwd=folder, env=env)
    shown = subprocess.run(
        [BENCHFLOW, "results", name, "--json"], cwd=folder, capture_output=True, check=True
    )
    (trial,) = json.loads(shown.stdout)["jobs"][0]["trials"]
    verifier = Path(trial["path"]) / "verifier"
    own = (verifier / "ended").stat().st_mtime - (verifier / "begun").stat().st_mtime
    return cost, trial["phases"]["total"] - max(own, 0.0), trial


def docker_runs() -> bool:
    try:
        done = subprocess.run(["docker", "info"], capture_output=True, check=False, timeout=20)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def main() -> None:
    env = usual_environment()
    with tempfile.TemporaryDirectory(prefix="benchflow-benchmark-", dir="/var/tmp") as name:
        folder = Path(name)
        write_task(folder / "task")
        one_run(folder, "namespace", env)  # builds the images, warms the caches
        runs = [one_run(folder, "namespace", env) for _ in range(ROUNDS)]
        inside = [seconds for _, seconds, _ in runs]
        headline(f"one nop trial of a trivial task, {ROUNDS} runs, warm caches")
        row("inside the trial, median", f"{statistics.median(inside):.2f} s", "≤ 0.70 s")
        row("inside the trial, best", f"{min(inside):.2f} s")
        for phase in ("environment", "agent", "hand_over", "verifier"):
            spent = statistics.median(trial["phases"][phase] for _, _, trial in runs)
            row(f"  of which {phase.replace('_', '-')}, median", f"{spent:.2f} s")
        whole = median([cost for cost, _, _ in runs])
        row("whole benchflow run process, median, wall", f"{whole.wall:.2f} s", "≤ 4.00 s")
        row("whole benchflow run process, best, wall", f"{min(c.wall for c, _, _ in runs):.2f} s")
        row("whole benchflow run process, median, processor", f"{whole.cpu:.2f} s")
        if docker_runs():
            one_run(folder, "docker", env)
            other = statistics.median(one_run(folder, "docker", env)[1] for _ in range(3))
            row("Harbor's docker environment, inside the trial", f"{other:.2f} s")
        else:
            other = DOCKER_ELSEWHERE_SECONDS
            row("Harbor's docker environment (measured elsewhere)", f"{other:.2f} s", "no daemon")
        row("ratio", f"{other / statistics.median(inside):.0f}×")


if __name__ == "__main__":
    sys.exit(main())
