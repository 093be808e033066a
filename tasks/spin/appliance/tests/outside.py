"""What can be reached from outside: listeners of ours on a unit, tried from its cable."""

from __future__ import annotations

import ipaddress
import secrets
import shlex

from unit import SERVICE, Unit
from wire import ALL_PORTS, TO_ALL, Neighbour

UNIT_IPV4 = "10.0.2.15"


def listen(unit: Unit, kind: str, port: int, program: str, more: str = "") -> None:
    """Let systemd listen on a port, as anybody on the unit might; wait until the kernel says so."""
    name = f"{secrets.token_hex(4)}-{port}"
    accept = "Accept=yes" if kind == "tcp" else ""
    socket = f"[Socket]\nListen{'Stream' if kind == 'tcp' else 'Datagram'}={port}\n{accept}\n"
    service = f"[Service]\nExecStart={program}\nStandardInput=socket\n{more}\n"
    folder, template = "/run/systemd/system", "@" if kind == "tcp" else ""
    unit.ssh(
        f"mkdir -p {folder}; printf {shlex.quote(socket)} >{folder}/{name}.socket; "
        f"printf {shlex.quote(service)} >{folder}/{name}{template}.service; "
        f"systemctl daemon-reload && systemctl start {name}.socket && "
        f"cat /proc/net/{kind} /proc/net/{kind}6 2>/dev/null | grep -q ':{port:04X} '",
        seconds=120,
    )


def hears(unit: Unit, neighbour: Neighbour, port: int, said: list[tuple[str, int]]) -> list[str]:
    """Whose datagrams arrive on a UDP port, of (address, our port): as root on the unit tells."""
    heard = f"/run/heard-{secrets.token_hex(4)}"
    listen(unit, "udp", port, "/bin/cat", f"StandardOutput=append:{heard}")
    words = [(to, ours, secrets.token_hex(8)) for to, ours in said]
    neighbour.says(unit.machine, port, words)
    text = unit.say(f"sleep 1; cat {heard} 2>/dev/null; :")
    return [f"to {to} from port {ours}" for to, ours, word in words if word in text]


def no_datagram_comes_in(unit: Unit, neighbour: Neighbour) -> None:
    """None to the unit, none to all on the cable; not as answers either that nobody asked for."""
    port = secrets.randbelow(50000) + 10000
    ours = [53, 67, 123, 5353, secrets.randbelow(20000) + 40000]
    said = [(address, mine) for address in [*addresses(unit), *TO_ALL] for mine in ours]
    found = hears(unit, neighbour, port, said)
    assert not found, f"UDP port {port} can be reached: {found[:4]} [R13]"
    for address in addresses(unit):
        # Where a client of DHCP is let hear, we do not ask: the order wants an address.
        for let_in in sorted(neighbour.refused(unit.machine, address) - {68, 546})[:3]:
            found = hears(unit, neighbour, let_in, [(address, ours[-1])])
            assert not found, f"UDP port {let_in} can be reached: {found} [R13]"


def addresses(unit: Unit) -> list[str]:
    """The unit's own, of both families; from the cable those are asked that a neighbour reaches."""
    rows = [row.split() for row in unit.say("cat /proc/net/if_inet6 2>/dev/null; :").splitlines()]
    found = [str(ipaddress.IPv6Address(bytes.fromhex(row[0]))) for row in rows if row[5:] != ["lo"]]
    return [UNIT_IPV4, *(address for address in found if address.startswith("fe80:"))]


def closed_to_all(unit: Unit, neighbour: Neighbour, ports: list[int]) -> None:
    """TCP ports on which somebody listens: from both sides of the cable, from usual ports too."""
    for port in ports:
        listen(unit, "tcp", port, "/bin/cat")
        assert not unit.hears(port, secrets.token_hex(16)), (
            f"TCP port {port} can be reached from outside [R13]"
        )
    for address in addresses(unit):
        for ours in (0, 20, 53, 80):
            taken = neighbour.answers(unit.machine, address, ports, ours)
            assert not any(taken.values()), f"TCP ports of {address} are reached: {taken} [R13]"


def no_door_is_open(unit: Unit, neighbour: Neighbour) -> None:
    """All ports of both families: one that answers otherwise than the most is a door."""
    reached = neighbour.answers(unit.machine, UNIT_IPV4, [22, SERVICE])
    assert all(reached.get(port) for port in (22, SERVICE)), f"a neighbour reaches {reached} [R13]"
    for address in addresses(unit):
        found = neighbour.answers(unit.machine, address, ALL_PORTS)
        for port in (22, SERVICE):  # these may be open by either family, whoever listens there
            found.pop(port, None)
        doors = [port for port, taken in found.items() if taken]
        assert not doors, f"{address} takes connections on {doors[:5]} [R13]"
        refused = list(found)
        for port in refused[:3] if len(refused) < 1000 else ():  # more: a wall that says no
            listen(unit, "tcp", port, "/bin/cat")
            taken = neighbour.answers(unit.machine, address, [port])
            assert not taken.get(port), f"port {port} of {address} is let in [R13]"
