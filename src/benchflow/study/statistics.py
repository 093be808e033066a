"""Everything that DESIGN calls statistics, from records: one frozen value each, or a refusal.

Each function takes `Trials` (see `benchflow.study.arrays`) and a confidence level. What the data
cannot carry is a `Refused` with the reason in words, never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchflow.analysis.behaviour import Behaviour, adjusted
from benchflow.analysis.budget import MOST_UNKNOWN
from benchflow.analysis.claims import Claims, claims
from benchflow.analysis.decompose import Cells, Decomposition, cells_of, decompose
from benchflow.analysis.estimate import Estimate, Floats, NotEnoughData
from benchflow.analysis.horizon import Horizon, horizon
from benchflow.analysis.passk import pass_k
from benchflow.analysis.rasch import Rasch, flags, rasch
from benchflow.analysis.skills import SkillEffects, skill_effects
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.study.arrays import Trials, one_spelling

AMOUNTS = ("minutes", "tokens", "dollars", "steps")
ENDED_ITSELF = "ended by itself"
CLAIMED_WRONGLY = "claimed done when it failed"


@dataclass(frozen=True)
class Refused:
    """What the data cannot carry, and why."""

    refused: str


@dataclass(frozen=True)
class Attempts:
    """pass@k and pass^k for k = 1… as far as two tasks have k trials."""

    any_of: tuple[Estimate, ...]
    all_of: tuple[Estimate, ...]


@dataclass(frozen=True)
class AgentOrModel:
    """`effects`, or why agents and models cannot be told apart; `cells` in any case.

    `merged`: spellings of one model that were taken as the same, first the one that is shown.
    """

    cells: Cells
    effects: Decomposition | Refused
    merged: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class OverClaims:
    """Per agent and model. `declared`: what was counted is a declaration of the agent; otherwise
    that its run ended by itself, the nearest thing recorded. `cleared`: failed trials that an
    adjudication put on the check, the instruction, the generator or the verifier: no claim of
    theirs was wrong, so they are in no share."""

    claims: dict[str, Claims]
    refused: dict[str, str]
    declared: dict[str, bool]
    unknown: dict[str, int]
    cleared: dict[str, int]

    @property
    def left_out(self) -> str:
        """A sentence on `cleared`; empty where there are none."""
        n = sum(self.cleared.values())
        if not n:
            return ""
        were = "1 failed trial is" if n == 1 else f"{n} failed trials are"
        return (
            f"{were} left out of all claims: an adjudication found that the agent was not at fault."
        )


@dataclass(frozen=True)
class Behaviours:
    """Measure → agents and models at equal difficulty; `left_out`: who lacks records, by measure"""

    found: dict[str, Behaviour | Refused]
    left_out: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Difficulty:
    """Tasks and models on one scale; arrays of `scale` are in the order of `entries` and `tasks`.

    `left_out`: agents and models that solved everything or nothing; tasks that nobody else ran are
    not here. `shares`, and the flags of dead tasks, are over everybody: per task, the plain share
    of successes.
    """

    entries: tuple[str, ...]
    tasks: tuple[str, ...]
    shares: tuple[float, ...]
    scale: Rasch
    left_out: tuple[str, ...]

    @property
    def dead(self) -> tuple[str, ...]:
        """Tasks that nobody, or everybody, solved every time: they separate nobody."""
        flags = zip(self.tasks, self.scale.flags, strict=True)
        return tuple(task for task, flag in flags if flag in ("never solved", "always solved"))


def attempts(trials: Trials, level: float = 0.95, most: int = 10) -> dict[str, Attempts]:
    """Per agent and model; empty where fewer than two tasks were run."""
    found: dict[str, Attempts] = {}
    for who, outcomes in trials.outcomes.items():
        any_of: list[Estimate] = []
        all_of: list[Estimate] = []
        for k in range(1, min(most, int(outcomes.trials.max())) + 1):
            try:
                any_of.append(pass_k(outcomes, k, "any", level))
                all_of.append(pass_k(outcomes, k, "all", level))
            except NotEnoughData:
                break
        found[who] = Attempts(tuple(any_of), tuple(all_of))
    return found


def agent_or_model(trials: Trials, level: float = 0.95) -> AgentOrModel:
    """Differences between agents and between models, where the cells that were run allow it."""
    spellings: dict[str, list[str]] = {}
    for record in trials.records:
        named = spellings.setdefault(one_spelling(record.model), [])
        if record.model not in named:
            named.append(record.model)
    # A model that is spelled in one way alone is shown so, not in the way that compares.
    shown_as = {one: names[0] if len(names) == 1 else one for one, names in spellings.items()}
    cell_of: dict[tuple[str, str], list[str]] = {}
    for who, part in trials.by_entry.items():
        record = part.records[0]
        shown = shown_as[one_spelling(record.model)] or "(no model)"
        cell_of.setdefault((record.agent, shown), []).append(who)
    table = {
        cell: trials.where(frozenset(names)).total() for cell, names in sorted(cell_of.items())
    }
    merged = tuple((shown, *sorted(names)) for shown, names in spellings.items() if len(names) > 1)
    cells = cells_of(table)
    try:
        return AgentOrModel(cells, decompose(table, level), merged)
    except NotEnoughData as error:
        return AgentOrModel(cells, Refused(str(error)), merged)


def over_claims(trials: Trials, level: float = 0.95) -> OverClaims:
    """The agent said that it was done, the verifier said that it was not."""
    found: dict[str, Claims] = {}
    refused: dict[str, str] = {}
    declared: dict[str, bool] = {}
    unknown: dict[str, int] = {}
    cleared: dict[str, int] = {}
    for who, part in trials.by_entry.items():
        said = [r.said_done for r in part.records]
        declared[who] = sum(one is not None for one in said) * 2 > len(said)
        if not declared[who]:
            said = [r.ended_itself for r in part.records]
        not_its_own = [_cleared(r) for r in part.records]
        cleared[who] = sum(not_its_own)
        known = [i for i, clear in enumerate(not_its_own) if not clear]
        rows = [i for i in known if said[i] is not None]
        unknown[who] = len(known) - len(rows)
        try:
            found[who] = claims(
                [bool(said[i]) for i in rows],
                [bool(part.resolved[i]) for i in rows],
                [part.tasks[i] for i in rows],
                [part.units[i] for i in rows],
                level,
                part.n_errors,
            )
        except (NotEnoughData, ValueError) as error:
            refused[who] = str(error) if rows else "nothing was recorded of how its runs ended"
    return OverClaims(found, refused, declared, unknown, cleared)


def _cleared(record: Record) -> bool:
    """Whether it failed, and an adjudication put nothing of that on the agent."""
    found = record.adjudication
    return record.verdict is Verdict.FAILED and found is not None and found.clears_agent


def behaviours(trials: Trials, level: float = 0.95) -> Behaviours:
    """Minutes, tokens, dollars and steps as factors, the others as differences of shares.

    CLAIMED_WRONGLY is asked of failures alone: of those whose ending is known, how many the agent
    declared done (or, where declarations are not recorded, ended by itself).
    Who lacks the record of more than one trial in twenty is left out of a measure: what is missing
    is seldom missing by chance.
    """
    found: dict[str, Behaviour | Refused] = {}
    left_out: dict[str, tuple[str, ...]] = {}
    everybody = np.array(trials.who)
    for measure in (*AMOUNTS, ENDED_ITSELF, CLAIMED_WRONGLY):
        values, of = _values(trials, measure)
        missing = np.isnan(values)
        poor = tuple(
            name
            for name in trials.entries
            if not (of & (everybody == name)).any()
            or missing[of & (everybody == name)].mean() > MOST_UNKNOWN
        )
        left_out[measure] = poor
        rows = np.flatnonzero(of & ~missing & ~np.isin(everybody, poor)).tolist()
        try:
            found[measure] = adjusted(
                values[rows],
                [trials.who[i] for i in rows],
                [trials.tasks[i] for i in rows],
                [trials.units[i] for i in rows],
                ratio=measure in AMOUNTS,
                level=level,
                errors=trials.n_errors,
            )
        except NotEnoughData as error:
            found[measure] = Refused(
                str(error) if len(poor) < len(trials.entries) else "not recorded"
            )
    return Behaviours(found, left_out)


def _values(trials: Trials, measure: str) -> tuple[Floats, np.ndarray]:
    """What each trial showed (NaN: not recorded), and of which trials it is asked."""
    everything = np.ones(len(trials.records), dtype=bool)
    if measure in AMOUNTS:
        return trials.amounts(measure), everything
    said = [
        r.ended_itself if measure == ENDED_ITSELF or r.said_done is None else r.said_done
        for r in trials.records
    ]
    values = np.array([np.nan if one is None else float(one) for one in said], dtype=float)
    # How a run ended is not known where the tests, not the agent, broke down: of failures such
    # trials are no part.
    if measure == ENDED_ITSELF:
        return values, everything
    own = np.array([not _cleared(r) for r in trials.records], dtype=bool)
    return values, ~trials.resolved & ~np.isnan(values) & own


def difficulty(trials: Trials, level: float = 0.95) -> Difficulty | Refused:
    """Rasch over agents and models × tasks, with fit and dead tasks."""
    tasks = tuple(sorted(set(trials.tasks)))
    place = {task: i for i, task in enumerate(tasks)}
    successes = np.zeros((len(trials.entries), len(tasks)), dtype=np.int64)
    ran = np.zeros_like(successes)
    for row, outcomes in enumerate(trials.outcomes.values()):
        columns = [place[task] for task in outcomes.tasks]
        successes[row, columns], ran[row, columns] = outcomes.successes, outcomes.trials
    solved = successes.sum(axis=1)
    usable = (solved > 0) & (solved < ran.sum(axis=1))
    placed = ran[usable].any(axis=0)
    tasks = tuple(task for task, has_place in zip(tasks, placed, strict=True) if has_place)
    successes, ran = successes[:, placed], ran[:, placed]
    try:
        scale = rasch(successes[usable], ran[usable], level, errors=trials.n_errors)
    except NotEnoughData as error:
        return Refused(str(error))
    scale = replace(scale, flags=flags(successes, ran, scale.misfit_p < 1 - level))
    return Difficulty(
        entries=tuple(name for name, use in zip(trials.entries, usable, strict=True) if use),
        tasks=tasks,
        shares=tuple((successes.sum(axis=0) / ran.sum(axis=0)).tolist()),
        scale=scale,
        left_out=tuple(name for name, use in zip(trials.entries, usable, strict=True) if not use),
    )


def skills(trials: Trials, level: float = 0.95) -> SkillEffects | Refused:
    """Who is good at what, over the tasks that everybody ran and whose skills are named."""
    named = {
        task: record.skills
        for task, record in zip(trials.tasks, trials.records, strict=True)
        if record.skills
    }
    if not named:
        return Refused("no task names its skills")
    shares = {
        who: dict(zip(outcomes.tasks, outcomes.shares.tolist(), strict=True))
        for who, outcomes in trials.outcomes.items()
    }
    common = sorted(set(named).intersection(*(set(found) for found in shares.values())))
    try:
        return skill_effects(
            {who: np.array([found[task] for task in common]) for who, found in shares.items()},
            [named[task] for task in common],
            level,
            n_trials=len(trials.records),
            errors=trials.n_errors,
        )
    except (NotEnoughData, ValueError) as error:
        return Refused(str(error))


def horizons(trials: Trials, level: float = 0.95) -> dict[str, Horizon] | Refused:
    """Per agent and model, over the tasks whose expert minutes are stated."""
    if not any(_stated(record) for record in trials.records):
        return Refused("no task states how long an expert needs")
    found: dict[str, Horizon] = {}
    for who, part in trials.by_entry.items():
        stated = part.keep([_stated(record) for record in part.records])
        minutes = dict(zip(stated.tasks, (r.expert_minutes for r in stated.records), strict=True))
        if len(minutes) < 2:
            found[who] = Horizon(None, "fewer than 10 tasks", float("nan"), float("nan"))
            continue
        outcomes = stated.total()
        lengths = np.array([minutes[task] for task in outcomes.tasks], dtype=float)
        found[who] = horizon(outcomes, lengths, level=level)
    return found


def _stated(record: Record) -> bool:
    return record.expert_minutes is not None and record.expert_minutes > 0
