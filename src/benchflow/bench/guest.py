"""A machine that is asked on its console: started, waited for, given commands."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Self, TypeVar

from benchflow.boot import GuestExited, GuestPanic, GuestTimeout, LoginFailed, Machine
from benchflow.boot.machine.frames import Result

T = TypeVar("T")

#: A kernel's word for a host that kept its timer from it. `boot` starts the machine again then, but
#: a boot loader that counts its tries has counted one (docs/boot.md, "Time").
SPOILT = "IO-APIC + timer doesn't work!"


class Guest:
    """`machine`, which may still be off, with somebody who logs in at its console.

    Seconds are reference seconds throughout. A task derives its own class and adds the words of
    its order; `entered` is what it wants done after each login.
    """

    def __init__(
        self, machine: Machine, password: str, *, user: str = "root", login_seconds: float = 60
    ) -> None:
        self.machine = machine
        self.user = user
        self.password = password
        self.login_seconds = login_seconds

    # -- life ---------------------------------------------------------------------------------

    def start(self, seconds: float | None = None) -> Self:
        """Switch it on, and log in within `seconds`."""
        self.machine.boot()
        return self.enter(seconds)

    def enter(self, seconds: float | None = None) -> Self:
        """Log in within `seconds`, `login_seconds` by default, and do what `entered` says."""
        self.log_in(self.login_seconds if seconds is None else seconds)
        self.entered()
        return self

    def log_in(self, seconds: float) -> None:
        """One login. Override it where a start may take several tries (`through_panics`)."""
        self.machine.login(self.user, self.password, timeout=seconds)

    def entered(self) -> None:
        """Called after each login: nothing, until a class of a task's has something to do then."""

    def restart(
        self, seconds: float | None = None, *, down_seconds: float = 60, command: str = "reboot"
    ) -> None:
        """Ask it to restart, which has to begin within `down_seconds`, and log in again."""
        self.machine.reboot(timeout=down_seconds, command=command)
        self.enter(seconds)

    def power_off(self, seconds: float = 60, *, command: str = "poweroff", why: str = "") -> None:
        """Have it switch itself off in order, so that its disk can be read afterwards.

        AssertionError when it does not; `why` are the words that want it so.
        """
        self.machine.shell.leave(command)
        deadline = self.machine.deadline(seconds)
        while self.machine.alive and deadline.remaining() > 0:
            time.sleep(0.2)
        late = f"{command}: still on after {seconds:g} seconds {why}"
        assert not self.machine.alive, late.strip()

    # -- questions ----------------------------------------------------------------------------

    def run(self, command: str, seconds: float = 60) -> Result:
        """What a command printed, and its status."""
        return self.machine.shell.run(command, timeout=seconds)

    def say(self, command: str, seconds: float = 60) -> str:
        """What a command that has to succeed prints, stripped."""
        return self.machine.shell.run(command, timeout=seconds, check=True).stdout.strip()

    def code(self, command: str, seconds: float = 60) -> int:
        """A command's exit status."""
        return self.run(command, seconds).status

    def has(self, path: str) -> bool:
        """Whether there is anything at `path`, a link that leads nowhere included."""
        quoted = "'" + path.replace("'", "'\\''") + "'"
        return self.code(f"test -e {quoted} -o -L {quoted}") == 0

    def write(self, path: str, data: bytes | str) -> None:
        """Write a small file."""
        self.machine.shell.write_file(path, data.encode() if isinstance(data, str) else data)

    # -- waiting ------------------------------------------------------------------------------

    def until(
        self, question: Callable[[], T], seconds: float, what: str, *, every: float = 0.5
    ) -> T:
        """The first true answer of `question`. Raises as the function `until` does."""
        return until(self.machine, question, seconds, what, every=every)

    def through_panics(self, wait: Callable[[float], object], seconds: float) -> None:
        """Wait for what comes after any number of tries that end in a panic.

        `wait` is given what is left of `seconds`, and called again after each panic.
        """
        deadline = self.machine.deadline(seconds)
        while True:
            try:
                wait(max(1.0, deadline.seconds - deadline.used()))
                return
            except GuestPanic:
                if deadline.remaining() <= 0:
                    raise

    def await_word(self, word: str, seconds: float = 60) -> None:
        """Wait for a word of this run on the console, through panics."""
        self.through_panics(
            lambda left: self.machine.expect(re.escape(word), timeout=left), seconds
        )

    def unspoilt(self, step: Callable[[], object]) -> None:
        """A step that counts tries, begun again where the host spoilt one (`SPOILT`), twice."""
        for more in (True, True, False):
            mark = self.machine.console.end
            try:
                step()
                return
            except (AssertionError, GuestTimeout):
                if not more or SPOILT not in self.machine.console.since(mark):
                    raise


class GuestWithTries(Guest):
    """One whose boot loader tries a version, and another one after tries that end in a panic."""

    def log_in(self, seconds: float) -> None:
        """Wait for a version that starts, through any number of tries that panic."""
        try:
            self.through_panics(super().log_in, seconds)
        except LoginFailed:
            # Programs that ask for a password first throw away what was typed before: on a busy
            # host they throw away a part of it.
            self.through_panics(super().log_in, seconds)


def until(
    machine: Machine, question: Callable[[], T], seconds: float, what: str, *, every: float = 0.5
) -> T:
    """The first true answer of `question`, asked every `every` real seconds.

    Raises GuestExited when the machine is off (`question` is asked once more before that),
    GuestTimeout after `seconds`; `what` says in either what did not come.
    """
    deadline = machine.deadline(seconds)
    while True:
        alive = machine.alive
        if answer := question():
            return answer
        if not alive:
            raise GuestExited(f"{machine.name} switched itself off: no {what}")
        if deadline.remaining() <= 0:
            raise GuestTimeout(f"{machine.name}: no {what} in {seconds:g} s")
        time.sleep(every)
