"""A kernel that finds the timer dead because the host is busy starts anew; saying so helps nobody.

The host is made busy by what makes hosts busy: somebody else has the processor. That one has a
fixed priority, so that it is the same on every host, whatever else goes on there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from starting import Start

from benchflow.boot.errors import GuestPanic
from benchflow.boot.machine.deadline import RunQueue
from benchflow.boot.machine.disks import Disk
from benchflow.boot.machine.guest import DEAD_TIMER, TIMER_MISSED
from benchflow.boot.machine.virtual_machine import Machine
from benchflow.boot.observer import Observer
from guests import SHELL_INIT, modules

pytestmark = pytest.mark.needs("qemu", "guests")

QUIET = "console=ttyS0 quiet"
TIMER_WORKS = "Calibrating delay loop"  # what the kernel says next
WORDS = DEAD_TIMER.decode().replace("'", "'\\''")
MISSED = TIMER_MISSED.decode()
#: Has the processor for BUSY of BUSY + FREE milliseconds, whenever it is not stopped.
RIVAL = """
import os, signal, sys, time
place, busy, free = map(int, sys.argv[1:])
os.sched_setaffinity(0, {place})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
os.kill(os.getpid(), signal.SIGSTOP)
while True:
    end = time.monotonic() + busy / 1000
    while time.monotonic() < end: pass
    time.sleep(free / 1000)
"""
SHARES, MOST = (10, 10), (200, 3)  # with 50 of 53 a tick comes through


def starts(text: str) -> int:
    """How many kernels began."""
    return text.count("] Linux version ")


class Notes(Observer):
    """Keeps the lines for the reader."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, machine: str, text: str) -> None:
        self.lines.append(text)


def at_priority(threads: list[int], policy: int, priority: int) -> None:
    for thread in threads:
        with suppress(ProcessLookupError):
            os.sched_setscheduler(thread, policy, os.sched_param(priority))


@contextmanager
def starved(machine: Machine, until: int) -> Iterator[None]:
    """Somebody else has half of the guest's processor up to the kernel's first words and nearly all
    of it from there until it found a timer, until so many starts were for nothing; what is left of
    it is the guest's alone."""
    over = threading.Event()
    watch, threads = machine._watch, machine._hardware.process.processors
    place = min(os.sched_getaffinity(0))
    for thread in threads:
        os.sched_setaffinity(thread, {place})
    half, most = (
        subprocess.Popen([sys.executable, "-c", RIVAL, *map(str, (place, *share))])
        for share in (SHARES, MOST)
    )
    for each in (half, most):
        os.waitid(os.P_PID, each.pid, os.WSTOPPED | os.WNOWAIT)

    def run(rival: subprocess.Popen[bytes] | None) -> None:
        for each in (half, most):
            each.send_signal(signal.SIGCONT if each is rival else signal.SIGSTOP)

    def starve() -> None:
        now: subprocess.Popen[bytes] | None = None
        while not over.is_set() and watch.dead_timers < until:
            said = machine.console.since(watch.boot_start)
            wanted = half if "Dynamic Preempt" not in said else most
            wanted = None if TIMER_WORKS in said else wanted
            if wanted is not now:
                now = wanted
                at_priority(threads, *((os.SCHED_FIFO, 1) if now is most else (os.SCHED_OTHER, 0)))
                run(now)
            time.sleep(0.01)
        for each in (half, most):
            each.kill()
            each.wait()
        at_priority(threads, os.SCHED_OTHER, 0)

    starving = threading.Thread(target=starve)
    starving.start()
    try:
        yield
    finally:
        over.set()
        starving.join()


@pytest.mark.alone
@pytest.mark.needs("root")
def test_a_busy_host_is_not_the_guests_fault(start: Start, shell_initrd: Path) -> None:
    for _ in range(12):  # the starving can begin too late, and a tick come through
        notes = Notes()
        machine = start(shell_initrd, observer=notes)
        with starved(machine, until=2):
            shell = machine.attach(timeout=300)
        assert shell.run("echo up").stdout == "up\n"
        spoilt = [line for line in notes.lines if "host was so busy" in line]
        assert len(spoilt) == starts(machine.console.text) - 1
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
    panics = f"{marked} echo '{WORDS}  Boot with apic=debug'; sleep 1000; }}"
    # A kernel that missed a timer and found it in another way is let be; where the host is busy, it
    # is started again as often as may be, so that it says so only behind the words that matter.
    init = f"{panics}\necho '{MISSED}'; sleep 1\n{SHELL_INIT}"
    disk = tmp_path / "disk.img"
    disk.write_bytes(bytes(1 << 20))
    machine = start(
        init, append=QUIET, disks=[Disk(disk)], files=modules("virtio_pci", "virtio_blk")
    )
    shell = machine.attach(timeout=120)
    # In a session they are words as any others.
    told = shell.run(f"echo '{WORDS}'; sleep 1; echo still here").stdout
    assert told == f"{DEAD_TIMER.decode()}\nstill here\n"
    # Others may have most of this host as well.
    assert 1 <= machine._watch.dead_timers <= 1 + machine._watch.spoilt
    assert machine.boots == 1 + machine._watch.dead_timers - machine._watch.spoilt


#: A boot sector that counts its starts in the disk's second sector, waits six seconds in each of
#: the first five and says the words, and then that it is ready. (as --32, ld -Ttext 0x7c00)
COUNTING = """
fa31c08ed88ec08ed0bc007cfbb80102e83700fe060080b80103e82d00803e008006731566a16c046683c06df4663906
6c0472f8be567ceb03be917cbaf803ac84c07403eeebf5f4ebfdb90200ba8000bb0080cd13c3
"""


def test_words_alone_excuse_neither_starts_nor_time(tmp_path: Path) -> None:
    disk = tmp_path / "disk.img"
    sector = bytes.fromhex(COUNTING) + f"{DEAD_TIMER.decode()}\n\0UNIT READY\n\0".encode()
    disk.write_bytes(sector.ljust(510, b"\0") + b"\x55\xaa" + bytes(1 << 20))
    with Machine(memory_mb=64, disks=[Disk(disk)]) as machine:
        machine.boot()
        began, watch = time.monotonic(), machine._watch
        assert watch.process is not None
        queue = RunQueue(watch.process.pid, watch.process.processors)
        machine.expect("UNIT READY\n", timeout=300)
        wall = time.monotonic() - began
        assert watch.dead_timers == 5
        assert machine.boots == 6 - watch.spoilt
        assert watch.resets == 5 - watch.spoilt
        if not watch.spoilt:  # others may have most of this host for a while
            assert wall > 25, "five starts of six seconds"
            had = (wall - queue.waited()) * min(1.0, machine.host.speed)
            assert machine.elapsed == pytest.approx(had, abs=2)


def test_who_always_prints_the_words_has_panicked(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchflow.boot.machine.guest.DEAD_TIMERS_MAX", 2)
    machine = start(f"echo '{WORDS}  Boot with'; sleep 1000\n", append=QUIET)
    with pytest.raises(GuestPanic, match="timer doesn't work"):
        machine.login("root", "toor", timeout=300)
    assert machine._watch.dead_timers == 2
