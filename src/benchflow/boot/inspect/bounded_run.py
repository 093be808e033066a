"""Run a program on a hostile file: bounded in output, processor time and memory."""

from __future__ import annotations

import contextlib
import io
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchflow.boot.errors import BadDeliverable, ToolMissing, VerifierBroken
from benchflow.boot.memory import TOOL_MB, unbound
from benchflow.boot.sanitize import first_line

CPU_SECONDS = 120
_WALL_FACTOR = 15
_MAX_STDERR = 1 << 16


@dataclass(frozen=True)
class ToolResult:
    """What a program wrote and how it ended (negative: killed by that signal)."""

    stdout: bytes
    stderr: bytes
    status: int

    @property
    def complaint(self) -> str:
        """One line of what it said, for an error message."""
        said = self.stderr.decode(errors="replace") or self.stdout.decode(errors="replace")
        return first_line(said) or f"status {self.status}"


def tool(name: str) -> str:
    """The path of a program. Raises ToolMissing, which is never the agent's fault."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise ToolMissing(f"{name} is not installed in the verifier")
    return path


def run_tool(
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    limit: int = 64 << 20,
    cpu_seconds: int = CPU_SECONDS,
    max_file: int | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> ToolResult:
    """Run `command` to its end, whatever its status.

    Raises BadDeliverable when it prints more than `limit` bytes or needs more than `cpu_seconds` of
    processor time (both are what damaged or hostile images cause), ToolMissing when it is not
    installed, VerifierBroken when it stalls without using the processor. `max_file` bounds every
    file that it writes.
    """
    process = subprocess.Popen(
        [*_limited(cpu_seconds, max_file), tool(command[0]), *command[1:]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", **(env or {})},
        start_new_session=True,
    )
    try:
        return _collect(process, command[0], stdin, limit, cpu_seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def _limited(cpu_seconds: int, max_file: int | None) -> list[str]:
    # A program that sets its own limits and then becomes the tool: code between fork and exec is
    # not safe beside QEMU's threads, and limits set from outside come after the first writes.
    limits = [tool("prlimit"), f"--cpu={cpu_seconds}", f"--as={TOOL_MB << 20}", "--core=0"]
    limits.append(unbound())  # instead of what this process may have itself
    if max_file is not None:
        limits.append(f"--fsize={max_file}")
    return [*limits, "--"]


def _collect(
    process: subprocess.Popen[bytes], name: str, stdin: bytes, limit: int, cpu_seconds: int
) -> ToolResult:
    assert process.stdin and process.stdout and process.stderr
    out, err = io.BytesIO(), bytearray()  # the first gives its content without a copy
    deadline = time.monotonic() + cpu_seconds * _WALL_FACTOR
    to_write = memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        if stdin:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()
        while selector.get_map():
            events = selector.select(max(0.0, deadline - time.monotonic()))
            if not events:
                raise VerifierBroken(f"{name} stalled for {cpu_seconds * _WALL_FACTOR} s")
            for key, _ in events:
                if key.fileobj is process.stdin:
                    to_write = _feed(process, selector, to_write)
                    continue
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    out.write(data)
                    if out.tell() > limit:
                        raise BadDeliverable(f"{name} printed more than {limit} bytes")
                elif len(err) < _MAX_STDERR:
                    err += data
    status = process.wait()
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        raise BadDeliverable(f"{name} needed more than {cpu_seconds} s of processor time")
    if status == -signal.SIGXFSZ:
        raise BadDeliverable(f"{name} wrote a file that is larger than allowed")
    return ToolResult(out.getvalue(), bytes(err), status)


def _feed(
    process: subprocess.Popen[bytes], selector: selectors.BaseSelector, data: memoryview
) -> memoryview:
    assert process.stdin is not None
    try:
        data = data[os.write(process.stdin.fileno(), data[:65536]) :]
    except BrokenPipeError:
        data = data[:0]
    if not data:
        selector.unregister(process.stdin)
        process.stdin.close()
    return data
