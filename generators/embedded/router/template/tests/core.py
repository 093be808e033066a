"""What every router has to do."""

from __future__ import annotations

import secrets

from bench import Bench, ports
from model import WORLD
from ordered import ALLOWED, AXES, NETS, has, verb
from sitefile import DoorLine
from wire import mark, since

from benchflow.bench.dhcp_message import DNS, LEASE, MASK, ROUTER
from benchflow.bench.ethernet import ICMP, udp

OUTSIDE = ("203.0.113.5", "198.51.100.31", "192.0.2.144", "8.8.4.4", "151.101.2.132")


def outside(bench: Bench) -> str:
    """An address of the world that nobody serves anything at."""
    while True:
        one = f"{bench.draw.choice((5, 31, 77, 146, 193))}.{bench.draw.randrange(1, 250)}."
        one += f"{bench.draw.randrange(250)}.{bench.draw.randrange(1, 250)}"
        return one


def port(bench: Bench) -> int:
    return bench.draw.randrange(1024, 19_000)


def leaves(bench: Bench) -> None:
    """Guests leave only when they may: those that the checks use are let in."""
    if has("admitted"):
        for number in range(2):
            address = bench.named("two", number).address
            if address not in bench.model.admitted:
                # Whether the word is there is asked elsewhere.
                bench.station.call(verb("admit"), address)
                bench.model.admitted.add(address)


def some_doors(bench: Bench, count: int = 3) -> list[DoorLine]:
    """Doors to hosts of the site, of either protocol."""
    found, taken = [], set()
    for number in range(count):
        protocol = ("tcp", "udp")[number % 2]
        at = port(bench)
        while (protocol, at) in taken:
            at = port(bench)
        taken.add((protocol, at))
        key = bench.draw.choice([*NETS])
        host = bench.named(key, bench.draw.randrange(2))
        name = "own" if number == 0 else f"door{number}"
        found.append(DoorLine(name, protocol, str(at), host.address, str(port(bench))))
    return found


def name(bench: Bench, end: str = "example.net") -> str:
    return f"n{bench.draw.randrange(16**6):06x}.{end}"


# -- boots ----------------------------------------------------------------------------------------


def own_addresses(bench: Bench) -> None:
    for key, net in NETS.items():
        host = bench.named(key)
        assert bench.ping(host, net.own, 120), f"{net.own} answers no ping on {net.name}"


def wrong_calls(bench: Bench) -> None:
    verbs = {AXES[name] for name in AXES if name.startswith("verb_")}
    word = "nonsense"
    while word in verbs:
        word += "x"
    status, reload = verb("status"), verb("reload")
    for words in ([], [word], [status, "x"], [reload, "/data/site"], [status.upper()]):
        bench.refused("usage", *words)


# -- leases ---------------------------------------------------------------------------------------


def given(bench: Bench, key: str, mac: str, timed: bool = False) -> str:
    """A lease of a client, looked at, its time too where that is asked for; its address."""
    net = NETS[key]
    said = bench.lease(key, mac)
    assert said, f"a client on {net.name} is offered nothing"
    seconds = int(AXES["guest_lease" if key == "two" and has("guest-lease") else "lease"])
    told = int.from_bytes(said.options.get(LEASE, b""), "big")
    for what, got, due in (
        ("mask", said.addresses(MASK), [str(net.range.netmask)]),
        ("router", said.addresses(ROUTER), [net.own]),
        ("name server", said.addresses(DNS), [net.own]),
    ):  # fmt: skip
        assert got == due, f"a lease on {net.name} says {what} {got}, not {due}"
    assert not timed or told == seconds, (
        f"a lease on {net.name} is for {told} seconds, not {seconds}"
    )
    return said.yours


def pools(bench: Bench) -> None:
    for key, net in NETS.items():
        if key == "three" and has("strangers"):
            continue
        timed = key != "two" or not has("guest-lease")
        some = [given(bench, key, bench.mac(), timed) for _ in range(3)]
        wrong = [one for one in some if not net.pooled(one)]
        assert not wrong, f"{wrong[:1]} was given on {net.name}, not of its pool"
        assert len({*some}) == 3, f"{some} were given to three clients on {net.name}"


