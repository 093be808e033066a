"""What the driver asks of a node for one trial, and how the two talk about it.

The driver's orders are trusted (Ray lets a driver run anything on its nodes); what comes back is
not: plain values, read with care.
"""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass, field
from typing import IO, Any

from benchflow.gateway.config import Config
from benchflow.run.ray_engine.meeting import Meeting

#: The variable of a node's gateway that holds a trial's token at the driver's.
UPSTREAM_KEY = "BENCHFLOW_UPSTREAM_KEY"
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True)
class Models:
    """The driver's gateway as a trial reaches it. `config`: what the node's own gateway does."""

    url: str
    token: str
    config: Config


@dataclass(frozen=True)
class Order:
    """One trial. `config`: Harbor's, pickled, because Harbor writes no secret into JSON. `common`:
    see `facts.ours`. `disk_mb`: what the agent may write. `task_digest`, `source_digest`: of the
    folders that are sent along. `meeting`: where its folder is handed over, if both see it."""

    trial: str
    config: bytes
    task_name: str
    task_digest: str
    common: dict[str, str]
    disk_mb: int
    source_digest: str = ""
    script: str | None = None
    models: Models | None = None
    meeting: Meeting = field(default_factory=Meeting)


def send(pipe: IO[bytes], value: object) -> None:
    """Write one value of ours to a program of ours."""
    data = pickle.dumps(value)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """The next value; None at the end."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    return pickle.loads(pipe.read(_LENGTH.unpack(head)[0]))
