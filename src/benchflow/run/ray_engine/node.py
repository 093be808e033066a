"""What Ray runs on a node for one trial: it keeps a `runner`, passes on its words, and sends the
trial's folder.

It imports neither Harbor nor Ray, so that a worker of Ray's is small and starts at once.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchflow.base.home import home
from benchflow.run.ray_engine import meeting, parcel
from benchflow.run.ray_engine.order import Order, send

#: An agent's sandbox may hold gigabytes that have to go first.
_STOP_SECONDS = 60.0


def jobs_dir() -> Path:
    """Where a node keeps the jobs that it runs for others."""
    return home() / "ray" / "jobs"


def place_of(digest: str) -> Path:
    """Where a node keeps a folder that was sent to it; below it has its own name."""
    return home() / "ray" / "tasks" / digest[:24]


class Runner:
    """A running `runner`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchflow.run.ray_engine.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def order(self, order: Order) -> None:
        assert self._process.stdin is not None
        send(self._process.stdin, order)

    def sent(self) -> None:
        """The folder is not needed any more."""
        assert self._process.stdin is not None
        with suppress(OSError):
            send(self._process.stdin, "sent")

    def hear(self) -> dict[str, Any]:
        """What it says next."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            status = self._process.wait()
            return {"event": "broken", "why": f"the trial's program ended ({status})"}
        found: dict[str, Any] = json.loads(line)
        return found

    def stop(self) -> None:
        """Let it stop its trial as at Ctrl-C, or end it."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()


_runner: Runner | None = None


def play(node: str, order: Order, *parcels: bytes) -> Iterator[tuple[str, Any]]:
    """One trial, as what happens: ("hello", facts), what the runner says, then ("placed",
    bytes) where the driver sees the same folder, else ("piece", bytes) and ("whole", their number).

    `node`: its id in Ray. `parcels`: the task, and its source where that is asked for.
    """
    global _runner
    yield "hello", {"host": socket.gethostname(), "clock": time.time(), "node": node}
    try:
        for digest, name, data in zip(
            (order.task_digest, order.source_digest),
            (order.task_name, "source"),
            parcels,
            strict=False,
        ):
            _take_in(digest, name, data)
    except (OSError, parcel.BadParcel) as error:
        yield "refused", {"why": f"the task cannot be written: {error}"}
        return
    if _runner is None or not _runner.alive:
        _runner = Runner()
    runner, is_over = _runner, False
    try:
        runner.order(order)
        while True:
            said = runner.hear()
            if said["event"] == "ended":
                yield from _hand_over(order, Path(said["folder"]))
            elif said["event"] in ("phase", "progress"):
                yield said["event"], said
                continue
            is_over = True
            break
        if said["event"] == "ended":
            runner.sent()
        else:
            yield said["event"], said
    finally:
        if not is_over:  # Ray took the task back, or nobody wants it any more
            _runner = None
            runner.stop()


def _hand_over(order: Order, folder: Path) -> Iterator[tuple[str, Any]]:
    size = meeting.hand_over(order.meeting, order.trial, folder)
    if size is not None:
        yield "placed", size
        return
    number = 0
    for piece in parcel.pack(folder):
        number += 1
        yield "piece", piece
    yield "whole", number


def _take_in(digest: str, name: str, data: bytes) -> None:
    final = place_of(digest)
    if final.is_dir():
        return
    final.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".coming-", dir=final.parent))
    try:
        archive = scratch / "archive"
        archive.write_bytes(data)
        parcel.unpack(archive, scratch / "folder" / name)
        with suppress(OSError):  # another worker of this node was first
            (scratch / "folder").rename(final)
        if not final.is_dir():
            raise OSError(f"{final} cannot be made")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
