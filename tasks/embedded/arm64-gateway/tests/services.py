"""Forwards, the page, the record of what was refused, and processes that are killed."""

from __future__ import annotations

import functools
import ipaddress
import secrets
import struct
import time
from collections.abc import Callable

from bench import Bench
from dhcp import Client
from hosts import Host
from site_data import port, vakt

from benchflow.bench.dhcp_message import DISCOVER, OFFER
from benchflow.bench.ethernet import ICMP, SYN, Packet, Segment, icmp, udp

FLOOD = 3000
SERVICES = ("dhcp", "dns", "page", "uplink", "vakt")


def machine_behind(bench: Bench, address: str) -> Host:
    """The local machine of an address, which is on the wire from now on."""
    for host in bench.lan.hosts:
        if host.address == address:
            return host
    mac = next(mac for mac, own, _ in bench.site.hosts if own == address)
    return Host(bench.lan, mac, address)


def forwards(bench: Bench, host: Host, nonce: Callable[[], str], seen_as: str | None) -> None:
    """Each door, from one side: a word goes through, and an answer that is made from it."""
    for proto, at, address, to in bench.site.forwards:
        behind, said = machine_behind(bench, address), nonce().encode()
        asked = nonce().encode()
        if proto == "udp":
            behind.serve_udp[to] = lambda peer, _, data, said=said: said + data + peer.encode()
            got = bench.datagram(host, bench.drawn.given, at, asked)
            assert got is not None, f"[R26] `forward` works: nothing comes back from {proto} {at}"
            caller = got[1].removeprefix(said + asked).decode("ascii", "replace")
            assert got[0] == bench.drawn.given and got[1].startswith(said + asked), got
        else:
            behind.serve_tcp[to] = lambda data, said=said: said + data[::-1]
            known = set(behind.streams)
            answer = bench.fetch(host, bench.drawn.given, at, asked + b"\n")
            assert answer == said + b"\n" + asked[::-1], (
                f"[R26] `forward` works: {proto} {at} said {answer[:80]!r}"
            )
            caller = next(peer for own, peer, _ in set(behind.streams) - known if own == to)
        if seen_as is not None:
            assert caller == seen_as, (
                f"[R26] the caller's true address: behind {proto} {at} it was {caller}, not "
                f"{seen_as}"
            )


def errors(bench: Bench, data: bytes) -> None:
    """A router of the world says what became of a datagram: whose it was, the sender learns."""
    own, at = bench.pc.port(), port()
    packet = udp(bench.pc.address, own, bench.drawn.world, at, data)

    def arrived() -> list[Packet]:
        return bench.router.received(lambda one: data in one.body)

    bench.again(lambda: bench.pc.put(packet, bench.macs["lan"]), arrived, 15)
    assert arrived(), "[R18] it did not arrive"
    kind, code = 3, secrets.choice((1, 3, 4))
    quoted = arrived()[0]
    body = icmp(kind, code, bytes(4), quoted.pack()[:28])
    error = Packet(bench.drawn.other, quoted.source, ICMP, body)

    def learnt() -> bool:
        for came in bench.pc.received(lambda one: one.protocol == ICMP):
            about = Packet.read(came.body[8:], whole=False)
            ends = (bench.pc.address, bench.drawn.world)
            named = about and (about.source, about.target) == ends
            if about and named and came.body[:2] == bytes([kind, code]):
                return about.body[:4] == struct.pack(">HH", own, at)
        return False

    found = bench.again(lambda: bench.router.put(error, bench.macs["wan"]), learnt, 15)
    assert found, (
        f"[R18] errors reach the machine that sent it, and name its own address: the sender never "
        f"learnt of one of type {kind}, code {code}"
    )


