"""Limits that are none: nan, negative, infinite. What they do would be charged to the agent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchflow.run.fitness.findings import CONFIG, Finding, fatal

if TYPE_CHECKING:
    from harbor.models.task.config import TaskConfig
    from pydantic import BaseModel

#: More than anything lasts, or any machine has.
_MOST = {"_sec": 10 * 365 * 86400, "_mb": 1 << 30}
#: Below it a container engine refuses a limit, and here not even a shell would start.
_LEAST_MEMORY_MB = 6
_MAY_BE_ZERO = ("start_period_sec", "gpus", "retries")
_COUNTS = ("cpus", "gpus", "retries")


def check(config: TaskConfig) -> list[Finding]:
    """All numbers of a task that limit nothing, or everything."""
    return list(_below(config, ()))


def _below(model: BaseModel, at: tuple[str, ...]) -> Iterator[Finding]:
    from pydantic import BaseModel

    for name, value in model:
        if name == "metadata":
            continue
        if isinstance(value, BaseModel):
            yield from _below(value, (*at, name))
        elif isinstance(value, list):
            for n, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from _below(item, (*at, name, str(n)))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            key = ".".join((*at, name))
            if wrong := _wrong(name, value):
                yield fatal(CONFIG, key, *wrong)


def _wrong(name: str, value: float) -> tuple[str, str] | None:
    is_limit = name.endswith(tuple(_MOST)) or name in _COUNTS
    if isinstance(value, float) and not math.isfinite(value):
        if name == "min_reward" and value == -math.inf:
            return None
        return f"{value} limits nothing", "write a finite number, or leave the key out"
    if not is_limit:
        return None
    if value < 0 or (value == 0 and name not in _MAY_BE_ZERO):
        least = "0 or more" if name in _MAY_BE_ZERO else "a number above 0"
        return f"{value} is no limit that anybody can keep", f"write {least}, or leave it out"
    if name == "memory_mb" and value < _LEAST_MEMORY_MB:
        return f"{value} MiB: nothing can start in it", f"write {_LEAST_MEMORY_MB} at least"
    most = next((most for end, most in _MOST.items() if name.endswith(end)), None)
    if most is not None and value > most:
        return f"{str(value)[:20]} limits nothing", f"write at most {most}, or leave the key out"
    return None
