"""One trial from anywhere: the schema that every reader fills and everything above reads.

`Record` is one row; `benchflow.results.jobs.trials.read_trial` gives a Harbor trial's folder in
full (each check, each message). `collect` reads paths, `steps` reads a trial's trajectory when
asked. Every text in a record was stripped of escape sequences and control characters; it is *not*
escaped for HTML. None always means "not recorded", never "no" and never zero.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec import Struct

from benchflow.results.adjudication import Adjudication
from benchflow.results.jobs.unfinished import Unfinished
from benchflow.results.model import Check, Host, Phases, Problem, Usage, Verdict


class Format(StrEnum):
    """What a source was recognised as, by its content."""

    BENCHFLOW = "benchflow job"
    HARBOR = "harbor job"
    ATIF = "atif trajectory"
    TERMINAL_BENCH = "terminal-bench run"
    LIST = "list of trials"
    INSPECT = "inspect log"


class Milestone(Struct, frozen=True, gc=False):
    """One milestone, or one single test where the source has tests (`Record.milestone_kind`).

    status: passed, failed, not reached. `message` says why the first failed check failed.

    Three clocks, seldom all known. `minutes`: the agent's working minutes when the milestone was
    reached; a verifier that looks once, at the end, cannot know it, so only sources that measured
    it have it. `by_minutes`: an upper bound for one that passed, the agent's working minutes
    until its work was handed over (per step in a task of several steps). `verified_seconds`: when
    the *verifier* decided, in seconds from its start; says nothing about the agent.
    """

    id: str
    status: str
    title: str = ""
    weight: float = 1.0
    requires: tuple[str, ...] = ()
    message: str = ""
    minutes: float | None = None
    by_minutes: float | None = None
    verified_seconds: float | None = None

    @property
    def passed(self) -> bool:
        """Whether it was reached and proved."""
        return self.status == "passed"


class Kept(NamedTuple):
    """What a `Keeper` made of a trial: files, their bytes, and what it wants back (`rest`)."""

    files: int
    size: int
    rest: bytes


#: `Record.began_from` where a sequel began with what the authors' solution delivers.
FROM_ORACLE = "oracle"


class Record(Struct, frozen=True):
    """One finished trial, from any source.

    `uid` is 12 hex digits, the same at every reading of the same trial and unique in a collection.
    `failure_mode` is the source's own word; `cause` is ours (docs/results.md, Verdicts).
    `said_done`: the agent declared its work finished (a completion call, or a last turn that asks
    for nothing). `ended_itself`: its run ended by its own decision, not by a limit or a crash;
    where no declaration was recorded this is the nearest thing. `steps` counts a trajectory's
    steps by the agent; `repeats`, how often its last tool call stands in a row at the end, with
    the same arguments. `usage` is what a gateway counted where `metered`, else what the agent or
    its harness reports. `kept`: a keeper has seen the trial's folder and steps.
    """

    uid: str
    source: Path
    format: Format
    job: str
    trial: str
    agent: str
    model: str
    task: str
    verdict: Verdict
    agent_version: str = ""
    task_version: str = ""
    task_digest: str = ""  # of the task's folder, where it was recorded
    topic: str = ""  # the folder or category that the task is filed under
    generator: str = ""  # what drew the task from a seed
    skills: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()  # of the task, and who reviewed it, where it was recorded
    reviewers: tuple[str, ...] = ()
    expert_minutes: float | None = None
    hint: int | None = None
    began_from: str = ""  # of a sequel: JOB/TRIAL, or FROM_ORACLE
    began_digest: str = ""  # of what it began with
    reward: float | None = None
    cause: str = ""
    cause_message: str = ""
    failure_mode: str = ""
    said_done: bool | None = None
    ended_itself: bool | None = None
    milestones: tuple[Milestone, ...] = ()
    milestone_kind: str = ""  # "milestone", "test", or "" where there are no milestones
    phases: Phases = Phases()
    steps: int | None = None
    repeats: int | None = None
    usage: Usage = Usage()
    metered: bool = False
    started_at: str = ""  # ISO 8601 as the source has it
    folder: Path | None = None  # the trial's own folder, where it has one
    trajectories: tuple[Path, ...] = ()  # ATIF files in order, or the log that holds the sample
    member: str = ""  # the sample's name inside such a log
    evidence: dict[str, Path] = {}
    host: Host = Host()
    kept: Kept | None = None
    adjudication: Adjudication | None = None

    @property
    def who(self) -> str:
        """Agent and model, as reports name them."""
        return f"{self.agent} {self.model}".strip()

    @property
    def n_passed(self) -> int:
        """How many milestones passed."""
        return sum(milestone.passed for milestone in self.milestones)

    @property
    def furthest(self) -> str:
        """Id of the last milestone, in ladder order, that passed; empty when none did."""
        return next(
            (milestone.id for milestone in reversed(self.milestones) if milestone.passed), ""
        )


class Call(Struct, frozen=True, omit_defaults=True, gc=False):
    """One tool call; `arguments` is JSON text, `result` what came back. Both may be cut (`…`)."""

    tool: str = ""
    arguments: str = ""
    result: str = ""


class Step(Struct, frozen=True, omit_defaults=True):
    """One step of a trajectory, in order. `at`: seconds since the trajectory's first time stamp.

    role: system, user, agent. `subagent` is empty for the main agent. `copied`: repeated from an
    earlier trajectory (after a summary), so its tokens and dollars are not to be summed again.
    """

    n: int
    role: str
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    at: float | None = None
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    subagent: str = ""
    copied: bool = False


@dataclass(frozen=True)
class Collection:
    """Records of several sources, and everything in them that could not be read as it should be.

    `unfinished`: trials that had no result when their folder was read. They are in no figure.
    """

    records: tuple[Record, ...]
    problems: tuple[Problem, ...]
    unfinished: tuple[Unfinished, ...] = ()


class Keeper(Protocol):
    """Is shown each trial by `collect` while its folder is read, so as not to read it again.

    It is handed to other processes: fit for pickling, and without a state of its own.
    """

    def keep(
        self, record: Record, checks: Mapping[str, tuple[Check, ...]], steps: Iterator[Step]
    ) -> Kept | None:
        """Takes what it wants of a trial: checks by milestone, the steps. None: nothing."""

    def drop(self, uid: str) -> None:
        """Forgets it: more than one trial asked for this uid."""


def uid_of(job: str, agent: str, model: str, task: str, trial: str, again: int = 0) -> str:
    """The uid that these names give; `again`: how many trials of the source had the same before."""
    names = (job, agent, model, task, trial, str(again))
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:12]
