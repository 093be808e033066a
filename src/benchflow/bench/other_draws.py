"""Draws of which no two are equal: a name that is drawn twice refuses honest work by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from benchflow.boot import VerifierBroken

P = ParamSpec("P")

_TRIES = 1000


def never_twice(draw: Callable[P, str]) -> Callable[P, str]:
    """`draw`, called again until it gives what it has not given yet.

    Raises VerifierBroken where a thousand calls give nothing new: it has too few to give.
    """
    given: set[str] = set()

    def another(*args: P.args, **kwargs: P.kwargs) -> str:
        for _ in range(_TRIES):
            if (found := draw(*args, **kwargs)) not in given:
                given.add(found)
                return found
        raise VerifierBroken(f"{len(given)} draws, and no other is left")

    return another
