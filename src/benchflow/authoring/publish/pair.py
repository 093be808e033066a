"""The two images of a task, agent's and verifier's, in a registry.

The name of an image says what it is made from: its tag is the task's version and a digest of its
build context and labels. So whether it was pushed is asked of the registry alone, nothing is built
to know it, and a task that has not changed keeps the digests that its readers have pinned, whatever
the mirror has by now.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from benchflow.base.atomic import write_json
from benchflow.base.home import home
from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox.image import context, images, publish
from benchflow.sandbox.image.registry import Remote, Repository
from benchflow.tasks import Task

OnProgress = Callable[[str], None]
#: What an image is for → where in the staged folder it is built from.
ROLES = {"agent": "environment", "verifier": "tests"}


@dataclass(frozen=True)
class Wanted:
    """An image of a task by its name in the registry, built and pushed or not."""

    role: str
    context: Path
    name: str
    tag: str
    labels: dict[str, str]

    @property
    def reference(self) -> str:
        """Name and tag."""
        return f"{self.name}:{self.tag}"


@dataclass(frozen=True)
class Pinned:
    """An image that the registry has: `reference` is NAME@sha256:…"""

    role: str
    reference: str
    pushed: bool  # now, not before


def wanted(task: Task, folder: Path, prefix: str) -> list[Wanted]:
    """The images of `task`, staged in `folder`. Raises UsageError for one that has no pair."""
    if not task.is_benchflow or task.steps:
        why = "has several steps" if task.steps else "is a plain Harbor folder"
        raise UsageError(f"{task.name} {why}: --images knows no pair of images for it")
    found = []
    for role, part in ROLES.items():
        labels = _labels(task, role)
        key = json.dumps([context.digest(folder / part), labels], sort_keys=True)
        suffix = "" if role == "agent" else f"-{role}"
        found.append(
            Wanted(
                role,
                folder / part,
                f"{prefix}/{task.slug}{suffix}",
                f"{task.version}-{hashlib.sha256(key.encode()).hexdigest()[:12]}",
                labels,
            )
        )
    return found


def _labels(task: Task, role: str) -> dict[str, str]:
    about = metadata.metadata("benchflow")
    source = [url.partition(", ")[2] for url in about.get_all("Project-URL") or ()]
    oci = {
        "title": f"{task.name} ({role})",
        "description": task.description,
        "version": task.version,
        "licenses": about.get("License-Expression") or "Apache-2.0",
        "authors": ", ".join(task.authors),
        "source": source[0] if source else "benchflow",
    }
    return {f"org.opencontainers.image.{key}": value for key, value in oci.items()} | {
        "benchflow.task": task.name,
        "benchflow.task.digest": task.digest,
        "benchflow.role": role,
    }


def have(images_of_task: list[Wanted]) -> list[Pinned] | None:
    """The images as the registry has them, None unless it has all.

    Raises InfrastructureError where one of them is there and is not what was pushed from here, or
    not made for this task.
    """
    found = [_existing(one) for one in images_of_task]
    return [one for one in found if one] if all(found) else None


def _existing(one: Wanted) -> Pinned | None:
    there = Repository(one.name).find(one.tag)
    if there is None:
        return None
    _compare(one, there)
    return Pinned(one.role, f"{one.name}@{there.digest}", pushed=False)


def _compare(one: Wanted, there: Remote) -> None:
    record = _record(one)
    pushed = json.loads(record.read_text())["digest"] if record.is_file() else there.digest
    # Labels that the base had stay, so ours are among others.
    if pushed != there.digest or not one.labels.items() <= there.labels.items():
        raise InfrastructureError(
            f"{one.reference} in the registry is not what was pushed for this task",
            hint="somebody replaced it: remove it there, then export with --push",
        )


def refuse_changed(task: Task, images_of_task: list[Wanted]) -> None:
    """Raises UsageError where the registry has images of another state of the task only."""
    for one in images_of_task:
        if (tags := Repository(one.name).tags()) and one.tag not in tags:
            raise UsageError(
                f"{task.name} has changed since its images were pushed: {one.name} has "
                f"{', '.join(tags[-3:])}, and not {one.tag}",
                hint="add --push",
            )


def push(images_of_task: list[Wanted], on_progress: OnProgress) -> list[Pinned]:
    """Build what the registry lacks and push it; then all of them, by digest.

    Nothing is returned unless the registry has all. Raises TaskError, InfrastructureError.
    """
    found = []
    for one in images_of_task:
        pinned = _existing(one)
        if pinned is None:
            image = images.build(one.context, on_progress=on_progress)
            on_progress(f"pushing {one.reference}")
            digest = publish.push(image, one.name, one.tag, one.labels, on_progress=on_progress)
            record = _record(one)
            record.parent.mkdir(exist_ok=True)
            write_json(record, {"reference": one.reference, "digest": digest})
            pinned = Pinned(one.role, f"{one.name}@{digest}", pushed=True)
        found.append(pinned)
    return found


def _record(one: Wanted) -> Path:
    return home() / "pushed" / f"{hashlib.sha256(one.reference.encode()).hexdigest()[:32]}.json"
