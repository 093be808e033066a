"""Configurations that change, and power that goes."""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import secrets
import time

import carrier_lease
import pytest
from bench import Bench
from boards import MACS, board
from dhcp import Client
from services import machine_behind, missing
from site_data import FACTORY, FACTORY_SITE, POOL, WIDE, Site, drawn_mac, port, word
from site_texts import largest, smallest, too_large, wrong

from benchflow.bench.dhcp_message import DISCOVER, OFFER, REQUEST
from benchflow.bench.ethernet import udp
from benchflow.boot import Image
from benchflow.boot.errors import LoginFailed

CUTS = 3


def wrong_ones(bench: Bench) -> None:
    """Each is refused with the number of its first wrong line, and none changes anything."""
    before, cases, tag = bench.shown(), wrong(bench.site), f"case{secrets.token_hex(4)} "
    for number, (text, _) in enumerate(cases):
        bench.machine.shell.write_file(f"/tmp/wrong.{number}", text.encode())
    said = bench.say(
        f"n=0; while [ $n -lt {len(cases)} ]; do echo; echo {tag} $n; "
        "site apply /tmp/wrong.$n 2>&1; s=$?; echo; echo status $s; n=$((n + 1)); done", 300,
    ).split(tag)[1:]  # fmt: skip
    assert len(said) == len(cases), f"{len(cases)} were tried, {len(said)} answers came"
    faults = []
    for (text, number), answer in zip(cases, said, strict=True):
        words = [line.strip() for line in answer.splitlines()]
        if "status 1" not in words or f"line {number}" not in words:
            faults.append((text.splitlines()[number - 1 : number], f"line {number}", words[1:5]))
    assert not faults, (
        f"[R7] status 1 and `line N`: {len(faults)} of {len(cases)}: (line, wanted, said) "
        f"{faults[:4]}"
    )
    result = bench.apply(too_large(bench.site))
    assert result.status == 1, f"[R5] at most 16 KiB, [R7] status 1: {result.status}"
    assert bench.run("site apply /tmp/no-such-file").status != 0, "no file was applied"
    assert bench.shown() == before, "[R7] changes nothing: a wrong one did"


def right_ones(bench: Bench) -> None:
    """What is allowed is taken: words and lines as one likes, and networks of all sizes."""
    site = bench.site
    good = "# a word\n\n" + site.text().replace(" ", "  ") + "\n"
    for what, (other, text) in (
        ("comments and blanks", (site, good)),
        ("the smallest network", smallest(bench.plc.mac)),
        ("the widest network", largest(bench.plc.mac)),
    ):
        bench.own_addresses.add(other.own)
        result = bench.apply(text)
        assert result.status == 0, f"[R5] {what}: status {result.status}: {result.stdout[:200]!r}"
        assert bench.shown() == text, f"[R6] byte for byte: {what} is shown otherwise"
        mac, address, _ = other.hosts[-1]
        serves = bench.works(lambda: _serves(bench, other, mac, address), 10)  # noqa: B023
        assert serves, f"[R6] 10 seconds later: {what}: {mac} is not given {address} in {other.lan}"
    bench.applies(site)
    still = missing(bench, 10)
    assert not still, f"[R6] 10 seconds later all does what it says: {still} does not"


def _serves(bench: Bench, site: Site, mac: str, address: str) -> bool:
    offer = bench.dhcp(Client(bench.lan, mac), DISCOVER, (OFFER,), 2)
    return (
        offer is not None and offer.yours == address and offer.options.get(1) == site.mask
        and offer.addresses(3) == [site.own]
    )  # fmt: skip


