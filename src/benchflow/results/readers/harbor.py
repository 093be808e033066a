"""Harbor job folders, ours or anybody's, as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from benchflow.results import facts, metered
from benchflow.results.evidence import holds_something, verifier_folders
from benchflow.results.facts import TaskFacts
from benchflow.results.files import UnreadableRecord, decode, read_lines, read_object
from benchflow.results.lock import is_held
from benchflow.results.model import Milestone, Problem, Trial, Usage, Verdict
from benchflow.results.read import in_order, layout, read_planned, read_trial, read_trials
from benchflow.results.readers import atif
from benchflow.results.records import Format, Record, Rung
from benchflow.results.running import Unfinished, look
from benchflow.results.values import mapping, number, seconds_between, sequence, word
from benchflow.results.workers import chunked, spread

_MAX_LINE = 1 << 20
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


def read(
    source: Path, folder: Path, trajectories: bool, workers: int
) -> tuple[list[Record], list[Problem], list[Unfinished]]:
    """The trials of the job in `folder`; one without a result is a problem too, where nobody works
    on the job."""
    shared, here = _shared(source, folder, trajectories), layout(folder)
    problems = [*read_planned(folder)[1], *facts.of_job(folder)[1], *here.problems]
    if not is_held(folder):
        problems += [Problem(path, "was not finished: no result.json") for path in here.unfinished]
    records: list[Record] = []
    with spread(partial(_some, shared), chunked(here.finished, _CHUNK), workers) as found:
        for some, faults in found:
            records += some
            problems += faults
    order = in_order([(r.task, r.agent, r.model, r.started_at, r.trial) for r in records])
    unfinished = [*look(folder, here.unfinished, shared.tasks)]
    return [records[at] for at in order], problems, unfinished


def _some(job: _Job, folders: Sequence[Path]) -> tuple[list[Record], list[Problem]]:
    trials, problems = read_trials(folders, {at: task.name for at, task in job.tasks.items()})
    return _records(job, trials, problems), problems


def read_alone(
    source: Path, folder: Path, trajectories: bool
) -> tuple[list[Record], list[Problem]]:
    """The one trial in `folder`."""
    shared = _shared(source, folder.parent, trajectories)
    names = {path: task.name for path, task in shared.tasks.items()}
    try:
        trial, problems = read_trial(folder, names)
    except UnreadableRecord as error:
        return [], [Problem(folder / "result.json", str(error))]
    return _records(shared, (trial,), problems), problems


def _shared(source: Path, folder: Path, trajectories: bool) -> _Job:
    tasks, _ = facts.of_job(folder)
    return _Job(
        source=source,
        name=word(folder.resolve().name),
        format=Format.BENCHFLOW if tasks else Format.HARBOR,
        tasks=tasks,
        trajectories=trajectories,
    )


def _records(job: _Job, trials: Sequence[Trial], problems: list[Problem]) -> list[Record]:
    @cache
    def known(folder: str) -> TaskFacts:
        return facts.complete(job.tasks.get(folder, TaskFacts()), folder)

    records: list[Record] = []
    for trial in trials:
        record = _record(job, trial, known(trial.task_folder), problems)
        if fault := contradiction(record):
            problems.append(Problem(trial.path, fault))
        records.append(record)
    return records


def contradiction(record: Record) -> str:
    """How the verdict and the rungs of one trial gainsay each other; empty when they do not."""
    if record.verdict is Verdict.RESOLVED:
        missed = next((rung for rung in record.rungs if not rung.passed), None)
        return f"{record.trial} is resolved, yet {missed.id!r} did not pass" if missed else ""
    if record.verdict is Verdict.FAILED and record.rungs and record.n_passed == len(record.rungs):
        return f"{record.trial} failed, yet every {record.rung_kind} passed"
    return ""


def _record(job: _Job, trial: Trial, task: TaskFacts, problems: list[Problem]) -> Record:
    summary = atif.Summary()
    paths = trajectories_in(trial.path)
    if job.trajectories and paths:
        summary, faults = atif.summarize(paths)
        problems += faults
    ended = _ended_itself(trial)
    counted = metered.usage(trial.path)
    return Record(
        uid="",
        source=job.source,
        format=job.format,
        job=job.name,
        trial=trial.name,
        agent=trial.agent,
        model=trial.model,
        agent_version=trial.agent_version,
        task=trial.task,
        task_version=task.version,
        task_digest=task.digest,
        family=task.family,
        skills=task.skills,
        expert_minutes=task.expert_minutes,
        hint=task.hint,
        verdict=trial.verdict,
        reward=trial.reward,
        cause=trial.cause,
        cause_message=trial.cause_message,
        failure_mode=trial.exception,
        said_done=None if summary.said_done is None else summary.said_done and ended is not False,
        ended_itself=ended,
        rungs=_rungs(trial, problems),
        rung_kind="milestone" if trial.milestones else "",
        phases=trial.phases,
        steps=summary.steps,
        repeats=summary.repeats,
        usage=counted or (trial.usage if trial.usage != Usage() else summary.usage),
        metered=counted is not None,
        started_at=trial.started_at,
        folder=trial.path,
        trajectories=paths,
        evidence=trial.evidence,
    )


def trajectories_in(trial: Path) -> tuple[Path, ...]:
    """The ATIF files that a trial's agent left: one, or one a step in a task of several steps."""
    whole = trial / "agent" / "trajectory.json"
    found = [whole] if whole.exists() else []
    if (trial / "steps").is_dir():
        found += sorted((trial / "steps").glob("*/agent/trajectory.json"))
    return tuple(found)


