"""The customer's side of SSH: log-ins with a key, what is offered without one, a host's keys.

Nothing of the verifier's own configuration is read. Output is bounded, and a client is ended with
the machine that it talks to.
"""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchflow.boot import GuestError, GuestTimeout, Machine
from benchflow.boot.inspect.bounded_run import tool

OUTPUT_MAX = 1 << 20
_FILE_MAX = 64 << 20


@dataclass(frozen=True)
class Said:
    """What a client wrote (CR LF as newlines) and its exit status.

    `text` is both streams, unless they were asked for apart: then `errors` is the second.
    """

    text: str
    status: int
    errors: str = ""


class SshClient:
    """Talks to `port` of `machine`. `key` is a private key; files of ours go to `folder`.

    `known`: where the host's keys are noted, a file of `folder` by default; remove it where a host
    may have new ones. A connection is kept and shared between calls with the same `session`.
    """

    def __init__(
        self, machine: Machine, key: Path | None, folder: Path, *, port: int = 22,
        known: Path | None = None,
    ) -> None:  # fmt: skip
        folder.mkdir(exist_ok=True)
        self.machine = machine
        self.port = port
        self.folder = folder
        self.known = known or folder / "known_hosts"
        self._logs = 0
        self.key: Path | None = None
        if key is not None:
            self.key = folder / "key"
            self.key.write_bytes(key.read_bytes())
            self.key.chmod(0o600)

    def run(self, user: str, command: str, seconds: float = 60, *, session: str = "") -> Said:
        """Run a command as `user`; a status of 255 is ssh's own. Raises GuestTimeout."""
        return self.client([*self.command(user, session=session), command], seconds)

    def opens(self, user: str, key: Path, seconds: float = 60) -> bool:
        """Whether a key lets `user` in. Raises GuestError when nobody answers."""
        said = self.client([*self.command(user, fresh=True, key=key), "true"], seconds)
        if said.status and "Permission denied" not in said.text:
            raise GuestError(
                f"{self.machine.name}: no answer to a log-in", evidence=said.text[-500:]
            )
        return said.status == 0

    def offered(self, user: str, seconds: float = 60) -> list[str]:
        """The methods that are offered to somebody without any key. AssertionError when the server
        lets them in, or does not answer."""
        options = ("-o", "PreferredAuthentications=none", "-o", "PubkeyAuthentication=no")
        said = self.client([*self.command(user, *options, fresh=True), "true"], seconds)
        refusal = re.search(r"Permission denied \(([^)]*)\)", said.text)
        assert refusal, f"the server did not refuse {user!r} without a key: {said.text[-300:]!r}"
        return refusal[1].split(",")

    def host_keys(self, kinds: Sequence[str] = ("ed25519", "ecdsa", "rsa")) -> dict[str, str]:
        """The keys that the server offers, by their kind as they name it, asked one by one.

        A kind that is not there, or whose answer did not come in three tries, is left out.
        """
        found: dict[str, str] = {}
        host, port = self.machine.forward(self.port)
        for kind in kinds:
            for _ in range(3):
                command = ["ssh-keyscan", "-T", "60", "-t", kind, "-p", str(port), host]
                text = self.client(command, 120).text
                rows = [row.split() for row in text.splitlines() if row.startswith("[")]
                found |= {row[1]: row[2] for row in rows if len(row) == 3}
                if rows or "onnection" not in text:
                    break
        return found

    def greets(self, seconds: float = 20) -> bool:
        """Whether somebody there speaks SSH 2: QEMU takes connections before anybody listens."""
        try:
            with socket.create_connection(self.machine.forward(self.port), seconds) as link:
                return link.recv(8).startswith(b"SSH-2.0")
        except OSError:
            return False

    def client(self, command: Sequence[str], seconds: float, *, apart: bool = False) -> Said:
        """Any client of ours, until it ends, the machine does, or `seconds` (reference) are over.

        Raises GuestTimeout in the last two cases. `apart`: standard error by itself.
        """
        self._logs += 1
        path, second = (self.folder / f"{self._logs}.{kind}" for kind in ("out", "err"))
        deadline = self.machine.deadline(seconds)
        limited = [tool("prlimit"), f"--fsize={_FILE_MAX}", "--", *command]
        with path.open("wb") as out, second.open("wb") as err:
            child = subprocess.Popen(
                limited, stdin=subprocess.DEVNULL, stdout=out, stderr=err if apart else out,
                start_new_session=True,
            )  # fmt: skip
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
        text, errors = _taken(path), _taken(second)
        if child.returncode < 0:
            raise GuestTimeout(f"no end of {command[-1][:60]!r}", evidence=text[-2000:])
        return Said(text, child.returncode, errors)

    def command(
        self, user: str, *options: str, session: str = "", fresh: bool = False,
        key: Path | None = None,
    ) -> list[str]:  # fmt: skip
        """The words of a client up to `user@host`, to be followed by a command, or by nothing.

        `fresh`: the host's keys are neither known nor noted. `key`: instead of the client's own.
        """
        host, port = self.machine.forward(self.port)
        chosen = key or self.key
        share: tuple[str, ...] = ("-o", "ControlPath=none")
        if session:
            share = (
                "-o", "ControlMaster=auto", "-o", f"ControlPath={self.folder}/{session}",
                "-o", "ControlPersist=600", "-o", "ServerAliveInterval=15",
            )  # fmt: skip
        return [
            "ssh", "-F", "/dev/null", "-p", str(port), *(["-i", str(chosen)] if chosen else []),
            "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes",
            "-o", "StrictHostKeyChecking=no",
            "-o", f"UserKnownHostsFile={'/dev/null' if fresh else self.known}",
            "-o", "GlobalKnownHostsFile=/dev/null", "-o", "HashKnownHosts=no",
            "-o", "UpdateHostKeys=no", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=60",
            *share, *options, f"{user}@{host}",
        ]  # fmt: skip


def _taken(path: Path) -> str:
    with path.open("rb") as file:
        text = file.read(OUTPUT_MAX).decode(errors="replace").replace("\r\n", "\n")
    path.unlink()
    return text
