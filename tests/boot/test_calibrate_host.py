"""Deadlines follow the machine: its speed is measured, time without a processor does not count."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time

import pytest

from benchflow.boot.accel import KVM, PROBE_SECONDS, kvm_works
from benchflow.boot.calibrate import FASTEST, SLOWEST, measure
from benchflow.boot.deadline import BACKSTOP, Deadline, RunQueue
from benchflow.boot.errors import BadSetting, QemuFailed
from benchflow.boot.process import Process
from benchflow.boot.refboot import payload, reference_boot

fresh = measure.__wrapped__


@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "riscv64"])
def test_the_reference_boot_runs_and_takes_processor_time(arch: str) -> None:
    taken = reference_boot(arch, "tcg", 120, sandbox=True)
    assert taken is not None
    assert 0.005 < taken < 10


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


def test_what_breaks_while_the_host_is_measured_is_infrastructure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BENCHFLOW_HOST_SPEED", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(QemuFailed, match="could not be measured"):
        fresh("x86_64")


def test_a_boot_that_does_not_end_is_no_measurement() -> None:
    assert reference_boot("x86_64", "no-such-accelerator", 20, sandbox=True) is None


def test_the_x86_program_is_a_boot_sector() -> None:
    assert len(payload("x86_64")) == 512
    assert payload("x86_64").endswith(b"\x55\xaa")


def test_the_host_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BENCHFLOW_HOST_SPEED", "BENCHFLOW_ACCEL"):
        monkeypatch.delenv(name, raising=False)
    host = fresh("x86_64")
    assert SLOWEST <= host.speed <= FASTEST
    assert host.accelerator in ("tcg", "kvm")
    assert host.qemu_version[0].isdigit()
    assert measure("x86_64") is measure("x86_64")


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


def test_waiting_for_a_processor_is_seen() -> None:
    spin = ["taskset", "-c", "0", "sh", "-c", "while :; do :; done"]
    rivals = [subprocess.Popen(spin) for _ in range(3)]
    try:
        time.sleep(0.1)
        queue, began = RunQueue(rivals[0].pid), time.monotonic()
        time.sleep(1.0)
        assert 0.2 < queue.waited() <= time.monotonic() - began
    finally:
        for rival in rivals:
            rival.kill()
            rival.wait()
    assert queue.waited() == 0.0  # it is gone
