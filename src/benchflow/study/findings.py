"""All that finished trials say, in one value: the terminal, Markdown and JSON are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchflow.analysis.horizon import Horizon
from benchflow.analysis.rates import Rate
from benchflow.analysis.skills import SkillEffects
from benchflow.results.model import Problem
from benchflow.results.records import Collection
from benchflow.study import budget_stats, caveats, ladder_stats, statistics
from benchflow.study.arrays import Trials
from benchflow.study.as_json import dumped
from benchflow.study.baselines import agents_only, said_of
from benchflow.study.budget_stats import Budgets, Reach, Worth
from benchflow.study.caveats import Change, Doubt, Gaps
from benchflow.study.failures import Label, labels
from benchflow.study.hosts import Hosts, hosts
from benchflow.study.ladder_stats import Milestones
from benchflow.study.statistics import (
    AgentOrModel,
    Attempts,
    Behaviours,
    Difficulty,
    OverClaims,
    Refused,
)
from benchflow.study.summary import Summary, summarize_trials, to_json


@dataclass(frozen=True)
class Findings:
    """See the modules that the parts come from. `by_name`: number of generators, and rates."""

    summary: Summary
    attempts: dict[str, Attempts]
    milestones: Milestones | Refused
    agent_or_model: AgentOrModel
    over_claims: OverClaims
    behaviours: Behaviours
    difficulty: Difficulty | Refused
    skills: SkillEffects | Refused
    horizons: dict[str, Horizon] | Refused
    budgets: tuple[Budgets, ...]
    reach: tuple[Reach, ...]
    worth: tuple[Worth, ...]
    failures: tuple[Label, ...]
    hosts: Hosts
    doubted: dict[str, Doubt]
    gaps: dict[str, Gaps]
    by_name: tuple[int, dict[str, Rate]] | None
    changes: tuple[Change, ...]
    mixtures: tuple[str, ...]
    problems: tuple[Problem, ...]


def findings(table: Collection, level: float = 0.95) -> Findings:
    """Raises UsageError when there is no trial that counts."""
    trials = Trials.of(agents_only(table.records))
    summary = summarize_trials(trials, level)
    goals = (
        budget_stats.GOALS
        if any(r.milestone_kind == "milestone" for r in trials.records)
        else ("resolved",)
    )
    decided = {(pair.a, pair.b): pair.comparison.decided for pair in summary.pairs}
    return Findings(
        summary=summary,
        attempts=statistics.attempts(trials, level),
        milestones=ladder_stats.milestones(trials, level),
        agent_or_model=statistics.agent_or_model(trials, level),
        over_claims=statistics.over_claims(trials, level),
        behaviours=statistics.behaviours(trials, level),
        difficulty=statistics.difficulty(trials, level),
        skills=statistics.skills(trials, level),
        horizons=statistics.horizons(trials, level),
        budgets=budget_stats.budgets(trials, level),
        reach=tuple(
            budget_stats.reach(trials, measure, goal, level)
            for measure in budget_stats.MEASURES
            for goal in goals
        ),
        worth=tuple(
            budget_stats.worth(trials, measure, level) for measure in budget_stats.MEASURES
        ),
        failures=labels(trials.records),
        hosts=hosts(trials, level),
        doubted=caveats.doubted(trials),
        gaps=caveats.gaps(trials),
        by_name=caveats.by_name(trials, level),
        changes=tuple(caveats.changes(trials, decided, level)),
        mixtures=(*caveats.mixtures(trials), *said_of(table.records)),
        problems=table.problems,
    )


def findings_json(found: Findings) -> dict[str, Any]:
    """The summary's JSON with every other part under its own name; a refusal is {"refused": …}."""
    rest = {name: value for name, value in vars(found).items() if name != "summary"}
    return {**to_json(found.summary), **{name: dumped(value) for name, value in rest.items()}}
