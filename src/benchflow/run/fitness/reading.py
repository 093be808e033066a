"""A task.toml, as Harbor reads it."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.run.fitness.findings import CONFIG, Finding, doubtful, fatal

if TYPE_CHECKING:
    from harbor.models.task.config import StepConfig, TaskConfig

_FIXES = {
    "int_from_float": "write a whole number",
    "int_parsing": "write a whole number",
    "int_type": "write a whole number",
    "float_parsing": "write a number",
    "float_type": "write a number",
    "string_type": "write it in quotation marks",
    "missing": "add it",
    "enum": "use one of these",
    "literal_error": "use one of these",
}
_BY_KEY = {
    "task.name": "write it as organisation/name",
    "environment.cpus": "write a whole number of processors, at least 1",
    "verifier.environment.cpus": "write a whole number of processors, at least 1",
}
_SHOWN = 60


def raw(folder: Path) -> dict[str, Any]:
    """The keys as they were written; `tasks.load` has parsed the file before."""
    return tomllib.loads((folder / CONFIG).read_text(encoding="utf-8"))


def read(folder: Path) -> tuple[TaskConfig | None, list[Finding]]:
    """The task's configuration, or what Harbor refuses in it."""
    from harbor.models.task.config import TaskConfig
    from pydantic import ValidationError

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            config = TaskConfig.model_validate(raw(folder))
        told = dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning)
        fix = "see Harbor's documentation of task.toml"
        return config, [doubtful(CONFIG, "", text, fix) for text in told]
    except ValidationError as error:
        return None, [_finding(dict(item)) for item in error.errors(include_url=False)]
    except (ValueError, TypeError, AttributeError) as error:
        # Some of Harbor's validators take a value's type for granted.
        return None, [fatal(CONFIG, "", str(error), "see Harbor's documentation of task.toml")]


def steps(config: TaskConfig) -> list[StepConfig | None]:
    """The steps of a task; one None for a task without."""
    return [*config.steps] if config.steps else [None]


def _finding(item: dict[str, Any]) -> Finding:
    key = ".".join(str(part) for part in item["loc"])
    message = str(item["msg"]).removeprefix("Value error, ")
    given = item["input"]
    if item["type"] != "missing" and not isinstance(given, dict | list):
        shown = repr(given)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        message = f"{shown}: {message}"
    fix = _BY_KEY.get(key) or _FIXES.get(item["type"], "see Harbor's documentation of task.toml")
    return fatal(CONFIG, key, message, fix)
