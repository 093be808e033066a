"""One unit of the appliance as its customer meets it: over SSH and over its service's port."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import re
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from benchflow.bench.guest import until
from benchflow.bench.line_service import exchange
from benchflow.bench.ssh_client import Said, SshClient
from benchflow.boot import GuestError, GuestTimeout, Machine

SERVICE = 7117
BOOT_SECONDS = 90.0  # [R3], reference seconds from power-on to the service's first answer
T = TypeVar("T")


class Unit:
    """`machine` with the customer's private key `key`; files of ours go to `folder`."""

    def __init__(self, machine: Machine, key: Path, folder: Path) -> None:
        self.machine = machine
        self.client = SshClient(machine, key, folder)
        self._session = 0
        self._down = "it was not switched on"
        self._power_on = self.deadline(BOOT_SECONDS)
        self.service_seconds: float | None = None
        self.boot_started = 0.0

    def deadline(self, seconds: float):
        return self.machine.deadline(seconds)

    # -- life ---------------------------------------------------------------------------------

    def power_on(self) -> None:
        """Switch on, and wait until the unit can be logged into and its service answers.

        Only the log-in is required here; whether the service came in time is kept for its check.
        """
        self.machine.boot()
        self.came_up()

    def came_up(self, seconds: float = BOOT_SECONDS) -> None:
        """Wait for the log-in, and for the service within `seconds` of now.

        A service that did not answer in the boot before is not waited for here.
        """
        dead = self._session > 0 and self.service_seconds is None
        self.client.known.unlink(missing_ok=True)
        self._session += 1
        self._power_on = self.deadline(seconds)
        self.boot_started = time.monotonic()
        self.service_seconds = None
        self._down = "nobody could log in after it was switched on"
        # No demand gives the log-in a time of its own: it has twice the service's.
        self.until(self._can_log_in, 2 * seconds, "log-in over SSH with the customer's key")
        self._down = ""
        if not dead:
            self.service_in_time()

    def service_in_time(self) -> bool:
        """Whether the service answered before this boot's time was over; waits for it."""
        while self.service_seconds is None and self._power_on.remaining() > 0:
            self._look_at_service()
            time.sleep(0.2)
        return self.service_seconds is not None

    def reboot(self) -> None:
        """Restart as an administrator does, and wait until the unit is back."""
        boots = self.machine.boots
        self.ssh("systemctl reboot", hangs_up=True)
        self.until(lambda: self.machine.boots > boots or None, 120, "restart")
        self.came_up()

    def power_cut(self) -> None:
        """Pull the plug."""
        self._down = "it was switched off"
        self.machine.power_cut()

    def until(self, step: Callable[[], T], seconds: float, what: str) -> T:
        """The first true answer of `step`. Raises GuestTimeout, or GuestExited."""
        return until(self.machine, step, seconds, what, every=0.3)

    # -- log-in -------------------------------------------------------------------------------

    def ssh(
        self,
        command: str,
        *,
        seconds: float = 60.0,
        check: bool = True,
        hangs_up: bool = False,
    ) -> Said:
        """Run `command` in root's shell; `hangs_up`: it may take the connection with it.

        A unit that nobody could log into fails at once.
        """
        if self._down:
            raise GuestError(f"{self.machine.name}: {self._down}")
        try:
            answer = self._shell(command, seconds)
        except GuestError:
            if hangs_up:
                return Said("", 255)
            raise
        if check and answer.status:
            raise GuestError(
                f"{command[:80]!r}: status {answer.status}", evidence=answer.text[-2000:]
            )
        return answer

    def _shell(self, command: str, seconds: float) -> Said:
        """One command, its answer framed by sums that are never typed."""
        left, right = secrets.randbelow(10**9), secrets.randbelow(10**9)
        framed = f"exec 2>&1; ( {command}\n); s=$?; echo; echo $(({left}+{right})) $s"
        text = self.client.run("root", framed, seconds, session=str(self._session)).text
        frame = re.search(rf"\n{left + right} (\d+)\n\Z", text)
        if frame is None:
            raise GuestError(f"no shell answered to {command[:60]!r}", evidence=text[-2000:])
        return Said(text[: frame.start()], int(frame[1]))

    def say(self, command: str, seconds: float = 60.0) -> str:
        """The stripped output of a command that has to succeed."""
        return self.ssh(command, seconds=seconds).text.strip()

    def state(self) -> str:
        """What systemd says of the whole system once it has started everything."""
        command = "systemctl is-system-running --wait"
        return self.ssh(command, seconds=240, check=False).text.strip()

    def is_running(self) -> None:
        """[R4]: systemd says `running` of this start, sooner or later."""
        state = self.state()
        if state != "running":
            failed = self.ssh("systemctl --failed --no-legend --plain", check=False).text
            raise AssertionError(f"is-system-running says {state!r} ([R4]): {failed[:500]}")

    def login_text(self) -> str:
        """What a person sees who logs in: a terminal, then `exit`."""
        typed = ["sh", "-c", 'sleep 1; echo exit | "$@"', "sh"]
        return self.client.client(
            [*typed, *self.client.command("root", "-tt", fresh=True)], 60
        ).text

    def host_keys(self) -> dict[str, str]:
        """The keys that the server offers, by kind; a unit has one processor, so one by one."""
        found = self.client.host_keys()
        if not found:
            raise GuestError(f"{self.machine.name}: no host key to be seen")
        return found

    # -- the service --------------------------------------------------------------------------

    def ask(self, *requests: str, seconds: float = 20.0) -> list[str]:
        """One answer a request, over one connection. Raises GuestTimeout when there is none."""
        deadline = self.deadline(seconds)
        answers = self._exchange(SERVICE, requests, deadline.remaining())
        if len(answers) != len(requests):
            raise GuestTimeout(f"{self.machine.name}: {len(answers)} answers to {requests[:3]}")
        return answers

    def answers(self, seconds: float) -> None:
        """Wait until the service answers. Raises GuestTimeout."""
        self.until(self._hello, seconds, f"answer on port {SERVICE}")

    def signature_is(self, key: bytes, text: str) -> bool:
        """Whether the service signs `text` with `key`."""
        wanted = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        return self.ask(f"SIGN {text}") == [f"SIG {wanted}"]

    def put_many(self, prefix: str, seconds: float, least: int) -> dict[str, str]:
        """PUT one record after the other; returns those that were acknowledged.

        For so long, and on until there are `least`: a busy disk takes seconds for a record.
        """
        kept: dict[str, str] = {}
        enough, end = self.deadline(seconds), self.deadline(60.0)
        with (
            contextlib.suppress(TimeoutError),
            self._connect(SERVICE, end.remaining()) as link,
            link.makefile("rb") as lines,
        ):
            while enough.remaining() > 0 or len(kept) < least:
                key, value = f"{prefix}.{len(kept)}", secrets.token_hex(40)
                link.settimeout(max(0.1, end.remaining()))
                link.sendall(f"PUT {key} {value}\n".encode())
                if not lines.readline(200).startswith(b"OK "):
                    break
                kept[key] = value
        return kept

    def hears(self, port: int, text: str, seconds: float = 6.0) -> bool:
        """Whether something that echoes can be reached on a port, from outside."""
        return text in self._exchange(port, [text], self.deadline(seconds).remaining())

    def device_key(self) -> bytes:
        """The service's key, read by the administrator."""
        return bytes.fromhex(self.say("od -An -v -tx1 /data/skerry/device.key").replace("\n", " "))

    # -- inside -------------------------------------------------------------------------------

    def _hello(self) -> bool | None:
        answers = self._exchange(SERVICE, ["HELLO"], 4.0)
        return True if answers and answers[0].startswith("SKERRY ") else None

    def _look_at_service(self) -> None:
        if self.service_seconds is None and self._hello() and self._power_on.remaining() > 0:
            self.service_seconds = time.monotonic() - self.boot_started

    def _can_log_in(self) -> bool | None:
        self._look_at_service()
        if not self.client.greets():  # an attempt too early costs the unit more than it tells us
            return None
        try:
            return True if self._shell("true", 60).status == 0 else None
        except GuestError:
            return None

    def _connect(self, port: int, seconds: float) -> socket.socket:
        return socket.create_connection(self.machine.forward(port), timeout=seconds)

    def _exchange(self, port: int, requests: Sequence[str], seconds: float) -> list[str]:
        return exchange(self.machine.forward(port), requests, seconds)
