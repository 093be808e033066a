"""The customer's unit on the bench: how it is wired, asked and watched."""

from __future__ import annotations

import re
import secrets
import socket
import time
from dataclasses import dataclass

from benchflow.boot import Disk, GuestError, GuestTimeout, LoginFailed, Machine

ORDER = "k7q2-94d1ef"
RELEASE = f"6.1.176-{ORDER}"
LOADER = "/lib/ld-musl-x86_64.so.1"
ROOT = ("root", "Quarry-Lamp-52")
CLERK = ("clerk", "Tin-Ferry-38")
SERVICES = ("dhcp", "klogd", "ledgerd", "power", "syslogd")
PORT = 7070


@dataclass(frozen=True)
class Lan:
    """A network that no image can know: drawn anew for each verification."""

    prefix: str
    width: int
    address: str
    router: str
    server: str
    name: str

    @classmethod
    def draw(cls) -> Lan:
        prefix = f"10.{1 + secrets.randbelow(254)}.{1 + secrets.randbelow(254)}"
        width = 24 + secrets.randbelow(3)
        last = 16 + secrets.randbelow((1 << (32 - width)) - 40)
        router, server = 2 + secrets.randbelow(6), 8 + secrets.randbelow(7)
        return cls(
            prefix, width, f"{prefix}.{last}", f"{prefix}.{router}", f"{prefix}.{server}",
            f"u{secrets.token_hex(4)}",
        )  # fmt: skip

    def arguments(self, card: str, *, named: bool = True) -> list[str]:
        """The network card of a machine, with DHCP and the ledger's port forwarded."""
        backend = (
            f"user,id=bench,net={self.prefix}.0/{self.width},dhcpstart={self.address},"
            f"host={self.router},dns={self.server},hostfwd=tcp:127.0.0.1:0-:{PORT}"
        )
        if named:
            backend += f",hostname={self.name}"
        return ["-netdev", backend, "-device", f"{card},netdev=bench"]


def board_a(machines, name: str, image, lan: Lan, *, named: bool = True) -> Machine:
    """The first board: virtio disk and network."""
    return machines.create(
        name, disks=[Disk(image)], rng=False,
        extra_args=lan.arguments("virtio-net-pci", named=named),
    )  # fmt: skip


def board_b(machines, name: str, image, lan: Lan) -> Machine:
    """The second board: SATA disk, Intel network."""
    return machines.create(
        name, machine_type="q35", disks=[Disk(image, bus="sata")], rng=False,
        extra_args=lan.arguments("e1000"),
    )  # fmt: skip


def until(machine: Machine, seconds: float, question):
    """The first true answer of `question()` within reference seconds; its last answer otherwise."""
    # No difference of `elapsed`: a machine on its way off has lost what it waited for the host.
    deadline = machine.deadline(seconds)
    while True:
        late = deadline.remaining() <= 0
        answer = question()
        if answer or late or not machine.alive:
            return answer
        time.sleep(0.3)


def on(machine: Machine) -> Machine:
    """The machine, switched on if it is off."""
    return machine if machine.alive else machine.boot()


class Ledger:
    """A client of ledgerd over the forwarded port."""

    def __init__(self, machine: Machine, seconds: float = 60) -> None:
        self.machine = on(machine)
        self._socket: socket.socket | None = None
        self._buffer = b""
        start = (machine.name, machine.boots)
        # Who was waited for in vain once in a start is not waited for again.
        seconds = 1 if start in _silent else seconds
        # QEMU accepts for a guest that does not listen yet, so only an answer is a connection.
        answers = until(machine, seconds, self._connected)
        if not answers and start not in _answered:
            _silent.add(start)
        assert answers, (
            f"COUNT on TCP port {PORT} is not answered within {seconds:g} seconds: "
            '"`ledgerd` does what its `MANUAL` says" [R30]'
        )
        _answered.add(start)

    def _connected(self) -> bool:
        self.close()
        try:
            self._socket = socket.create_connection(self.machine.forward(PORT), timeout=10)
            self._socket.settimeout(30)
            if not self.ask("COUNT").startswith("COUNT "):
                return False
            # From here on a silence is a busy host's disk: what it is given is no demand's limit.
            self._socket.settimeout(300)
            return True
        except OSError:
            return False

    def ask(self, line: str) -> str:
        return self.ask_all([line])[0]

    def ask_all(self, lines: list[str]) -> list[str]:
        """Send many lines at once, then read as many answers."""
        assert self._socket is not None
        self._socket.sendall("".join(f"{line}\n" for line in lines).encode())
        return [self._line() for _ in lines]

    def _line(self) -> str:
        assert self._socket is not None
        while b"\n" not in self._buffer:
            if len(self._buffer) > 65536:
                raise ConnectionError("a line without end")
            data = self._socket.recv(4096)
            if not data:
                raise ConnectionError("closed by the unit")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("latin-1").rstrip("\r")

    def who(self) -> dict[str, str]:
        return dict(re.findall(r"(\w+)=(\S+)", self.ask("WHO")))

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._buffer = None, b""


