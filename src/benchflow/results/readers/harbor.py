"""Harbor job folders, ours or anybody's, as records."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from benchflow.results import adjudication
from benchflow.results.adjudication import Adjudication
from benchflow.results.jobs import metered, task_facts
from benchflow.results.jobs.layout import Layout, folders_in, read_planned, sorted_out
from benchflow.results.jobs.lock import is_held
from benchflow.results.jobs.task_facts import TaskFacts
from benchflow.results.jobs.trials import in_order, read_trial, read_trials
from benchflow.results.jobs.unfinished import Unfinished, look
from benchflow.results.json_values import word
from benchflow.results.model import Problem, Trial, Usage, Verdict
from benchflow.results.parallel import chunked, for_disk, spread
from benchflow.results.readers import atif
from benchflow.results.readers.atif_summary import Summary
from benchflow.results.readers.harbor_milestones import milestones_of
from benchflow.results.records import Format, Keeper, Record, uid_of
from benchflow.results.safe_files import UnreadableRecord

#: Trials that one process reads at a time.
_CHUNK = 500
#: Harbor's exception classes for a run that was cut off or broke down under the agent.
_CUT_OFF = frozenset(
    {
        "AgentSetupTimeoutError",
        "AgentTimeoutError",
        "CancelledError",
        "ContextWindowExceededError",
        "NonZeroAgentExitCodeError",
        "OutputTokenExceededError",
    }
)


@dataclass(frozen=True)
class _Job:
    """What the trials of one job share."""

    source: Path
    name: str
    format: Format
    tasks: Mapping[str, TaskFacts]
    trajectories: bool
    keeper: Keeper | None


class _Part(NamedTuple):
    """What some of the folders of one job hold."""

    records: list[Record]
    problems: list[Problem]
    layout: Layout


def read(
    source: Path, folder: Path, trajectories: bool, workers: int, keeper: Keeper | None = None
) -> tuple[list[Record], list[Problem], list[Unfinished]]:
    """The trials of the job in `folder`; one without a result is a problem too, where nobody works
    on the job."""
    shared = _shared(source, folder, trajectories, keeper)
    folders = folders_in(folder)
    with spread(partial(_some, shared), chunked(folders, _CHUNK), for_disk(workers)) as found:
        parts = [*found]
    unfinished = [path for part in parts for path in part.layout.unfinished]
    problems = [*read_planned(folder)[1], *task_facts.of_job(folder)[1]]
    problems += [problem for part in parts for problem in part.layout.problems]
    if not is_held(folder):
        problems += [Problem(path, "was not finished: no result.json") for path in unfinished]
    problems += [problem for part in parts for problem in part.problems]
    records = [record for part in parts for record in part.records]
    order = in_order([(r.task, r.agent, r.model, r.started_at, r.trial) for r in records])
    looked = [*look(folder, unfinished, shared.tasks)]
    return [records[at] for at in order], problems, looked


def _some(job: _Job, folders: Sequence[Path]) -> _Part:
    here = sorted_out(folders)
    names = {at: task.name for at, task in job.tasks.items()}
    trials, problems = read_trials(here.finished, names)
    return _Part(
        _records(job, trials, problems), problems, Layout((), here.unfinished, here.problems)
    )


def read_alone(
    source: Path, folder: Path, trajectories: bool, keeper: Keeper | None = None
) -> tuple[list[Record], list[Problem]]:
    """The one trial in `folder`."""
    shared = _shared(source, folder.parent, trajectories, keeper)
    names = {path: task.name for path, task in shared.tasks.items()}
    try:
        trial, problems = read_trial(folder, names)
    except UnreadableRecord as error:
        return [], [Problem(folder / "result.json", str(error))]
    return _records(shared, (trial,), problems), problems


def _shared(source: Path, folder: Path, trajectories: bool, keeper: Keeper | None) -> _Job:
    tasks, _ = task_facts.of_job(folder)
    return _Job(
        source=source,
        name=word(folder.resolve().name),
        format=Format.BENCHFLOW if tasks else Format.HARBOR,
        tasks=tasks,
        trajectories=trajectories,
        keeper=keeper,
    )


def _records(job: _Job, trials: Sequence[Trial], problems: list[Problem]) -> list[Record]:
    @cache
    def known(folder: str) -> TaskFacts:
        return task_facts.complete(job.tasks.get(folder, TaskFacts()), folder)

    records: list[Record] = []
    for trial in trials:
        record = _record(job, trial, known(trial.task_folder), problems)
        if fault := contradiction(record):
            problems.append(Problem(trial.path, fault))
        records.append(record)
    return records


def contradiction(record: Record) -> str:
    """How the verdict and the milestones of one trial contradict each other; empty: not at all."""
    if record.verdict is Verdict.RESOLVED:
        missed = next((milestone for milestone in record.milestones if not milestone.passed), None)
        return f"{record.trial} is resolved, yet {missed.id!r} did not pass" if missed else ""
    if (
        record.verdict is Verdict.FAILED
        and record.milestones
        and record.n_passed == len(record.milestones)
    ):
        return f"{record.trial} failed, yet every {record.milestone_kind} passed"
    return ""


def _record(job: _Job, trial: Trial, task: TaskFacts, problems: list[Problem]) -> Record:
    summary = Summary()
    paths = trajectories_in(trial.path)
    found = atif.load(paths) if job.trajectories and paths else None
    if found:
        summary = found.summary()
        problems += found.problems
    gateway = metered.totals(trial.path)
    ended = _ended_itself(trial, gateway)
    counted = metered.usage(gateway)
    uid = uid_of(job.name, trial.agent, trial.model, trial.task, trial.name)
    record = Record(
        uid=uid,
        source=job.source,
        format=job.format,
        job=job.name,
        trial=trial.name,
        agent=trial.agent,
        model=trial.model,
        agent_version=trial.agent_version,
        task=trial.task,
        task_version=task.version,
        task_digest=task.digest or trial.task_checksum,
        topic=task.topic,
        generator=task.generator,
        skills=task.skills,
        authors=task.authors,
        reviewers=task.reviewers,
        expert_minutes=task.expert_minutes,
        hint=task.hint,
        began_from=task.began_from,
        began_digest=task.began_digest,
        verdict=trial.verdict,
        reward=trial.reward,
        cause=trial.cause,
        cause_message=trial.cause_message,
        failure_mode=trial.exception,
        said_done=None if summary.said_done is None else summary.said_done and ended is not False,
        ended_itself=ended,
        milestones=milestones_of(trial, problems),
        milestone_kind="milestone" if trial.milestones else "",
        phases=trial.phases,
        steps=summary.steps,
        repeats=summary.repeats,
        usage=counted or (trial.usage if trial.usage != Usage() else summary.usage),
        metered=counted is not None,
        started_at=trial.started_at,
        folder=trial.path,
        trajectories=paths,
        evidence=trial.evidence,
        host=trial.host,
        adjudication=_adjudicated(trial.path, problems),
    )
    if job.keeper is None or not job.trajectories:
        return record
    checks = {milestone.id: milestone.checks for milestone in trial.milestones}
    seen = found.steps() if found else iter(())
    return replace(record, kept=job.keeper.keep(record, checks, seen))


def _adjudicated(trial: Path, problems: list[Problem]) -> Adjudication | None:
    try:
        return adjudication.told(trial)
    except UnreadableRecord as error:
        problems.append(Problem(trial / adjudication.NAME, str(error)))
        return None


def trajectories_in(trial: Path) -> tuple[Path, ...]:
    """The ATIF files that a trial's agent left: one, or one a step in a task of several steps."""
    found: list[Path] = []
    if os.path.exists(f"{trial}/agent/trajectory.json"):  # noqa: PTH110 (there may be 100,000)
        found.append(trial / "agent" / "trajectory.json")
    if os.path.isdir(f"{trial}/steps"):  # noqa: PTH112
        found += sorted((trial / "steps").glob("*/agent/trajectory.json"))
    return tuple(found)


def _ended_itself(trial: Trial, gateway: Mapping[str, Any]) -> bool | None:
    if trial.exception in _CUT_OFF or metered.exhausted(gateway):
        return False
    return True if not trial.exception and trial.phases.agent is not None else None
