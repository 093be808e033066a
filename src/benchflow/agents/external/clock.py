"""How long an agent may work: what Harbor's trial reckons with, read from its files."""

from __future__ import annotations

import time
from pathlib import Path

from harbor.models.task.task import Task
from harbor.models.trial.config import TrialConfig


def limit_seconds(trial: Path, task: Path, step: int) -> float | None:
    """Seconds that the agent of the trial in the folder `trial` has for its `step`-th run (0 where
    the task has no steps); None for no limit."""
    config = TrialConfig.model_validate_json((trial / "config.json").read_text(encoding="utf-8"))
    own = Task(task).config
    base = own.agent.timeout_sec
    if own.steps and step < len(own.steps) and own.steps[step].agent.timeout_sec is not None:
        base = own.steps[step].agent.timeout_sec
    base = config.agent.override_timeout_sec or base
    if base is None:
        return None
    several = config.agent_timeout_multiplier
    most = config.agent.max_timeout_sec or base
    return min(base, most) * (config.timeout_multiplier if several is None else several)


class Clock:
    """The time of one run, from now on."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._begun = time.monotonic()

    @property
    def worked(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._begun

    @property
    def left(self) -> float | None:
        """Seconds until the trial ends by itself, None for never."""
        return None if self.limit is None else max(self.limit - self.worked, 0.0)