def connections(bench: Bench, nonce) -> None:
    """Two forwards, a connection to the world and one to a network that is then blocked, and a
    sender of datagrams whose door then leads elsewhere; what was counted goes on."""

    def refused() -> int:
        """By the page; whether it says so at all is judged elsewhere."""
        said = bench.page().get("refused", "0")
        return int(said) if said.isdigit() else 0

    before = refused()
    kept, led, gone = bench.site.forwards
    at = port()
    streams = {}
    for what, (_, public, address, to) in (("kept", kept), ("gone", gone)):
        machine_behind(bench, address).serve_tcp[to] = None
        streams[what] = bench.connect(bench.peer, bench.drawn.given, public)
    bench.router.serve_tcp[at] = None
    streams["world"] = bench.connect(bench.pc, bench.drawn.world, at)
    streams["blocked"] = bench.connect(bench.pc, bench.drawn.router, at)
    assert all(streams.values()), [what for what, one in streams.items() if one is None]
    datagrams = _Sender(bench, led[1], led[2])

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
    assert bench.works(lambda: datagrams.arrive(2), 15), "no datagram passed before the change"
    later = bench.site.changed(
        forwards=(kept, (*led[:2], gone[2], led[3])),
        blocks=(*bench.site.blocks, f"{bench.drawn.router}/32"), lease=bench.site.lease + 60,
    )  # fmt: skip
    bench.applies(later)
    assert refused() >= before, "[R29] since the start: what was refused was forgotten"
    for what in ("gone", "blocked"):
        ended = bench.works(lambda: not passes(what, 2), 10)  # noqa: B023
        assert ended, f"[R28] carry nothing any more: the connection that is {what} does"
    ended = bench.works(lambda: not datagrams.arrive(2), 10)
    assert ended, "[R28] carry nothing any more: datagrams reach the machine of the old `forward`"
    for what in ("kept", "world"):
        assert passes(what, 20), f"[R28] what is still permitted goes on: {what} has ended"


class _Sender:
    """Datagrams of one port of a caller, to a door behind which there is a machine."""

    def __init__(self, bench: Bench, door: int, address: str) -> None:
        self.bench, self.door, self.address = bench, door, address
        self.port = bench.peer.port()
        machine_behind(bench, address)

    def arrive(self, seconds: float) -> bool:
        """Whether a new one comes to that machine."""
        bench, word, mark = self.bench, secrets.token_bytes(16), self.bench.lan.count
        sent = udp(bench.peer.address, self.port, bench.drawn.given, self.door, word)
        bench.peer.put(sent, bench.macs["wan"])

        def came() -> bool:
            fresh = bench.packets(bench.lan, mark)
            return any(one.target == self.address and word in one.body for one in fresh)

        return bench.until(came, seconds)


def another_network(bench: Bench) -> None:
    """Every address of the local side changes; the doors and names go with it."""
    old = bench.site
    while (fresh := Site.draw(bench.plc.mac, old.hosts[1][0], WIDE)).net.overlaps(old.net):
        continue
    bench.held = {}
    bench.applies(fresh)
    client = Client(bench.lan, bench.pc.mac)

    def offered() -> bool:
        offer = bench.dhcp(client, DISCOVER, (OFFER,), 2)
        return offer is not None and ipaddress.IPv4Address(offer.yours) in fresh.net

    assert bench.works(offered, 10), f"[R6] 10 seconds later: nothing of {fresh.lan} is offered"
    answer = bench.lease(bench.pc.mac)
    assert answer is not None, "[R10] nothing is offered"
    assert answer.options.get(1) == fresh.mask, f"[R10] the mask of {fresh.lan}: {answer}"
    bench.pc.address = answer.yours
    bench.held = {bench.pc.mac: answer.yours}
    assert bench.ping(bench.pc, fresh.own), "[R6] the gateway is not at its new address"
    if bench.online:
        assert bench.ping(bench.pc, bench.drawn.world), "[R6] the world is not reached any more"
    reply = bench.resolve(f"{fresh.hosts[0][2]}.plant")
    assert reply is not None and reply.addresses == (fresh.hosts[0][1],), f"[R13] {reply}"
    bench.pc.neighbours.clear()
    bench.pc.ask_arp(old.own)
    still = missing(bench, 10)
    assert not still, f"[R6] 10 seconds later all does what it says: {still} does not"
    assert old.own not in bench.pc.neighbours, "[R24] it answers at its old address"


# ---- power -----------------------------------------------------------------------------------