def blocked(bench: Bench, nonce: Callable[[], str]) -> None:
    data = nonce().encode()
    assert bench.ping(bench.pc, bench.drawn.other), "the network was not to be reached before"
    bits = secrets.choice((8, 13, 20, 24, 27, 32))
    net = ipaddress.IPv4Network(f"{bench.drawn.other}/{bits}", strict=False)
    bench.applies(bench.site.changed(blocks=(str(net),)))
    stopped = bench.works(lambda: bench.ping(bench.pc, bench.drawn.other, 1) is None, 10)
    assert stopped, f"[R27] nobody exchanges anything: {bench.drawn.other} in {net} answers ping"
    mark, local = bench.wan.count, bench.lan.count
    bench.pc.put(udp(bench.pc.address, port(), bench.drawn.other, port(), data), bench.macs["lan"])
    proto, at, _, _ = bench.site.forwards[1]
    assert proto == "udp"
    bench.router.put(udp(bench.drawn.other, 99, bench.drawn.given, at, data), bench.macs["wan"])
    assert bench.ping(bench.pc, bench.drawn.world), f"[R27] only {net} is blocked, not all"
    assert not bench.seen(bench.wan, mark, data), f"[R27] in neither direction: sent to {net}"
    assert not bench.seen(bench.lan, local, data), f"[R27] {net} comes through a door"


def page(bench: Bench) -> None:
    first, began = bench.page(), time.monotonic()
    assert first["name"] == bench.site.name, f"[R29] the name: {first['name']!r}"
    wanted = f"{bench.drawn.given}/{bench.drawn.bits}"
    assert first["wan"] == wanted, f"[R29] address and mask: {first['wan']!r} instead of {wanted}"
    for mac, address in bench.held.items():
        found, seconds = first[mac].split()
        assert found == address and 0 < int(seconds) <= bench.site.lease, (
            f"[R29] who, address, seconds left: {mac} has {address} for {bench.site.lease} s at "
            f"most, the page says {first[mac]!r}"
        )
    on_since, up_since = (time.monotonic() - one for one in (bench.switched_on, bench.logged_in))
    uptime = int(first["uptime"])
    assert up_since - 3 <= uptime <= on_since + 3, (
        f"[R29] seconds since the start: {uptime}, between {up_since:.0f} and {on_since:.0f}"
    )
    bench.pause(3)
    second, passed = bench.page(), time.monotonic() - began
    grown = int(second["uptime"]) - uptime
    assert 1 <= grown <= passed + 2, f"[R29] uptime grew by {grown} s in {passed:.1f} s"


def _knocks(bench: Bench, count: int, source: str, at: int) -> None:
    for _ in range(count):
        bench.peer.put(udp(source, port(), bench.drawn.given, at, b"knock"), bench.macs["wan"])


def refused(bench: Bench) -> None:
    """Packets of a source that nobody knows, one after another: counted, and noted one by one."""
    bench.pause(3)
    before = int(bench.page()["refused"])
    source, target, mac = f"193.7.{secrets.randbelow(250)}.9", bench.drawn.given, bench.macs["wan"]
    at = 1024 + secrets.randbelow(8000)
    syn = Segment(port(), at, 7, 0, SYN).pack(source, target)
    kinds = {
        f"{source} {target} udp {at}": udp(source, port(), target, at, b"knock"),
        f"{source} {target} tcp {at}": syn,
        f"{source} {target} icmp -": Packet(source, target, ICMP, b"\x0d\0" + bytes(18)),
    }
    wanted = [line for _ in range(3) for line in kinds]
    for line in wanted:
        bench.peer.put(kinds[line], mac)
        time.sleep(0.25)
    assert bench.ping(bench.peer, target)
    after = int(bench.page()["refused"])
    assert len(wanted) <= after - before <= len(wanted) + 3, (
        f"[R29] refused: {after - before} instead of {len(wanted)} were counted"
    )
    lines = [line for line in bench.say("refused").splitlines() if line.startswith(source)]
    # Four in a second were sent; where the host was busy, more may have come in one.
    assert set(lines) == set(kinds) and len(wanted) - 3 <= len(lines) <= len(wanted), (
        f"[R30] the newest of those packets: wanted {wanted}, got {lines}"
    )


