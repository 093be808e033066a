"""`reviews.toml` of a task: what strangers did with it, attempts and attacks, each adjudicated.

Gates show that our own solution passes and that our own exploits fail. Whether a stranger's correct
work passes, and a stranger's incorrect submission fails, shows only when strangers try. So a task
counts as verified when both were done with the version that it has now. No part of the digest.
"""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from benchflow.errors import TaskError

NAME = "reviews.toml"
_Text = Annotated[str, StringConstraints(min_length=10, strip_whitespace=True)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")]
    date: datetime.date
    who: _Text


class Failure(BaseModel):
    """A check that an attempt failed, and whose fault that was, in writing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: str
    fault: Literal["agent", "instruction", "check", "verifier"]
    why: _Text


class Attempt(_Strict):
    """Blind: who tried saw the instruction and a shell, nothing else.

    `version` is the one that was tried. `verdict` is the one after adjudication, `first` the one
    before where they differ; `reward` is that of `verdict`. `verified_version`: the later one whose
    checks gave `verdict`, where the same deliverable was verified again with them.
    """

    verdict: Literal["resolved", "failed"]
    first: Literal["resolved", "failed", "error"] | None = None
    verified_version: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")] | None = None
    reward: float = Field(ge=0, le=1)
    minutes: float = Field(gt=0)
    calls: int = Field(ge=1)
    failures: tuple[Failure, ...] = ()

    @property
    def versions(self) -> str:
        """The version that was tried, and the one that judged it again."""
        again = f", verified again at {self.verified_version}" if self.verified_version else ""
        return f"{self.version}{again}"


class Attack(_Strict):
    """Somebody fresh, checks in hand, tried to be judged better than the work is.

    `held`: what was tried and gained nothing; `worked`: what did, with what stopped it since.
    """

    minutes: float = Field(gt=0)
    held: tuple[_Text, ...] = ()
    worked: tuple[_Text, ...] = ()


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    attempt: tuple[Attempt, ...] = ()
    attack: tuple[Attack, ...] = ()


@dataclass(frozen=True)
class Reviews:
    """Attempts and attacks of one task, in the order of its file."""

    attempts: tuple[Attempt, ...] = ()
    attacks: tuple[Attack, ...] = ()

    def at(self, version: str) -> Reviews:
        """Those of one version of the task: an attempt at an earlier one is among them where its
        deliverable was judged by the checks of this one."""
        return Reviews(
            tuple(one for one in self.attempts if version in (one.version, one.verified_version)),
            tuple(one for one in self.attacks if one.version == version),
        )

    @property
    def complete(self) -> bool:
        """Whether it was attempted and attacked at least once."""
        return bool(self.attempts and self.attacks)


def read(folder: Path) -> Reviews:
    """The reviews of the task in `folder`; empty ones where it has no such file.

    Raises TaskError naming the file and the key. A failure without a word on whose fault it was is
    one of them: a failed attempt that nobody adjudicated says nothing of the task.
    """
    path = folder / NAME
    if not path.is_file():
        return Reviews()
    try:
        found = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (ValueError, OSError) as error:
        raise TaskError(f"{path}: {_told(error)}", hint="docs/authoring.md, “Reviews”") from error
    for attempt in found.attempt:
        if "failed" in (attempt.verdict, attempt.first) and not attempt.failures:
            raise TaskError(
                f"{path}: the failed attempt of {attempt.date} has no [[attempt.failures]]",
                hint="say of each failed check whose fault it was: agent, instruction, check",
            )
    return Reviews(found.attempt, found.attack)


def _told(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return str(error)