def power_cut_after_a_lease(bench: Bench, machines) -> None:
    """A lease, and no power at once; then the same disk in a board with its cards the other way
    round and a clock that stands decades away."""
    held, names = bench.held, ("third", "wan", "lan")
    for _ in range(min(2, POOL - len(held))):
        mac = drawn_mac()
        answer = bench.lease(mac)
        assert answer is not None, f"[R10] nothing is offered after {len(held)} leases of {POOL}"
        held[mac] = answer.yours
    bench.machine.power_cut()
    clock = f"{2001 + secrets.randbelow(98)}-03-01T04:05:06"
    bench.machine = board(machines, "other", bench.machine.flatten(), bench.macs, names, clock)
    bench.machine.boot()
    bench.enter(60)
    # Nobody asks again what is held: others come first and must not get it.
    others = []
    for _ in range(POOL - len(held)):
        answer = bench.lease(drawn_mac())
        assert answer is not None, "[R10] less is offered than is free"
        others.append(answer.yours)
    given = set(others) & set(held.values())
    assert not given, f"[R12] over power cuts, whatever the clock shows: {given} went to others"
    assert bench.lease(drawn_mac(), 5) is None, "[R12] what somebody held is offered to another"
    for mac, address in held.items():
        client = Client(bench.lan, mac)
        got = bench.dhcp(client, REQUEST, (5, 6), address=address)
        assert got is not None and got.kind == 5 and got.yours == address, (
            f"[R12] what was acknowledged holds: {mac} asked for its {address} and got {got}"
        )
    bench.kept = dict(held)
    if bench.online:
        assert bench.ping(bench.pc, bench.drawn.world, 30), "[R3] the world is not reached"


def page_after_a_start(bench: Bench) -> None:
    """Who holds what, after the start of the board with its cards the other way round."""
    rows = bench.page()
    assert rows["name"] == bench.site.name, f"[R29] the name: {rows['name']!r}"
    for mac, address in bench.kept.items():
        found = rows.get(mac, "").split()[:1]
        assert found == [address], (
            f"[R29] one line for each lease: {mac} has {address}, not {found}"
        )


def overlapping_offer(bench: Bench) -> None:
    """A start at which the carrier first offers an address of a network that overlaps."""
    carrier, drawn = bench.carrier, bench.drawn
    carrier.offers = ""
    if bench.machine.alive:
        bench.machine.power_cut()
    carrier.asked.clear()
    carrier.offers, carrier.router, carrier.bits = drawn.overlapping(bench.site.net, bench.site.own)
    bad = f"{carrier.offers}/{carrier.bits}"
    mark = bench.wan.count
    bench.machine.boot()
    bench.enter(60)
    asked = bench.until(lambda: len(carrier.asked) >= 2, 30)
    assert asked, "[R17] the gateway asks again: it never asked the carrier"
    bench.pause(4)
    taken = [
        frame
        for frame in bench.wan.since(mark)
        if bad.partition("/")[0] in carrier_lease.senders(frame)
    ]
    assert not taken, f"[R17] never used: {bad} was, beside the local {bench.site.lan}"
    with contextlib.suppress(AssertionError):
        bench.without_carrier = bench.page().get("wan", "")
    assert bench.ping(bench.pc, bench.site.own), f"[R17] the local side suffers from {bad}"
    carrier.seconds = carrier_lease.SECONDS
    carrier.offers, carrier.router, carrier.bits = drawn.given, drawn.router, drawn.bits
    assert bench.ping(bench.router, drawn.given, 30), "[R17] the first good one within 30 seconds"
    assert bench.ping(bench.pc, drawn.world), "[R17] the world is not reached"


def other_passwords(bench: Bench, password: str) -> None:
    """Nothing, a part of it, more than it, another: none opens; nor is somebody else root."""
    some = [password[:-1] + "8", password + "x", password.lower(), password[:-1], "root", "admin"]
    for other in ("", password[:8], *secrets.SystemRandom().sample(some, 2)):
        bench.machine.shell.close()
        with pytest.raises(LoginFailed):
            bench.machine.login("root", other, timeout=60)
            raise AssertionError(f"[R1] and with no other: root logged in with {other!r}")
        bench.enter()
    opens = _roots(bench) - {"root"}
    assert not opens, f"[R1] with no other password: {sorted(opens)} are root, too"


