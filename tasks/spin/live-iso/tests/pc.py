"""A PC of the bench with the medium in it: its start, its serial port, its wall, its line."""

from __future__ import annotations

import re
import secrets
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from wire import WALL_PORT, Wire

from benchflow.boot import Disk, GuestExited, GuestTimeout, Nic

PASSWORD = "Varde-1184"
START_SECONDS = 120.0  # [R5]
MENU = re.compile(r"Expo Wall 4\.1 rescue")
_LOGIN = re.compile(r"(?<!Last )login: ")
LINE_MAX = 4096


class Pc:
    """`name` is unique. `stick`: the medium is a USB stick, else it is in the drive."""

    def __init__(
        self,
        machines: Any,
        name: str,
        medium: Path,
        work: Path,
        *,
        firmware: str = "bios",
        stick: bool = False,
        disks: Sequence[Disk] = (),
        nic: str = "e1000e",
        extra: Sequence[str] = (),
    ) -> None:
        self.wire = Wire(work / f"{name}.wire")
        self.mac = f"52:54:00:ee:{secrets.randbelow(256):02x}:{secrets.randbelow(256):02x}"
        self.machine = machines.create(
            name,
            firmware=firmware,
            # The firmware tries disks in this order, then the drive.
            disks=[*([Disk(medium, bus="usb")] if stick else []), *disks],
            cdrom=None if stick else medium,
            nics=[Nic(model=nic, forwards=[WALL_PORT], mac=self.mac)],
            extra_args=[*extra, *self.wire.arguments()],
        )
        self.start_seconds = 0.0
        self.menu_seconds = 0.0
        self.command_line = ""
        self._down = "it was not switched on"

    # -- life ---------------------------------------------------------------------------------

    def switch_on(self) -> None:
        """Without waiting for more than a first sign of life."""
        self._down = ""
        self.wire.begin()
        self.machine.boot()

    def menu(self) -> None:
        """Wait for the menu on the serial port."""
        self.until(lambda: self._said(MENU), START_SECONDS, "menu on the serial port")

    def start(self) -> None:
        """Switch on; wait until the wall answers and there is a login."""
        self.switch_on()
        self.is_up()

    def is_up(self) -> None:
        """Wait for the wall and the login; a PC that does not come up is not waited for twice."""
        self._down = "it did not come up"
        self.until(lambda: self._asked("HELLO", 5.0), 1.5 * START_SECONDS, "answer of the wall")
        self.until(lambda: self._said(_LOGIN), 0.5 * START_SECONDS, "login on the serial port")
        self.start_seconds = self.machine.elapsed
        self._down = ""

    def power_cut(self) -> None:
        self._down = "it was switched off"
        with suppress(GuestExited):  # off already, or in this moment
            self.machine.power_cut()

    def press_power(self, seconds: float = 60.0) -> bool:
        """Press the button; whether the PC then switched itself off."""
        self._down = "it was switched off"
        return bool(self.machine.shutdown(seconds))

    def until(self, step: Any, seconds: float, what: str) -> Any:
        """Call `step` until it returns something that is true."""
        deadline = self.machine.deadline(seconds)
        while True:
            found = step()
            if found:
                return found
            if not self.machine.alive:
                raise GuestExited(f"{self.machine.name} switched itself off: no {what}")
            if deadline.remaining() <= 0:
                raise GuestTimeout(f"{self.machine.name}: no {what} in {seconds:.0f} s")
            time.sleep(0.3)

    def printed(self) -> str:
        """What stood on the serial port in this start."""
        return str(self.machine.console.since(self._begin()))

    def _begin(self) -> int:
        return int(self.machine._watch.boot_start)

    def _said(self, pattern: re.Pattern[str]) -> bool:
        return bool(pattern.search(self.printed()))

    # -- the administrator --------------------------------------------------------------------

    def root(self) -> Any:
        """root's shell on the serial port."""
        if self._down:
            raise GuestExited(f"{self.machine.name}: {self._down}")
        return self.machine.login("root", PASSWORD, timeout=START_SECONDS)

    def groups(self, pid: str) -> set[str]:
        """The names of the groups that a process is in."""
        said = self.say(f"grep -E '^(Gid|Groups):' /proc/{pid}/status; cat /etc/group")
        lines = said.splitlines()
        numbers = {n for line in lines if ":\t" in line for n in line.split(":", 1)[1].split()}
        rows = [line.split(":") for line in lines if line.count(":") >= 3]
        return {row[0] for row in rows if row[2] in numbers}

    def say(self, command: str, seconds: float = 60.0) -> str:
        """What a command of root's prints; it has to succeed."""
        return str(self.root().run(command, timeout=seconds, check=True).stdout.strip())

    # -- the wall -----------------------------------------------------------------------------

    def ask(self, request: str, seconds: float = 15.0) -> str:
        """The wall's answer. Raises GuestTimeout when there is none."""
        if self._down:
            raise GuestExited(f"{self.machine.name}: {self._down}")
        answer = self._asked(request, seconds)
        if answer is None:
            raise GuestTimeout(f"{self.machine.name}: the wall does not answer to {request[:40]!r}")
        return answer

    def ask_all(self, requests: Sequence[str], seconds: float = 15.0) -> list[str]:
        """The wall's answers, over one link. Raises GuestTimeout when one is missing."""
        if self._down:
            raise GuestExited(f"{self.machine.name}: {self._down}")
        answers: list[str] = []
        with (
            suppress(OSError),
            self._connect(seconds) as link,
            link.makefile("rb") as lines,
        ):
            for request in requests:
                link.sendall(request.encode() + b"\n")
                line = lines.readline(LINE_MAX)
                if not line.endswith(b"\n"):
                    break
                answers.append(line[:-1].decode(errors="replace"))
        if len(answers) < len(requests):
            missing = requests[len(answers)][:40]
            raise GuestTimeout(f"{self.machine.name}: the wall does not answer to {missing!r}")
        return answers

    def keeps(self) -> str:
        """What the wall says of what is kept."""
        answer = self.ask("HELLO")
        assert answer.startswith("WALL 4.1 "), f"the wall says {answer!r}"
        return answer.removeprefix("WALL 4.1 ")

    def back(self, seconds: float) -> None:
        """Wait until the wall answers."""
        self.until(lambda: self._asked("HELLO", 3.0), seconds, "answer of the wall")

    def add_many(self, seconds: float, at_least: int) -> dict[int, str]:
        """Messages, one after the other; by their numbers, those that were acknowledged.

        Each waits for two of the host's own flushes, which may take seconds while others write.
        """
        kept: dict[int, str] = {}
        deadline = self.machine.deadline(seconds)
        with self._connect(60.0) as link, link.makefile("rb") as lines:
            while at_least > 0 or deadline.remaining() > 0:
                at_least -= 1
                text = f"cut {secrets.token_hex(16)}"
                link.sendall(f"ADD {text}\n".encode())
                answer = lines.readline(LINE_MAX)
                if not re.fullmatch(rb"OK \d{1,9}\n", answer):
                    break
                kept[int(answer[3:])] = text
        return kept

    def pid(self) -> str:
        """The process that holds the wall's port, as the kernel has it."""
        script = (
            "perl -e 'my %s; open T, q(<), q(/proc/net/tcp); while (<T>) { my @f = split; "
            "$s{qq(socket:[$f[9]])} = 1 if $f[1] =~ /:1CE8$/ && $f[3] eq q(0A) } "
            "for (glob q(/proc/[0-9]*/fd/*)) { my $l = readlink or next; "
            "print qq($1\\n) if $s{$l} && m{^/proc/(\\d+)/} }'"
        )
        found = self.say(script, 90).split()
        assert len(found) == 1 and found[0].isdecimal(), f"port {WALL_PORT} is held by {found}"
        return found[0]

    def _connect(self, seconds: float) -> socket.socket:
        return socket.create_connection(self.machine.forward(WALL_PORT), timeout=seconds)

    def _asked(self, request: str, seconds: float) -> str | None:
        try:
            with self._connect(seconds) as link, link.makefile("rb") as lines:
                link.sendall(request.encode() + b"\n")
                line = lines.readline(LINE_MAX)
        except OSError:
            return None
        return line[:-1].decode(errors="replace") if line.endswith(b"\n") else None
