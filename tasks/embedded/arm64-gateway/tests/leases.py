"""DHCP on the local side, asked as clients do that want more than is theirs."""

from __future__ import annotations

import secrets

from bench import Bench
from dhcp import Client
from site_data import POOL, drawn_mac, public

from benchflow.bench.dhcp_message import DISCOVER, NAK, OFFER, REQUEST, DhcpMessage


def first(bench: Bench) -> None:
    def moved() -> bool:
        offer = bench.dhcp(Client(bench.lan, bench.pc.mac), DISCOVER, (OFFER,), 3)
        return offer is not None and offer.addresses(54) == [bench.site.own]

    bench.works(moved, 10)  # after a change the old network may be served for ten seconds
    answer, site = bench.lease(bench.pc.mac), bench.site
    assert answer is not None, "[R10] gives addresses: nothing is offered"
    assert site.pooled(answer.yours), f"[R5] pool {site.pool}: {answer.yours} was given"
    bench.pc.address = answer.yours
    _says_all(bench, answer)
    assert bench.ping(bench.pc, site.own), "[R25] the gateway does not answer ping"


def _says_all(bench: Bench, answer: DhcpMessage) -> None:
    site, options = bench.site, answer.options
    assert options.get(1) == site.mask, f"[R10] the mask of {site.lan}: {options.get(1)!r}"
    itself = answer.addresses(3) == [site.own] == answer.addresses(6)
    assert itself, f"[R10] itself as router and name server: {options.get(3)!r} {options.get(6)!r}"
    domain = options.get(15, b"").rstrip(b"\0")
    assert domain == b"plant", f"[R10] `plant` as domain: {domain!r}"
    seconds = int.from_bytes(options.get(51, b""), "big")
    assert seconds == site.lease, f"[R10] the lease's time: {seconds} instead of {site.lease}"


def renewed(bench: Bench) -> None:
    """The client asks the server alone, as it does when half of its time is over."""
    answer = bench.renewed()
    assert answer is not None and answer.kind == 5 and answer.yours == bench.pc.address, (
        f"[R10] a client that asks for more time for {bench.pc.address} got {answer}"
    )
    _says_all(bench, answer)


def hosts_own(bench: Bench) -> str:
    """Returns the MAC of who asked for a host's address, and was offered another perhaps."""
    for mac, address, _ in bench.site.hosts:
        answer = bench.lease(mac)
        assert answer is not None and answer.yours == address, f"[R11] {mac} got {answer}"
    # As a machine's firmware asks, and then its system, which calls itself by RFC 4361.
    mac, address, _ = secrets.choice(bench.site.hosts)
    ident = b"\xff" + secrets.token_bytes(4) + b"\0\x04" + secrets.token_bytes(16)
    answer = bench.lease(mac, ident=ident)
    assert answer is not None and answer.yours == address, (
        f"[R11] always gets its own address: {mac} with an identifier of its own (option 61) "
        f"got {answer}"
    )
    thief, wanted = Client(bench.lan, drawn_mac()), bench.plc.address
    offer = bench.dhcp(thief, DISCOVER, (OFFER,), address=wanted)
    assert offer is None or offer.yours != wanted, "[R11] nobody else: a host's address is offered"
    got = bench.dhcp(thief, REQUEST, (NAK, 5), 8, address=wanted, server=bench.site.own)
    assert got is None or got.kind == NAK, "[R11] nobody else: a host's address was acknowledged"
    return thief.mac


def another_network(bench: Bench) -> None:
    client, wanted = Client(bench.lan, drawn_mac()), public(1)[0]
    got = bench.dhcp(client, REQUEST, (NAK, 5), address=wanted)
    assert got is not None and got.kind == NAK, f"[R10] is refused: {wanted} was answered by {got}"


def all_of_the_pool(bench: Bench, thief: str) -> None:
    """The pool has six addresses, and one is held; the last client finds none. Among the others is
    the one that was offered an address before, which a server may have put aside for it."""
    held = bench.held
    held[bench.pc.mac] = bench.pc.address
    for mac in (thief, *(drawn_mac() for _ in range(POOL - 2))):
        answer = bench.lease(mac)
        assert answer is not None, f"[R10] nothing was offered after {len(held)} leases of {POOL}"
        assert answer.yours not in held.values(), f"[R10] {answer.yours} was given twice"
        assert bench.site.pooled(answer.yours), f"[R5] {answer.yours} is not in the pool"
        held[mac] = answer.yours
    more = bench.lease(drawn_mac(), 5)
    assert more is None, f"[R10] when none is left, nothing is offered: {more}"
    first = next(mac for mac in held if mac != bench.pc.mac)
    again = bench.lease(first)
    assert again is not None and again.yours == held[first], (
        f"[R10] somebody who holds {held[first]} asked again and got {again}"
    )