def _roots(bench: Bench) -> set[str]:
    """The names of user 0 in the guest's own files that no locked field keeps out."""
    passwd, shadow = (
        [line.split(":") for line in bench.run(f"cat /etc/{name}").stdout.splitlines()]
        for name in ("passwd", "shadow")
    )
    fields = {row[0]: row[1] for row in reversed(shadow) if len(row) > 1}
    roots = {row[0]: row[1] for row in passwd if len(row) > 3 and row[2].isdigit()
             and int(row[2]) == 0}  # fmt: skip
    real = {name: fields.get(name, "*") if own == "x" else own for name, own in roots.items()}
    return {name for name, field in real.items() if field[:1] not in ("*", "!")}


def cuts(bench: Bench) -> None:
    """The power goes a drawn time after `site apply` began; and once it has ended, at once."""
    bench.machine.boot()
    bench.enter(60)
    assert bench.apply(bench.site.text()).status == 0
    serves = bench.dhcp(Client(bench.lan, bench.plc.mac), DISCOVER, (OFFER,), 10) is not None
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
        shown = bench.shown()
        assert shown in (new.text(), bench.site.text()), (
            f"[R8] one of the two, whole: after a cut `site show` says {shown[:200]!r}"
        )
        if turn == CUTS:
            assert shown == new.text(), "[R8] with the new one if `site apply` had ended"
        _all_of_it(bench, new if shown == new.text() else bench.site, serves)


def _all_of_it(bench: Bench, now: Site, serves: bool) -> None:
    """Whether the gateway does what this configuration says; `serves`: it gave addresses before."""
    name = bench.host_name()
    assert name == now.name, f"[R8] whole: `site show` says {now.name}, the host name is {name!r}"
    if not serves:
        return
    answer = bench.lease(bench.plc.mac)
    assert answer is not None and answer.yours == bench.plc.address, f"[R8] DHCP says {answer}"
    seconds = int.from_bytes(answer.options.get(51, b""), "big")
    assert seconds == now.lease, f"[R8] whole: a lease of {seconds} s, `site show` says {now.lease}"


def rest_of_the_disk(bench: Bench, delivered: Image, secret: bytes = b"") -> None:
    """Outside of `data` nothing differs from what was delivered, and `secret` is nowhere."""
    if bench.machine.alive:
        bench.machine.power_cut()
    disk = bench.machine.flatten()
    data = next(part for part in delivered.partitions() if part.name == "data")
    for name, begin, end in (("before", 0, data.start), ("behind", data.start + data.size, None)):
        assert _digest(delivered.path, begin, end) == _digest(disk, begin, end), (
            f"[R2] all else stays, bit for bit: what lies {name} `data` was changed"
        )
    assert not secret or secret not in disk.read_bytes(), "[R2] lie in memory: it is on the disk"


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


def lost_data(bench: Bench, machines) -> None:
    """The partition holds noise, or nothing."""
    if bench.machine.alive:
        bench.machine.power_cut()
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
    shown = bench.shown()
    assert shown == FACTORY, f"[R9] with /app/order/site.conf in force: {shown[:200]!r}"
    factory = bench.site = FACTORY_SITE
    if bench.held:
        answer = bench.lease(drawn_mac())
        assert answer is not None and factory.pooled(answer.yours), f"[R9] DHCP says {answer}"
    later = factory.changed(key=secrets.token_hex(16), name=f"pump-{word()}")
    result = bench.apply(later.text())
    assert result.status == 0, f"[R9] a file system: nothing can be applied: {result.stdout[:200]}"
    named = bench.works(lambda: bench.host_name() == later.name, 10)
    assert named, f"[R6] the host name: {bench.host_name()!r} instead of {later.name}"
    bench.machine.power_cut()
    bench.machine.boot()
    bench.enter(60)
    shown = bench.shown()
    assert shown == later.text(), (
        f"[R9] makes an empty one, [R8] with the new one: after `site apply` and a cut "
        f"{shown[:80]!r}"
    )
