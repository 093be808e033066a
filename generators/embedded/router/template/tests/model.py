"""What the order says of a packet: where it comes out, and how. Nothing here is the router's."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from ordered import ALLOWED, AXES, NETS, has
from sitefile import DoorLine, HostLine, Site

WORLD = "world"


@dataclass(frozen=True)
class Out:
    """It comes out on `net` (a key, or the world), from and to these; an empty `source` is any."""

    net: str
    source: str
    target: str
    port: int


class Unspecified(Exception):
    """The order leaves open what happens: that is never asked."""


@dataclass
class Model:
    """`uplink` is the carrier's address for the router, \"\" while it has none."""

    site: Site
    uplink: str = ""
    cut: set[str] = field(default_factory=set)
    """Names of hosts that were cut off."""
    admitted: set[str] = field(default_factory=set)
    """Addresses of guests that were let in."""
    minute: int = 720
    """Of the day."""

    def network(self, address: str) -> str:
        """The key of the network that has an address; the world has all others."""
        return next((key for key, net in NETS.items() if net.holds(address)), WORLD)

    def host(self, name: str) -> HostLine:
        return next(one for one in self.site.hosts if one.name == name)

    def opens(self, at: str, source: str, protocol: str, target: str, port: int) -> Out | None:
        """Where the first packet of a connection comes out that was sent on network `at`."""
        if at == WORLD:
            return self._from_outside(source, protocol, target, port)
        if self.network(source) != at:
            if has("spoofed"):
                return None
            raise Unspecified("a false source")
        if any(self.host(name).address == source for name in self.cut):
            return None
        if target == self.uplink:
            return self._hairpin(at, source, protocol, port)
        to = self.network(target)
        if to == at:
            raise Unspecified("the same network")
        if to == WORLD:
            return Out(WORLD, self.uplink, target, port) if self._may_leave(at, source) else None
        if target == NETS[to].own:
            raise Unspecified("the router's other address")
        cut = any(self.host(name).address == target for name in self.cut)
        return None if cut or (at, to) not in ALLOWED else Out(to, source, target, port)

    def _may_leave(self, at: str, source: str) -> bool:
        if not self.uplink:
            return False
        if at == "two" and has("admitted") and source not in self.admitted:
            return False
        return not (at == "two" and has("hours")) or self.in_hours()

    def in_hours(self) -> bool:
        low, high = (
            int(one[:2]) * 60 + int(one[3:]) for one in AXES["hours"].split()
        )  # fmt: skip
        return low <= self.minute < high

    def door(self, protocol: str, port: int) -> DoorLine | None:
        for one in self.site.doors:
            low, _, high = one.port.partition("-")
            if one.protocol == protocol and int(low) <= port <= int(high or low):
                return one
        return None

    def _through(self, source: str, protocol: str, port: int) -> tuple[str, int] | None:
        """Whom a door leads to."""
        one = self.door(protocol, port)
        if one is None:
            return None
        if one.source and ipaddress.ip_address(source) not in ipaddress.ip_network(one.source):
            return None
        if any(self.host(name).address == one.address for name in self.cut):
            return None
        low = int(one.port.partition("-")[0])
        return one.address, int(one.to) + port - low

    def _from_outside(self, source: str, protocol: str, target: str, port: int) -> Out | None:
        if target != self.uplink or not self.uplink:
            return None
        found = self._through(source, protocol, port)
        if found is None:
            return None
        return Out(self.network(found[0]), source, found[0], found[1])

    def _hairpin(self, at: str, source: str, protocol: str, port: int) -> Out | None:
        if not has("hairpin") or self.door(protocol, port) is None:
            raise Unspecified("the uplink's address, from within")
        one = self.door(protocol, port)
        assert one
        if one.source:
            raise Unspecified("a door for some, from within")
        found = self._through(source, protocol, port)
        if found is None:
            return None
        return Out(self.network(found[0]), "", found[0], found[1])
