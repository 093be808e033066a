"""What `benchflow run` imports before its first trial, now and at an earlier commit.

python benchmarks/imports.py [COMMIT]     (default: the commit before packages were split)
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from timing import Cost, cost_of, headline, median, row, usual_environment

ROUNDS = 9
BEFORE = "eaf68a1"
ROOT = Path(__file__).parents[1]
#: What plans and starts a job, by the names of both times; Harbor itself is loaded in the worker.
_PROGRAM = """\
import sys
sys.path.insert(0, {source!r})
try:
    import benchflow.run.job.jobs, benchflow.run.job.plan
except ModuleNotFoundError:
    import benchflow.run.jobs, benchflow.run.plan
assert benchflow.__file__.startswith({source!r}), benchflow.__file__
"""


def main() -> None:
    commit = sys.argv[1] if len(sys.argv) > 1 else BEFORE
    env = usual_environment()
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit, "src"], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        sides = {commit: f"{folder}/src", "now": str(ROOT / "src")}
        costs: dict[str, list[Cost]] = {name: [] for name in sides}
        for _ in range(ROUNDS):
            for name, source in sides.items():
                command = [sys.executable, "-c", _PROGRAM.format(source=source)]
                costs[name].append(cost_of(command, env=env))
    headline(f"imports of `benchflow run`, median of {ROUNDS}, by turns")
    for name, found in costs.items():
        row(f"{name}, processor", f"{median(found).cpu:.3f} s")
    ratio = median(costs["now"]).cpu / median(costs[commit]).cpu
    row("now against then", f"{ratio:.2f}×")


if __name__ == "__main__":
    main()
