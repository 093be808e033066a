"""A unit: its machine, its console, its ports."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, replace
from pathlib import Path

from ordered import (
    AXES,
    FIRMWARE,
    MOUNT,
    OTHER_PORT,
    PROGRAM,
    SECOND_PORT,
    SSH_PORT,
    has,
    mark,
)  # fmt: skip

from benchflow.bench import line_service
from benchflow.bench.guest import Guest
from benchflow.boot import CheckMisuse, Disk, Machine, Nic

#: Reference seconds: what a start may take, by the order, and for the login that follows.
START, LOGIN = 120, 60
DISKS = {"virtio": "virtio", "nvme": "nvme", "scsi": "scsi"}


@dataclass(frozen=True)
class Hardware:
    """What a unit is made of beside its disk."""

    bus: str = "virtio"
    card: str = "virtio-net-pci"
    mac: str = ""
    asset: str = ""
    """The chassis': the hash of root's password, where that is asked for."""
    jumper: str = ""
    clock: str = ""


def ordered_hardware(asset: str) -> Hardware:
    return Hardware(
        bus=AXES["bus"] if has("bus") else "virtio",
        card="vmxnet3" if has("card") else "virtio-net-pci",
        mac=new_mac(),
        asset=asset if has("hash-from-board") else "",
    )


def new_mac() -> str:
    return "52:54:00:" + secrets.token_bytes(3).hex(":")


def words(hardware: Hardware) -> list[str]:
    """What QEMU is told of the board."""
    found = []
    if hardware.asset:
        found += ["-smbios", f"type=3,asset={hardware.asset}"]
    if hardware.jumper:
        found += ["-smbios", f"type=2,asset={hardware.jumper}"]
    if hardware.clock:
        found += ["-rtc", f"base={hardware.clock}"]
    return found


def cable(hardware: Hardware, ports: list[int]) -> dict:
    """The card, for a machine; where its address is fixed, ports lead to that one."""
    if not has("static"):
        return {"nics": [Nic(model=hardware.card, forwards=ports, mac=hardware.mac)]}
    network, address, gateway = AXES["net"].split()
    doors = "".join(f",hostfwd=tcp:127.0.0.1:0-{address}:{port}" for port in ports)
    return {
        "extra_args": [
            "-netdev", f"user,id=site,net={network},host={gateway},restrict=on{doors}",
            "-device", f"{hardware.card},netdev=site,mac={hardware.mac}",
        ]
    }  # fmt: skip


class Unit(Guest):
    """`port` is the service's. `loader`: what the board's loader read, where it has one."""

    def __init__(self, machine: Machine, password: str, port: int, hardware: Hardware) -> None:
        super().__init__(machine, password, login_seconds=START + LOGIN)
        self.port, self.hardware = port, hardware

    @classmethod
    def create(
        cls, create, name: str, disk: Path, hardware: Hardware, loader: dict, password: str,
        port: int, site: Path | None,
    ) -> Unit:  # fmt: skip
        ports = [port, SECOND_PORT, SSH_PORT, OTHER_PORT]
        told = cable(hardware, ports)
        extra = told.pop("extra_args", []) + words(hardware)
        disks = [Disk(disk, bus=DISKS[hardware.bus])]
        if site:
            disks.append(Disk(site, bus=DISKS[hardware.bus], read_only=True))
        machine = create(
            name, firmware=FIRMWARE, disks=disks, vga=False, extra_args=extra, **told, **loader
        )
        return cls(machine, password, port, hardware)

    # -- life -------------------------------------------------------------------------------------

    def log_in(self, seconds: float) -> None:
        self.through_panics(super().log_in, seconds)

    def logged_in(self) -> bool:
        """Whether a shell of root's answers on the console."""
        try:
            return self.machine.shell.usable()
        except CheckMisuse:  # nobody has logged in since the start
            return False

    def cut(self) -> None:
        """The power goes."""
        if self.machine.alive:
            self.machine.power_cut()

    def cut_and_start(self) -> None:
        self.cut()
        self.start()

    def go_off(self) -> None:
        """`poweroff`, called by root."""
        self.power_off(60)

    def starts_by_itself(self, before: int, seconds: float, what: str) -> None:
        """Wait for a restart that nobody but the unit asked for, and log in."""
        deadline = self.machine.deadline(seconds)
        while self.machine.boots == before:
            assert self.machine.alive, f"the unit is off after {what}"
            assert deadline.remaining() > 0, f"no restart in {seconds:g} s after {what}"
            time.sleep(0.2)
        self.enter()

    # -- the service ------------------------------------------------------------------------------

    def ask(self, *lines: str, port: int = 0, seconds: float = START) -> list[str]:
        """What the service answers; GuestTimeout where it does not, in reference seconds."""
        first = [f"word {AXES['word']}"] if has("service-word") else []
        got = line_service.ask(self.machine, port or self.port, *first, *lines, seconds=seconds)
        return got[len(first) :]

    def tries(self, *lines: str, port: int = 0, wait: float = 4) -> list[str]:
        """One try, of `wait` real seconds; a list that is too short where nobody answers."""
        first = [f"word {AXES['word']}"] if has("service-word") else []
        address = self.machine.forward(port or self.port)
        return line_service.exchange(address, [*first, *lines], wait)[len(first) :]

    def serves(self, port: int = 0, seconds: float = START) -> None:
        """It is our service that answers."""
        text = secrets.token_hex(8)
        (got,) = self.ask(f"mark {text}", port=port, seconds=seconds)
        assert got == mark(text), f"mark was answered by {got!r}, not {mark(text)!r}"

    def store(self, count: int = 3, port: int = 0) -> dict[str, str]:
        """New records; what they are."""
        rows = {secrets.token_hex(4): secrets.token_hex(6) for _ in range(count)}
        got = self.ask(*(f"put {key} {value}" for key, value in rows.items()), port=port)
        assert got == ["ok"] * count, f"put was answered by {got}"
        return rows

    def knows(self, rows: dict[str, str], port: int = 0, what: str = "") -> None:
        got = self.ask(*(f"get {key}" for key in rows), port=port)
        wanted = [f"value {value}" for value in rows.values()]
        assert got == wanted, f"{what}: records are {got}, not {wanted}"

    def is_empty(self, what: str, port: int = 0) -> None:
        (got,) = self.ask("count", port=port)
        assert got == "count 0", f"{what}: the service says {got!r}"

    def processes(self) -> dict[str, str]:
        """The service's, and the ports that they were told."""
        said = self.say(
            "for p in /proc/[0-9]*; do "
            f'[ "$(readlink $p/exe)" = {PROGRAM} ] || continue; '
            "echo ${p#/proc/} $(tr '\\0' ' ' < $p/cmdline); done; true"
        )
        found = {}
        for row in said.splitlines():
            number, *line = row.split()
            port = line[line.index("-p") + 1] if "-p" in line[:-1] else ""
            if number.isdigit():
                found[number] = port
        return found

    def process(self, port: int = 0) -> str:
        """The number of the service's process."""
        wanted = str(port or self.port)
        found = [number for number, told in self.processes().items() if told == wanted]
        assert len(found) == 1, f"{len(found)} processes are {PROGRAM} -p {wanted}"
        return found[0]

    # -- files ------------------------------------------------------------------------------------

    def text(self, path: str) -> str:
        """A small file that has to be there."""
        done = self.run(f"cat {path}")
        assert done.status == 0, f"{path} cannot be read: {done.stdout[-200:]!r}"
        return done.stdout

    def mounted(self, place: str) -> tuple[str, set[str]]:
        """The kind of file system that is mounted last on a place, and its words."""
        rows = [row.split() for row in self.text("/proc/mounts").splitlines()]
        found = [row for row in rows if len(row) > 3 and row[1] == place]
        assert found, f"nothing is mounted on {place}"
        return found[-1][2], {*found[-1][3].split(",")}

    def with_(self, **changes: str) -> Hardware:
        return replace(self.hardware, **changes)


assert MOUNT.startswith("/")