def flood(bench: Bench) -> None:
    source, at = f"193.8.{secrets.randbelow(250)}.9", 1024 + secrets.randbelow(8000)
    before = int(bench.page()["refused"])
    began = time.monotonic()
    for _ in range(FLOOD // 50):
        _knocks(bench, 50, source, at)
        bench.ping(bench.pc, bench.site.own, 5)
    took = time.monotonic() - began
    assert bench.page(30)["name"] == bench.site.name
    counted = int(bench.page()["refused"]) - before
    assert FLOOD * 0.5 <= counted <= FLOOD + 10, (
        f"[R30] the page counts all: {counted} of {FLOOD} were counted"
    )
    bench.pause(2)
    lines = bench.say("refused").splitlines()
    noted = lines.count(f"{source} {bench.drawn.given} udp {at}")
    assert 0 < noted <= 10 + 10 * (took + 2), (
        f"[R30] at most 10 in a second: {noted} lines of {FLOOD} packets in {took:.0f} s, the "
        f"last of all {lines[-3:]}"
    )
    last = f"193.9.{secrets.randbelow(250)}.9"
    _knocks(bench, 1, last, at)
    bench.pause(1)
    lines = bench.say("refused").splitlines()
    assert lines[-1:] == [f"{last} {bench.drawn.given} udp {at}"], (
        f"[R30] the last one last: the last is from {last}, and the lines end with {lines[-3:]}"
    )


# ---- processes -------------------------------------------------------------------------------


def pids(bench: Bench) -> dict[str, str]:
    said = bench.say("services")
    rows = [line.split() for line in said.splitlines() if line.strip()]
    found = {row[0]: row[1] for row in rows if len(row) == 2}
    missing = set(SERVICES) - set(found)
    assert not missing, f"[R33] `services` does not name {sorted(missing)}: {said[:200]!r}"
    return found


def _status(bench: Bench, pid: str) -> dict[str, list[str]]:
    """What the kernel says of a process: the words behind each key."""
    rows = [line.partition(":") for line in bench.say(f"cat /proc/{pid}/status").splitlines()]
    return {key: value.split() for key, _, value in rows}


def watchman(bench: Bench) -> None:
    """Who it is, that it goes on after it has ended, and that its answers need its process."""
    for _ in range(30):
        asked = secrets.token_bytes(9)
        got = bench.datagram(bench.pc, bench.site.own, 7710, asked, 30)
        assert got is not None, "[R33] it has ended, and nobody started it again"
        said = got[1].decode("ascii", "replace").strip()
        assert said == vakt(bench.site.key, asked), f"[R32] as in vakt.examples: {said!r}"
    assert bench.works(lambda: pids(bench)["vakt"].isdigit(), 10), "[R33] no watchman"
    now = pids(bench)
    pid = now["vakt"]
    exe = f"/proc/{pid}/exe"
    same = bench.run(f"[ {exe} -ef /usr/bin/vakt ] || cmp -s {exe} /usr/bin/vakt").status == 0
    assert same, "[R32] installed as /usr/bin/vakt: another program is the watchman"
    _has_no_rights(bench, pid, {now[name] for name in SERVICES if now[name] != pid})
    maps = [line.split()[-1] for line in bench.say(f"cat /proc/{pid}/maps").splitlines()]
    files = {path for path in maps if path.startswith("/")}
    assert len(files) <= 1, f"[R32] linked statically: it has {sorted(files)} in its memory"
    bench.run(f"kill -STOP {pid}")
    answered = bench.datagram(bench.pc, bench.site.own, 7710, b"stopped", 3)
    bench.run(f"kill -CONT {pid}")
    assert answered is None, "[R33] the process that does this work: another answers for it"


def _has_no_rights(bench: Bench, pid: str, others: set[str]) -> None:
    rows = _status(bench, pid)
    groups = {*rows["Gid"], *rows.get("Groups", [])}
    assert "0" not in rows["Uid"], f"[R32] a user of its own: it has {rows['Uid']}"
    assert "0" not in groups, f"[R32] a user of its own: it is in the group of root: {groups}"
    for kind in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        assert int(rows[kind][0], 16) == 0, f"[R32] without any capability: {kind} {rows[kind]}"
    for other in (one for one in others if one.isdigit()):
        shared = set(_status(bench, other)["Uid"]) & set(rows["Uid"])
        assert not shared, f"[R32] a user of its own: process {other} has {shared} too"
    _cannot_read_shadow(bench, pid, rows["Uid"], groups)


def _cannot_read_shadow(bench: Bench, pid: str, users: list[str], groups: set[str]) -> None:
    """By what the files in its own view of the system say; there may be none in that."""
    root = f"/proc/{pid}/root"
    shown = bench.run(f"ls -lLnd {root}/etc/shadow 2>/dev/null").stdout.split()
    if shown:
        mode, owner, group = shown[0], shown[2], shown[3]
        kept = mode[7] == "-" and (mode[4] == "-" or group not in groups)
        kept = kept and (mode[1] == "-" or owner not in users)
        kept = kept and not mode.endswith("+")
        assert kept, f"[R32] cannot read /etc/shadow, which is {shown[:4]}, as {users} {groups}"
    for line in bench.run(f"cat {root}/etc/passwd 2>/dev/null").stdout.splitlines():
        hashed = line.split(":")[1:2]
        assert len("".join(hashed)) < 13, f"[R32] the hash lies in /etc/passwd: {line[:20]!r}…"


def works(bench: Bench) -> str:
    """What does not work, "" when all does."""
    for name, answers in asking(bench, 3).items():
        if not answers():
            return name
    return ""


def missing(bench: Bench, seconds: float) -> str:
    """What does not work even when this time has passed, "" when all does."""
    last = ""

    def all_works() -> bool:
        nonlocal last
        last = works(bench)
        return not last

    bench.works(all_works, seconds)
    return last


def asking(bench: Bench, seconds: float) -> dict[str, Callable[[], bool]]:
    """For each service that answers by itself, whether it does."""
    question = secrets.token_bytes(9)

    def dns() -> bool:
        reply = bench.resolve(f"{bench.site.name}.plant", seconds=seconds)
        return reply is not None and bool(reply.addresses)

    def page() -> bool:
        try:
            return bench.page(seconds)["name"] == bench.site.name
        except AssertionError:
            return False

    def watch() -> bool:
        got = bench.datagram(bench.pc, bench.site.own, 7710, question, seconds)
        if got is None or not bench.answers_right:
            return got is not None  # what it says wrongly is judged elsewhere, and once
        return got[1].decode("ascii", "replace").strip() == vakt(bench.site.key, question)

    plc = Client(bench.lan, bench.plc.mac)
    return {
        "dhcp": lambda: bench.dhcp(plc, DISCOVER, (OFFER,), seconds) is not None,
        "dns": dns, "page": page, "vakt": watch,
    }  # fmt: skip


def named(bench: Bench) -> None:
    """The work of each service stops while the process stands still that is said to do it."""
    for name, answers in asking(bench, 3).items():
        assert bench.works(answers, 10), f"{name} does not work"
        pid = pids(bench)[name]
        bench.say(f"kill -STOP {pid}")
        answered = answers()
        bench.say(f"kill -CONT {pid}")
        assert not answered, f"[R33] the process that does this work: {name} is not {pid}'s"
        assert bench.works(answers, 15), f"{name} did not go on after a stop"


def _fresh(bench: Bench, name: str, before: str) -> bool:
    pid = pids(bench)[name]
    return pid.isdigit() and pid != before


def killed(bench: Bench) -> None:
    """Each service is killed, five times in a row, and then all of them at once. Meanwhile
    somebody knocks from the carrier's side, again and again."""
    before = pids(bench)
    mark, data = bench.lan.count, secrets.token_bytes(16)

    def knock() -> None:
        for target in (bench.plc.address, bench.drawn.given):
            bench.peer.put(udp(bench.peer.address, 9, target, 9, data), bench.macs["wan"])

    for name in ("page", "vakt", "dhcp", "dns", "uplink"):
        for _ in range(5):
            pid = pids(bench)[name]
            if pid.isdigit():
                bench.run(f"kill -9 {pid}")
            knock()
            bench.pause(0.5)
        fresh = functools.partial(_fresh, bench, name, before[name])
        assert bench.works(fresh, 10), f"[R33] within 10 seconds: {name} did not come back"
    bench.run("for n in 1 2 3; do services | while read -r name pid; do kill -9 $pid; done; done")
    knock()
    still = missing(bench, 10)
    assert not still, f"[R33] within 10 seconds its work is done again: {still} is not"
    assert not bench.seen(bench.lan, mark, data), "[R33] the wall fell with the services"
    if bench.online:
        assert bench.ping(bench.pc, bench.drawn.world, 30), "[R33] the world is not reached now"
