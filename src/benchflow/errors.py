"""The error tree. A verdict follows from the branch that an error is on, never from its text.

    BenchflowError              message + hint; shown to a person without a traceback
    ├── UsageError              the command line or a path given to us is wrong
    ├── TaskError               the *task* is wrong: its author fixes it
    └── InfrastructureError     the machine, the mirror, a tool: verdict `error`, never `failed`
        └── MissingTool         a program or kernel feature is absent; the hint says how to get it

An *agent's* failure is not an exception: it is a verdict, decided by the verifier's checks.
Inside the verifier, `benchflow.boot.errors` draws the same three branches for its own use,
because `boot` imports nothing else of benchflow.
"""

from __future__ import annotations


class BenchflowError(Exception):
    """Base of all errors shown to a person: what went wrong, and what to do next.

    `hint` is one sentence in the imperative; empty when there is nothing useful to say.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(BenchflowError):
    """The command line, or a path or name given on it, is wrong."""

    exit_code = 2


class TaskError(BenchflowError):
    """The task is wrong: `message` names the file, the key and the fix."""

    exit_code = 3


class InfrastructureError(BenchflowError):
    """The machine, the mirror or a tool failed; never counts against an agent."""

    exit_code = 4


class MissingTool(InfrastructureError):
    """A program or kernel feature is absent; `hint` says how to get it."""
