"""Harbor job folders, ours or anybody's, as records."""

from __future__ import annotations

from pathlib import Path

from benchflow.results.model import Job, Milestone, Problem, Trial
from benchflow.results.read import find_jobs, read_job
from benchflow.results.records import Format, Record, Rung


def read(path: Path) -> tuple[list[Record], list[Problem]]:
    """The trials of a job, or of each job in a folder. Raises UsageError where there is none."""
    records: list[Record] = []
    problems: list[Problem] = []
    for folder in find_jobs(path):
        job = read_job(folder)
        problems += job.problems
        records += [_record(path, job, trial) for trial in job.trials]
    return records, problems


def _record(source: Path, job: Job, trial: Trial) -> Record:
    return Record(
        uid="",
        source=source,
        format=Format.BENCHFLOW if (job.path / "benchflow.json").exists() else Format.HARBOR,
        job=job.name,
        trial=trial.name,
        agent=trial.agent,
        model=trial.model,
        task=trial.task,
        verdict=trial.verdict,
        reward=trial.reward,
        cause=trial.cause,
        cause_message=trial.cause_message,
        rungs=tuple(_rung(milestone) for milestone in trial.milestones),
        rung_kind="milestone" if trial.milestones else "",
        phases=trial.phases,
        usage=trial.usage,
        started_at=trial.started_at,
        folder=trial.path,
        evidence=trial.evidence,
    )


def _rung(milestone: Milestone) -> Rung:
    failure = milestone.first_failure
    return Rung(
        id=milestone.id,
        status=milestone.status,
        title=milestone.title,
        weight=milestone.weight,
        requires=milestone.requires,
        message=failure.message if failure else "",
    )
