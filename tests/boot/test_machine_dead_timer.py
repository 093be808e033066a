"""A kernel that finds the timer dead because the host is busy starts anew; saying so helps nobody.

The host is made busy by stopping QEMU for most of the time, as a scheduler does.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starting import Start

from benchflow.boot.disks import Disk
from benchflow.boot.errors import GuestPanic
from benchflow.boot.machine import Machine
from benchflow.boot.observer import Observer
from benchflow.boot.watch import DEAD_TIMER
from guests import SHELL_INIT, modules

QUIET = "console=ttyS0 quiet"
RUNS, STANDS = 0.003, 0.1  # s; at 0.05 the kernel finds another way to its timer
WORDS = DEAD_TIMER.decode().replace("'", "'\\''")


def panics(text: str) -> int:
    """How many kernels panicked: "end Kernel panic" is the end of one, where it gets that far."""
    return len(re.findall(f"(?<!end ){re.escape(DEAD_TIMER.decode())}", text))


class Notes(Observer):
    """Keeps the lines for the reader."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, machine: str, text: str) -> None:
        self.lines.append(text)


@contextmanager
def starved(machine: Machine, until: int) -> Iterator[None]:
    """QEMU runs for 3 ms of 103 until so many starts were for nothing, once the kernel talks."""
    over = threading.Event()
    pid, watch = machine._hardware.process.pid, machine._watch

    def starve() -> None:
        while not over.is_set() and watch.dead_timers < until:
            if "Dynamic Preempt" not in machine.console.since(watch.boot_start):
                time.sleep(0.01)
                continue
            os.kill(pid, signal.SIGSTOP)
            time.sleep(STANDS)
            os.kill(pid, signal.SIGCONT)
            time.sleep(RUNS)

    thread = threading.Thread(target=starve)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_busy_host_is_not_the_guests_fault(start: Start, shell_initrd: Path) -> None:
    for _ in range(5):  # on a busy host the starving can begin too late
        notes = Notes()
        machine = start(shell_initrd, observer=notes)
        with starved(machine, until=2):
            shell = machine.attach(timeout=300)
        assert shell.run("echo up").stdout == "up\n"
        spoilt = [line for line in notes.lines if "host was so busy" in line]
        assert len(spoilt) == panics(machine.console.text)
        if len(spoilt) == 2:
            break
    assert len(spoilt) == 2
    assert machine.boots == 1
    assert machine._watch.resets == 0
    # A reboot that was asked for is one, also when the kernel finds its timer dead in it.
    with starved(machine, until=3):
        machine.reboot(command="reboot -f")
        assert machine.attach(timeout=300).run("echo again").stdout == "again\n"
    assert machine.boots == 2
    assert machine._watch.resets == 1


def test_printing_the_words_once_is_another_start(start: Start, tmp_path: Path) -> None:
    marked = 'read word < /dev/vda; [ "$word" ] || { echo mark > /dev/vda; sync; '
    init = f"{marked} echo '{WORDS}  Boot with apic=debug'; sleep 1000; }}\n{SHELL_INIT}"
    disk = tmp_path / "disk.img"
    disk.write_bytes(bytes(1 << 20))
    machine = start(
        init, append=QUIET, disks=[Disk(disk)], files=modules("virtio_pci", "virtio_blk")
    )
    shell = machine.attach(timeout=120)
    # In a session they are words as any others.
    told = shell.run(f"echo '{WORDS}'; sleep 1; echo still here").stdout
    assert told == f"{DEAD_TIMER.decode()}\nstill here\n"
    assert machine._watch.dead_timers == machine.boots == 1


def test_who_always_prints_the_words_has_panicked(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchflow.boot.watch.DEAD_TIMERS_MAX", 2)
    machine = start(f"echo '{WORDS}  Boot with'; sleep 1000\n", append=QUIET)
    with pytest.raises(GuestPanic, match="timer doesn't work"):
        machine.login("root", "toor", timeout=300)
    assert machine._watch.dead_timers == 2
