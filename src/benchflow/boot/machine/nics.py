"""Network cards: a private user-mode network per card, or a named LAN between machines."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from dataclasses import dataclass, field

from benchflow.boot.errors import CheckMisuse
from benchflow.boot.machine.io_thread import io_loop

_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", re.IGNORECASE)
_FORWARD = re.compile(r"^\s*TCP\[HOST_FORWARD\]\s+\d+\s+\S+\s+(\d+)\s+\S+\s+(\d+)", re.MULTILINE)
_FRAME_MAX = 65536


@dataclass(frozen=True)
class Nic:
    """A network card.

    Without `lan`: a user-mode network of its own (guest 10.0.2.15 by DHCP, gateway 10.0.2.2).
    `forwards` are guest TCP ports that the verifier reaches through `Machine.forward`. `restrict`
    keeps the guest from reaching anything but the answers to those connections.
    With `lan`: a cable to all machines of this verifier that name the same LAN; nothing else is
    on it, not even DHCP.
    """

    model: str = "virtio-net-pci"
    forwards: list[int] = field(default_factory=list)
    lan: str | None = None
    mac: str | None = None
    restrict: bool = True

    def __post_init__(self) -> None:
        if self.lan is not None and self.forwards:
            raise CheckMisuse("Nic: a card on a LAN has no forwards; give the machine a second Nic")
        if any(not 0 < port < 65536 for port in self.forwards):
            raise CheckMisuse(f"Nic(forwards={self.forwards}): TCP ports are 1 to 65535")
        if self.mac is not None and not _MAC.fullmatch(self.mac):
            raise CheckMisuse(f"Nic(mac={self.mac!r}): six hex bytes with colons")


class Lan:
    """An Ethernet hub: each frame from one machine goes to all others. Lost when a queue is full.

    Frames travel over anonymous datagram sockets, so nobody else on the host can join.
    """

    def __init__(self) -> None:
        self._ports: set[socket.socket] = set()

    def attach(self) -> socket.socket:
        """A new cable; the returned end is for QEMU (`-netdev dgram,local.type=fd`)."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        ours.setblocking(False)
        io_loop().call(self._add, ours)
        return theirs

    def _add(self, port: socket.socket) -> None:
        self._ports.add(port)
        asyncio.get_running_loop().add_reader(port, self._forward, port)

    def _remove(self, port: socket.socket) -> None:
        asyncio.get_running_loop().remove_reader(port)
        self._ports.discard(port)
        port.close()

    def _forward(self, source: socket.socket) -> None:
        try:
            frame = source.recv(_FRAME_MAX)
        except BlockingIOError:
            return
        except OSError:
            self._remove(source)
            return
        for port in tuple(self._ports):
            if port is source:
                continue
            try:
                port.send(frame)
            except BlockingIOError:
                continue  # a full queue loses frames, as a real hub does
            except OSError:
                self._remove(port)


_lans: dict[str, Lan] = {}
_lock = threading.Lock()


def lan(name: str) -> Lan:
    """The verifier's LAN of this name, made at its first mention."""
    with _lock:
        return _lans.setdefault(name, Lan())


def forwarded_ports(usernet: str) -> dict[int, int]:
    """`info usernet` read: {guest port: host port}.

    QEMU was asked to bind host port 0, so the kernel chose a free one: no port is ever guessed.
    """
    return {int(guest): int(host) for host, guest in _FORWARD.findall(usernet)}
