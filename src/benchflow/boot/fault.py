"""Whose fault is an exception? The only place that decides."""

from __future__ import annotations

import errno
from typing import Literal

from . import memory
from .errors import GuestError, VerifierBroken
from .milestones import ChecksError

Fault = Literal["failed", "crashed", "broken"]

# The verifier's own resources ran out. What a guest lacks is text on its console, never an OSError.
# EIO is not among them: a terminal whose other end is gone gives it too, and guests cause that.
_RESOURCES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EROFS})


class Interrupted(KeyboardInterrupt):
    """The run was told to stop (SIGTERM, SIGINT, SIGHUP): no verdict."""


def fault(error: BaseException) -> Fault:
    """`failed` and `crashed` count against the agent, `broken` stops the run without a reward.

    An exhausted or missing resource of the verifier is `broken` also when a check wrapped it in
    another exception; everything that is not known to be one of those is the agent's loss, so that
    crashing a check gains nothing. Memory lacks in the verifier only where it is scarce: else
    something asked for more than anybody has, as a file does that lies about its size.
    `CheckMisuse` is the agent's loss too: a guest that, say, never lets anyone log in brings the
    checks after it to use a shell that is not there.
    """
    if any(_is_broken(link) for link in _chain(error)):
        return "broken"
    return "failed" if isinstance(error, AssertionError | GuestError) else "crashed"


def reason(error: BaseException) -> str:
    """One word for broken.json: the name of the class at fault."""
    culprit = next((link for link in _chain(error) if _is_broken(link)), error)
    return type(culprit).__name__


def _is_broken(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno == errno.ENOMEM
    ):
        return memory.scarce()
    if isinstance(error, OSError):
        return error.errno in _RESOURCES
    return isinstance(error, VerifierBroken | ChecksError | ImportError)


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return chain
