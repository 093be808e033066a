"""The milestones of a Harbor trial, and what is known of when."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchflow.results.jobs.evidence import holds_something, verifier_folders
from benchflow.results.jobs.progress_events import MAX_BYTES, NAME, reached
from benchflow.results.json_values import mapping, seconds_between, sequence
from benchflow.results.model import Milestone as Verified
from benchflow.results.model import Problem, Trial
from benchflow.results.records import Milestone
from benchflow.results.safe_files import UnreadableRecord, read_object, read_objects


def milestones_of(trial: Trial, problems: list[Problem]) -> tuple[Milestone, ...]:
    """The milestones of a trial, with what is known of when each was reached."""
    if not trial.milestones:
        return ()
    by_step = _minutes_by_step(trial)
    decided = _decided(trial.path, problems)
    whole = None if trial.phases.agent is None else trial.phases.agent / 60
    return tuple(_milestone(one, by_step, whole, decided) for one in trial.milestones)


def _milestone(
    milestone: Verified,
    by_step: Mapping[str, float],
    whole: float | None,
    decided: Mapping[str, float],
) -> Milestone:
    failure = milestone.first_failure
    step, has_step, _ = milestone.id.partition("/")
    bound = by_step.get(step) if has_step else whole
    return Milestone(
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
        path = folder / NAME
        if not holds_something(path):
            continue
        faults: list[str] = []
        try:
            for at, event in read_objects(path, MAX_BYTES):
                if isinstance(event, UnreadableRecord):
                    faults.append(f"line {at} {event}")
                elif (decided := reached(event)) and decided.seconds is not None:
                    found.setdefault(prefix + decided.id, decided.seconds)
        except UnreadableRecord as error:
            problems.append(Problem(path, str(error)))
            continue
        if faults:
            more = f", and {len(faults) - 1} lines more" if len(faults) > 1 else ""
            problems.append(Problem(path, faults[0] + more))
    return found
