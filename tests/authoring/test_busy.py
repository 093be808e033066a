"""What keeps the cores busy does so, and neither speaks nor outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PARENT = """
import multiprocessing, time
from benchflow.authoring.cpu_load import busy_cores
with busy_cores():
    print(*[child.pid for child in multiprocessing.active_children()], flush=True)
    time.sleep(60)
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        yield parent
        parent.kill()


def test_an_interrupt_is_for_the_parent_alone(parent: subprocess.Popen[str]) -> None:
    burners = _burners(parent)
    for pid in burners:
        os.kill(pid, signal.SIGINT)
    assert _work(burners)
    parent.send_signal(signal.SIGINT)
    assert _left(burners) == []
    assert parent.stderr and parent.stderr.read().count("Traceback") == 1, "the parent's own"


def test_they_end_with_a_parent_that_is_killed(parent: subprocess.Popen[str]) -> None:
    burners = _burners(parent)
    parent.kill()
    assert _left(burners) == []
    assert parent.stderr and parent.stderr.read() == ""


def _burners(parent: subprocess.Popen[str]) -> list[int]:
    assert parent.stdout
    burners = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(burners) == os.cpu_count()
    assert _work(burners)
    return burners


def _work(pids: list[int]) -> bool:
    """Whether each computes for another tenth of a second, in 20 seconds at most."""
    wanted = {pid: _seconds(pid) + 0.1 for pid in pids}
    deadline = time.monotonic() + 20
    while behind := [pid for pid in pids if _seconds(pid) < wanted[pid]]:
        if time.monotonic() > deadline or not all(map(_state, behind)):
            return False
        time.sleep(0.1)
    return True


def _seconds(pid: int) -> float:
    """Of its own program's processor time; proc(5): utime, the fourteenth field of stat."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


def _left(pids: list[int]) -> list[int]:
    """Those that still run after 20 seconds at most; they are ended here."""
    deadline = time.monotonic() + 20
    while (left := [pid for pid in pids if _state(pid) not in ("", "Z")]) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.1)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except (FileNotFoundError, ProcessLookupError):
        return ""
