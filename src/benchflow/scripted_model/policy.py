"""A policy: what the scripted model answers, turn by turn. Read from TOML or JSON.

    schema = 1
    [usage]                     # tokens of each answer that does not say its own
    input = 1000
    output = 50
    [[turns]]
    run = "make -C /app"        # one shell command, by whatever tool the agent offers
    say = "Building."
    [[turns]]
    say = "Done."               # no command: the work is over

docs/models.md describes every key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from benchflow.model_apis.usage import Usage

FaultKind = Literal[
    "slow", "hang", "status", "cut", "malformed", "context-overflow", "refusal", "no-usage"
]
DialectName = Literal["auto", "tools", "terminus-json", "terminus-xml", "mini-text"]
_Seconds = Annotated[float, Field(ge=0, le=86400)]
_Count = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tokens(_Strict):
    """Tokens of one answer; the names are those of `benchflow.model_apis.usage.Usage`."""

    input: _Count = 1000
    cache_read: _Count = 0
    cache_write: _Count = 0
    cache_write_1h: _Count = 0
    output: _Count = 50
    reasoning: _Count = 0

    def usage(self) -> Usage:
        """As the value that the protocols write."""
        return Usage(**self.model_dump())


class Fault(_Strict):
    """What goes wrong at a turn, `times` times for each caller, before the turn is answered.

    `slow`: `seconds` pass before the answer. `hang`: nothing ever comes. `status`: an error of that
    status, with `retry_after` seconds in its header. `cut`: the connection breaks after `events`
    events of the stream (a plain answer: in the middle of the body). `malformed`: the tool's
    arguments are broken JSON. `context-overflow`, `refusal`: as the protocol says it. `no-usage`:
    the answer carries no token counts.
    """

    kind: FaultKind
    times: Annotated[int, Field(ge=1)] = 1
    seconds: _Seconds = 1.0
    status: Annotated[int, Field(ge=400, le=599)] = 429
    retry_after: _Seconds | None = None
    events: Annotated[int, Field(ge=0)] = 2
    message: str = ""


class Turn(_Strict):
    """One answer: `run` a command (None ends the work), after `say`ing something.

    `until`: a regular expression that the command's output has to match before the next turn; the
    same command is played again otherwise, at most `repeat` times. `timeout`: seconds that the
    agent is asked to give the command, where its tool knows of such a thing.
    """

    run: str | None = None
    say: str = ""
    timeout: Annotated[int, Field(ge=1)] | None = None
    until: str = ""
    repeat: Annotated[int, Field(ge=1)] = 1000
    usage: Tokens | None = None
    fault: Fault | None = None


class Pace(_Strict):
    """How a stream flows: seconds `first` before its first event, `between` between pieces of text,
    of which an answer has `pieces`."""

    first: _Seconds = 0.0
    between: _Seconds = 0.0
    pieces: Annotated[int, Field(ge=1, le=10000)] = 4


class Closed(_Strict):
    """An account that is closed: `after` so many answers, to whomever, every call for the model is
    refused with `status`."""

    after: Annotated[int, Field(ge=0)]
    status: Annotated[int, Field(ge=400, le=499)] = 403
    message: str = "this account is closed"


class OracleScript(_Strict):
    """Turns made from a task's `solution/` folder; `folder` is relative to the policy's file.

    The folder is handed over in commands of at most `chunk` bytes; then solve.sh runs in the
    background, `env` added, and is asked after every `poll` seconds until it ended.
    """

    folder: Path
    chunk: Annotated[int, Field(ge=1000, le=100_000)] = 6000
    poll: Annotated[int, Field(ge=1, le=100)] = 20
    timeout: Annotated[int, Field(ge=1)] = 3600
    env: dict[str, str] = Field(default_factory=dict)


class Policy(_Strict):
    """A whole policy. Exactly one of `turns` and `oracle` is given.

    `usage` holds for turns that do not say their own, `aside` for answers on the side (a title, a
    summary). `tool_calls` false: a model that refuses requests which offer tools. `closed`: when it
    stops to answer anybody.
    """

    schema_: Literal[1] = Field(default=1, alias="schema")
    dialect: DialectName = "auto"
    tool_calls: bool = True
    usage: Tokens = Tokens()
    aside: Tokens = Tokens(input=0, output=0)
    pace: Pace = Pace()
    turns: tuple[Turn, ...] = ()
    oracle: OracleScript | None = None
    closed: Closed | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Policy:
        if bool(self.turns) == bool(self.oracle):
            raise ValueError("give either [[turns]] or [oracle], not both and not neither")
        return self

    def usage_of(self, index: int) -> Usage:
        """The tokens of the answer at turn `index`; past the end, of an ordinary one."""
        own = self.turns[index].usage if index < len(self.turns) else None
        return (own or self.usage).usage()


def of_commands(commands: list[str], say: str = "Done.") -> Policy:
    """A policy that runs `commands`, one a turn, and ends with `say`."""
    return Policy(turns=(*(Turn(run=command) for command in commands), Turn(say=say)))
