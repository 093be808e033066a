"""Whether the same deliverables come to the same ladders by another QEMU, on less of a processor,
and beside other programs.

    uv run python benchmarks/hosts.py JOB… [--releases bookworm,trixie] [--shares 1,0.25]
        [--beside 1,4] [--journal FILE] [--minutes 60]

JOB: as for flips.py, whose journal and rules these are. Each deliverable is verified once by each
release's QEMU (an image of the verifier's own, made from the machine's mirror), with each share of
the processors that the task grants the verifier (a limit of its control group), beside so many
programs that never rest. Exit status 1: a verdict or a milestone differs.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flips import Case, append, cases, judged, once, outcome, read_journal
from timing import headline, row

from benchflow.base.home import home
from benchflow.tasks.model import Resources


@dataclass(frozen=True)
class Condition:
    """What a verifier is given: `share` of the processors, `beside`: programs that never rest."""

    release: str
    share: float
    beside: int

    def __str__(self) -> str:
        return f"{self.release}, {self.share:g} of the processors, beside {self.beside}"


@dataclass(frozen=True)
class Share(Resources):
    """Resources whose processors may be a fraction: what a sandbox can be limited to."""

    cpus: float = 0  # type: ignore[assignment]


def on(case: Case, condition: Condition) -> Case:
    """`case` with less of a processor. Its key stays: what it comes to must, too."""
    granted = case.task.resources
    share = Share(**{**vars(granted), "cpus": granted.cpus * condition.share})
    return replace(case, task=replace(case.task, resources=share))


def done(lines: Sequence[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """What has a verdict: a case's key and a condition."""
    return {(*line["case"], line["condition"]) for line in lines if judged(line)}


def tell(lines: Sequence[dict[str, Any]]) -> int:
    """Prints each deliverable's verdicts by condition; returns how many deliverables differ."""
    differ = 0
    counted = [line for line in lines if judged(line)]
    for key in sorted({tuple(line["case"]) for line in counted}):
        own = [line for line in counted if tuple(line["case"]) == key]
        first = own[0]
        same = len({outcome(line) for line in own}) == 1
        differ += not same
        passed = [m["status"] for m in first["milestones"]].count("passed")
        row(f"{key[0]}, {key[4]}", f"{first['verdict']}", f"{passed} of {len(first['milestones'])}")
        for line in own:
            got = [m["status"] for m in line["milestones"]].count("passed")
            host, differs = line["host"], "" if outcome(line) == outcome(first) else "  DIFFERS"
            row(
                f"  {line['condition']}",
                f"{line['seconds']:.0f} s",
                f"{line['verdict']}, {got} passed; {host['name']}, speed {host['speed']}{differs}",
            )
    row("verifications", str(len(counted)), f"{len(lines) - len(counted)} errors, not counted")
    row("deliverables whose ladder differs", str(differ), "0")
    return differ


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("job", nargs="*", type=Path, help="job folders, or folders of jobs")
    parser.add_argument("--releases", default="bookworm,trixie")
    parser.add_argument("--shares", default="1,0.25")
    parser.add_argument("--beside", default="1,4")
    parser.add_argument("--label", action="append", default=[], help="of these deliverables alone")
    parser.add_argument("--journal", type=Path, default=home() / "hosts" / "journal.jsonl")
    parser.add_argument("--minutes", type=float, default=0, help="begin none after so long")
    asked = parser.parse_args(arguments)
    headline("the same deliverables on hosts that differ")
    end = time.monotonic() + asked.minutes * 60 if asked.minutes else float("inf")
    conditions = [
        Condition(release, float(share), int(beside))
        for beside, share, release in itertools.product(
            asked.beside.split(","), asked.shares.split(","), asked.releases.split(",")
        )
    ]
    wanted = [
        (case, condition)
        for condition in conditions
        for case in cases(asked.job)
        if not asked.label or case.label in asked.label
    ]
    known = done(read_journal(asked.journal))
    for case, condition in wanted:
        if (*case.key, str(condition)) in known or time.monotonic() > end:
            continue
        top = asked.journal.parent / "evidence"
        line = once(on(case, condition), condition.beside, top, condition.release)
        append(asked.journal, {**line, "condition": str(condition)})
        print(f"    {case.task.name} {case.label}: {condition}: {line['verdict']} "
              f"{line['cause']}, {line['seconds']} s", flush=True)  # fmt: skip
    return int(tell(read_journal(asked.journal)) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
