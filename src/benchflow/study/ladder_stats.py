"""How far each gets: shares of milestones, who climbs better, and each milestone of each task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchflow.analysis.cluster import plain_interval, ratio
from benchflow.analysis.estimate import Estimate, NotEnoughData
from benchflow.analysis.ladder import MilestoneModel, climb_logit
from benchflow.results.records import Milestone
from benchflow.study.arrays import Trials
from benchflow.study.statistics import Refused


@dataclass(frozen=True)
class Milestones:
    """How far: the mean share of milestones passed, and who climbs better.

    `share`: per agent and model, each trial weighing the same; a failed trial without any result is
    0. `kind`: "milestone" or "test". `climb` is refused for tests, which are no ladder.
    """

    kind: str
    share: dict[str, Estimate]
    climb: MilestoneModel | Refused


@dataclass(frozen=True)
class Step:
    """One milestone of one task, over all agents and models: of those that reached it, who passed.

    `low`, `high`: Jeffreys' interval of the chance over runs again on this very task. One task says
    nothing of other tasks, so there is no wider one.
    """

    task: str
    milestone: str
    title: str
    reached: int
    passed: int
    low: float
    high: float
    by_entry: dict[str, tuple[int, int]]


def steps(trials: Trials, level: float = 0.95) -> tuple[Step, ...]:
    """Every milestone of every task, in ladder order; `by_entry` is (passed, reached)."""
    from statsmodels.stats.proportion import proportion_confint

    counts: dict[tuple[str, str], dict[str, list[int]]] = {}
    titles: dict[tuple[str, str], Milestone] = {}
    for record, task in zip(trials.records, trials.tasks, strict=True):
        for milestone in record.milestones if record.milestone_kind == "milestone" else ():
            titles.setdefault((task, milestone.id), milestone)
            own = counts.setdefault((task, milestone.id), {}).setdefault(record.who, [0, 0])
            own[0] += milestone.passed
            own[1] += milestone.status != "not reached"
    found: list[Step] = []
    for (task, milestone_id), everybody in counts.items():
        passed, reached = (sum(pair[i] for pair in everybody.values()) for i in (0, 1))
        low, high = 0.0, 1.0
        if reached:
            low, high = proportion_confint(passed, reached, 1 - level, method="jeffreys")
        by_entry = {who: (pair[0], pair[1]) for who, pair in everybody.items()}
        title = titles[task, milestone_id].title
        found.append(
            Step(task, milestone_id, title, reached, passed, float(low), float(high), by_entry)
        )
    return tuple(found)


def milestones(trials: Trials, level: float = 0.95) -> Milestones | Refused:
    """Milestones where all milestones are milestones, else single tests."""
    have = [record for record in trials.records if record.milestones]
    if not have:
        return Refused("no trial has milestones or tests")
    kind = "milestone" if all(r.milestone_kind == "milestone" for r in have) else "test"
    share: dict[str, Estimate] = {}
    for who, part in trials.by_entry.items():
        values = [
            r.n_passed / len(r.milestones) if r.milestones else float(won)
            for r, won in zip(part.records, part.resolved.tolist(), strict=True)
        ]
        try:
            mean = ratio(np.array(values), np.ones(len(values)), part.units)
        except NotEnoughData:
            continue
        low, high = plain_interval(mean, level)
        share[who] = Estimate(
            mean.value,
            low,
            high,
            level,
            part.n_tasks,
            len(values),
            part.n_errors,
            "t over tasks or generators (ratio)",
        )
    climb: MilestoneModel | Refused = Refused("single tests are no ladder")
    if kind == "milestone":
        climb = _climb(trials, level)
    return Milestones(kind, share, climb)


def _climb(trials: Trials, level: float) -> MilestoneModel | Refused:
    """Milestones at the same place in their ladders share an intercept."""
    rows = [
        (milestone.passed, place, who, task, unit)
        for record, who, task, unit in zip(
            trials.records, trials.who, trials.tasks, trials.units, strict=True
        )
        for place, milestone in enumerate(record.milestones, 1)
        if milestone.status != "not reached"
    ]
    try:
        return climb_logit(
            np.array([row[0] for row in rows]),
            np.array([row[1] for row in rows]),
            [row[2] for row in rows],
            [row[3] for row in rows],
            [row[4] for row in rows],
            n_trials=len(trials.records),
            errors=trials.n_errors,
            level=level,
        )
    except NotEnoughData as error:
        return Refused(str(error))
