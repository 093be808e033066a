"""One call to a waiting trial, from another process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from benchflow.agents.external import wire
from benchflow.errors import BenchflowError, InfrastructureError, UsageError

_ENDED = "the trial ended before it answered"


async def call(trial: Path, op: str, **arguments: Any) -> dict[str, Any]:
    """What the trial in the folder `trial` answers to `op`; see `service` for the calls.

    Whoever cancels this ends the command that the call runs. Raises UsageError for what the driver
    did wrong (no such file, another call is under way, the time is over), and InfrastructureError
    where the sandbox is gone.
    """
    try:
        channel = wire.connect(trial)
    except wire.NobodyWaits as error:
        raise UsageError(
            f"{trial.name} does not wait for a driver any more",
            hint=f"see what came out: benchflow results {trial.parent}",
        ) from error
    channel.setblocking(False)
    reader, writer = await asyncio.open_unix_connection(sock=channel, limit=wire.MOST_ANSWER)
    try:
        writer.write(wire.packed({"op": op, **arguments}))
        await writer.drain()
        line = await reader.readline()
    except (ConnectionError, ValueError) as error:
        raise InfrastructureError(f"{_ENDED}: {error}") from error
    finally:
        writer.close()
    if not line.endswith(b"\n"):
        raise InfrastructureError(_ENDED, hint=f"benchflow results {trial.parent}")
    answer = wire.unpacked(line)
    if fault := answer.get("error"):
        raise _raised(fault)
    return answer


def _raised(fault: dict[str, Any]) -> BenchflowError:
    kind = InfrastructureError if fault.get("kind") == "infrastructure" else UsageError
    return kind(str(fault.get("message")), hint=str(fault.get("hint", "")))
