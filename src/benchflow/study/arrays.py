"""From records to the arrays that `benchflow.analysis` takes: the only glue between the two.

Errors of the infrastructure are in no array; they are counted per agent and model. A task that
occurs in two versions counts as two tasks (`benchflow.results.versions`). Tasks that were drawn by
one generator are one unit of inference, however few units that leaves: seeds of one generator are
never taken for independent tasks. A topic is a folder, and no unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchflow.analysis.estimate import Floats, Outcomes
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.results.versions import apart


@dataclass(frozen=True)
class Trials:
    """The records that count, in order, with the name of the task and the unit of each."""

    records: tuple[Record, ...]
    tasks: tuple[str, ...]
    units: tuple[str, ...]
    errors: Counter[str]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Trials:
        """Keeps what was judged and counts the rest."""
        everything = apart(records)
        counted = tuple(r for r in everything if r.verdict is not Verdict.ERROR)
        tasks = tuple(r.task for r in counted)
        drawn = {task: r.generator for r, task in zip(counted, tasks, strict=True) if r.generator}
        shared = len(set(drawn.values())) < len(drawn)
        units = tuple(f"generator {drawn[task]}" if task in drawn else task for task in tasks)
        errors = Counter(r.who for r in everything if r.verdict is Verdict.ERROR)
        return cls(counted, tasks, units if shared else tasks, errors)

    @cached_property
    def who(self) -> tuple[str, ...]:
        """Agent and model of each trial."""
        return tuple(record.who for record in self.records)

    @cached_property
    def resolved(self) -> np.ndarray:
        """Whether each trial was resolved."""
        return np.array([r.verdict is Verdict.RESOLVED for r in self.records], dtype=bool)

    @property
    def in_generators(self) -> bool:
        """Whether units are generators."""
        return self.units is not self.tasks

    @property
    def n_tasks(self) -> int:
        """Different tasks among the trials that count."""
        return len(set(self.tasks))

    @property
    def n_errors(self) -> int:
        """Trials that the infrastructure lost."""
        return sum(self.errors.values())

    @cached_property
    def entries(self) -> tuple[str, ...]:
        """Agents and models that have a trial that counts, best plain share first."""
        won: Counter[str] = Counter()
        ran: Counter[str] = Counter()
        for name, success in zip(self.who, self.resolved.tolist(), strict=True):
            won[name] += success
            ran[name] += 1
        return tuple(sorted(ran, key=lambda name: (-won[name] / ran[name], name)))

    def where(self, names: frozenset[str]) -> Trials:
        """The trials of these agents and models, with their own errors."""
        part = self.keep([name in names for name in self.who])
        own = Counter({name: self.errors[name] for name in names})
        return Trials(part.records, part.tasks, part.units, own)

    def keep(self, chosen: Sequence[bool]) -> Trials:
        """Those trials that `chosen` (one entry each) holds for; errors are kept as they are."""
        rows = [i for i, keep in enumerate(chosen) if keep]
        tasks = tuple(self.tasks[i] for i in rows)
        return Trials(
            tuple(self.records[i] for i in rows),
            tasks,
            tuple(self.units[i] for i in rows) if self.in_generators else tasks,
            self.errors,
        )

    @cached_property
    def by_entry(self) -> dict[str, Trials]:
        """The trials of each agent and model, with its own errors; in the order of `entries`."""
        rows: dict[str, list[int]] = {name: [] for name in self.entries}
        for i, name in enumerate(self.who):
            rows[name].append(i)
        found: dict[str, Trials] = {}
        for name, places in rows.items():
            tasks = tuple(self.tasks[i] for i in places)
            units = tuple(self.units[i] for i in places) if self.in_generators else tasks
            own = Counter({name: self.errors[name]})
            found[name] = Trials(tuple(self.records[i] for i in places), tasks, units, own)
        return found

    @cached_property
    def outcomes(self) -> dict[str, Outcomes]:
        """Successes over trials by task, for each of `entries`."""
        return {name: part.total() for name, part in self.by_entry.items()}

    def total(self) -> Outcomes:
        """Successes over trials by task, of all these trials together."""
        tasks = tuple(dict.fromkeys(self.tasks))
        place = {task: i for i, task in enumerate(tasks)}
        index = np.array([place[task] for task in self.tasks], dtype=np.int64)
        unit_of = dict(zip(self.tasks, self.units, strict=True))
        return Outcomes(
            tasks,
            np.bincount(index, weights=self.resolved, minlength=len(tasks)).astype(np.int64),
            np.bincount(index, minlength=len(tasks)),
            self.n_errors,
            tuple(unit_of[task] for task in tasks) if self.in_generators else (),
        )

    def amounts(self, measure: str) -> Floats:
        """What each trial spent: minutes, tokens, dollars or steps; NaN where not recorded."""
        found = (spent(record, measure) for record in self.records)
        return np.array([np.nan if one is None else one for one in found], dtype=float)


def spent(record: Record, measure: str) -> float | None:
    """minutes (of the agent's work), tokens (in and out), dollars or steps; None: not recorded.

    An amount of 0 is taken as not recorded: harnesses write it for what they cannot meter. So is
    one below 0, which a clock that was set back makes.
    """
    usage = record.usage
    amount: float | None
    if measure == "minutes":
        amount = None if record.phases.agent is None else record.phases.agent / 60
    elif measure == "tokens":
        both = (usage.input_tokens, usage.output_tokens)
        amount = None if None in both else float(sum(one or 0 for one in both))
    elif measure == "dollars":
        amount = usage.cost_usd
    elif measure == "steps":
        amount = None if record.steps is None else float(record.steps)
    else:
        raise ValueError(f"no measure {measure!r}")
    return amount if amount and amount > 0 else None


def one_spelling(model: str) -> str:
    """A model's name with `.` and `_` as `-` and in lower case.

    Published lists spell one model in several ways (claude-4.1-opus, claude-4-1-opus).
    """
    return model.lower().replace(".", "-").replace("_", "-")
