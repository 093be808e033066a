"""PCs of the bench, what they say, and the lanes in which two of them work at any time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from answers import Answers, User, ext2, fat
from lvm import Group

from benchflow.bench.lanes import FIRST_MACHINE, Lanes, Steps, waits
from benchflow.bench.ssh_client import SshClient
from benchflow.boot import Disk, Image

INSTALL_SECONDS = 240.0  # [R3]
START_SECONDS = 120.0  # [R7], [R10]
OFF_SECONDS = 60.0  # [R10]
SSH_SECONDS = 240.0
PROGRESS = re.compile(r"(?m)^QUAY PROGRESS (\d{1,3})\n")
REFUSED = re.compile(r"(?m)^QUAY REFUSED ([a-z-]{1,40})\b")
INSTALLED = re.compile(r"(?m)^QUAY INSTALLED\b")
LOGIN = re.compile(r"(?<!Last )login: ")


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
        with FIRST_MACHINE:
            self.machine = machines.create(
                name, firmware=firmware, disks=list(disks), cdrom=cdrom, nics=[], extra_args=extra,
            )  # fmt: skip
        self.disks = list(disks)
        self.folder = Path(disks[0].path).parent / f"{name}.ssh"
        self.seconds = 0.0
        self.setup_text = ""

    # -- lanes: what waits, piece by piece ----------------------------------------------------

    def until(self, step: Callable[[], Any], seconds: float, what: str) -> Steps:
        """Wait until `step` is true."""
        return waits(self.machine, step, seconds, what)

    def printed(self) -> str:
        """What stood on the serial port since power-on."""
        return str(self.machine.console.since(self._began))

    def last_start(self) -> str:
        return str(self.machine.console.since(self.machine._watch.boot_start))

    def switch_on(self) -> None:
        self._began = self.machine.console.end
        self._boots = self.machine._watch.resets
        with FIRST_MACHINE:
            self.machine.boot()

    def is_through(self) -> Steps:
        """Switch on; wait until the setup is through and the machine has restarted."""
        self.switch_on()
        yield from self.until(self._restarted, 1.2 * INSTALL_SECONDS, "end of the installation")
        self.seconds = self.machine.elapsed
        text = self.printed()
        end = INSTALLED.search(text)
        self.setup_text = text[: end.end()] if end else text

    def installs(self) -> Steps:
        """The same; wait until a login is there, too."""
        yield from self.is_through()
        yield from self.logs_in()

    def logs_in(self) -> Steps:
        yield from self.until(lambda: LOGIN.search(self.last_start()), START_SECONDS, "login")

    def cut_at(self, percent: int) -> Steps:
        """Switch on; cut the power at some point after this much progress."""
        self.switch_on()
        yield from self.until(
            lambda: max([-1, *self.progress()]) >= percent, INSTALL_SECONDS, f"{percent} %"
        )
        self.machine.power_cut()
        assert not INSTALLED.search(self.printed()), "it was through before the power went"

    def refuses(self) -> Steps:
        """Switch on; wait until the machine has switched itself off."""
        self.switch_on()
        yield from self.until(
            lambda: not self.machine.alive, 1.2 * START_SECONDS, "refusal that ends in a power-off"
        )
        self.seconds = self.machine.elapsed

    def _restarted(self) -> bool:
        through = INSTALLED.search(self.printed())
        return bool(through) and self.machine._watch.resets > self._boots

    def progress(self) -> list[int]:
        return [int(n) for n in PROGRESS.findall(self.printed())]

    def reason(self) -> str:
        found = set(REFUSED.findall(self.printed()))  # said twice is said
        return found.pop() if len(found) == 1 else f"{len(found)} refusals"

    # -- questions ----------------------------------------------------------------------------

    def say(self, user: User, command: str, seconds: float = 60.0) -> str:
        """What a command prints that is run on the serial port; it has to succeed."""
        shell = self.machine.login(user.name, user.password, timeout=START_SECONDS)
        return str(shell.run(command, timeout=seconds, check=True).stdout.strip())

    def ssh(self, user: User, command: str, known: Path) -> str:
        """What a command prints by SSH; the host's key is written to `known`."""
        client = self._client(known, user.key)
        words = client.command(user.name, "-T", "-o", "HostKeyAlgorithms=ssh-ed25519")
        said = client.client([*words, command], SSH_SECONDS, apart=True)
        assert said.status == 0, f"ssh: {said.errors[-300:]!r}"
        return said.text[:65536].strip()

    def notes_key(self, known: Path) -> None:
        """Write the host's Ed25519 key to `known`, unless a log-in has done so."""
        if not known.exists():
            keys = self._client(known).host_keys(("ed25519",))
            known.write_text("".join(f"{kind} {key}\n" for kind, key in keys.items()))

    def opens(self, user: User, key: Path) -> bool:
        """Whether a key lets somebody in by SSH."""
        return self._client(None).opens(user.name, key, SSH_SECONDS)

    def offered(self, user: str) -> list[str]:
        """What its SSH offers to somebody without any key."""
        return self._client(None).offered(user, SSH_SECONDS)

    def greets(self) -> bool:
        """Whether its SSH says which version it speaks."""
        return self._client(None).greets(10)

    def _client(self, known: Path | None, key: Path | None = None) -> SshClient:
        return SshClient(self.machine, key, self.folder, known=known)

    def leave(self) -> bool:
        """The power button; what does not obey within [R10]'s time is cut off, and False."""
        return self.machine.alive and self.machine.shutdown(OFF_SECONDS)

    def copy(self, index: int) -> Path:
        return Path(self.machine.flatten(index))


class Bench(Lanes):
    """What the lanes leave behind: by name, PCs, disks and facts, or why there are none."""

    def __init__(self, machines: Any, medium: Callable[[], Path], work: Path) -> None:
        super().__init__(machines.close)
        self.machines, self.medium, self.work = machines, medium, work

    def forgets(self, copy: str) -> None:
        """A copy of a disk that nobody asks any more: together they fill the verifier's."""
        if copy in self.facts:
            Path(self.facts[copy]).unlink(missing_ok=True)

    def volume(self, name: str, answers: Answers, *, as_fat: bool = False, old: str = "") -> Path:
        """A disk with these answers, and with a report of an earlier start."""
        files = answers.files() | ({"report.txt": old.encode()} if old else {})
        return (fat if as_fat else ext2)(self.work / f"{name}.answers", files)


def root_files(bench: Bench, disk: Path, said: Answers, name: str) -> Any:
    """The root file system on an installed disk, read from outside; once for each disk."""
    key = f"files {disk}"
    if key not in bench.facts:
        volume = next(v.name for v in said.volumes if v.mount == "/")
        bench.facts[key] = Image(Group(disk).copy(volume, bench.work / f"{name}.root")).ext4()
    return bench.facts[key]
