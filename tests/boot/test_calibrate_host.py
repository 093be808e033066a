"""Deadlines follow the machine: its speed is measured, time without a processor does not count."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchflow.boot.errors import BadSetting, QemuFailed
from benchflow.boot.machine.accel import KVM, PROBE_SECONDS, kvm_works
from benchflow.boot.machine.calibrate import FASTEST, SLOWEST, measure
from benchflow.boot.machine.deadline import BACKSTOP, Deadline, RunQueue, Shares, schedstat
from benchflow.boot.machine.qemu_process import Process
from benchflow.boot.machine.reference_boot import payload, reference_boot

fresh = measure.__wrapped__


@pytest.mark.needs("qemu")
@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "riscv64"])
def test_the_reference_boot_runs_and_takes_processor_time(arch: str) -> None:
    taken = reference_boot(arch, "tcg", 120, sandbox=True)
    assert taken is not None
    assert 0.005 < taken < 10


@pytest.mark.needs("qemu")
def test_a_host_that_looks_late_measures_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = min(reference_boot("x86_64", "tcg", 120, sandbox=True) or 0.0 for _ in range(5))
    readable = Process._readable

    def late(process: Process) -> None:
        time.sleep(0.5)  # a program that works without waiting for us is over by then
        readable(process)

    monkeypatch.setattr(Process, "_readable", late)
    taken = reference_boot("x86_64", "tcg", 120, sandbox=True)
    assert taken is not None
    assert taken > prompt / 2


@pytest.mark.needs("qemu")
def test_what_breaks_while_the_host_is_measured_is_infrastructure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BENCHFLOW_HOST_SPEED", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(QemuFailed, match="could not be measured"):
        fresh("x86_64")


@pytest.mark.needs("qemu")
def test_a_boot_that_does_not_end_is_no_measurement() -> None:
    assert reference_boot("x86_64", "no-such-accelerator", 20, sandbox=True) is None


def test_the_x86_program_is_a_boot_sector() -> None:
    assert len(payload("x86_64")) == 512
    assert payload("x86_64").endswith(b"\x55\xaa")


@pytest.mark.needs("qemu")
def test_the_host_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BENCHFLOW_HOST_SPEED", "BENCHFLOW_ACCEL"):
        monkeypatch.delenv(name, raising=False)
    host = fresh("x86_64")
    assert SLOWEST <= host.speed <= FASTEST
    assert host.accelerator in ("tcg", "kvm")
    assert host.qemu_version[0].isdigit()
    assert measure("x86_64") is measure("x86_64")


@pytest.mark.needs("qemu")
def test_measured_values_can_be_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHFLOW_HOST_SPEED", "0.25")
    monkeypatch.setenv("BENCHFLOW_ACCEL", "tcg")
    assert (fresh("x86_64").speed, fresh("x86_64").accelerator) == (0.25, "tcg")
    monkeypatch.setenv("BENCHFLOW_HOST_SPEED", "fast")
    with pytest.raises(BadSetting, match="BENCHFLOW_HOST_SPEED"):
        fresh("x86_64")
    monkeypatch.setenv("BENCHFLOW_HOST_SPEED", "1e9")
    with pytest.raises(BadSetting, match="BENCHFLOW_HOST_SPEED"):
        fresh("x86_64")


@pytest.mark.needs("qemu")
def test_kvm_is_believed_only_after_a_boot() -> None:
    before = time.monotonic()
    works = kvm_works.__wrapped__("x86_64")
    assert time.monotonic() - before < PROBE_SECONDS + 60
    assert not works or os.access(KVM, os.R_OK | os.W_OK)
    assert not kvm_works("s390x")


def test_a_slow_host_gets_more_time_and_a_fast_one_no_less() -> None:
    assert 1.9 < Deadline(1.0, 0.5, lambda: 0.0).remaining() <= 2.0
    assert 0.9 < Deadline(1.0, 8.0, lambda: 0.0).remaining() <= 1.0


def test_time_without_a_processor_does_not_count() -> None:
    waited = 0.0
    before = time.monotonic()
    deadline = Deadline(0.2, 1.0, lambda: waited)
    begun = time.monotonic()
    time.sleep(0.25)
    assert deadline.remaining() == 0.0
    waited = time.monotonic() - before  # all the time so far
    asked = time.monotonic()
    left = deadline.remaining()
    most, least = 0.2 + waited + begun - asked, 0.2 + waited + before - time.monotonic()
    assert max(0.0, least) <= left <= max(0.0, most)  # however long the host stood still meanwhile
    time.sleep(0.2 * BACKSTOP)
    waited = 1000.0
    assert deadline.remaining() == 0.0  # the backstop


def tasks(pid: int) -> list[int]:
    return sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())


#: Four threads that compute, and give others of their process no reason to wait but the processor.
#: Four threads that want a processor all the time: one that waits for Python's lock would not.
CROWD = """
import hashlib, threading
data = bytes(1 << 26)
def work():
    while True: hashlib.sha256(data)
