"""Minutes, tokens and dollars: scores under smaller budgets, how soon, and who is worth it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from benchflow.analysis.budget import MOST_UNKNOWN, Budgeted, Front, budgeted, pareto
from benchflow.analysis.estimate import Floats, NotEnoughData
from benchflow.analysis.incidence import CUT, ENDED, REACHED, Incidence, cumulative_incidence
from benchflow.results.records import Record
from benchflow.study.arrays import Trials, spent

MEASURES = ("minutes", "tokens", "dollars")
GOALS = ("first milestone", "half of the milestones", "resolved")


@dataclass(frozen=True)
class Budgets:
    """Scores under smaller budgets of one measure, per agent and model that has the records.

    `recorded`: trials with a record, of `n_trials` that count. `refused`: why the others have no
    curve.
    """

    measure: str
    at: Floats
    curves: dict[str, Budgeted]
    refused: dict[str, str]
    recorded: int
    n_trials: int


@dataclass(frozen=True)
class Reach:
    """How soon `goal` was reached, over one measure, per agent and model.

    `measured`: the moments are the agent's own. Otherwise each is when the work was handed over,
    the latest at which it can have been: a verifier that looks once cannot know more.
    """

    measure: str
    goal: str
    curves: dict[str, Incidence]
    refused: dict[str, str]
    measured: bool


@dataclass(frozen=True)
class Worth:
    """Score against cost, over the tasks that all of `front.names` ran; None with the reason."""

    measure: str
    front: Front | None
    refused: str
    n_tasks: int


def budgets(trials: Trials, level: float = 0.95) -> tuple[Budgets, ...]:
    """One for each measure, on a common grid: twenty quantiles of what was spent."""
    return tuple(_budgets(trials, measure, level) for measure in MEASURES)


def _budgets(trials: Trials, measure: str, level: float) -> Budgets:
    amounts = trials.amounts(measure)
    known = amounts[~np.isnan(amounts)]
    at = np.unique(np.quantile(known, np.linspace(0.05, 1, 20))) if len(known) else np.empty(0)
    curves: dict[str, Budgeted] = {}
    refused: dict[str, str] = {}
    for who, part in trials.by_entry.items():
        if not len(at):
            refused[who] = "no trial has a record"
            continue
        try:
            curves[who] = budgeted(
                part.amounts(measure),
                part.resolved,
                part.tasks,
                at,
                part.units if part.in_generators else None,
                level,
                part.n_errors,
            )
        except NotEnoughData as error:
            refused[who] = str(error)
    return Budgets(measure, at, curves, refused, len(known), len(trials.records))


def reach(
    trials: Trials, measure: str = "minutes", goal: str = "resolved", level: float = 0.95
) -> Reach:
    """Cumulative incidence of `goal` (one of GOALS) over `measure` (one of MEASURES).

    A trial that ended by itself without the goal is a competing end; one that was cut off by a
    limit could have continued and is censored. Where it is not known which, it counts as ended.
    """
    at_end = trials.amounts(measure)
    known = at_end[~np.isnan(at_end)]
    grid = np.unique(np.quantile(known, np.linspace(0, 1, 25))) if len(known) else np.empty(0)
    curves: dict[str, Incidence] = {}
    refused: dict[str, str] = {}
    clocks: list[bool] = []
    for who, part in trials.by_entry.items():
        moments = [_moment(r, measure, goal) for r in part.records]
        amounts = np.array([np.nan if m[0] is None else m[0] for m in moments], dtype=float)
        missing = int(np.isnan(amounts).sum())
        if missing > MOST_UNKNOWN * len(moments):
            refused[who] = f"{missing} of {len(moments)} trials have no record"
            continue
        kept = ~np.isnan(amounts)
        try:
            curves[who] = cumulative_incidence(
                amounts[kept],
                np.array([m[1] for m in moments])[kept],
                [unit for unit, keep in zip(part.units, kept, strict=True) if keep],
                grid,
                level,
                n_tasks=part.n_tasks,
                errors=part.n_errors,
            )
        except NotEnoughData as error:
            refused[who] = str(error)
            continue
        clocks += [m[2] for m in moments if m[1] == REACHED]
    return Reach(measure, goal, curves, refused, bool(clocks) and all(clocks))


def _moment(record: Record, measure: str, goal: str) -> tuple[float | None, int, bool]:
    """When it reached the goal or ended, which of the two, and whether the moment was measured."""
    end = spent(record, measure)
    milestones = record.milestones if record.milestone_kind == "milestone" else ()
    wanted = {"first milestone": 1, "half of the milestones": ceil(len(milestones) / 2)}.get(goal)
    if wanted is None:
        if record.verdict == "resolved":
            return end, REACHED, False
    elif milestones and record.n_passed >= wanted:
        times = [
            (milestone.minutes, milestone.by_minutes)
            for milestone in milestones
            if milestone.passed
        ]
        if measure != "minutes":
            return end, REACHED, False
        own = sorted(exact for exact, _ in times if exact is not None)
        if len(own) == len(times):
            return own[wanted - 1], REACHED, True
        latest = [exact if exact is not None else by for exact, by in times]
        known = sorted(one for one in (end if one is None else one for one in latest) if one)
        return (known[wanted - 1] if len(known) >= wanted else end), REACHED, False
    return end, CUT if record.ended_itself is False else ENDED, False


def worth(trials: Trials, measure: str = "dollars", level: float = 0.95) -> Worth:
    """The Pareto front of score against mean spending per trial, tasks redrawn.

    Only agents and models whose spending is known on all but MOST_UNKNOWN of their trials take
    part, over the tasks that all of them ran with a record.
    """
    mean: dict[str, dict[str, tuple[float, float]]] = {}
    taking_part: list[Trials] = []
    for who, part in trials.by_entry.items():
        amounts = part.amounts(measure)
        if np.isnan(amounts).mean() > MOST_UNKNOWN:
            continue
        taking_part.append(part)
        mean[who] = _by_task(part, amounts)
    if len(mean) < 2:
        return Worth(measure, None, f"{len(mean)} of {len(trials.entries)} have the records", 0)
    tasks = sorted(set.intersection(*(set(found) for found in mean.values())))
    unit_of = dict(zip(trials.tasks, trials.units, strict=True))
    try:
        front = pareto(
            {who: np.array([found[task][0] for task in tasks]) for who, found in mean.items()},
            {who: np.array([found[task][1] for task in tasks]) for who, found in mean.items()},
            units=[unit_of[task] for task in tasks] if tasks else None,
            level=level,
            n_trials=sum(len(part.records) for part in taking_part),
            errors=sum(part.n_errors for part in taking_part),
        )
    except (NotEnoughData, IndexError) as error:
        return Worth(measure, None, str(error), len(tasks))
    return Worth(measure, front, "", len(tasks))


def _by_task(part: Trials, amounts: Floats) -> dict[str, tuple[float, float]]:
    """Task → mean success and mean spending of its trials that have a record."""
    rows: dict[str, list[tuple[float, float]]] = {}
    for task, won, amount in zip(part.tasks, part.resolved.tolist(), amounts, strict=True):
        if not np.isnan(amount):
            rows.setdefault(task, []).append((float(won), float(amount)))
    return {
        task: (
            float(np.mean([won for won, _ in found])),
            float(np.mean([cost for _, cost in found])),
        )
        for task, found in rows.items()
    }
