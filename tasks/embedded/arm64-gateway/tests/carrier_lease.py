"""The carrier's lease: asked for again while it lasts, and used no more when it has run out."""

from __future__ import annotations

import ipaddress
from dataclasses import replace

from bench import Bench
from site_data import within

from benchflow.bench.dhcp_message import REQUEST
from benchflow.bench.ethernet import ARP, IPV4, Arp, Frame, Packet, echo

SECONDS = 60
LATE = 5  # for what was under way when the time ran out


def senders(frame: Frame) -> tuple[str, ...]:
    """The address that a frame says it comes from, if it says one."""
    said = Arp.read(frame.body) if frame.kind == ARP else None
    packet = Packet.read(frame.body) if frame.kind == IPV4 else None
    return tuple(one for one in (said and said.address, packet and packet.source) if one)


def _another(bench: Bench) -> str:
    drawn = bench.drawn
    net = ipaddress.IPv4Network(f"{drawn.given}/{drawn.bits}", strict=False)
    taken = {drawn.given, drawn.router, drawn.stranger, drawn.third}
    while (found := within(net)) in taken:
        continue
    return found


def runs_out(bench: Bench) -> None:
    """The carrier falls silent while the gateway has its address for a minute, and has another for
    it when it answers again."""
    carrier, old, fresh = bench.carrier, bench.drawn.given, _another(bench)
    carrier.asked.clear()
    carrier.offers, carrier.seconds = "", 86400
    bench.pause(SECONDS + LATE)
    again = [kind for kind, address in carrier.asked if kind == REQUEST and address == old]
    assert again, f"[R16] it asks for more time: nobody asked for {old} again in {SECONDS} s"
    mark = bench.wan.count
    bench.pc.put(echo(bench.pc.address, bench.drawn.world, 3, 3, b"late"), bench.macs["lan"])
    bench.router.neighbours.clear()
    bench.router.ask_arp(old)
    bench.pause(3)
    used = [frame for frame in bench.wan.since(mark) if old in senders(frame)]
    assert not used, f"[R16] what has run out is used no more: {old} was, after {SECONDS} s"
    bench.given.add(fresh)
    bench.drawn = replace(bench.drawn, given=fresh)
    carrier.offers = fresh
    assert bench.ping(bench.router, fresh, 30), f"[R16] within 30 seconds: {fresh} is not there"
    assert bench.ping(bench.pc, bench.drawn.world), f"[R18] by {fresh} the world is not reached"