for _ in range(4): threading.Thread(target=work).start()
"""


@contextmanager
def on_one_processor(*commands: list[str]) -> Iterator[list[subprocess.Popen[bytes]]]:
    started = [subprocess.Popen(["taskset", "-c", "0", *command]) for command in commands]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


SPIN = ["sh", "-c", "while :; do :; done"]


def test_waiting_for_a_processor_is_seen() -> None:
    with on_one_processor(SPIN, SPIN, SPIN) as rivals:
        time.sleep(0.1)
        pid = rivals[0].pid
        queue, of_others, began = RunQueue(pid, [pid]), RunQueue(pid, [1]), time.monotonic()
        time.sleep(1.0)
        # A wait counts when it is over, so that some of it may be from before.
        assert 0.2 < queue.waited() <= time.monotonic() - began + 0.5
        assert of_others.waited() == 0.0
    assert queue.waited() == 0.0  # it is gone


@pytest.mark.alone
@pytest.mark.needs("time")
def test_what_ones_own_threads_take_is_not_stolen() -> None:
    """A guest that has its disk workers compete with its processors excuses itself by nothing."""
    python = [sys.executable, "-c", CROWD]
    with on_one_processor(python) as (crowd,):
        while len(tasks(crowd.pid)) < 5:
            time.sleep(0.1)
        *workers, processor = tasks(crowd.pid)
        before = [schedstat(Path(f"/proc/{crowd.pid}/task/{tid}"))[0] for tid in workers]
        shares, queue = Shares(crowd.pid, [processor]), RunQueue(crowd.pid, [processor])
        time.sleep(2.0)
        waited, others = queue.waited(), shares.others()
        after = [schedstat(Path(f"/proc/{crowd.pid}/task/{tid}"))[0] for tid in workers]
    worked = (sum(after) - sum(before)) / 1e9
    assert worked > 0  # on a busy host others have the rest
    # A share is never below 0; a wait that goes on still is not in `waited` yet.
    assert others < max(0.0, waited - worked) / 2.0 + 0.15
    with on_one_processor(python, SPIN, SPIN, SPIN, SPIN, SPIN) as (crowd, *_):
        while len(tasks(crowd.pid)) < 5:
            time.sleep(0.1)
        shares = Shares(crowd.pid, tasks(crowd.pid)[-1:])
        time.sleep(4.0)  # ten take turns, and a wait counts when it is over
        assert shares.others() > 0.25


@pytest.mark.alone
@pytest.mark.needs("time")
def test_what_a_process_worked_is_told_from_what_it_waited_or_stood_still() -> None:
    with on_one_processor(SPIN, SPIN, SPIN) as (busy, *_):
        shares = Shares(busy.pid, [busy.pid])
        time.sleep(1.5)
        assert shares.worked() > 0
        assert shares.waited() > 0.2
        busy.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        shares = Shares(busy.pid, [busy.pid])
        time.sleep(0.5)
        assert (shares.worked(), shares.waited()) == (0, 0)