#: Starts of machines: in which nobody could log in, somebody could, ledgerd never answered, did.
_shut: set[tuple[str, int]] = set()
_entered: set[tuple[str, int]] = set()
_silent: set[tuple[str, int]] = set()
_answered: set[tuple[str, int]] = set()
LOGIN_SECONDS = 300


def root(machine: Machine):
    """root's shell. A start in which nobody could log in is not waited for a second time."""
    start = (on(machine).name, machine.boots)
    assert start not in _shut, "root could not log in when it was tried before [R20]"
    try:
        shell = machine.login(*ROOT, timeout=LOGIN_SECONDS)
    except (GuestTimeout, LoginFailed):
        if start not in _entered:
            _shut.add(start)
        raise
    _entered.add(start)
    return shell


def clerk(machine: Machine):
    """clerk's shell."""
    root(machine)
    return machine.login(*CLERK)


def refuses(machine: Machine, user: str, password: str) -> bool:
    """Whether a login does not come about."""
    try:
        machine.login(user, password, timeout=30)
    except GuestError:
        return True
    return False


def said(machine: Machine, path: str) -> str:
    """The text of a file of the unit."""
    return root(machine).run(f"cat {path}", check=True).stdout


def services(machine: Machine) -> dict[str, tuple[str, int]]:
    """What `svc status` says: name to (state, pid or 0)."""
    text = root(machine).run("svc status", check=True).stdout
    found = re.findall(r"^(\S+)[ \t]+(up|down|failed)[ \t]+(\d+|-)\s*$", text, re.MULTILINE)
    return {name: (state, 0 if pid == "-" else int(pid)) for name, state, pid in found}


def running(machine: Machine, name: str) -> int:
    """The pid of a service that is up and really runs, or 0."""
    state, pid = services(machine).get(name, ("", 0))
    if state != "up" or not pid:
        return 0
    return pid if root(machine).run(f"kill -0 {pid}").status == 0 else 0


def messages(machine: Machine, pattern: str) -> list[str]:
    """The lines of the system log, rotated parts too, that match an extended expression.

    The parts in the order in which they were last written; where all lines carry the traditional
    stamp, the lines by that, since two parts may be of one second.
    """
    quoted = "'" + pattern.replace("'", "'\\''") + "'"
    found = root(machine).run(f"cat $(ls -tr /data/log/*) | grep -aE {quoted}", timeout=60).stdout
    lines = found.splitlines()
    stamps = [_stamp(line) for line in lines]
    return sorted(lines, key=_stamp) if all(stamps) else lines


def _stamp(line: str) -> tuple[int, ...]:
    """Month, day and time of a line of the traditional form; () for any other line."""
    try:
        # A leap year, or 29 February could not be read.
        return tuple(time.strptime(f"2000 {line[:15]}", "%Y %b %d %H:%M:%S"))[:6]
    except ValueError:
        return ()


def mounts(machine: Machine) -> dict[str, tuple[str, frozenset[str], str]]:
    """Mount point to (type, options, device), the last mount on a point first in force."""
    rows = [line.split() for line in said(machine, "/proc/mounts").splitlines()]
    return {row[1]: (row[2], frozenset(row[3].split(",")), row[0]) for row in rows if len(row) > 3}


def mounted(machine: Machine) -> dict[str, tuple[str, frozenset[str], str]]:
    """Mount point to (number of its device, options of this mount alone, type)."""
    found = {}
    for line in said(machine, "/proc/self/mountinfo").splitlines():
        first, _, rest = line.partition(" - ")
        _, _, device, _, point, options, *_ = first.split()
        found[point] = (device, frozenset(options.split(",")), rest.split()[0])
    return found


def partition_of(machine: Machine, point: str) -> int:
    """The number of the partition that is mounted there, 0 for none."""
    device = mounted(machine)[point][0]
    for row in map(str.split, said(machine, "/proc/partitions").splitlines()):
        if row[:2] == device.split(":"):
            number = re.search(r"\d+$", row[3])
            return int(number[0]) if number else 0
    return 0


def uptime(machine: Machine) -> float:
    """The guest's own seconds since its start."""
    return float(said(machine, "/proc/uptime").split()[0])


def logged(shell, text: str) -> None:
    shell.run(f"logger -t bench {text}", check=True)
