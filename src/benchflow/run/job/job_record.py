"""`benchflow.json`: what we add to Harbor's job folder so that a job explains itself."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchflow import __version__
from benchflow.base.atomic import write_json
from benchflow.errors import UsageError
from benchflow.results.records import FROM_ORACLE
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run.host.identity import host_id
from benchflow.run.job.plan import Plan
from benchflow.tasks import Staged
from benchflow.tasks.model import Begun
from benchflow.tasks.sequels import recipe_digest

SCHEMA = 1
NAME = "benchflow.json"


def write(plan: Plan) -> None:
    """Writes the record of a job that is about to start."""
    config = plan.config
    write_json(
        plan.job_dir / NAME,
        {
            "schema": SCHEMA,
            "benchflow": __version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "job": config.job_name,
            "sweep": plan.request.sweep,
            "shard": plan.request.shard,
            "engine": plan.request.engine,
            "tasks": [task(planned) for planned in plan.tasks],
            "agents": list(plan.request.agents),
            "models": list(plan.request.models),
            "attempts": config.n_attempts,
            "concurrent": config.n_concurrent_trials,
            "sandbox": plan.request.sandbox,
            "n_trials": plan.n_trials,
            "host": host(),
            "harbor": config.model_dump(mode="json", exclude_defaults=True),
        },
    )


def task(planned: Staged) -> dict[str, Any]:
    """What readers need of a task when its folder is gone: what it is, and its ladder's ids."""
    known = planned.task
    return {
        "name": known.name,
        "version": known.version,
        "digest": known.digest,
        "benchflow": known.is_benchflow,
        "source": str(known.path),
        "staged": str(planned.folder),
        "hint": planned.hint,
        **({"began": _began(planned)} if known.sequel else {}),
        "topic": known.topic,
        "generator": known.generator,
        "skills": list(known.skills),
        "authors": list(known.authors),
        "reviewers": list(known.reviewers),
        "expert_minutes": known.expert_minutes or None,
        "milestones": [
            *(rung.id for rung in known.milestones),
            *(f"{step.name}/{rung.id}" for step in known.steps for rung in step.milestones),
        ],
    }


def _began(planned: Staged) -> dict[str, str]:
    """What a sequel began from: the earlier trial and what it delivered, or the authors' recipe."""
    if planned.begun is not None:
        begun = planned.begun
        return {"from": begun.trial, "digest": begun.digest, "folder": str(begun.folder)}
    assert planned.task.sequel is not None
    return {"from": FROM_ORACLE, "digest": recipe_digest(planned.task.sequel.earlier.path)}


def begun(entry: dict[str, Any]) -> Begun | None:
    """What a task's entry in a record says that it began from, where it is an earlier trial."""
    told = entry.get("began") or {}
    if "folder" not in told:
        return None
    return Begun(str(told["from"]), str(told["digest"]), Path(str(told["folder"])))


def read(job: Path) -> dict[str, Any]:
    """The record of folder `job`. Raises UsageError when it is not one of our jobs."""
    try:
        record = read_object(job / NAME)
    except UnreadableRecord as error:
        raise UsageError(
            f"{job / NAME} {error}",
            hint="only jobs that benchflow run started can be resumed",
        ) from error
    if record.get("schema") != SCHEMA:
        raise UsageError(
            f"{job / NAME} has schema {record.get('schema')!r}; we read {SCHEMA}",
            hint="use the version of benchflow that started the job",
        )
    return record


def of_sweep(name: str, jobs_dir: Path, shard: str = "") -> list[Path]:
    """The jobs that carry a sweep's name in their record, in the order of their making; of one
    `shard` alone where it is named."""
    found = []
    for folder in jobs_dir.glob(f"{name}-*/"):
        try:
            saved = read_object(folder / NAME)
        except UnreadableRecord:
            continue
        if saved.get("sweep") == name and (not shard or saved.get("shard") == shard):
            found.append((str(saved.get("created")), folder.name, folder))
    return [folder for *_, folder in sorted(found)]


def host() -> dict[str, Any]:
    """What the machine is, for comparing times later."""
    from importlib.metadata import version

    return {
        "id": host_id(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        "machine": platform.machine(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "harbor": version("harbor"),
        "root": os.geteuid() == 0,
    }
