"""The checks, each a promise with a name; a module of checks registers its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from benchflow.testing.sandbox_conformance.rig import Rig

Body = Callable[[Rig], Awaitable[None]]


@dataclass(frozen=True)
class Check:
    """One promise. `name` is `group.what-it-is`; `promise` is the first line of its docstring."""

    name: str
    promise: str
    body: Body

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]


CATALOGUE: dict[str, Check] = {}


def check(body: Body) -> Body:
    """Register `async def group__what_it_is(rig)` as the check `group.what-it-is`."""
    group, _, rest = body.__name__.partition("__")
    name = f"{group}.{rest.replace('_', '-')}"
    assert rest and name not in CATALOGUE and body.__doc__, name
    CATALOGUE[name] = Check(name, body.__doc__.strip().splitlines()[0].rstrip("."), body)
    return body