def known(bench: Bench) -> None:
    for one in bench.model.site.hosts:
        got = given(bench, bench.key(one), one.mac)
        assert got == one.address, f"{one.name} was given {got}, not its {one.address}"


# -- uplink ---------------------------------------------------------------------------------------


def reaches_the_world(bench: Bench) -> None:
    bench.connected()
    leaves(bench)
    for key in NETS:
        host = bench.named(key)
        for protocol in ("udp", "tcp"):
            bench.exchange(host, protocol, outside(bench), port(bench))
        target = outside(bench)
        assert bench.ping(host, target), f"a ping from {host.address} to {target} has no answer"


def two_at_once(bench: Bench) -> None:
    """Two hosts that use the same port are told apart."""
    bench.connected()
    target, to, own = outside(bench), port(bench), port(bench)
    place = mark()
    probes = [bench.flow(bench.named("one", n), "udp", target, to, own=own) for n in (0, 1)]
    for number, probe in enumerate(probes):
        assert probe
        bench.answered(bench.named("one", number), probe, place)


# -- walls ----------------------------------------------------------------------------------------


def nothing_comes_in(bench: Bench) -> None:
    bench.connected()
    leaves(bench)
    for key in NETS:
        host = bench.named(key)
        for protocol in ("udp", "tcp"):
            bench.flow(bench.world, protocol, host.address, port(bench), source=outside(bench))
    for protocol, to in (("tcp", 22), ("tcp", 80), ("udp", 5353), ("udp", port(bench))):
        bench.flow(bench.world, protocol, bench.model.uplink, to, source=outside(bench))


def silent_outside(bench: Bench) -> None:
    """The router itself answers nothing but pings at its outer address."""
    bench.connected()
    place, source = mark(), outside(bench)
    sent = [("tcp", one) for one in (22, 23, 53, 80, 443, 8080)]
    sent += [("udp", one) for one in (53, 67, 69, 123, 161, 5353, 44444)]
    mac = bench.router(bench.world)
    for protocol, to in sent:
        bench.world.put(bench.probe(protocol, source, bench.model.uplink, to).packet, mac)
    assert bench.ping(bench.world, bench.model.uplink, source=source)
    found = [
        packet for one in since(place)
        if one.net.name == WORLD and (packet := one.packet) and packet.target == source
        and not (packet.protocol == ICMP and packet.body[:1] == b"\0")
    ]  # fmt: skip
    assert not found, (
        f"from outside, port {ports(found[0])[0]} (protocol {found[0].protocol}) was answered"
    )


def strangers_answers(bench: Bench) -> None:
    """What nobody has asked for is no answer."""
    bench.connected()
    leaves(bench)
    host, target, to = bench.named("one"), outside(bench), port(bench)
    place = mark()
    probe = bench.flow(host, "udp", target, to)
    assert probe
    _, packet = bench.seen(probe, place)[-1]
    own = ports(packet)[0]
    mac, later = bench.router(bench.world), mark()
    token = secrets.token_bytes(16)
    other = outside(bench)
    assert other != target
    bench.world.put(udp(other, to, bench.model.uplink, own, token), mac)
    bench.behind(bench.world)
    came = [one for one in since(later) if token in one.frame.body and one.net.name != WORLD]
    assert not came, f"a datagram of a stranger's came in to {host.address}"


# -- apart ----------------------------------------------------------------------------------------


def who_may_whom(bench: Bench) -> None:
    for at in NETS:
        for to in NETS:
            if at == to:
                continue
            host, other = bench.named(at), bench.named(to, 1)
            for protocol in ("tcp", "udp"):
                if (at, to) in ALLOWED:
                    bench.exchange(host, protocol, other.address, port(bench))
                else:
                    bench.flow(host, protocol, other.address, port(bench))


def pings_between(bench: Bench) -> None:
    for at in NETS:
        for to in NETS:
            if at == to:
                continue
            host, other = bench.named(at), bench.named(to)
            if (at, to) in ALLOWED:
                assert bench.ping(host, other.address), f"a ping from {at} to {to} has no answer"
            else:
                assert not bench.ping(host, other.address, 0.1), (
                    f"a ping from {at} to {to} was answered"
                )
