"""The file of a sweep: what may stand in it. docs/sweeps.md explains every key."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from benchflow.errors import UsageError
from benchflow.gateway.config import Budget, Limits
from benchflow.run.job.request import STALL_MINUTES
from benchflow.run.models.rate_limits import EVERY
from benchflow.run.sweep.sweep_budget import Purse

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,80}$")]
_Positive = Annotated[float, Field(gt=0, strict=False)]
_Count = Annotated[int, Field(ge=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Entry(_Table):
    """One agent with the models that it is tried with."""

    agent: str
    models: list[str] = []
    options: dict[str, str] = {}
    env: dict[str, str] = {}


class TrialLimits(_Table):
    """What one trial may use; None is no limit. `stall_minutes` 0: an agent may hang."""

    max_usd: _Positive | None = None
    max_tokens: _Count | None = None
    max_turns: _Count | None = None
    max_minutes: _Positive | None = None
    stall_minutes: Annotated[float, Field(ge=0, strict=False)] | None = None


class ModelLimits(_Table):
    """What the provider of a model allows; of every model where `model` is left out."""

    model: str = EVERY
    rpm: _Count | None = None
    tpm: _Count | None = None
    concurrent: _Count | None = None


class SweepFile(_Table):
    """A sweep as its author writes it. `max_usd` and `max_tokens` are for the whole of it;
    `checkpoints` are minutes."""

    name: Name
    tasks: list[str] = Field(min_length=1)
    skills: list[str] = []
    hints: list[Annotated[int, Field(ge=0, le=3)]] = Field([0], min_length=1)
    attempts: _Count = 1
    concurrent: _Count | None = None
    sandbox: str = "namespace"
    agent_timeout_multiplier: float = Field(1.0, gt=0)
    verifier_timeout_multiplier: float = Field(1.0, gt=0)
    checkpoints: _Positive | None = None
    max_usd: _Positive | None = None
    max_tokens: _Count | None = None
    trial: TrialLimits = TrialLimits()
    limit: list[ModelLimits] = []
    entry: list[Entry] = Field(min_length=1)

    @property
    def limits(self) -> dict[str, Limits]:
        """The limits of providers by model, as `run.limits` takes them."""
        return {
            each.model: Limits.model_validate(each.model_dump(exclude={"model"}))
            for each in self.limit
        }

    @property
    def purse(self) -> Purse:
        """What the whole sweep may spend."""
        return Purse(self.max_usd, self.max_tokens)

    @property
    def trial_budget(self) -> Budget:
        """What one trial may use: never more than the whole sweep."""
        return Budget(
            usd=self.trial.max_usd or self.max_usd,
            tokens=self.trial.max_tokens or self.max_tokens,
            turns=self.trial.max_turns,
            minutes=self.trial.max_minutes,
        )

    @property
    def stall_minutes(self) -> float | None:
        """How long an agent may make no progress; None: as long as it likes."""
        if self.trial.stall_minutes is None:
            return STALL_MINUTES if self.sandbox == "namespace" else None
        return self.trial.stall_minutes or None


def lock_of(name: str, jobs_dir: Path) -> Path:
    """The folder whose lock is held by who runs a sweep."""
    return jobs_dir / f".{name}.sweep"


def _told(problem: dict[str, Any]) -> tuple[str, str]:
    """What is wrong, and what to do about it."""
    *_, last = at = [str(part) for part in problem["loc"]]
    key, see = ".".join(at), "docs/sweeps.md has all keys"
    if problem["type"] == "missing":
        return f"{key} is missing", "add [[entry]] with agent = …" if last == "entry" else see
    if problem["type"] != "extra_forbidden":
        return f"{key}: {problem['msg']}", see
    known = {key for table in _Table.__subclasses__() for key in table.model_fields}
    close = difflib.get_close_matches(last, sorted(known), n=1)
    return f"{key} is no key here", f"did you mean {close[0]}?" if close else see


def read_file(path: Path) -> SweepFile:
    """The sweep in a TOML file. Raises UsageError that names the key and what is wrong with it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path}: {what}", hint="an example: benchflow sweep --help") from error
    try:
        found = SweepFile.model_validate({"name": path.stem, **data})
    except ValidationError as error:
        message, hint = _told(dict(error.errors()[0]))
        raise UsageError(f"{path}: {message}", hint=hint) from error
    # Paths of tasks are meant from where the file lies.
    tasks = [str(path.parent / t) if t.startswith(("./", "../")) else t for t in found.tasks]
    return found.model_copy(update={"tasks": tasks})
