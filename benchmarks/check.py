"""`benchflow check`: the fast gates of the catalogue, what is remembered, common exploits."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from timing import BENCHFLOW, cost_of, headline, median, row, usual_environment

from benchflow.authoring.trials import Trials
from benchflow.base.home import home
from benchflow.run.live.progress import Silence
from benchflow.tasks import load, names, root

ROUNDS = 3


def changed_catalogue(top: Path) -> Path:
    """A copy of the catalogue of which nothing is remembered: a line more in each instruction."""
    copy = top / "tasks"
    for name in names():
        shutil.copytree(root() / name, copy / name)
        letter = copy / name / "instruction.md"
        letter.write_text(f"{letter.read_text()}\nReference: {top.name}\n")
    return copy


def main() -> None:
    env = usual_environment()
    with tempfile.TemporaryDirectory(prefix="benchflow-benchmark-", dir="/var/tmp") as name:
        copy = changed_catalogue(Path(name))
        cost_of([BENCHFLOW, "check", "*/*", "--fast"], env=env)  # builds the images
        fresh = cost_of(
            [BENCHFLOW, "check", "*/*", "--fast"], env={**env, "BENCHFLOW_TASKS": str(copy)}
        )
        whole = [BENCHFLOW, "check", names(copy)[0]]
        for gate in ("schema", "coverage", "leaks", "offline", "nop"):
            whole += ["--gate", gate]
        known = [cost_of(whole, env={**env, "BENCHFLOW_TASKS": str(copy)}) for _ in range(ROUNDS)]
        stems = [Trials(load(copy / name), Silence()).folder("").name for name in names()]
    for stem in stems:
        for path in (home() / "checks").glob(f"{stem}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    headline(f"benchflow check, {len(names())} tasks")
    row("--fast, nothing remembered, images warm, wall", f"{fresh.wall:.1f} s", "≤ 20 s")
    row("--fast, nothing remembered, processor", f"{fresh.cpu:.1f} s")
    row(
        f"one task, all remembered, median of {ROUNDS}, wall",
        f"{median(known).wall:.2f} s",
        "≤ 3 s",
    )
    for name in names():
        trials = Trials(load(root() / name), Silence())
        exploits, oracles = trials.known("corpus"), trials.known_oracles()
        if not exploits or not oracles:
            row(f"{name}: common exploits", "not run yet: benchflow check --gate corpus")
            continue
        spent = sum(trial.phases.verifier or 0.0 for trial in exploits.values())
        once = statistics.median(trial.phases.verifier or 0.0 for trial in oracles)
        row(f"{name}: common exploits, verifying", f"{spent:.0f} s", "")
        row(f"{name}: the oracle's verification", f"{once:.0f} s")
        row(f"{name}: ratio", f"{spent / once:.1f}×", "≤ 3×")


if __name__ == "__main__":
    main()
