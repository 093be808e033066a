"""What is known of a running guest, and the one way to wait for more.

QEMU stops the guest at every reset and power-off (`-action reboot=shutdown,shutdown=pause`). We
take the console to its end, note where the old boot ended, and only then let the guest run: no
text of one boot is ever taken for text of another, however slow we are. After a restart, as long as
nothing was printed, QEMU does resets by itself: there is no text that they could divide.

A kernel that finds its timer dead is the host's fault where that was busy: see `DEAD_TIMER`.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from qemu.qmp import QMPError

from benchflow.boot.errors import (
    ConsoleFlood,
    GuestExited,
    GuestOverrun,
    GuestPanic,
    GuestRebooted,
    GuestTimeout,
    NoSpace,
    QemuFailed,
    RebootLoop,
)
from benchflow.boot.machine.console import Console
from benchflow.boot.machine.deadline import Deadline, RunQueue, Shares
from benchflow.boot.machine.qemu_process import Process
from benchflow.boot.machine.qmp import Event

T = TypeVar("T")

RESETS_MAX = 8  # firmware restarts itself once or twice (OVMF, shim); more is a loop
# Before the first line, SeaBIOS restarts itself until it is not reset in the middle of its start.
# QEMU 7.2 told of 1 to 7 such resets in each of 60 restarts, most of them in pairs, and of 9 in one
# that was ended there.
SILENT_RESETS_MAX = 64
FLOOD = 256 * 1024  # characters in one wait that no sound guest prints
EVIDENCE = 2000
# With its line's end: text arrives in pieces, and the reason stands behind the words.
PANIC = re.compile(r"Kernel panic - not syncing[^\n]*\n")
PANIC_GRACE = 3.0  # reference seconds a command has to prove that it only printed an old log
# Linux, arch/x86/kernel/apic/io_apic.c, check_timer(): early in each start, more than four ticks of
# the timer have to come while the time stamp counter passes a fixed number. Under TCG that counter
# is the host's and goes on while QEMU waits for a processor; ticks that were missed do not come
# late. So a busy host, and nothing in the guest, ends in this panic; another start may do better.
# Anybody can print the words: neither the start nor its time is excused unless others really had
# the processors that the guest's were waiting for.
DEAD_TIMER = b"Kernel panic - not syncing: IO-APIC + timer doesn't work!"
# What the same function says before it tries three other ways to the timer and panics. A guest that
# came up by the last of them (ExtINT) had a timer and no interrupt of its serial port: seen twice,
# each hung for good. Where the host was not busy, the kernel has the word.
TIMER_MISSED = b"..MP-BIOS bug: 8254 timer not connected to IO-APIC"
DEAD_TIMERS_MAX = 5  # for one start that was wanted; one more is the guest's own
BUSY = 0.25  # of the start's time: seen in such panics were 0.5 and more


class Watch:
    """The state of one machine's guest. The background thread writes it, `wait` reads it."""

    def __init__(
        self,
        name: str,
        speed: float,
        on_reset: Callable[[], None],
        on_dead_timer: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.speed = speed
        self.changed = threading.Condition()
        self.console = Console(self.changed)
        self.process: Process | None = None
        self.boot_start = 0  # where on the console the present boot began
        self.resets = 0  # all of them: a session is over when this has changed since its login
        self._excused = 0  # of them, those before the last start that was wanted
        self.running = False
        self.powered_off = False  # the guest itself asked for it
        self.no_space = False
        self.overrun = ""  # why the guard ended this machine, for good
        self.jobs: dict[str, str] = {}
        self.attended = False  # somebody had a shell in the present boot
        self.login_line = ""  # a prompt for a name in unknown words that turned out to be one
        self.dead_timers = 0  # starts that ended so, see DEAD_TIMER
        self.spoilt = 0  # of them, those that the host spoilt
        self._timers_before = 0  # of all, those before the last start that was wanted
        self._shares: Shares | None = None  # of the present start
        self._reviving = False
        self._judged = 0  # no panic before this position is the guest's
        self._recent = b""
        self._on_reset = on_reset
        self._on_dead_timer = on_dead_timer
        self._silent = False  # restarted, and nothing printed yet: QEMU does resets by itself
        self._silent_resets = 0
        self._restarting = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self.console.subscribe(self._printed)

    # -- the background thread ------------------------------------------------------------------

    def on_event(self, event: Event) -> None:
        """Take a QMP event."""
        name, data = event["event"], event.get("data", {})
        if name == "SHUTDOWN" and data.get("reason") == "guest-reset":
            self._spawn(self._restart())
        elif name == "SHUTDOWN" and data.get("guest"):
            self._spawn(self._end())
        elif name == "RESET" and data.get("guest") and self._silent:
            self._silent_resets += 1
            if self._silent_resets > SILENT_RESETS_MAX:
                self._silent = False
                with self.changed:
                    self.resets += self._silent_resets
                    self.changed.notify_all()
                self._spawn(self._stop_at_resets())
        elif name == "JOB_STATUS_CHANGE":
            with self.changed:
                self.jobs[data["id"]] = data["status"]
                self.changed.notify_all()
        elif name == "BLOCK_IO_ERROR" and data.get("nospace"):
            with self.changed:
                self.no_space = True
                self.changed.notify_all()

    def on_exit(self) -> None:
        """Take QEMU's end."""
        self.console.connect(None)
        with self.changed:
            self.running = False
            self.changed.notify_all()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        # The loop itself keeps no strong reference to a task.
        task = asyncio.ensure_future(coroutine)
        self._tasks = [*(task for task in self._tasks if not task.done()), task]

    async def _restart(self) -> None:
        process = self.process
        assert process is not None
        async with self._restarting:
            try:
                # A processor may ask twice before it is stopped (ACPI, then the keyboard
                # controller); the second request finds the machine running again.
                state = await process.monitor.request("query-status")
                if state["status"] != "shutdown":
                    return
                process.drain()
                printed = self.console.end > self.boot_start
                with self.changed:
                    self.resets += 1
                    self.boot_start = self.console.end
                    self.attended = False
                    self.changed.notify_all()
                if self._unwanted > RESETS_MAX:
                    return
                if printed:
                    self._on_reset()
                await self._begin_again(process)
            except (QMPError, EOFError, OSError):
                return  # killed in the meantime: on_exit tells

    async def _begin_again(self, process: Process) -> None:
        """Reset a machine that stands still, and let it run."""
        self.started()
        await process.monitor.request("set-action", reboot="reset")
        await process.monitor.request("system_reset")
        # SeaBIOS, when it finds itself in memory already, resets once more, as often as it is
        # reset in the middle of its start: stopped there too, it would never end.
        self._silent, self._silent_resets = True, 0
        await process.monitor.request("cont")
        # After a reset while stopped alone, QEMU 7.2 took over 150 s to a Debian kernel's first
        # line instead of 5 s; after one more, of the running machine, 5 s (measured under TCG; the
        # cause is not known).
        await process.monitor.request("system_reset")

    def _printed(self, _: float, data: bytes) -> None:
        if self._silent:
            self._silent = False
            self._spawn(self._stop_at_resets())
        recent = self._recent + data
        self._recent = recent[-len(DEAD_TIMER) :]
        if self.attended or self._reviving:
            return
        dead = DEAD_TIMER in recent
        if not dead and TIMER_MISSED not in recent:
            return
        if self.dead_timers - self._timers_before < DEAD_TIMERS_MAX:
            busy = self._shares is not None and self._shares.others() >= BUSY
            if dead or busy:
                self._reviving = (
                    True  # before the text can be read: no wait takes it for the guest's
                )
                self._spawn(self._revive(busy))

    async def _revive(self, busy: bool) -> None:
        """Start a guest again whose kernel found the board's timer dead (see DEAD_TIMER).

        When the host was `busy`, not one of its restarts: who counts those sees none.
        """
        process = self.process
        assert process is not None
        async with self._restarting:
            try:
                await process.monitor.request("stop")
                state = await process.monitor.request("query-status")
                process.drain()
                with self.changed:
                    self.dead_timers += 1
                    self.spoilt += busy
                    self._judged = self.console.end
                if busy:
                    self._on_dead_timer()
                if state["status"] == "shutdown":
                    return  # told to restart at a panic (panic=…), it was quicker: see _restart
                with self.changed:
                    self.boot_start = self.console.end
                    self.resets += not busy
                if not busy:
                    self._on_reset()
                await self._begin_again(process)
            except (QMPError, EOFError, OSError):
                return
            finally:
                with self.changed:
                    self._reviving, self._recent = False, b""
                    self.changed.notify_all()

    async def _stop_at_resets(self) -> None:
        process = self.process
        assert process is not None
        async with self._restarting:
            with contextlib.suppress(QMPError, EOFError, OSError):
                await process.monitor.request("set-action", reboot="shutdown")

    async def _end(self) -> None:
        process = self.process
        assert process is not None
        process.drain()
        with self.changed:
            self.powered_off = True
        try:
            await process.monitor.request("quit")
        except (QMPError, EOFError, OSError):
            return

    # -- the caller -----------------------------------------------------------------------------

    def begin(self) -> None:
        """A start on purpose: what was known of the boot before is over."""
        with self.changed:
            self.powered_off, self.boot_start = False, self.console.end
            self.attended, self._recent = False, b""
        self._silent, self._shares = False, None
        self.excuse_resets()

    def excuse_resets(self) -> None:
        """What restarted up to now was wanted: a loop is what comes after it."""
        with self.changed:
            self._excused, self._timers_before = self.resets, self.dead_timers

    def started(self) -> None:
        """The present start began just now."""
        if self.process is not None:
            self._shares = Shares(self.process.pid, self.process.processors)

    def deadline(self, seconds: float) -> Deadline:
        """`seconds` of reference time from now."""
        process = self.process
        queue = RunQueue(process.pid, process.processors) if process is not None else None
        return Deadline(seconds, self.speed, queue.waited if queue else lambda: 0.0)

    def wait(
        self,
        step: Callable[[], T | None],
        timeout: float,
        what: str,
        *,
        in_session: bool = False,
        retry: Callable[[], float] | None = None,
    ) -> T:
        """Call `step` whenever something happened, until it returns something.

        `step` is called with the state locked. Raises GuestTimeout (or ConsoleFlood) after
        `timeout` reference seconds, and at once GuestExited, GuestPanic, RebootLoop, NoSpace,
        QemuFailed; with `in_session` also GuestRebooted, and a panic only counts when the step
        does not succeed soon after. `retry` is called first and each time the real seconds that
        it returned are over. A start that the host spoilt (DEAD_TIMER) takes nothing of `timeout`.
        """
        deadline = self.deadline(timeout)
        began, resets, spoilt = self.console.end, self.resets, self.spoilt
        panic_deadline: Deadline | None = None
        scanned = began
        again = 0.0
        with self.changed:
            while True:
                found = step()
                if found is not None:
                    return found
                if in_session and self.resets != resets:
                    raise GuestRebooted(f"{self.name} restarted while waiting for {what}")
                self._raise_if_over(what)
                if self.spoilt != spoilt:
                    spoilt, deadline = self.spoilt, self.deadline(timeout)
                panic = self.console.search(PANIC, max(began, self._judged), scanned)
                scanned = self.console.end
                if panic is not None and not self._reviving:
                    if not in_session:
                        raise GuestPanic(
                            f"{self.name}: {panic.match[0].strip()}", evidence=self._evidence()
                        )
                    panic_deadline = panic_deadline or self.deadline(PANIC_GRACE)
                    if panic_deadline.remaining() <= 0:
                        raise GuestPanic(
                            f"{self.name}: {panic.match[0].strip()}", evidence=self._evidence()
                        )
                remaining = deadline.remaining()
                if remaining <= 0:
                    raise self._too_late(what, timeout, self.console.end - began)
                if panic_deadline is not None:
                    remaining = min(remaining, panic_deadline.remaining())
                if retry is not None:
                    if time.monotonic() >= again:
                        again = time.monotonic() + retry()
                    remaining = min(remaining, max(0.0, again - time.monotonic()))
                self.changed.wait(remaining)

    def over(self, what: str, seconds: float) -> Exception | None:
        """Why there is no `what`, if the guest or its QEMU ends within real seconds, or restarts
        again and again; else None."""
        end = time.monotonic() + seconds
        with self.changed:
            while self.running:
                if self._unwanted > RESETS_MAX:
                    return self._looping(what)
                if end <= time.monotonic():
                    return None
                self.changed.wait(end - time.monotonic())
            return self._ended(what)

    @property
    def _unwanted(self) -> int:
        return self.resets - self._excused

    def raise_if_overrun(self) -> None:
        """Raises GuestOverrun when the guard has ended this machine."""
        if self.overrun:
            raise GuestOverrun(self.overrun, evidence=self._evidence())

    def _raise_if_over(self, what: str) -> None:
        self.raise_if_overrun()
        if self.no_space:
            raise NoSpace("the verifier's disk is full; the guest was stopped")
        if self._unwanted > RESETS_MAX:
            raise self._looping(what)
        if not self.running:
            raise self._ended(what)

    def _looping(self, what: str) -> Exception:
        return RebootLoop(
            f"{self.name} restarted {self._unwanted} times while waiting for {what}",
            evidence=self._evidence(),
        )

    def _ended(self, what: str) -> Exception:
        process = self.process
        if self.overrun:
            return GuestOverrun(self.overrun, evidence=self._evidence())
        if process is None:
            return GuestExited(f"{self.name} is not running, so there is no {what}")
        if self.powered_off:
            return GuestExited(
                f"{self.name} switched itself off before {what}", evidence=self._evidence()
            )
        if process.killed:
            return GuestExited(f"{self.name} is not running, so there is no {what}")
        if process.status == -signal.SIGKILL:
            return QemuFailed("QEMU was killed (out of memory?)", evidence=process.stderr)
        return GuestExited(
            f"{self.name} broke its virtual machine (status {process.status}) before {what}",
            evidence=process.stderr or self._evidence(),
        )

    def _too_late(self, what: str, timeout: float, printed: int) -> Exception:
        message = f"{self.name}: no {what} within {timeout:g} reference seconds"
        if printed > FLOOD:
            message += f", but {printed} characters of other output"
            return ConsoleFlood(message, evidence=self._evidence())
        return GuestTimeout(message, evidence=self._evidence())

    def _evidence(self) -> str:
        return self.console.tail(EVIDENCE)
