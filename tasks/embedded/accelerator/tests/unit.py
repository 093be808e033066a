"""A station: a machine with cards, its analyser, and the ways in which checks put questions."""

from __future__ import annotations

import hashlib
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bus import Access, Bus, violations
from kernel_log import against_the_driver

from benchflow.boot import Machine
from benchflow.boot.errors import CheckMisuse
from benchflow.boot.machine.shell import Shell
from benchflow.boot.machine.virtual_machine import BOOT_SECONDS

ROOT = ("root", "skagen-77")
ANNA = ("anna", "tide-4402")
BERT = ("bert", "ebb-1190")
NO_CARD = 3
DENIED = 4
BAD = 2
# Outside the kernel: 4096 out of tree, 8192 unsigned.
TAINTS = 4096 | 8192
STARTS_MAX = 4
LONG = 2_900_000_000  # an operand that takes a card seconds


def factorial(n: int) -> int:
    """n! modulo 2^32."""
    result = 1
    for factor in range(2, min(n, 40) + 1):
        result = result * factor % (1 << 32)
    return result


def text(word: str, lines: int) -> bytes:
    """What `make_text` makes in the guest."""
    return "".join(f"{word}-{i}\n" for i in range(1, lines + 1)).encode()


def make_text(word: str, lines: int) -> str:
    """A command that prints `lines` different lines."""
    return f"seq -f {word}-%g 1 {lines}"


def sha(data: bytes) -> str:
    """As sha256sum prints it."""
    return hashlib.sha256(data).hexdigest()


@dataclass
class Station:
    """One machine. `slots` are the cards' PCI addresses, ascending."""

    machine: Machine
    bus: Bus
    slots: Sequence[str]
    cards: dict[str, str] = field(default_factory=dict)  # PCI address → the bus's name
    session: Shell | None = None
    lost: bool = False
    starts: int = 0

    def start(self, seconds: float = BOOT_SECONDS) -> None:
        """Switch it on, and log root in within this time."""
        self.starts += 1
        self.cards.clear()
        self.bus.cut()
        self.machine.boot()
        self.root(seconds)
        self.say("mkdir -p -m 777 /tmp/jobs && chmod 777 /tmp/jobs")

    def root(self, seconds: float = BOOT_SECONDS) -> Shell:
        """Root's session, which is kept from one question to the next.

        Nobody waits again for a station that once did not come to it: a few checks that do are
        more than the verifier's time on a slow host, and then there is no verdict.
        """
        assert not self.lost, "[R3] root could not log in before"
        if self.starts and not self.machine.alive:
            # What halted the board was judged where it did; the next question needs a station.
            assert self.starts < STARTS_MAX, f"the station went off {self.starts} times"
            self.session = None
            self.start(seconds)
        if self.session is None or self.session.user != ROOT[0] or self.session.over:
            self.lost = True
            self.session = self.machine.login(*ROOT, timeout=seconds)
            self.lost = False
        return self.session

    def as_user(self, user: str, password: str) -> Shell:
        """A person's own log-in at the console; ends root's session."""
        self.session = self.machine.login(user, password)
        return self.session

    def say(self, command: str, seconds: float = 60) -> str:
        """What a command prints for root; it has to succeed."""
        return self.root().run(command, timeout=seconds, check=True).stdout.strip()

    def status(self, command: str, seconds: float = 60) -> int:
        """The exit status of a command of root's."""
        return self.root().run(command, timeout=seconds).status

    def anna(self, command: str, seconds: float = 60) -> str:
        """What a command prints for anna; it has to succeed."""
        return self.say(f"runuser -u anna -- bash -c {shlex.quote(command)}", seconds)

    def anna_status(self, command: str, seconds: float = 60) -> int:
        """The exit status of a command of anna's."""
        return self.status(f"runuser -u anna -- bash -c {shlex.quote(command)}", seconds)

    def come_up(self) -> None:
        """Wait for the state that is asked for after every start."""
        shell = self.root()
        state = shell.run("systemctl is-system-running --wait", timeout=120).stdout.strip()
        failed = shell.run("systemctl --failed --no-legend --plain").stdout
        assert state == "running", f"[R2] comes to say `running`: {state}: {failed}"

    def card(self, address: str) -> str:
        """The analyser's name of the card in a slot: the one that sees our word for that slot."""
        if address not in self.cards:
            word = secrets.randbelow(1 << 32)
            mark = self.bus.mark()
            self.say(f"kvarn -c {address} alive {word:08x}")
            seen = {a.card for a in self.bus.since(mark) if a.write and a.value == word}
            assert len(seen) == 1, f"the word for {address} was seen in {len(seen)} slots"
            name = seen.pop()
            assert name not in self.cards.values(), f"[R19] -c: {address} is another one's card"
            self.cards[address] = name
        return self.cards[address]

    def interrupts(self) -> int:
        """How many the kernel counted for the driver."""
        return int(
            self.say("awk '/kvarn/ {for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i} END {print n+0}' "
                     "/proc/interrupts")
        )  # fmt: skip

    def complaints(self) -> list[str]:
        """What the kernel's log says against the driver, up to now."""
        first = self.say("dmesg | head -n 3")
        assert "Linux version" in first, f"[R6] the log has lost its beginning: {first[:200]!r}"
        lines = self.say("dmesg -r | grep -E '^<[0-4]>' ; dmesg -r | grep -A 4 'cut here'; :")
        return against_the_driver(lines)

    def taints(self) -> int:
        """The kernel's taints beyond those of a module from outside."""
        return int(self.say("cat /proc/sys/kernel/tainted")) & ~TAINTS

    def broken_rules(self, mark: int | None = None) -> list[str]:
        """Of the data sheet, since a mark or in all: the first few, in words."""
        if mark is not None:
            return violations(self.bus.since(mark))[:5]
        return [rule for seen in self.bus.starts() for rule in violations(seen)][:5]


def station(machines, name: str, disk, path: Path, slots: Sequence[str], cpus: int = 1) -> Station:
    """A machine with a card in each of `slots`: a device number on bus 0, or "bridge:<number>"."""
    bus = Bus(path)
    extra: list[str] = list(bus.arguments)
    addresses = []
    for slot in slots:
        where, _, number = slot.rpartition(":")
        if where == "bridge":
            extra += ["-device", "pci-bridge,id=riser,chassis_nr=1,shpc=off,addr=0x1e"]
            extra += ["-device", f"edu,bus=riser,addr=0x{number}"]
        elif where:
            raise CheckMisuse(f"slot {slot!r}")
        else:
            extra += ["-device", f"edu,addr=0x{number}"]
        addresses.append(f"0000:{'01' if where else '00'}:{number}.0")
    machine = machines.create(name, disks=[disk], cpus=cpus, vga=False, extra_args=extra)
    return Station(machine, bus, addresses)


def long_operand() -> int:
    """One that nobody has computed before, worth seconds of a card's time; its factorial is 0."""
    return LONG + secrets.randbelow(1 << 20)


def compile_in(unit: Station, name: str, source: bytes, library: bool = True) -> str:
    """Compile a program on the station as a technician would; returns its path."""
    unit.root().write_file(f"/tmp/{name}.c", source)
    link = " -lkvarn" if library else ""
    unit.say(f"cd /tmp && tcc -o {name} {name}.c{link}", 90)
    return f"/tmp/{name}"


def by_card(accesses: Sequence[Access]) -> dict[str, int]:
    """How many of them each card had."""
    counts: dict[str, int] = {}
    for access in accesses:
        counts[access.card] = counts.get(access.card, 0) + 1
    return counts
