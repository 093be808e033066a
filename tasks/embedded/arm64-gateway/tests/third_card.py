"""What comes in on the third card, and must have no effect."""

from __future__ import annotations

import secrets

from bench import Bench
from dhcp import Client
from names import A, question
from site_data import drawn_mac, word

from benchflow.bench.dhcp_message import DISCOVER
from benchflow.bench.ethernet import (
    ARP,
    BROADCAST,
    IPV4,
    SYN,
    Arp,
    Frame,
    Packet,
    Segment,
    echo,
    read_udp,
    udp,
)

STRANGER = "198.18.0.9"


def nothing_is_let_in(bench: Bench) -> None:
    """As a stranger, and as a machine of the local side whose answers would be seen there: what is
    at the local address, what is behind it, the world, the doors. What is sent on the card itself
    `Bench` watches for."""
    data, site, mine, own_port = (
        secrets.token_bytes(16), bench.site, drawn_mac(), 50000 + secrets.randbelow(9000)
    )  # fmt: skip
    name = f"{word()}.{word()}.net"
    lan, wan, known = bench.lan.count, bench.wan.count, bench.pc.address

    def put(packet: Packet) -> None:
        bench.third.send(Frame(bench.macs["third"], mine, IPV4, packet.pack()))

    for source in (STRANGER, known):
        for target in (site.own, bench.plc.address, bench.drawn.world, bench.drawn.given):
            put(udp(source, own_port, target, 53, data))
            put(echo(source, target, 9, 9, data))
        put(udp(source, own_port, site.own, 53, question(11, name, A)))
        put(udp(source, own_port, site.own, 7710, data))
        for at in (80, 53):
            put(Segment(own_port, at, 9, 0, SYN).pack(source, site.own))
        for proto, at, _, _ in site.forwards:
            if proto == "udp":
                put(udp(source, own_port, bench.drawn.given, at, data))
            else:
                put(Segment(own_port, at, 9, 0, SYN).pack(source, bench.drawn.given))
    Client(bench.third, mine).ask(DISCOVER)
    for target in (site.own, bench.drawn.given):
        asked = Arp(1, mine, STRANGER, "00:00:00:00:00:00", target)
        bench.third.send(Frame(BROADCAST, mine, ARP, asked.pack()))
    bench.pause(3)
    through = bench.seen(bench.lan, lan, data) + bench.seen(bench.wan, wan, data)
    answers = [one for one in bench.packets(bench.lan, lan) if _answers(one, own_port)]
    assert not through and not answers, (
        f"[R3] nothing is let in through the third card: {len(through)} packets went on to another "
        f"side, and {len(answers)} answers to what came in there were seen on the local one"
    )
    assert not bench.zone.times(name, A), "[R3] a question from the third card went to the carrier"


def _answers(packet: Packet, own_port: int) -> bool:
    """Whether a packet goes to, or comes from, the port that was used on the third card alone."""
    segment, datagram = Segment.read(packet), read_udp(packet)
    ports = (segment.port, segment.to) if segment else datagram[:2] if datagram else ()
    return own_port in ports
