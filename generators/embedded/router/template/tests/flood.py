"""What may never pass, sent all the while."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from core import outside
from model import WORLD
from ordered import ALLOWED, NETS, has
from wire import Host, mark, since

from benchflow.bench.ethernet import udp

if TYPE_CHECKING:
    from bench import Bench

_EVERY = 0.15


class Flood:
    """Datagrams to hosts that nobody may reach, while something is done."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._word = bench.draw.randbytes(12)
        self._place = mark()
        self._stop = threading.Event()
        self._ways: list[tuple[Host, str, str, str]] = []
        """(by whom, MAC, source, target)."""
        outer = bench.router(bench.world)
        for key in NETS:
            self._ways.append((bench.world, outer, outside(bench), bench.named(key).address))
            for to in NETS:
                if key != to and (key, to) not in ALLOWED:
                    host = bench.named(key)
                    target = bench.named(to).address
                    self._ways.append((host, bench.router(host), host.address, target))
        if has("admitted"):
            stranger = bench.named("two", 1)
            if stranger.address not in bench.model.admitted:
                mac = bench.router(stranger)
                self._ways.append((stranger, mac, stranger.address, outside(bench)))
        for name in bench.model.cut:
            host = bench.hosts[name]
            self._ways.append((host, bench.router(host), host.address, outside(bench)))
        self._thread = threading.Thread(target=self._send, daemon=True)

    def __enter__(self) -> Flood:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _send(self) -> None:
        while not self._stop.wait(_EVERY):
            for number, (host, mac, source, target) in enumerate(self._ways):
                data = self._word + bytes([number])
                host.put(udp(source, 4000 + number, target, 5000 + number, data), mac)

    def looked(self, what: str) -> None:
        """Nothing of it has passed up to now."""
        for one in since(self._place):
            packet = one.packet
            # What an error quotes has not passed.
            if packet and packet.protocol == 17 and self._word in packet.body:
                at = packet.body[packet.body.index(self._word) + 12]
                host, _, source, target = self._ways[at]
                raise AssertionError(
                    f"during {what}, a datagram from {source} ({host.net.name}) to {target} "
                    f"came out on {one.net.name}"
                )


assert WORLD
