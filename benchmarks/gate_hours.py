"""What gates cost: one gate's trials two ways, and the recorded hours of all tasks.

    python benchmarks/gate_hours.py [TASK] [--gate oracle|variants] [--kept]
    python benchmarks/gate_hours.py --table

Two ways: one trial a core and two, both from scratch; with `--kept`, from scratch and after a
change of what only judges, when what was built before is verified again. One side runs
after the other. The table of hours is reckoned: the seconds that gates.json had when each gate was
recorded (revision `RECORDED`), with what each rule since leaves of them; what asking for some
milestones alone takes of a verification is measured (`gate_parts.py`). Below it stand the tasks
whose gates were run again since, by the rules of today: what each took then and now, on machines
that other work shared both times.
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
from typing import Any, NamedTuple

from gate_parts import RECORD
from timing import headline, row

from benchflow.authoring.trials import Trials
from benchflow.results.model import Trial
from benchflow.run.live.progress import Silence
from benchflow.tasks import load, root

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


class Hours(NamedTuple):
    """Of one gate over all tasks: as recorded; by the rules before deliverables were asked in part;
    by today's; and of these what is left where no build is due, as after a changed check."""

    recorded: float = 0.0
    whole: float = 0.0
    today: float = 0.0
    judged: float = 0.0

    def __add__(self, more: Hours) -> Hours:  # type: ignore[override]
        return Hours(*map(sum, zip(self, more, strict=True)))


def shares() -> dict[str, dict[str, float]]:
    """Gate → task → the share of a whole verification that asking in part took, as measured."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for task, gates in json.loads(RECORD.read_text()).items():
        for gate, sums in gates.items():
            found[gate][task] = sums["parts_cpu"] / sums["whole_cpu"]
    return found


def one_gate(name: str, record: dict[str, Any], gate: str, share: float) -> Hours:
    """Of one task. `share`: of a whole verification, what asking in part takes of it."""
    hours = float(record["gates"][gate]["seconds"]) / 3600
    found = re.search(r"oracle (\d+) s, verification (\d+) s", record["gates"]["budget"]["summary"])
    build, verify = (int(each) / 3600 for each in found.groups()) if found else (0.0, hours)
    task = load(root() / name)
    incremental = task.oracle_incremental
    if gate == "oracle":
        left, work = (1 / 3 if incremental else 2 / 3), build / (build + verify)
        return Hours(hours, hours * (2 / 3 if incremental else 1), hours * left,
                     hours * left * (1 - work))  # fmt: skip
    if gate == "determinism":  # four verifications, then two, now one
        return Hours(hours, hours / 2, hours / 4, hours / 4)
    if gate == "ladder":
        # A build for each stop, at most; where one sandbox climbs, one, and it is verified whole.
        stops = len(task.milestones) - 1
        work = min(hours, build if incremental else build * stops)
        whole = min(hours - work, verify) if incremental else 0.0
        judged = whole + (hours - work) * share
        return Hours(hours, hours, work + judged, judged)
    if gate == "exploits":
        work = hours * build / (build + verify)
        judged = (hours - work) * share
        return Hours(hours, hours, work + judged, judged)
    return Hours(hours, hours, hours, hours)


def old_record() -> str:
    """gates.json as it was at `RECORDED`."""
    return subprocess.run(
        ["git", "show", f"{RECORDED}:tasks/gates.json"], check=True, capture_output=True,
        cwd=Path(__file__).parent, text=True,
    ).stdout  # fmt: skip


def hours() -> dict[str, Hours]:
    """Gate → its hours."""
    text = old_record()
    found: dict[str, Hours] = defaultdict(Hours)
    measured = shares()
    for name, record in json.loads(text)["tasks"].items():
        for gate in TRIED:
            if gate not in record["gates"]:
                continue
            known = measured[gate]
            # Of a task that was not measured: the mean of those that were.
            share = known.get(name) or (sum(known.values()) / len(known) if known else 1.0)
            found[gate] += one_gate(name, record, gate, share)
    return found


def recorded(text: str) -> dict[str, dict[str, float]]:
    """Task → gate → seconds, of gates that try deliverables and passed, of a gates.json (an image
    may have been there already: its gate says nothing)."""
    return {
        name: {
            gate: float(result["seconds"])
            for gate, result in entry["gates"].items()
            if gate in TRIED and gate != "image" and result["status"] == "passed"
        }
        for name, entry in json.loads(text)["tasks"].items()
    }


def measured() -> None:
    """Then and now, of each gate that both records have."""
    then, now = recorded(old_record()), recorded((root() / "gates.json").read_text())
    sums = [0.0, 0.0]
    for name in sorted(then.keys() & now.keys()):
        both = [
            gate for gate in TRIED
            if gate in then[name].keys() & now[name].keys()
            and then[name][gate] != now[name][gate]  # a record that was carried over is one run
        ]  # fmt: skip
        if not both:
            continue
        pair = [sum(of[name][gate] for gate in both) for of in (then, now)]
        sums = [a + b for a, b in zip(sums, pair, strict=True)]
        row(f"  {name}", f"{pair[0] / 60:.0f} → {pair[1] / 60:.0f} min", ", ".join(both))
    if sums[0]:
        row(
            "  together",
            f"{sums[0] / 3600:.1f} → {sums[1] / 3600:.1f} h",
            f"{sums[1] / sums[0]:.2f}×",
        )


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
    parser.add_argument("--gate", choices=("oracle", "variants"), default="variants")
    parser.add_argument("--kept", action="store_true", help="from scratch, then built before")
    parser.add_argument("--table", action="store_true", help="the table of hours alone")
    given = parser.parse_args()
    if not given.table:
        compare(given.task, given.gate, kept=given.kept)
    print("hours of fifteen tasks: as recorded → verified whole → today → where no build is due")
    found = hours()
    for gate, told in sorted(found.items(), key=lambda item: -item[1].recorded):
        row(f"  {gate}", " → ".join(f"{each:.1f} h" for each in told))
    total = sum(found.values(), Hours())
    row("  together", " → ".join(f"{each:.1f} h" for each in total))
    for gate, of_task in sorted(shares().items()):
        told = ", ".join(f"{task} {share:.2f}" for task, share in sorted(of_task.items()))
        row(f"  {gate}: asked in part, of a whole verification", told)
    print("run again by the rules of today: seconds on the wall of the same gates, then → now")
    measured()


if __name__ == "__main__":
    main()
