"""What a job's record and the task's own file say about a task: name, version, topic, skills."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.results.json_values import count, mapping, number, sequence, word, words
from benchflow.results.model import Problem
from benchflow.results.safe_files import UnreadableRecord, read_bytes, read_object

_MAX_TOML = 1 << 20


@dataclass(frozen=True)
class TaskFacts:
    """Empty and None where nobody recorded it."""

    name: str = ""
    version: str = ""
    digest: str = ""
    topic: str = ""
    generator: str = ""
    skills: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    expert_minutes: float | None = None
    hint: int | None = None
    began_from: str = ""
    began_digest: str = ""
    milestones: tuple[str, ...] = ()


def of_job(job: Path) -> tuple[dict[str, TaskFacts], list[Problem]]:
    """Facts by task folder, as our own record of a job (`benchflow.json`) has them."""
    path = job / "benchflow.json"
    if not path.exists():
        return {}, []
    try:
        tasks = sequence(read_object(path).get("tasks"))
    except UnreadableRecord as error:
        return {}, [Problem(path, str(error))]
    return {
        str(task.get("staged")): TaskFacts(
            name=word(task.get("name")),
            version=word(task.get("version"), 40),
            digest=word(task.get("digest"), 64),
            topic=word(task.get("topic") or task.get("family"), 80),
            generator=word(task.get("generator"), 80),
            skills=words(task.get("skills")),
            authors=words(task.get("authors"), 120),
            reviewers=words(task.get("reviewers"), 120),
            expert_minutes=number(task.get("expert_minutes")),
            hint=count(task.get("hint")),
            began_from=word(mapping(task.get("began")).get("from"), 400),
            began_digest=word(mapping(task.get("began")).get("digest"), 64),
            milestones=words(task.get("milestones")),
        )
        for task in tasks
        if isinstance(task, dict)
    }, []


def complete(facts: TaskFacts, folder: str) -> TaskFacts:
    """`facts` with what the task folder's `task.toml` adds, where that folder is still here.

    Reads our `[metadata.benchflow]`, else the `category`, `tags` and `expert_time_estimate_min`
    that Terminal-Bench tasks in Harbor's format carry under `[metadata]`.
    """
    data = _task_file(folder)
    metadata = mapping(data.get("metadata"))
    ours = mapping(metadata.get("benchflow"))
    topic = ours.get("topic") or metadata.get("category") or facts.name.rpartition("/")[0]
    drawn = mapping(ours.get("generated"))
    skills = ours.get("skills") or metadata.get("tags")
    minutes = ours.get("expert_minutes") or metadata.get("expert_time_estimate_min")
    return TaskFacts(
        name=facts.name,
        digest=facts.digest,
        version=facts.version or word(mapping(data.get("task")).get("version"), 40),
        topic=facts.topic or word(topic, 80),
        generator=facts.generator or word(drawn.get("generator"), 80),
        skills=facts.skills or words(skills),
        authors=facts.authors or _names(mapping(data.get("task")).get("authors")),
        reviewers=facts.reviewers or _names(ours.get("reviewers")),
        expert_minutes=number(minutes) if facts.expert_minutes is None else facts.expert_minutes,
        hint=facts.hint,
        began_from=facts.began_from,
        began_digest=facts.began_digest,
    )


def _names(people: Any) -> tuple[str, ...]:
    return words([mapping(each).get("name") for each in sequence(people)], 120)


def _task_file(folder: str) -> Mapping[str, Any]:
    if not folder.startswith("/") or "\0" in folder:
        return {}
    try:
        text = read_bytes(Path(folder) / "task.toml", _MAX_TOML).decode()
        return tomllib.loads(text)
    except (UnreadableRecord, ValueError, RecursionError):
        return {}
