"""The words of the suite: a check, its outcome, and how a check says which it was."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

if TYPE_CHECKING:
    from benchflow.testing.sandbox_conformance.bench import Bench

Status = Literal["pass", "fail", "not applicable"]
Body = Callable[["Bench"], Awaitable[None]]


class Failed(AssertionError):
    """The environment does not keep what the check is about."""


class NotApplicable(Exception):
    """The check cannot say anything about this environment; the text says why."""


@dataclass(frozen=True)
class Check:
    """One promise. `name` is `group.what-it-is`; `promise` is the first line of its docstring."""

    name: str
    promise: str
    body: Body

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Result:
    """What a check said about an environment."""

    check: str
    promise: str
    status: Status
    detail: str
    seconds: float


CATALOGUE: dict[str, Check] = {}


def check(body: Body) -> Body:
    """Register `async def group__what_it_is(bench)` as the check `group.what-it-is`."""
    group, _, rest = body.__name__.partition("__")
    name = f"{group}.{rest.replace('_', '-')}"
    assert rest and name not in CATALOGUE and body.__doc__, name
    CATALOGUE[name] = Check(name, body.__doc__.strip().splitlines()[0].rstrip("."), body)
    return body


def fail(message: str) -> NoReturn:
    raise Failed(message)


def expect(condition: object, message: str) -> None:
    if not condition:
        raise Failed(message)
