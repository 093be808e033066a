"""What a waiting trial does for its driver. One call at a time, and each is recorded.

    instruction                              {"instruction"}
    time                                     {"worked", "limit", "left"} in seconds, or null
    run     command, timeout, cwd, most      {"status", "timed_out", "seconds", "stdout", "stderr",
                                             "left_out": {stream: bytes}}
    put     source, target                   a file or folder of the host's goes into the sandbox
    get     source, target                   the same out of it
    write   target, data                     a small file's content goes into the sandbox
    read    source, offset, most             {"data", "size"} of a file in the sandbox
    submit                                   the work is handed in as it is

Paths are absolute. An answer with "error" says what is wrong and what to do. A call that is given
up (its driver hung up) ends its command; a transfer continues to its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from benchflow.agents.atif import TrajectoryWriter
from benchflow.agents.external import transfer, wire
from benchflow.agents.external.bounds import bounded
from benchflow.agents.external.clock import Clock
from benchflow.errors import BenchflowError, InfrastructureError, UsageError

#: Bytes of a stream that are given back, and that are recorded, unless less is asked for.
MOST_OUTPUT = 1 << 20
_MOST_RECORDED = 20_000
#: Seconds that a driver has to say what it wants.
_PATIENCE = 60.0
#: Seconds in which a driver hears what its sandbox died of.
_TELLING = 5.0


class Output(Protocol):
    """What a command printed and how it ended."""

    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...
    @property
    def status(self) -> int: ...
    @property
    def timed_out(self) -> bool: ...


@runtime_checkable
class Lent(Protocol):
    """What a driver needs of a sandbox."""

    def wait_for_driver(self) -> None: ...
    async def exec_bytes(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: float | None = None,
        user: str | int | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Output: ...
    async def fetch_for_driver(self, inside: str, host: Path) -> None: ...
    async def upload_file(self, source_path: Path | str, target_path: str) -> None: ...
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None: ...


class _DriverGone(Exception):
    """Nobody waits for the answer any more."""


class Service:
    """One run of a trial, lent to drivers until the work is handed in."""

    def __init__(
        self, box: Lent, instruction: str, clock: Clock, trajectory: TrajectoryWriter
    ) -> None:
        self._box = box
        self._instruction = instruction
        self._clock = clock
        self._trajectory = trajectory
        self._under_way = ""
        self._since = 0.0
        self._calls: set[asyncio.Task[None]] = set()
        self._ops: dict[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]] = {
            "run": self._run,
            "put": self._put,
            "get": self._get,
            "write": self._write,
            "read": self._read,
            "submit": self._submit,
        }

    async def serve(self, trial: Path) -> None:
        """Waits in the folder `trial` until the work is handed in.

        Who cancels this ends what is under way. Raises what the sandbox died of.
        """
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        listening = wire.listen(trial)
        server = await asyncio.start_unix_server(
            self._answer_call, sock=listening, limit=wire.MOST_REQUEST
        )
        try:
            await self._end
        except Exception:
            if self._calls:  # whoever asked is told of it first
                await asyncio.wait(self._calls, timeout=_TELLING)
            raise
        finally:
            server.close()
            (trial / wire.NAME).unlink(missing_ok=True)
            for call in self._calls:
                call.cancel()
            if self._calls:
                await asyncio.wait(self._calls)

    async def _answer_call(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        submitted = False
        try:
            answer = await self._answer(reader, writer)
            submitted = answer is not None and "submitted" in answer
            if answer is not None:
                writer.write(wire.packed(answer))
                await writer.drain()
        except (_DriverGone, ConnectionError):
            pass
        except asyncio.CancelledError:
            with contextlib.suppress(ConnectionError):
                writer.write(wire.packed(_fault(UsageError(_OVER, hint=_OVER_HINT))))
        finally:
            self._calls.discard(task)
            writer.close()
            if submitted and not self._end.done():
                self._end.set_result(None)

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> dict[str, Any] | None:
        try:
            line = await asyncio.wait_for(reader.readline(), _PATIENCE)
            if not line:
                return None  # somebody looked whether a trial waits here
            request = wire.unpacked(line)
            op = request.get("op")
            if op == "instruction":
                return {"instruction": self._instruction}
            if op == "time":
                return self._time()
            if not isinstance(op, str) or op not in self._ops:
                raise UsageError(f"there is no call {op!r}")
            return await self._alone(op, request, reader, writer)
        except (ValueError, TimeoutError) as error:
            return _fault(UsageError(f"the call cannot be read: {error or 'nothing came'}"))
        except BenchflowError as error:
            return _fault(error)
        except OSError as error:
            return _fault(UsageError(transfer.said(error)))

    async def _alone(
        self,
        op: str,
        request: dict[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> dict[str, Any]:
        """Raises UsageError while another call is under way."""
        if self._under_way or self._end.done():
            raise self._busy()
        self._under_way = f"{_short(op, request)} of process {_pid(writer)}"
        self._since = time.monotonic()
        try:
            work = asyncio.ensure_future(self._ops[op](request))
            if op != "run":
                return await work
            return await _while_heard(work, reader)
        except (_DriverGone, asyncio.CancelledError) as error:
            why = "its driver hung up" if isinstance(error, _DriverGone) else _OVER
            given = {"call": _short(op, request)}
            if op == "run":
                given = {"command": str(request.get("command"))}
            self._trajectory.tool("bash" if op == "run" else op, given, f"[ended: {why}]")
            raise
        finally:
            self._under_way = ""

    def _busy(self) -> UsageError:
        if not self._under_way:
            return UsageError("the work is handed in already", hint=_OVER_HINT)
        return UsageError(
            f"another call is under way since {time.monotonic() - self._since:.0f} s: "
            f"{self._under_way}",
            hint="wait for it; to end it, end the process that made it",
        )

    def _time(self) -> dict[str, Any]:
        clock = self._clock
        left = None if clock.left is None else round(clock.left, 1)
        return {"worked": round(clock.worked, 1), "limit": clock.limit, "left": left}

    async def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        command = _text(request, "command")
        timeout, most = _number(request, "timeout"), _number(request, "most")
        most = MOST_OUTPUT if most is None else most
        if not 0 <= most <= wire.MOST_DATA:
            raise UsageError(f"{most:g} bytes of output", hint=f"ask for 0 to {wire.MOST_DATA}")
        if timeout is not None and timeout < 0:
            raise UsageError(f"a timeout of {timeout:g} s", hint="0 is none")
        printed = {"stdout": 0, "stderr": 0}

        def count(stream: str, data: bytes) -> None:
            printed[stream] += len(data)

        begun = time.monotonic()
        try:
            done = await self._box.exec_bytes(
                command,
                cwd=request.get("cwd") or None,
                timeout_sec=timeout or None,
                on_output=count,
            )
        except Exception as error:
            self._trajectory.tool("bash", {"command": command}, f"[{error}]")
            if not self._end.done():
                self._end.set_exception(error)
            if isinstance(error, BenchflowError):
                raise
            raise InfrastructureError(str(error), hint=_OVER_HINT) from error
        self._record(command, done, timeout)
        out, out_missing = bounded(done.stdout, int(most), printed["stdout"])
        err, err_missing = bounded(done.stderr, int(most), printed["stderr"])
        return {
            "status": done.status,
            "timed_out": done.timed_out,
            "seconds": round(time.monotonic() - begun, 3),
            "stdout": out,
            "stderr": err,
            "left_out": {"stdout": out_missing, "stderr": err_missing},
        }

    def _record(self, command: str, done: Output, timeout: float | None) -> None:
        text = "".join(
            bounded(data, _MOST_RECORDED)[0].decode("utf-8", "replace")
            for data in (done.stdout, done.stderr)
        )
        if done.timed_out:
            text += f"[timed out after {timeout:g} s]" if timeout else "[timed out]"
        elif done.status:
            text += f"[exit status {done.status}]"
        self._trajectory.tool("bash", {"command": command}, text)

    async def _put(self, request: dict[str, Any]) -> dict[str, Any]:
        source, target = transfer.host(request, "source"), _text(request, "target")
        await transfer.put(self._box, source, target)
        self._trajectory.tool("put", {"source": source.name, "target": target}, "done")
        return {"target": target}

    async def _get(self, request: dict[str, Any]) -> dict[str, Any]:
        source, target = _text(request, "source"), transfer.host(request, "target")
        size = await transfer.get(self._box, source, target)
        self._trajectory.tool("get", {"source": source}, f"{size} bytes")
        return {"target": str(target), "size": size}

    async def _write(self, request: dict[str, Any]) -> dict[str, Any]:
        target, data = _text(request, "target"), wire.data_of(request, "data")
        await transfer.write(self._box, data, target)
        text = bounded(data, _MOST_RECORDED)[0].decode("utf-8", "replace")
        self._trajectory.tool("write", {"target": target, "content": text}, f"{len(data)} bytes")
        return {"target": target, "size": len(data)}

    async def _read(self, request: dict[str, Any]) -> dict[str, Any]:
        source = _text(request, "source")
        offset, most = int(_number(request, "offset") or 0), _number(request, "most")
        most = MOST_OUTPUT if most is None else most
        if offset < 0 or not 0 <= most <= wire.MOST_DATA:
            raise UsageError("no such part of a file", hint=f"read at most {wire.MOST_DATA} bytes")
        data, size = await transfer.read(self._box, source, offset, int(most))
        seen = bounded(data, _MOST_RECORDED)[0].decode("utf-8", "replace")
        self._trajectory.tool("read", {"source": source, "offset": offset}, seen)
        return {"data": data, "size": size}

    async def _submit(self, request: dict[str, Any]) -> dict[str, Any]:
        self._trajectory.tool("submit", {}, "handed in")
        return {"submitted": True, **self._time()}


_OVER = "the trial's time is over"
_OVER_HINT = "what was built is verified as it is: benchflow results"


async def _while_heard(
    work: asyncio.Future[dict[str, Any]], reader: asyncio.StreamReader
) -> dict[str, Any]:
    """The result of `work`, which is cancelled when the driver hangs up. Raises _DriverGone."""
    gone = asyncio.ensure_future(_hung_up(reader))
    try:
        both: set[asyncio.Future[Any]] = {work, gone}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise _DriverGone
    finally:
        gone.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait([work])


async def _hung_up(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        while await reader.read(1 << 16):
            pass


def _fault(error: BenchflowError) -> dict[str, Any]:
    kind = "infrastructure" if isinstance(error, InfrastructureError) else "usage"
    return {"error": {"kind": kind, "message": error.message, "hint": error.hint}}


def _short(op: str, request: dict[str, Any]) -> str:
    what = str(request.get("command") or request.get("target") or request.get("source") or "")
    what = " ".join(what.split())
    return f"{op} `{what[:80]}`" if what else op


def _pid(writer: asyncio.StreamWriter) -> int:
    """Who is at the other end, unix(7)."""
    peer: socket.socket = writer.get_extra_info("socket")
    found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", found)[0])


def _text(request: dict[str, Any], name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str) or not value:
        raise UsageError(f"the call names no {name}")
    return value


def _number(request: dict[str, Any], name: str) -> float | None:
    value = request.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise UsageError(f"{name} is no number")
    return value
