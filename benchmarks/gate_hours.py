"""What gates cost: one gate's trials two ways, and the recorded hours of all tasks.

    python benchmarks/gate_hours.py [TASK] [--gate oracle|variants|exploits] [--kept]
    python benchmarks/gate_hours.py --table

Two ways: one trial a core and two, both from scratch; with `--kept`, from scratch and after a
change of what only judges, when what was built before is verified again. One side runs
after the other. The table of hours is reckoned: the seconds that gates.json had when each gate was
recorded (revision `RECORDED`), with what each rule since leaves of them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

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


def side(
    task: str, gate: str, a_core: int, *, kept: bool = False
) -> tuple[float, float, list[Trial]]:
    """Seconds on the wall, processor seconds of the verifiers, and the trials."""
    of = Trials(load(root() / task), Silence())
    # Another key is what a changed check brings about.
    of.__dict__["key"] = f"{of.key}-bench-{a_core}-{int(time.time())}"
    if not kept:
        of.build_anew(gate)
    started = time.perf_counter()
    if gate == "oracle":
        made = list(of.timed_oracles())
    else:
        names = [each.name for each in getattr(of.task, gate)]
        made = list(of.shipped(gate, names, a_core=a_core).values())
    if kept != (gate in of.built_before):
        raise SystemExit("the builds were not taken as this side wants it")
    return time.perf_counter() - started, sum(map(processor_seconds, made)), made


def building(record: dict[str, Any], gate: str, incremental: bool) -> float:
    """The share of a gate's seconds in which scripts build, from what gate `budget` measured.

    Of the rungs of an oracle that begins anew for each, how long each built is not recorded: 0.
    """
    found = re.search(r"oracle (\d+) s, verification (\d+) s", record["gates"]["budget"]["summary"])
    build, verify = map(int, found.groups()) if found else (0, 1)
    if gate in ("oracle", "exploits"):
        return build / (build + verify)
    seconds = float(record["gates"][gate]["seconds"])
    return min(1.0, build / seconds) if gate == "ladder" and incremental else 0.0


def hours() -> dict[str, tuple[float, float, float]]:
    """Gate → hours as recorded, what the rules since leave of them, and of these what is left
    where no build is due, as after a change of a check, of `boot` or of `bench`."""
    text = subprocess.run(
        ["git", "show", f"{RECORDED}:tasks/gates.json"], check=True, capture_output=True,
        cwd=Path(__file__).parent,
    ).stdout  # fmt: skip
    found: dict[str, tuple[float, float, float]] = defaultdict(lambda: (0.0, 0.0, 0.0))
    incremental = {name for name in names() if load(root() / name).oracle_incremental}
    for name, record in json.loads(text)["tasks"].items():
        for gate in record["gates"].values():
            if gate["gate"] not in TRIED:
                continue
            left = {
                "oracle": 2 / 3 if name in incremental else 1.0,
                "determinism": 1 / 2,
            }.get(gate["gate"], 1.0)
            before, after, judged = found[gate["gate"]]
            hours = float(gate["seconds"]) / 3600
            verifying = 1 - building(record, gate["gate"], name in incremental)
            found[gate["gate"]] = (
                before + hours,
                after + hours * left,
                judged + hours * left * verifying,
            )
    return found


def compare(task: str, gate: str, *, kept: bool) -> None:
    headline(f"gate {gate} of {task}")
    cores = len(os.sched_getaffinity(0))
    walls = []
    for a_core, from_before in ((1, False), (1, True) if kept else (2, False)):
        wall, used, made = side(task, gate, a_core, kept=from_before)
        walls.append(wall)
        verdicts = ", ".join(sorted({trial.verdict.value for trial in made}))
        how = "built before" if from_before else "from scratch"
        row(f"{len(made)} trials, {a_core} a core, {how}", f"{wall:.0f} s")
        row("  verifiers' share of the processors", f"{used / wall / cores:.0%}", verdicts)
    row("ratio of the wall times", f"{walls[1] / walls[0]:.2f}×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", default="repair/dead-server")
    parser.add_argument("--gate", choices=("oracle", "variants", "exploits"), default="variants")
    parser.add_argument("--kept", action="store_true", help="from scratch, then built before")
    parser.add_argument("--table", action="store_true", help="the table of hours alone")
    given = parser.parse_args()
    if not given.table:
        compare(given.task, given.gate, kept=given.kept)
    print("hours of fifteen tasks: as recorded → by the rules since → where no build is due")
    found = hours()
    for gate, told in sorted(found.items(), key=lambda item: -item[1][0]):
        row(f"  {gate}", " → ".join(f"{each:.1f} h" for each in told))
    sums = (sum(each) for each in zip(*found.values(), strict=True))
    row("  together", " → ".join(f"{each:.1f} h" for each in sums))


if __name__ == "__main__":
    main()
