"""What gates cost: one gate's trials at one a core and at two, and the recorded hours of all tasks.

    python benchmarks/gate_hours.py [TASK] [--gate variants|exploits]

Both sides are run from scratch, one after the other. The table of hours is reckoned: the seconds
that gates.json had when each gate was recorded (revision `RECORDED`), with what each rule since
leaves of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections import defaultdict
from pathlib import Path

from timing import headline, row

from benchflow.authoring.trials import Trials
from benchflow.results.model import Trial
from benchflow.run.live.progress import Silence
from benchflow.tasks import load, names, root

RECORDED = "e0ed5b6"
TRIED = ("oracle", "ladder", "exploits", "determinism", "image")


def processor_seconds(trial: Trial) -> float:
    """What the verifier's sandbox of a trial used of the processors."""
    told = json.loads((trial.path / "sandbox.json").read_text())["sandboxes"]
    return sum(
        float(each["used"]["cpu_seconds"])
        for name, each in told.items()
        if name.startswith("verifier") and each.get("used")
    )


def side(task: str, gate: str, a_core: int) -> tuple[float, float, list[Trial]]:
    """Seconds on the wall, processor seconds of the verifiers, and the trials."""
    of = Trials(load(root() / task), Silence())
    of.__dict__["key"] = f"{of.key}-bench-{a_core}-{int(time.time())}"
    scripts = getattr(of.task, gate)
    started = time.perf_counter()
    made = list(of.shipped(gate, [each.name for each in scripts], a_core=a_core).values())
    return time.perf_counter() - started, sum(map(processor_seconds, made)), made


def hours() -> dict[str, tuple[float, float]]:
    """Gate → hours as recorded, and what the rules since leave of them."""
    text = subprocess.run(
        ["git", "show", f"{RECORDED}:tasks/gates.json"], check=True, capture_output=True,
        cwd=Path(__file__).parent,
    ).stdout  # fmt: skip
    found: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    incremental = {name for name in names() if load(root() / name).oracle_incremental}
    for name, record in json.loads(text)["tasks"].items():
        for gate in record["gates"].values():
            if gate["gate"] not in TRIED:
                continue
            left = {
                "oracle": 2 / 3 if name in incremental else 1.0,
                "determinism": 1 / 2,
            }.get(gate["gate"], 1.0)
            before, after = found[gate["gate"]]
            seconds = float(gate["seconds"])
            found[gate["gate"]] = (before + seconds / 3600, after + seconds * left / 3600)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", default="repair/dead-server")
    parser.add_argument("--gate", choices=("variants", "exploits"), default="variants")
    given = parser.parse_args()
    headline(f"gate {given.gate} of {given.task}, from scratch")
    cores = len(os.sched_getaffinity(0))
    walls = []
    for a_core in (1, 2):
        wall, used, made = side(given.task, given.gate, a_core)
        walls.append(wall)
        verdicts = ", ".join(sorted({trial.verdict.value for trial in made}))
        row(f"{len(made)} trials, {a_core} a core", f"{wall:.0f} s")
        row("  verifiers' share of the processors", f"{used / wall / cores:.0%}", verdicts)
    row("ratio of the wall times", f"{walls[1] / walls[0]:.2f}×")
    print("hours of all sixteen tasks: as recorded → as reckoned from the rules since")
    found = hours()
    for gate, (before, after) in sorted(found.items(), key=lambda item: -item[1][0]):
        row(f"  {gate}", f"{before:.1f} h → {after:.1f} h")
    row(
        "  together", " → ".join(f"{sum(each):.1f} h" for each in zip(*found.values(), strict=True))
    )


if __name__ == "__main__":
    main()
