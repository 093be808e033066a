"""Configurations that change, and power that goes."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time

import pytest
from bench import Bench
from boards import MACS, board
from dhcp import DISCOVER, OFFER, REQUEST, Client
from frames import ARP, IPV4, Arp, Packet
from services import machine_behind, works
from site_data import Site, drawn_mac, port, wrong

from benchflow.boot import Image
from benchflow.boot.errors import LoginFailed

CUTS = 3


def wrong_ones(bench: Bench) -> None:
    """Each is refused with the number of its first wrong line, and none changes anything."""
    before, faults = bench.say("site show"), []
    for text, number in wrong(bench.site):
        result = bench.apply(text)
        if result.status != 1 or f"line {number}" not in result.stdout.splitlines():
            faults.append((text.splitlines()[number - 1 : number], number, result.status,
                           result.stdout.strip()[:60]))  # fmt: skip
    assert not faults, f"{len(faults)} wrong ones: {faults[:4]}"
    assert bench.run("site apply /tmp/no-such-file").status != 0, "no file was applied"
    assert bench.say("site show") == before, "a wrong one changed something"
    good = "# a word\n\n" + bench.site.text().replace(" ", "  ") + "\n"
    result = bench.apply(good)
    assert result.status == 0, f"comments or blanks were refused: {result.stdout[:200]!r}"
    assert bench.machine.shell.run("site show").stdout == good
    assert bench.works(lambda: works(bench) == "", 10), works(bench)


def connections(bench: Bench, nonce) -> None:
    """Two forwards, a connection to the world and one to a network that is then blocked; what was
    counted goes on."""
    before = int(bench.page()["refused"])
    kept, gone = bench.site.forwards[0], bench.site.forwards[2]
    at = port()
    streams = {}
    for what, (_, public, address, to) in (("kept", kept), ("gone", gone)):
        machine_behind(bench, address).serve_tcp[to] = None
        streams[what] = bench.connect(bench.peer, bench.drawn.given, public)
    bench.router.serve_tcp[at] = None
    streams["world"] = bench.connect(bench.pc, bench.drawn.world, at)
    streams["blocked"] = bench.connect(bench.pc, bench.drawn.router, at)
    assert all(streams.values()), [what for what, one in streams.items() if one is None]

    def passes(what: str, seconds: float) -> bool:
        """Whether a word arrives, and a word comes back."""
        stream, word = streams[what], nonce().encode()
        stream.send(word)
        far = (bench.lan if what in ("kept", "gone") else bench.wan).hosts

        def arrived():
            for host in far:
                for key, other in host.streams.items():
                    if other.established and word in other.received:
                        return host.streams[key]
            return None

        if not bench.until(arrived, seconds):
            return False
        back = nonce().encode()
        other = arrived()
        other.send(back)
        return bench.until(lambda: back in stream.received, seconds)

    for what in streams:
        assert passes(what, 15), f"{what}: nothing passed before the change"
    net = ipaddress.IPv4Network(f"{bench.drawn.router}/32")
    later = bench.site.changed(
        forwards=(kept, bench.site.forwards[1]), blocks=(*bench.site.blocks, str(net)),
        lease=bench.site.lease + 60,
    )  # fmt: skip
    bench.applies(later)
    assert int(bench.page()["refused"]) >= before, "what was refused was forgotten"
    for what in ("gone", "blocked"):
        assert bench.works(lambda: not passes(what, 2), 10), f"{what}: still carried"  # noqa: B023
    assert passes("kept", 20), "a connection through a forward that stays has ended"
    assert passes("world", 20), "a connection to the world has ended"


def another_network(bench: Bench, shared: dict) -> None:
    """Every address of the local side changes; the doors and names go with it."""
    old = bench.site
    fresh = Site.draw(bench.plc.mac, old.hosts[1][0])
    while fresh.net.overlaps(old.net):
        fresh = Site.draw(bench.plc.mac, old.hosts[1][0])
    bench.applies(fresh)
    client = Client(bench.lan, drawn_mac())

    def offered() -> bool:
        offer = bench.dhcp(client, DISCOVER, (OFFER,), 2)
        return offer is not None and ipaddress.IPv4Address(offer.yours) in fresh.net

    assert bench.works(offered, 10), "nothing of the new network is offered within 10 seconds"
    answer = bench.lease(bench.pc.mac)
    assert answer is not None, "nothing is offered"
    bench.pc.address = answer.yours
    shared["held"] = {bench.pc.mac: answer.yours}
    assert bench.ping(bench.pc, fresh.own), "the gateway is not at its new address"
    assert bench.ping(bench.pc, bench.drawn.world), "the world is not reached any more"
    reply = bench.resolve(f"{fresh.hosts[0][2]}.plant")
    assert reply is not None and reply.addresses == (fresh.hosts[0][1],), reply
    bench.pc.neighbours.clear()
    bench.pc.ask_arp(old.own)
    assert bench.works(lambda: works(bench) == "", 10), works(bench)
    assert old.own not in bench.pc.neighbours, "it answers at its old address"


# ---- power -----------------------------------------------------------------------------------


def power_cut_after_a_lease(bench: Bench, machines, shared: dict) -> None:
    """A lease, and no power at once; then the same disk in a board with its cards the other way
    round and a clock that stands decades away."""
    held = shared["held"]
    for _ in range(2):
        mac = drawn_mac()
        answer = bench.lease(mac)
        assert answer is not None
        held[mac] = answer.yours
    bench.machine.power_cut()
    disk = bench.machine.flatten()
    year = secrets.choice((2003, 2004, 2071, 2088))
    order = ("third", "wan", "lan")
    bench.machine = board(machines, "other", disk, bench.macs, order, f"{year}-03-01T04:05:06")
    bench.machine.boot()
    bench.enter(60)
    # Nobody asks again what is held: others come first and must not get it.
    others = []
    for _ in range(6 - len(held)):
        answer = bench.lease(drawn_mac())
        assert answer is not None, "less is offered than is free"
        others.append(answer.yours)
    assert not set(others) & set(held.values()), "what somebody held was given to another"
    assert bench.lease(drawn_mac(), 5) is None, "what somebody held is offered to another"
    rows = bench.page()
    for mac, address in held.items():
        assert rows.get(mac, "").split()[:1] == [address], f"{mac} is not on the page"
        client = Client(bench.lan, mac)
        got = bench.dhcp(client, REQUEST, (5, 6), address=address)
        assert got is not None and got.kind == 5 and got.yours == address, f"{mac}: {got}"
    assert bench.ping(bench.pc, bench.drawn.world, 30), "the world is not reached"


def overlapping_offer(bench: Bench) -> None:
    """A start at which the carrier first offers an address of the local network."""
    bench.carrier.offers = ""
    good, net = bench.carrier.router, bench.site.net
    bench.machine.power_cut()
    bench.carrier.asked.clear()
    bench.carrier.offers, bench.carrier.router = str(net[231]), str(net[232])
    bench.carrier.bits = secrets.choice((16, 25))
    mark = bench.wan.count
    bench.machine.boot()
    bench.enter(60)
    assert bench.until(lambda: len(bench.carrier.asked) >= 2, 30), "it never asked the carrier"
    bench.pause(4)
    taken = [frame for frame in bench.wan.since(mark) if str(net[231]) in _senders(frame)]
    assert not taken, "an address of the local network was taken on the carrier's side"
    assert bench.page()["wan"] == "-", bench.page()["wan"]
    assert bench.ping(bench.pc, bench.site.own), "the local side suffers"
    bench.carrier.offers, bench.carrier.router, bench.carrier.bits = bench.drawn.given, good, 24
    assert bench.ping(bench.router, bench.drawn.given, 30), "a good offer was not taken in time"
    assert bench.ping(bench.pc, bench.drawn.world), "the world is not reached"


def _senders(frame) -> tuple[str, ...]:
    said = Arp.read(frame.body) if frame.kind == ARP else None
    packet = Packet.read(frame.body) if frame.kind == IPV4 else None
    return tuple(one for one in (said and said.address, packet and packet.source) if one)


def another_password(bench: Bench, password: str) -> None:
    bench.machine.shell.close()
    with pytest.raises(LoginFailed):
        bench.machine.login("root", password, timeout=60)
    bench.enter()


def cuts(bench: Bench) -> None:
    """The power goes a drawn time after `site apply` began; and once it has ended, at once."""
    bench.machine.boot()
    bench.enter(60)
    assert bench.apply(bench.site.text()).status == 0
    bench.machine.snapshot("ready")
    began = time.monotonic()
    assert bench.apply(bench.site.changed(lease=777).text()).status == 0
    took = time.monotonic() - began
    for turn in range(CUTS + 1):
        bench.machine.restore("ready")
        new = bench.site.changed(
            lease=1000 + secrets.randbelow(5000), key=secrets.token_hex(16), name=f"pump-{turn}x"
        )
        bench.machine.shell.write_file("/tmp/new.conf", new.text().encode())
        if turn == CUTS:
            assert bench.run("site apply /tmp/new.conf").status == 0
        else:
            bench.run("(site apply /tmp/new.conf </dev/null >/dev/null 2>&1 &)")
            time.sleep(took * (turn + secrets.randbelow(100) / 100) / CUTS)
        bench.machine.power_cut()
        bench.machine.boot()
        bench.enter(60)
        shown = bench.machine.shell.run("site show").stdout
        assert shown in (new.text(), bench.site.text()), f"neither old nor new: {shown[:200]!r}"
        if turn == CUTS:
            assert shown == new.text(), "what was in force before the cut is gone"
        now = new if shown == new.text() else bench.site
        answer = bench.lease(bench.plc.mac)
        assert answer is not None and answer.yours == bench.plc.address, answer
        assert int.from_bytes(answer.options.get(51, b""), "big") == now.lease, "half of each"
        assert bench.say("hostname") == now.name, "half of each"


def rest_of_the_disk(bench: Bench, delivered: Image) -> None:
    """Outside of `data` nothing differs from what was delivered."""
    bench.machine.power_cut()
    disk = bench.machine.flatten()
    data = next(part for part in delivered.partitions() if part.name == "data")
    for name, begin, end in (("before", 0, data.start), ("behind", data.start + data.size, None)):
        assert _digest(delivered.path, begin, end) == _digest(disk, begin, end), f"{name} data"


def _digest(path, begin: int, end: int | None) -> str:
    found, at = hashlib.sha256(), begin
    with path.open("rb") as file:
        file.seek(begin)
        while end is None or at < end:
            part = file.read(min(1 << 20, end - at) if end is not None else 1 << 20)
            if not part:
                break
            found.update(part)
            at += len(part)
    return found.hexdigest()


def lost_data(bench: Bench, machines, work) -> None:
    """The partition holds noise, or nothing."""
    disk = bench.machine.flatten()
    data = next(part for part in Image(disk).partitions() if part.name == "data")
    noise = secrets.choice((bytes(1 << 16), secrets.token_bytes(1 << 16)))
    with disk.open("r+b") as file:
        file.seek(data.start)
        for _ in range(data.size >> 16):
            file.write(noise)
    bench.machine = board(machines, "lost", disk, dict(MACS), ("wan", "lan"))
    bench.machine.boot()
    bench.enter(60)
    assert "name pump-0" in bench.say("site show").splitlines()
    factory = Site("pump-0", "10.71.0.1/24", ("10.71.0.100", "10.71.0.150"), 3600, "")
    bench.site = factory
    answer = bench.lease(drawn_mac())
    assert answer is not None and answer.yours.startswith("10.71.0.1"), answer
    bench.pc.address = answer.yours
    result = bench.apply(factory.changed(key="0" * 32, name="pump-9").text())
    assert result.status == 0, "nothing can be applied to a new file system"
    assert bench.works(lambda: bench.say("hostname") == "pump-9", 10)
