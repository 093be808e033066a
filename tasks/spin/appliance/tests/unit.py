"""One unit of the appliance as its customer meets it: over SSH and over its service's port."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import resource
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchflow.boot import GuestError, GuestExited, GuestTimeout, Machine

SERVICE = 7117
BOOT_SECONDS = 90.0  # [R3], reference seconds from power-on to the service's first answer
OUTPUT_MAX = 1 << 20
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What a command on a unit wrote (both streams) and its exit status."""

    text: str
    status: int


class Unit:
    """`machine` with the customer's private key `key`; files of ours go to `folder`."""

    def __init__(self, machine: Machine, key: Path, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.machine = machine
        self._folder = folder
        self.key = folder / "key"
        self.key.write_bytes(key.read_bytes())
        self.key.chmod(0o600)
        self._known = folder / "known_hosts"
        self._log = 0
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
        self._known.unlink(missing_ok=True)
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

    def until(self, step: Callable[[], T | None], seconds: float, what: str) -> T:
        """Call `step` until it returns something. Raises GuestTimeout, or GuestExited."""
        deadline = self.deadline(seconds)
        while True:
            found = step()
            if found is not None:
                return found
            if not self.machine.alive:
                raise GuestExited(f"{self.machine.name} switched itself off")
            if deadline.remaining() <= 0:
                raise GuestTimeout(f"{self.machine.name}: no {what} in {seconds:.0f} s")
            time.sleep(0.3)

    # -- log-in -------------------------------------------------------------------------------

    def ssh(
        self,
        command: str,
        *,
        seconds: float = 60.0,
        check: bool = True,
        hangs_up: bool = False,
    ) -> Answer:
        """Run `command` in root's shell; `hangs_up`: it may take the connection with it.

        A unit that nobody could log into fails at once.
        """
        if self._down:
            raise GuestError(f"{self.machine.name}: {self._down}")
        try:
            answer = self._shell(command, seconds)
        except GuestError:
            if hangs_up:
                return Answer("", 255)
            raise
        if check and answer.status:
            raise GuestError(
                f"{command[:80]!r}: status {answer.status}", evidence=answer.text[-2000:]
            )
        return answer

    def _shell(self, command: str, seconds: float) -> Answer:
        """One command, its answer framed by sums that are never typed."""
        left, right = secrets.randbelow(10**9), secrets.randbelow(10**9)
        framed = f"exec 2>&1; ( {command}\n); s=$?; echo; echo $(({left}+{right})) $s"
        text, _ = self._run([*self._client(), "root@127.0.0.1", framed], seconds)
        frame = re.search(rf"\n{left + right} (\d+)\n\Z", text)
        if frame is None:
            raise GuestError(f"no shell answered to {command[:60]!r}", evidence=text[-2000:])
        return Answer(text[: frame.start()], int(frame[1]))

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
        text, _ = self._run(
            [
                "sh",
                "-c",
                'sleep 1; echo exit | "$@"',
                "sh",
                *self._client("-tt", fresh=True),
                "root@127.0.0.1",
            ],
            60.0,
        )
        return text

    def offered_methods(self, user: str) -> list[str]:
        """What the server offers to somebody without any credentials."""
        options = ["-o", "PreferredAuthentications=none", "-o", "PubkeyAuthentication=no"]
        text, _ = self._run([*self._client(*options, fresh=True), f"{user}@127.0.0.1", "true"], 30)
        refusal = re.search(r"Permission denied \(([^)]*)\)", text)
        assert refusal, f"the server did not refuse {user!r} without a key: {text[-300:]!r}"
        return refusal[1].split(",")

    def key_opens(self, key: Path, user: str = "root") -> bool:
        """Whether a key lets `user` in."""
        text, status = self._run(
            [*self._client(fresh=True, key=key), f"{user}@127.0.0.1", "echo in"], 30
        )
        if status != 0 and "Permission denied" not in text:
            raise GuestError(f"{self.machine.name}: no answer to a log-in", evidence=text[-500:])
        return status == 0

    def host_key(self) -> str:
        """The server's key as the client saw it in this boot."""
        return self._known.read_text().split()[-1]

    def host_keys(self) -> dict[str, str]:
        """The keys that the server offers, by kind; asked one by one, for a unit has one processor.

        A kind that is not there, or whose answer did not come, is left out.
        """
        found: dict[str, str] = {}
        host, port = self.machine.forward(22)
        for kind in ("ed25519", "ecdsa", "rsa"):
            command = ["ssh-keyscan", "-T", "60", "-t", kind, "-p", str(port), host]
            for _ in range(3):
                text, _ = self._run(command, 120.0)
                rows = [row.split() for row in text.splitlines() if row.startswith("[")]
                found |= {row[1]: row[2] for row in rows if len(row) == 3}
                if rows or "onnection" not in text:
                    break
        if not found:
            raise GuestError(f"{self.machine.name}: no host key to be seen", evidence=text[-500:])
        return found

    # -- the service --------------------------------------------------------------------------

    def ask(self, *requests: str, seconds: float = 20.0) -> list[str]:
        """One answer a request, over one connection. Raises GuestTimeout when there is none."""
        deadline = self.deadline(seconds)
        answers = self._exchange(SERVICE, [r.encode() for r in requests], deadline.remaining())
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
        return text in self._exchange(port, [text.encode()], self.deadline(seconds).remaining())

    def device_key(self) -> bytes:
        """The service's key, read by the administrator."""
        return bytes.fromhex(self.say("od -An -v -tx1 /data/skerry/device.key").replace("\n", " "))

    # -- inside -------------------------------------------------------------------------------

    def _hello(self) -> bool | None:
        answers = self._exchange(SERVICE, [b"HELLO"], 4.0)
        return True if answers and answers[0].startswith("SKERRY ") else None

    def _look_at_service(self) -> None:
        if self.service_seconds is None and self._hello() and self._power_on.remaining() > 0:
            self.service_seconds = time.monotonic() - self.boot_started

    def _can_log_in(self) -> bool | None:
        self._look_at_service()
        if not self._greeting():  # an attempt too early costs the unit more than it tells us
            return None
        try:
            return True if self._shell("true", 60).status == 0 else None
        except GuestError:
            return None

    def _greeting(self) -> bool:
        try:
            with self._connect(22, 20.0) as link:
                return link.recv(8).startswith(b"SSH-2.0")
        except OSError:
            return False

    def _connect(self, port: int, seconds: float) -> socket.socket:
        return socket.create_connection(self.machine.forward(port), timeout=seconds)

    def _exchange(self, port: int, requests: Sequence[bytes], seconds: float) -> list[str]:
        answers: list[str] = []
        end = time.monotonic() + seconds
        try:
            with self._connect(port, seconds) as link, link.makefile("rb") as lines:
                for request in requests:
                    link.settimeout(max(0.1, end - time.monotonic()))
                    link.sendall(request + b"\n")
                    line = lines.readline(8192)
                    if not line.endswith(b"\n"):
                        break
                    answers.append(line[:-1].decode(errors="replace"))
        except OSError:
            return answers
        return answers

    def _client(self, *options: str, fresh: bool = False, key: Path | None = None) -> list[str]:
        host, port = self.machine.forward(22)
        assert host == "127.0.0.1"
        known = "/dev/null" if fresh else str(self._known)
        share = ["-o", "ControlPath=none"]
        if not fresh:
            share = [
                "-o", "ControlMaster=auto", "-o", f"ControlPath={self._folder}/{self._session}",
                "-o", "ControlPersist=600", "-o", "ServerAliveInterval=15",
            ]  # fmt: skip
        return [
            "ssh", "-F", "/dev/null", "-p", str(port), "-i", str(key or self.key),
            "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes",
            "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={known}",
            "-o", "GlobalKnownHostsFile=/dev/null", "-o", "HashKnownHosts=no",
            "-o", "UpdateHostKeys=no", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=60",
            *share, *options,
        ]  # fmt: skip

    def _run(self, command: Sequence[str], seconds: float) -> tuple[str, int]:
        self._log += 1
        path = self._folder / f"{self._log}.out"
        deadline = self.deadline(seconds)
        with path.open("wb") as out:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=_limit_output,
            )
            while child.poll() is None:
                left = deadline.remaining()
                if left <= 0 or not self.machine.alive:
                    child.kill()
                    child.wait()
                    break
                try:
                    child.wait(min(left, 0.5))
                except subprocess.TimeoutExpired:
                    continue
        with path.open("rb") as out:
            text = out.read(OUTPUT_MAX).decode(errors="replace").replace("\r\n", "\n")
        path.unlink()
        if child.returncode < 0:
            raise GuestTimeout(f"no end of {command[-1][:60]!r}", evidence=text[-2000:])
        return text, child.returncode


def _limit_output() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))


def holds(path: Path, needles: Sequence[bytes]) -> set[bytes]:
    """Which of `needles` occur anywhere in a sparse file."""
    found: set[bytes] = set()
    overlap = max(map(len, needles)) - 1
    with path.open("rb") as file:
        size, at = os.fstat(file.fileno()).st_size, 0
        while at < size:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break  # nothing but a hole follows
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            at = start
            while at < end:
                chunk = os.pread(file.fileno(), min(8 << 20, end - at) + overlap, at)
                found.update(needle for needle in needles if needle in chunk)
                at += 8 << 20
            at = end
    return found


def digest(path: Path, start: int, size: int) -> str:
    """SHA-256 of a part of a file."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(start)
        while size > 0:
            chunk = file.read(min(8 << 20, size))
            if not chunk:
                break
            total.update(chunk)
            size -= len(chunk)
    return total.hexdigest()