def _ended_itself(trial: Trial) -> bool | None:
    if trial.exception in _CUT_OFF or metered.exhausted(trial.path):
        return False
    return True if not trial.exception and trial.phases.agent is not None else None


def _rungs(trial: Trial, problems: list[Problem]) -> tuple[Rung, ...]:
    if not trial.milestones:
        return ()
    by_step = _minutes_by_step(trial)
    decided = _decided(trial.path, problems)
    whole = None if trial.phases.agent is None else trial.phases.agent / 60
    return tuple(_rung(one, by_step, whole, decided) for one in trial.milestones)


def _rung(
    milestone: Milestone,
    by_step: Mapping[str, float],
    whole: float | None,
    decided: Mapping[str, float],
) -> Rung:
    failure = milestone.first_failure
    step, has_step, _ = milestone.id.partition("/")
    bound = by_step.get(step) if has_step else whole
    return Rung(
        id=milestone.id,
        status=milestone.status,
        title=milestone.title,
        weight=milestone.weight,
        requires=milestone.requires,
        message=failure.message if failure else "",
        by_minutes=bound if milestone.status == "passed" else None,
        verified_seconds=decided.get(milestone.id),
    )


def _minutes_by_step(trial: Trial) -> dict[str, float]:
    """For a task of several steps: the agent's minutes until the end of each."""
    if not any("/" in milestone.id for milestone in trial.milestones):
        return {}
    try:
        parts = sequence(read_object(trial.path / "result.json").get("step_results"))
    except UnreadableRecord:
        return {}
    minutes: dict[str, float] = {}
    worked = 0.0
    for part in map(mapping, parts):
        timing = mapping(part.get("agent_execution"))
        seconds = seconds_between(timing.get("started_at"), timing.get("finished_at"))
        if seconds is None:
            return {}
        worked += seconds / 60
        minutes[str(part.get("step_name"))] = worked
    return minutes


def _decided(trial: Path, problems: list[Problem]) -> dict[str, float]:
    """Seconds from the verifier's start until it decided each milestone (progress.jsonl)."""
    found: dict[str, float] = {}
    for folder, prefix in verifier_folders(trial):
        path = folder / "progress.jsonl"
        if not holds_something(path):
            continue
        for line_number, line in read_lines(path, _MAX_LINE):
            try:
                event = mapping(decode(line or b""))
            except UnreadableRecord as error:
                problems.append(Problem(path, f"line {line_number} {error}"))
                continue
            seconds = number(event.get("t"))
            if event.get("event") == "milestone" and seconds is not None:
                found.setdefault(prefix + str(event.get("id")), seconds)
    return found
