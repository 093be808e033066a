"""What a gateway is told to do. Read from and written to `gateway.json`; keys are never in it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from benchflow.model_apis.protocols import Protocol

_Positive = Annotated[float, Field(gt=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(_Strict):
    """Where a model is served: the URL that a protocol's path is put behind, and the name of the
    environment variable that holds its key ("" for none)."""

    url: str
    key_env: str = ""


class Limits(_Strict):
    """What a model's provider allows, over all trials of the job; None is no limit. `concurrent`
    calls at once, `rpm` calls and `tpm` tokens in a minute."""

    concurrent: Annotated[int, Field(gt=0)] | None = None
    rpm: Annotated[int, Field(gt=0)] | None = None
    tpm: Annotated[int, Field(gt=0)] | None = None


class Route(_Strict):
    """How a model is reached.

    `upstream` is its name there, `protocols` what its places speak (others are translated by
    LiteLLM). `price` has the keys of LiteLLM's table; None: unknown. `policy`: the file of a
    scripted model that the gateway serves itself, in place of `places`. `relayed`: its places are
    another gateway of ours, which keeps the limits and tries again; what that answers is final.
    """

    model: str
    upstream: str
    provider: str
    protocols: tuple[Protocol, ...]
    places: tuple[Place, ...]
    limits: Limits = Limits()
    price: dict[str, Any] | None = None
    scripted: bool = False
    policy: str = ""
    relayed: bool = False


class Budget(_Strict):
    """The most that one trial may use; None is no limit. A call that starts below it is let
    through, so the last call may end beyond it. `minutes` run from its first call on."""

    usd: _Positive | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None
    turns: Annotated[int, Field(gt=0)] | None = None
    minutes: _Positive | None = None


class Patience(_Strict):
    """How long a call is tried: `seconds` in all, from the first failure on; between two tries at
    least `shortest` and at most `longest` seconds, or what Retry-After says. `silence`: seconds
    without a byte from the provider after which a call is given up and tried again."""

    seconds: float = 900.0
    shortest: float = 0.5
    longest: float = 60.0
    silence: float = 600.0


class Config(_Strict):
    """All of it. `linger`: seconds that the gateway stays when nobody needs it any more."""

    routes: tuple[Route, ...]
    budget: Budget = Budget()
    patience: Patience = Patience()
    bodies: bool = False
    linger: float = 60.0
