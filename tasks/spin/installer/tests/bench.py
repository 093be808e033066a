"""PCs of the bench, what they say, and the lanes in which two of them work at any time."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from answers import Answers, User, ext2, fat, run
from lvm import Group

from benchflow.boot import (
    BootError,
    Disk,
    GuestError,
    GuestExited,
    GuestTimeout,
    Image,
    VerifierBroken,
)

INSTALL_SECONDS = 240.0  # [R3]
START_SECONDS = 120.0  # [R7], [R10]
OFF_SECONDS = 60.0  # [R10]
PROGRESS = re.compile(r"(?m)^QUAY PROGRESS (\d{1,3})\n")
REFUSED = re.compile(r"(?m)^QUAY REFUSED ([a-z-]{1,40})\b")
LOGIN = re.compile(r"(?<!Last )login: ")
_MIB = 1 << 20

#: What a lane yields while it waits.
Lane = Generator[None, None, None]

#: What all machines have in common (the host's speed, the loop that reads their consoles) is made
#: by the first one, and was not written for two that are the first.
_ONE_BY_ONE = threading.Lock()


def digest(path: Path) -> str:
    """Of a disk's bytes; stretches of zeros count for nothing, and holes are not even read."""
    state, zeros = hashlib.blake2b(), bytes(_MIB)
    # Two of them: what one has buffered lies at a place that the other's search does not move.
    with path.open("rb") as file, path.open("rb", buffering=0) as holes:
        size, at = holes.seek(0, os.SEEK_END), 0
        while at < size:
            try:
                found = holes.seek(at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                break  # a hole up to the end
            at = found - found % _MIB
            file.seek(at)
            data = file.read(_MIB)
            if data != zeros[: len(data)]:
                state.update(at.to_bytes(8, "big") + data)
            at += _MIB
    return f"{size} {state.hexdigest()}"


def blank(path: Path, megabytes: int) -> Path:
    with path.open("wb") as file:
        file.truncate(megabytes << 20)
    return path


def filled(path: Path, megabytes: int) -> Path:
    """Somebody else's disk: an ext4 of theirs."""
    tree = path.with_suffix(".tree")
    tree.mkdir()
    (tree / "diary").write_bytes(secrets.token_bytes(1 << 16))
    run("mke2fs", "-q", "-t", "ext4", "-L", "owner", "-d", str(tree), str(path), f"{megabytes}M")
    return path


def serial() -> str:
    return secrets.token_hex(6).upper()


class Pc:
    """A machine of the bench. `disks` are tried by the firmware in this order, then the drive."""

    def __init__(
        self,
        machines: Any,
        name: str,
        *,
        firmware: str = "bios",
        disks: Sequence[Disk] = (),
        cdrom: Path | None = None,
        network: str = "",
        host: str = "",
    ) -> None:
        extra: list[str] = []
        if network:  # a line of the answers' own numbers; port 22 is reached by us alone
            dhcp = f",dhcpstart={host}" if host else ""
            extra = [
                "-netdev",
                f"user,id=line,restrict=on,net={network}{dhcp},hostfwd=tcp:127.0.0.1:0-{host}:22",
                "-device",
                "virtio-net-pci,netdev=line,romfile=",
            ]
        with _ONE_BY_ONE:
            self.machine = machines.create(
                name, firmware=firmware, disks=list(disks), cdrom=cdrom, nics=[], extra_args=extra,
            )  # fmt: skip
        self.disks = list(disks)
        self.seconds = 0.0
        self.setup_text = ""

    # -- lanes: what waits, piece by piece ----------------------------------------------------

    def until(self, step: Callable[[], Any], seconds: float, what: str) -> Lane:
        """Wait until `step` is true."""
        deadline = self.machine.deadline(seconds)
        while not step():
            if not self.machine.alive:
                if step():
                    return
                raise GuestExited(f"{self.machine.name} switched itself off: no {what}")
            if deadline.remaining() <= 0:
                # Nobody asks it anything more, and it would go on beside all that is started later.
                self.machine.close()
                raise GuestTimeout(f"{self.machine.name}: no {what} in {seconds:.0f} s")
            yield

    def printed(self) -> str:
        """What stood on the serial port since power-on."""
        return str(self.machine.console.since(self._began))

    def last_start(self) -> str:
        return str(self.machine.console.since(self.machine._watch.boot_start))

    def switch_on(self) -> None:
        self._began = self.machine.console.end
        self._boots = self.machine._watch.resets
        with _ONE_BY_ONE:
            self.machine.boot()

    def installs(self) -> Lane:
        """Switch on; wait until the setup is through and a login is there after a restart."""
        self.switch_on()
        yield from self.until(self._restarted, 1.2 * INSTALL_SECONDS, "end of the installation")
        self.seconds = self.machine.elapsed
        text = self.printed()
        self.setup_text = text[: text.find("QUAY INSTALLED") + len("QUAY INSTALLED")]
        yield from self.logs_in()

    def logs_in(self) -> Lane:
        yield from self.until(lambda: LOGIN.search(self.last_start()), START_SECONDS, "login")

    def cut_at(self, percent: int) -> Lane:
        """Switch on; cut the power at some point after this much progress."""
        self.switch_on()
        yield from self.until(
            lambda: max([-1, *self.progress()]) >= percent, INSTALL_SECONDS, f"{percent} %"
        )
        self.machine.power_cut()
        assert "QUAY INSTALLED" not in self.printed(), "it was through before the power went"

    def refuses(self) -> Lane:
        """Switch on; wait until the machine has switched itself off."""
        self.switch_on()
        yield from self.until(
            lambda: not self.machine.alive, 1.2 * START_SECONDS, "refusal that ends in a power-off"
        )
        self.seconds = self.machine.elapsed

    def _restarted(self) -> bool:
        return "\nQUAY INSTALLED\n" in self.printed() and self.machine._watch.resets > self._boots

    def progress(self) -> list[int]:
        return [int(n) for n in PROGRESS.findall(self.printed())]

    def reason(self) -> str:
        found = REFUSED.findall(self.printed())
        return found[0] if len(found) == 1 else f"{len(found)} refusals"

    # -- questions ----------------------------------------------------------------------------

    def say(self, user: User, command: str, seconds: float = 60.0) -> str:
        """What a command prints that is run on the serial port; it has to succeed."""
        shell = self.machine.login(user.name, user.password, timeout=START_SECONDS)
        return str(shell.run(command, timeout=seconds, check=True).stdout.strip())

    def ssh(self, user: User, command: str, known: Path) -> str:
        """What a command prints by SSH; the host's key is written to `known`."""
        host, port = self.machine.forward(22)
        done = subprocess.run(
            ["ssh", "-F", "/dev/null", "-p", str(port), "-i", str(user.key), "-T",
             "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
             "-o", "StrictHostKeyChecking=accept-new",
             "-o", f"UserKnownHostsFile={known}", "-o", "GlobalKnownHostsFile=/dev/null",
             "-o", "HostKeyAlgorithms=ssh-ed25519", "-o", "ConnectTimeout=60",
             f"{user.name}@{host}", command],
            capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=240,
        )  # fmt: skip
        assert done.returncode == 0, f"ssh: {done.stderr[-300:]!r}"
        return done.stdout[:65536].decode(errors="replace").strip()

    def notes_key(self, known: Path) -> None:
        """Write the host's Ed25519 key to `known`, unless a log-in has done so."""
        if known.exists():
            return
        host, port = self.machine.forward(22)
        done = subprocess.run(
            ["ssh-keyscan", "-T", "60", "-t", "ed25519", "-p", str(port), host],
            capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=240,
        )  # fmt: skip
        known.write_bytes(done.stdout[:4096])

    def offered(self, user: str) -> str:
        """What its SSH offers to somebody without any key."""
        host, port = self.machine.forward(22)
        done = subprocess.run(
            ["ssh", "-F", "/dev/null", "-p", str(port), "-o", "PreferredAuthentications=none",
             "-o", "PubkeyAuthentication=no", "-o", "BatchMode=yes",
             "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
             "-o", "GlobalKnownHostsFile=/dev/null", "-o", "ConnectTimeout=60",
             f"{user}@{host}", "true"],
            capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=240,
        )  # fmt: skip
        said = done.stderr[-2000:].decode(errors="replace")
        found = re.search(r"Permission denied \(([^)]*)\)", said)
        return found[1] if found else f"no refusal: {said[-200:]!r}"

    def greets(self) -> bool:
        """Whether its SSH says which version it speaks."""
        try:
            with socket.create_connection(self.machine.forward(22), 10) as line:
                return line.recv(64).startswith(b"SSH-")
        except OSError:
            return False

    def leave(self) -> bool:
        """The power button; what does not obey within [R10]'s time is cut off, and False."""
        return self.machine.alive and self.machine.shutdown(OFF_SECONDS)

    def copy(self, index: int) -> Path:
        return Path(self.machine.flatten(index))


class Bench:
    """What the lanes leave behind: by name, PCs, disks and facts, or why there are none.

    Each lane has a thread of its own, and a PC, which takes one thread at a time, is its lane's for
    as long as that goes on.
    """

    def __init__(self, machines: Any, medium: Callable[[], Path], work: Path) -> None:
        self.machines, self.medium, self.work = machines, medium, work
        self.facts: dict[str, Any] = {}
        self.failed: dict[str, str] = {}
        self._raised: dict[str, Exception] = {}
        self._lanes: dict[str, threading.Thread] = {}
        self._over: set[str] = set()
        self._closed = False

    def __getitem__(self, name: str) -> Any:
        if name not in self.facts:
            why = (
                "; ".join(f"{lane}: {text}" for lane, text in list(self.failed.items()))
                or "it was not reached"
            )
            raise GuestError(f"there is no {name}: {why}")
        return self.facts[name]

    def volume(self, name: str, answers: Answers, *, as_fat: bool = False, old: str = "") -> Path:
        """A disk with these answers, and with a report of an earlier start."""
        files = answers.files() | ({"report.txt": old.encode()} if old else {})
        return (fat if as_fat else ext2)(self.work / f"{name}.answers", files)

    def start(self, **lanes: Lane) -> None:
        """Let these lanes go, each once; `failed` says which ended in an error."""
        new = {
            name: threading.Thread(target=self._go, args=(name, steps), name=name, daemon=True)
            for name, steps in lanes.items()
            if name not in self._lanes
        }
        self._lanes.update(new)  # all of them, before the first one asks for another
        for thread in new.values():
            thread.start()

    def _go(self, lane: str, steps: Lane) -> None:
        try:
            for _ in steps:
                if self._closed:
                    return
                time.sleep(0.5)
        except VerifierBroken as error:
            self._raised[lane] = error
        except (BootError, AssertionError) as error:
            self.failed[lane] = str(error)[:300]
        except Exception as error:
            self._raised[lane] = error
        finally:
            self._over.add(lane)

    def is_over(self, lane: str) -> bool:
        return lane in self._over or lane not in self._lanes

    def after(self, lane: str, fact: str = "") -> Lane:
        """Wait in a lane until another one is over, or has left this fact."""
        while not (self.is_over(lane) or fact in self.facts):
            yield

    def wait(self, lane: str, fact: str = "") -> None:
        """Wait in a check until a lane is over, or has left this fact.

        Raises what is no fault of the deliverable's: the verifier's of all lanes, else this one's.
        """
        while not (self.is_over(lane) or fact in self.facts):
            time.sleep(0.1)
        for name, error in list(self._raised.items()):
            if isinstance(error, VerifierBroken) or (name == lane and fact not in self.facts):
                raise error

    def close(self) -> None:
        """Switch everything off, and wait until the lanes have seen it."""
        self._closed = True
        try:
            with _ONE_BY_ONE:
                self.machines.close()
        finally:
            for thread in self._lanes.values():
                thread.join(60)


def root_files(bench: Bench, disk: Path, said: Answers, name: str) -> Any:
    """The root file system on an installed disk, read from outside; once for each disk."""
    key = f"files {disk}"
    if key not in bench.facts:
        volume = next(v.name for v in said.volumes if v.mount == "/")
        bench.facts[key] = Image(Group(disk).copy(volume, bench.work / f"{name}.root")).ext4()
    return bench.facts[key]
