"""A meter on the bench: switched on, asked, opened with the service key."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import variables
from probes import PROBES

from benchflow.boot import Disk, Machine
from benchflow.boot.inspect import ed25519
from benchflow.boot.machine.shell import Result, Shell

ANSWER = re.compile(r"(?:^|\n)= ([^\n]*)\n")
# The newline before is looked back for: of two lines in a row each counts.
STATE = re.compile(
    r"(?:\A|(?<=\n))UNIT (READY|LOCKED secret|LOCKED key|LOCKED data|REFUSED root)\n"
)
HEX64, HEX128 = re.compile(r"[0-9a-fA-F]{64}"), re.compile(r"[0-9a-fA-F]{128}")
START_SECONDS = 60


def secret() -> bytes:
    """A unit secret: any bytes, and some of those that a shell would lose."""
    return b"\n\0" + secrets.token_bytes(29) + b"\n"


class Bench:
    """Makes meters: a disk, a secret, and a board in which the order's keys are enrolled."""

    def __init__(
        self, machines, lists: dict[str, bytes], service: Callable[[], bytes], work: Path
    ) -> None:
        self._machines = machines
        self._lists = lists
        self._service = service
        self._work = work
        self._made = 0

    def meter(
        self, name: str, disk: Path, unit_secret: bytes | None, *,
        boot_options: bytes = b"", extra_args: Sequence[str] = (),
        programs: Mapping[str, bytes] | None = None,
    ) -> Meter:  # fmt: skip
        further = []
        if unit_secret is not None:
            path = self._work / f"{name}.secret"
            path.write_bytes(unit_secret + secrets.token_bytes(4096 - len(unit_secret)))
            further.append(Disk(path, serial="unit-secret", read_only=True))
        files = {**PROBES, **(programs or {})}
        further.append(Disk.of_files(self._work / f"{name}.bench", files, serial="bench"))
        # The further disks are known by their serial numbers, and not by their places.
        self._made += 1
        disks = [Disk(disk), *(further if self._made % 2 else further[::-1])]
        store = variables.enrolled(
            self._work / f"{name}.fd", self._lists["PK"], self._lists["KEK"], self._lists["db"],
            boot_options,
        )  # fmt: skip
        kind, arguments = variables.board(store)
        # "bios" is a board without flash of its own: `arguments` bring it, with our variables.
        machine = self._machines.create(
            name, firmware="bios", disks=disks, machine_type=kind, vga=False,
            extra_args=[*arguments, *extra_args],
        )  # fmt: skip
        return Meter(machine, self._service, store)


