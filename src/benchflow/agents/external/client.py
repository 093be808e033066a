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

    Cancelling this ends the command that the call runs. Raises UsageError for what the driver
    did wrong (no such file, another call is under way, the time is over), and InfrastructureError
    where the sandbox is gone.
    """
    try:
        channel = wire.connect(trial)
    except wire.NobodyWaits as error:
        raise _over(trial) from error
    channel.setblocking(False)
    reader, writer = await asyncio.open_unix_connection(sock=channel, limit=wire.MOST_ANSWER)
    try:
        writer.write(wire.packed({"op": op, **arguments}))
        await writer.drain()
        line = await reader.readline()
    except ConnectionError as error:  # it closed its door at this very moment, or broke
        raise _over(trial) if not wire.is_waiting(trial) else _cut_off(trial, error) from error
    except ValueError as error:
        raise _cut_off(trial, error) from error
    finally:
        writer.close()
    if not line.endswith(b"\n"):
        raise InfrastructureError(_ENDED, hint=f"benchflow results {trial.parent}")
    answer = wire.unpacked(line)
    if fault := answer.get("error"):
        raise _raised(fault)
    return answer


def _over(trial: Path) -> UsageError:
    return UsageError(
        f"{trial.name} does not wait for a driver any more",
        hint=f"see what came out: benchflow results {trial.parent}",
    )


def _cut_off(trial: Path, error: Exception) -> InfrastructureError:
    return InfrastructureError(f"{_ENDED}: {error}", hint=f"benchflow results {trial.parent}")


def _raised(fault: dict[str, Any]) -> BenchflowError:
    kind = InfrastructureError if fault.get("kind") == "infrastructure" else UsageError
    return kind(str(fault.get("message")), hint=str(fault.get("hint", "")))
