"""What all pages of a site stand on: records grouped, named and summed up once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property

from benchflow.arena.figures import Figures, figures
from benchflow.arena.proof import Beside
from benchflow.arena.recorded import Recorded
from benchflow.people.recorded import Ratings
from benchflow.people.said import Measured, Said, SaidOfTask, said
from benchflow.results.jobs.unfinished import Unfinished
from benchflow.results.model import Problem, Verdict
from benchflow.results.records import Collection, Record
from benchflow.results.versions import apart
from benchflow.site.attempt_dots import attempts
from benchflow.site.page_model import Cell
from benchflow.site.urls import Addresses
from benchflow.study.arrays import Trials
from benchflow.study.baselines import agents_only
from benchflow.study.statistics import Attempts, Difficulty, Refused, difficulty
from benchflow.study.statistics import attempts as repeated
from benchflow.study.summary import Pair, Summary, summarize_trials

#: Above this many entries a page for each pair would be mostly pages that nobody opens.
MAX_COMPARED = 40


@dataclass(frozen=True)
class Study:
    """A collection with addresses for everything in it. `level` is the intervals' confidence;
    `live`: its pages come from a server that brings them up to date; `ratings`: of its tasks;
    `votes`: on pairs of deliverables."""

    title: str
    collection: Collection
    level: float = 0.95
    live: bool = False
    ratings: Ratings | None = None
    votes: Recorded | None = None

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """All trials; versions of a task are tasks of their own."""
        return apart(self.collection.records)

    @cached_property
    def divided(self) -> tuple[str, ...]:
        """Names of tasks that stand here in several versions, each a task of its own."""
        return tuple(sorted({r.task for r in self.collection.records} - set(self.tasks)))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read as it should be."""
        return self.collection.problems

    @cached_property
    def summary(self) -> Summary | None:
        """Rates, tiers and pairs; None where no trial counts."""
        return summarize_trials(self.trials, self.level) if self.trials.records else None

    @cached_property
    def trials(self) -> Trials:
        """What the statistics are made from: agents' trials, or probes where they are alone."""
        return Trials.of(agents_only(self.records))

    @cached_property
    def attempts(self) -> dict[str, Attempts]:
        """What repeated attempts bring, per agent and model."""
        return repeated(self.trials, self.level)

    @cached_property
    def difficulty(self) -> Difficulty | Refused:
        """How hard each task is, on one scale with how able each agent and model is."""
        return difficulty(self.trials, self.level)

    @cached_property
    def said(self) -> Said | None:
        """What experts say of tasks; None where no ratings are recorded."""
        return said(self.ratings, self.level) if self.ratings else None

    @cached_property
    def voted(self) -> Figures | None:
        """What votes say; None where none are recorded that count."""
        if self.votes is None:
            return None
        found = figures(self.votes.votes, self.votes.keys, level=self.level)
        return found if found.questions else None

    def voted_on(self, task: str) -> tuple[Beside, ...]:
        """The pairs of a task's trials here, beside their verdicts, with the votes of the question
        that is asked of all pairs."""
        if self.voted is None:
            return ()
        uids = {record.uid for record in self.of_task(task)}
        pairs = self.voted.questions[0].proof.pairs
        return tuple(one for one in pairs if uids & {one.more.uid, one.less.uid})

    def said_of(self, task: str) -> SaidOfTask | None:
        """What experts say of one task, in the version that it has here."""
        records = self.of_task(task)
        for one in self.said.tasks if self.said else ():
            if any(_is_of(record, task, one) for record in records):
                return one
        return None

    @cached_property
    def measured(self) -> dict[str, Measured]:
        """What attempts here have shown of the tasks that experts rated, by the ratings' names."""
        found = {}
        for task in self.tasks:
            one, counted = self.said_of(task), self.counted(task)
            if one is not None and counted and one.task not in found:
                resolved, failed, _ = counts(counted)
                minutes = next((r.expert_minutes for r in counted if r.expert_minutes), 0.0)
                found[one.task] = Measured(resolved, resolved + failed, (minutes or 0.0) / 60)
        return found

    @cached_property
    def entries(self) -> tuple[str, ...]:
        """Agents and models, best first; then those with errors alone; then the tasks' probes."""
        everybody = sorted({record.who for record in self.records})
        return tuple(dict.fromkeys((*self.ranked, *everybody)))

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The entries without the probes, where there are others."""
        if self.summary is None:
            return tuple(sorted({record.who for record in agents_only(self.records)}))
        return (*(entry.who for entry in self.summary.entries), *self.summary.unknown)

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Task names in their own order."""
        return tuple(sorted({record.task for record in self.records}))

    @cached_property
    def cells(self) -> dict[tuple[str, str], list[Record]]:
        """(who, task) → its trials in the order of reading."""
        grouped: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for record in self.records:
            grouped[record.who, record.task].append(record)
        return dict(grouped)

    @cached_property
    def tried(self) -> dict[tuple[str, str], Cell]:
        """(who, task) → its trials as dots."""
        return {place: attempts(records) for place, records in self.cells.items()}

    def seen_anew(self, unfinished: tuple[Unfinished, ...]) -> Study:
        """The same study with what is under way looked at again; nothing is computed again."""
        fresh = replace(self, collection=replace(self.collection, unfinished=unfinished))
        names = {field.name for field in fields(self)}
        # What was computed lies beside the fields (functools.cached_property).
        vars(fresh).update({k: value for k, value in vars(self).items() if k not in names})
        return fresh

    def of_task(self, task: str) -> list[Record]:
        """The trials of a task, entry by entry."""
        return [r for who in self.entries for r in self.cells.get((who, task), ())]

    def counted(self, task: str) -> list[Record]:
        """The trials of a task that its figures count: agents', or probes where they are alone."""
        return list(agents_only(self.of_task(task)))

    def of_entry(self, who: str) -> list[Record]:
        """The trials of an agent and model, task by task."""
        return [r for task in self.tasks for r in self.cells.get((who, task), ())]

    @cached_property
    def compared(self) -> tuple[Pair, ...]:
        """The pairs that have a page of their own."""
        if self.summary is None or len(self.summary.entries) > MAX_COMPARED:
            return ()
        return self.summary.pairs

    @cached_property
    def at(self) -> Addresses:
        """Where everything lies."""
        return Addresses.of(self.tasks, sorted({record.who for record in self.records}))


def _is_of(record: Record, task: str, one: SaidOfTask) -> bool:
    """Whether a trial tried what was rated; hints make another task of it."""
    bare = one.task.partition("#")[0]
    named = task in (bare, f"{bare}@{one.version}")
    return named and record.task_version in ("", one.version)


def counts(records: Iterable[Record]) -> tuple[int, int, int]:
    """Resolved, failed, errors."""
    found = [0, 0, 0]
    order = (Verdict.RESOLVED, Verdict.FAILED, Verdict.ERROR)
    for record in records:
        found[order.index(record.verdict)] += 1
    return found[0], found[1], found[2]


def share(records: Iterable[Record]) -> float | None:
    """Resolved over all that count; None where none counts."""
    resolved, failed, _ = counts(records)
    return resolved / (resolved + failed) if resolved + failed else None
