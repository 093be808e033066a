"""Keys that Harbor would silently leave out: misspelt ones, and those in the wrong table."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, get_args

from benchflow.run.fitness.findings import CONFIG, Finding, doubtful

#: Read by Harbor although no field has the name.
_OLD = {"": {"version"}, "environment": {"memory", "storage"}}
#: What other harnesses, and people, call a key.
_CALLED = {
    "timeout": "timeout_sec",
    "max_agent_timeout_sec": "agent.timeout_sec",
    "max_test_timeout_sec": "verifier.timeout_sec",
    "cpu": "cpus",
    "gpu": "gpus",
    "memory_gb": "memory_mb",
    "storage_gb": "storage_mb",
    "disk_mb": "storage_mb",
    "image": "docker_image",
    "network": "network_mode",
}


def check(data: dict[str, Any]) -> list[Finding]:
    """Keys of a task.toml that do not do what their author thinks. Keys that resemble nothing
    are the author's own business."""
    from harbor.models.task.config import TaskConfig

    known = dict(_known(TaskConfig, ""))
    return list(_below(data, TaskConfig, "", known))


def _below(
    data: dict[str, Any], model: Any, at: str, known: dict[str, list[str]]
) -> Iterator[Finding]:
    fields = model.model_fields
    for key, value in data.items():
        path = f"{at}.{key}" if at else key
        if key not in fields:
            if key not in _OLD.get(at, ()):
                yield from _unknown(key, path, fields, known)
            continue
        if key == "metadata":
            continue
        annotation = fields[key].annotation
        if isinstance(value, bool) and _is_number(annotation):
            yield doubtful(CONFIG, path, f"{str(value).lower()} is no number", "write a number")
        inner = _model(annotation)
        if inner is None:
            continue
        for n, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, dict):
                where = f"{path}.{n}" if isinstance(value, list) else path
                yield from _below(item, inner, where, known)


def _unknown(
    key: str, path: str, fields: dict[str, Any], known: dict[str, list[str]]
) -> Iterator[Finding]:
    message = "unknown key, which Harbor leaves out"
    called = _CALLED.get(key, "")
    close = difflib.get_close_matches(key, fields, n=1, cutoff=0.75)
    if called.rpartition(".")[2] in fields or close:
        name = called.rpartition(".")[2] if called.rpartition(".")[2] in fields else close[0]
        yield doubtful(CONFIG, path, message, f"did you mean {name!r}?")
    elif places := known.get(key) or ([called] if called else None):
        yield doubtful(CONFIG, path, message, f"write it as {' or '.join(places)}")


def _known(model: Any, at: str) -> Iterator[tuple[str, list[str]]]:
    """Each key that some table has, with the paths at which it is right."""
    found: dict[str, list[str]] = {}
    for name, field in model.model_fields.items():
        path = f"{at}.{name}" if at else name
        found.setdefault(name, []).append(path)
        inner = _model(field.annotation)
        if inner is not None and name not in ("steps", "metadata"):
            for key, paths in _known(inner, path):
                found.setdefault(key, []).extend(paths)
    yield from found.items()


def _model(annotation: Any) -> Any:
    """The table that an annotation stands for, alone, optional or in a list; else None."""
    from pydantic import BaseModel

    if isinstance(annotation, type):
        return annotation if issubclass(annotation, BaseModel) else None
    return next((m for part in get_args(annotation) if (m := _model(part)) is not None), None)


def _is_number(annotation: Any) -> bool:
    parts = (annotation, *get_args(annotation))
    return (int in parts or float in parts) and bool not in parts
