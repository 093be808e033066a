"""Which checks a verification of some milestones ran, and in which order.

What a check finds may depend on those before it: on machines that they started or switched off, on
files that they left. So what a check said is worth something only beside the same checks, in the
same order.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchflow.boot.runner.partial import in_order, required
from benchflow.results.jobs.partial import Partial
from benchflow.results.model import Check, Milestone
from benchflow.tasks import Task

#: Milestone and name.
type Ran = tuple[str, str]


def ran(task: Task, part: Partial) -> tuple[Ran, ...]:
    """The checks that were run: milestone by milestone as they were asked for, and of each what it
    requires first, in file order (docs/checks.md)."""
    done: dict[Ran, None] = {}
    lines = _lines(task, part)
    for id in in_order(task.milestones, part.asked):
        group = required(task.milestones, id)
        for each, check in lines.items():
            if each[0] in group and check.status != "not run":
                done.setdefault(each)
    return tuple(done)


def begins_as_whole(task: Task, part: Partial) -> bool:
    """Whether all that was run up to the last check that failed is what a verification of
    everything runs up to there, in its order: then the two say the same."""
    lines = _lines(task, part)
    failed = {each for each, check in lines.items() if check.status in ("failed", "crashed")}
    here = list(ran(task, part))
    while here and here[-1] not in failed:
        here.pop()
    if not here:
        return False
    known: Mapping[str, Milestone] = {m.id: m for m in part.milestones}
    reached = {
        m.id for m in part.milestones if all(known[r].status == "passed" for r in m.requires)
    }
    whole = [each for each in lines if each[0] in reached]
    return here == whole[: len(here)]


def _lines(task: Task, part: Partial) -> dict[Ran, Check]:
    """All checks in file order; of one with parameters each run of it."""
    line = {check.name: check.line for m in task.milestones for check in m.checks}
    all_of = [((m.id, check.name), check) for m in part.milestones for check in m.checks]
    return dict(sorted(all_of, key=lambda row: line[row[0][1].partition("[")[0]]))
