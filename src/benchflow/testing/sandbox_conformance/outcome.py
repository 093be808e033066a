"""How a check says what it found, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn

Status = Literal["pass", "fail", "not applicable"]


class Failed(AssertionError):
    """The environment does not keep what the check is about."""


class NotApplicable(Exception):
    """The check cannot say anything about this environment; the text says why."""


@dataclass(frozen=True)
class Result:
    """What a check said about an environment."""

    check: str
    promise: str
    status: Status
    detail: str
    seconds: float


def fail(message: str) -> NoReturn:
    raise Failed(message)


def expect(condition: object, message: str) -> None:
    if not condition:
        raise Failed(message)