class Meter:
    """`machine` and what is known of it."""

    def __init__(self, machine: Machine, service: Callable[[], bytes], store: Path) -> None:
        self.machine = machine
        self.store = store  # the firmware's variables
        self.id = ""
        self._service = service
        self._inside = False  # a shell of ours is open
        self.given: list[str] = []  # its challenges

    # -- starting -----------------------------------------------------------------------------

    def starts(self) -> str:
        """Switch on; what the meter says of itself within the time allowed."""
        self.machine.boot()
        return self.says()

    def says(self) -> str:
        left = START_SECONDS - self.machine.elapsed
        return self.machine.expect(STATE, timeout=max(1.0, left))[1]

    def states(self) -> list[str]:
        """All that the meter has said of itself since it was switched on first."""
        return [found[1] for found in STATE.finditer(self.machine.console.since(0))]

    def settle(self) -> None:
        """Bring the console to the beginning of a line, and read what was still under way."""
        word = secrets.token_hex(8)
        self.machine.send(f"\nget {word}\n")
        self.machine.expect(r"\n= none\n", timeout=30)

    def ready(self) -> None:
        """Switch on, be ready, and learn the id."""
        state = self.starts()
        assert state == "READY", f"[R6], [R10] want UNIT READY: UNIT {state}"
        self.settle()
        self.id = self.learn_id()

    def ends(self, seconds: float) -> bool:
        """Whether the meter restarts or switches itself off within that time."""
        boots, deadline = self.machine.boots, self.machine.deadline(seconds)
        while self.machine.alive and self.machine.boots == boots:
            if deadline.remaining() <= 0:
                return False
            time.sleep(0.2)
        return True

    # -- the console --------------------------------------------------------------------------

    def ask(self, line: str) -> str:
        """The one answer to a line, without `= `."""
        self.machine.send(line + "\n")
        return self.machine.expect(ANSWER, timeout=10)[1]

    def learn_id(self) -> str:
        said = self.ask("id")
        assert said.startswith("id ") and HEX64.fullmatch(said[3:]), (
            f"[R14] wants '= id ' and 64 hexadecimal digits: {said!r}"
        )
        return said[3:]

    def attests(self, word: str) -> bool:
        """Whether the meter signs for `word` with the key of its id."""
        said = self.ask(f"attest {word}")
        assert said.startswith("attest ") and HEX128.fullmatch(said[7:]), (
            f"[R14] wants '= attest ' and 128 hexadecimal digits: {said!r}"
        )
        text = f"vakt-attest:{word}".encode()
        return ed25519.verify(bytes.fromhex(self.id), text, bytes.fromhex(said[7:]))

    def put(self, name: str, value: str) -> None:
        said = self.ask(f"put {name} {value}")
        assert said == "ok", f"[R14] wants '= ok' for put {name} {value}: {said!r}"

    def get(self, name: str) -> str:
        return self.ask(f"get {name}")

    # -- service ------------------------------------------------------------------------------

    def challenge(self) -> str:
        said = self.ask("challenge")
        assert re.fullmatch(r"challenge [0-9a-fA-F]{32}", said), (
            f"[R14] wants '= challenge ' and 32 hexadecimal digits: {said!r}"
        )
        self.given.append(said[10:])
        return said[10:]

    def signature(self, challenge: str, unit: str | None = None) -> str:
        text = f"vakt-open:{unit or self.id}:{challenge}".encode()
        return ed25519.sign(self._service(), text).hex()

    def open(self, signature: str = "") -> Shell:
        """A shell by the service key."""
        said = self.ask("open " + (signature or self.signature(self.challenge())))
        assert said == "open", f"[R16] wants '= open' for the service key: {said!r}"
        self._inside = True
        return self.machine.attach(timeout=60)

    def refuses(self, attempt: str, why: str, also: str = "refused") -> None:
        """`open` with that is refused; a shell that it gave is left, for the checks that come."""
        said = self.ask("open " + attempt)
        self._inside = said == "open"
        self.to_commands()
        assert said in ("refused", also), f"[R16] wants '= refused', {why}: {said!r}"

    def to_commands(self) -> None:
        """Out of the shell, if one is open, and back to the commands."""
        if self._inside:
            self.machine.send("\nexit\n")
            self._inside = False
            time.sleep(1)
        self.settle()

    def probe(self, name: str) -> int:
        """The error number with which the kernel answers one of the programs on `bench`."""
        return self._asked(name).status

    def sees(self, name: str, missing: int = 0) -> str:
        """What one of the programs on `bench` prints; nothing when it ends with `missing`."""
        result = self._asked(name)
        if missing and result.status == missing:
            return ""
        assert result.status == 0, (
            f"[R16] wants a root shell that runs our programs: {name} ended with {result.status}, "
            f"{result.stdout[-200:]!r}"
        )
        return result.stdout

    def _asked(self, name: str) -> Result:
        mounted = "grep -q ' /mnt ' /proc/mounts"
        find = ('for d in /sys/class/block/*; do [ "$(cat $d/serial 2>/dev/null)" = bench ]'
                " && mount -t ext2 -o ro /dev/${d##*/} /mnt; done")  # fmt: skip
        self.machine.shell.run(f"{mounted} || {find}")
        return self.machine.shell.run(f"/mnt/{name}")
