"""Do verdicts depend on the machine? Shares resolved on several, at the same task and agent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchflow.analysis.behaviour import Behaviour, adjusted
from benchflow.analysis.cluster import unseen
from benchflow.analysis.estimate import NotEnoughData
from benchflow.results.model import Host
from benchflow.results.records import Record
from benchflow.study.arrays import Trials
from benchflow.study.statistics import Refused

_NEEDED = (
    "the same tasks, tried by the same agents, on two hosts or more (a host is a machine with one "
    "QEMU): run the sweep on another machine too, and name both folders"
)


@dataclass(frozen=True)
class Seen:
    """One host: `host` as its first trial has it, and what its judged trials came to."""

    name: str
    host: Host
    n_trials: int
    n_tasks: int
    resolved: int
    slowest: float | None
    fastest: float | None
    most_stolen: float | None


@dataclass(frozen=True)
class Hosts:
    """`cells`: pairs of a task with an agent and model that two hosts or more judged, in `n_units`
    tasks (or generators); `alike`: those with the same share resolved on each.

    `effect`: per host, its share of resolved trials less that of the mean host, in the same cells.
    `missed`: where all cells are alike, as large a share of other tasks may still not be.
    `unknown`: trials that say nothing of their host, which are in no figure here.
    """

    seen: tuple[Seen, ...]
    unknown: int
    cells: int
    alike: int
    n_units: int
    missed: float | None
    effect: Behaviour | Refused


def hosts(trials: Trials, level: float = 0.95) -> Hosts:
    """Compares within cells alone: which tasks a host was given says nothing of the host."""
    known = trials.keep([bool(record.host.name) for record in trials.records])
    names = [record.host.name for record in known.records]
    shares = _shares(known, names)
    both = {cell: of for cell, of in shares.items() if len(of) > 1}
    alike = [cell for cell, of in both.items() if len(set(of.values())) == 1]
    units = dict(zip(_cells(known), known.units, strict=True))
    n_units = len({units[cell] for cell in both})
    seen = tuple(_seen(name, known, names) for name in sorted(set(names)))
    missed = unseen(n_units, level) if both and len(alike) == len(both) else None
    effect = _effect(known, names, frozenset(both), level)
    unknown = len(trials.records) - len(known.records)
    return Hosts(seen, unknown, len(both), len(alike), n_units, missed, effect)


def _cells(trials: Trials) -> list[tuple[str, str]]:
    return list(zip(trials.tasks, trials.who, strict=True))


def _shares(trials: Trials, names: list[str]) -> dict[tuple[str, str], dict[str, float]]:
    ran: dict[tuple[str, str], dict[str, list[bool]]] = {}
    for cell, name, resolved in zip(_cells(trials), names, trials.resolved.tolist(), strict=True):
        ran.setdefault(cell, {}).setdefault(name, []).append(resolved)
    return {
        cell: {name: sum(each) / len(each) for name, each in of.items()} for cell, of in ran.items()
    }


def _effect(
    trials: Trials, names: list[str], both: frozenset[tuple[str, str]], level: float
) -> Behaviour | Refused:
    if len(set(names)) < 2:
        return Refused(f"one host has no other to differ from; needed: {_NEEDED}")
    if not both:
        return Refused(f"no host judged what another did; needed: {_NEEDED}")
    cells = _cells(trials)
    rows = [at for at, cell in enumerate(cells) if cell in both]
    try:
        return adjusted(
            np.asarray(trials.resolved, float)[rows],
            [names[at] for at in rows],
            [" / ".join(cells[at]) for at in rows],
            [trials.units[at] for at in rows],
            level=level,
            errors=trials.n_errors,
        )
    except NotEnoughData as error:
        return Refused(str(error))


def _seen(name: str, trials: Trials, names: list[str]) -> Seen:
    own = [at for at, each in enumerate(names) if each == name]
    records: list[Record] = [trials.records[at] for at in own]
    speeds = [record.host.speed for record in records if record.host.speed is not None]
    stolen = [record.host.steal for record in records if record.host.steal is not None]
    return Seen(
        name=name,
        host=records[0].host,
        n_trials=len(own),
        n_tasks=len({trials.tasks[at] for at in own}),
        resolved=int(trials.resolved[own].sum()),
        slowest=min(speeds, default=None),
        fastest=max(speeds, default=None),
        most_stolen=max(stolen, default=None),
    )
