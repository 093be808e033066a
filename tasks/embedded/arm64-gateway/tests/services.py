"""Forwards, the page, the record of what was refused, and processes that are killed."""

from __future__ import annotations

import functools
import secrets
import struct
import time
from collections.abc import Callable

from bench import Bench
from dhcp import DISCOVER, OFFER, Client
from frames import ICMP, Packet, udp, unreachable
from hosts import Host
from site_data import port, vakt

FLOOD = 3000


def machine_behind(bench: Bench, address: str) -> Host:
    """The local machine of an address, which is on the wire from now on."""
    for host in bench.lan.hosts:
        if host.address == address:
            return host
    mac = next(mac for mac, own, _ in bench.site.hosts if own == address)
    return Host(bench.lan, mac, address, 24, bench.site.own)


def forwards(bench: Bench, host: Host, nonce: Callable[[], str], seen_as: str | None) -> None:
    """Each door, from one side: a word goes through, and an answer that is made from it."""
    for proto, at, address, to in bench.site.forwards:
        behind, said = machine_behind(bench, address), nonce().encode()
        asked = nonce().encode()
        if proto == "udp":
            behind.serve_udp[to] = lambda peer, _, data, said=said: said + data + peer.encode()
            got = bench.datagram(host, bench.drawn.given, at, asked)
            assert got is not None, f"{proto} {at}: nothing comes back"
            caller = got[1].removeprefix(said + asked).decode("ascii", "replace")
            assert got[0] == bench.drawn.given and got[1].startswith(said + asked), got
        else:
            behind.serve_tcp[to] = lambda data, said=said: said + data[::-1]
            known = set(behind.streams)
            answer = bench.fetch(host, bench.drawn.given, at, asked + b"\n")
            assert answer == said + b"\n" + asked[::-1], f"{proto} {at}: {answer[:80]!r}"
            caller = next(peer for own, peer, _ in set(behind.streams) - known if own == to)
        if seen_as is not None:
            assert caller == seen_as, f"{proto} {at}: the machine behind it saw {caller}"


def errors(bench: Bench, data: bytes) -> None:
    """A router of the world says that a datagram is too large: whose it was, the sender learns."""
    own, at = bench.pc.port(), port()
    packet = udp(bench.pc.address, own, bench.drawn.world, at, data)

    def arrived() -> list[Packet]:
        return bench.router.received(lambda one: data in one.body)

    bench.again(lambda: bench.pc.put(packet, bench.macs["lan"]), arrived, 15)
    assert arrived(), "it did not arrive"
    bench.router.put(unreachable(bench.drawn.other, arrived()[0]), bench.macs["wan"])

    def learnt() -> bool:
        for error in bench.pc.received(lambda one: one.protocol == ICMP):
            quoted = Packet.read(error.body[8:], whole=False)
            ends = (bench.pc.address, bench.drawn.world)
            if error.body[:2] == b"\3\4" and quoted and (quoted.source, quoted.target) == ends:
                return quoted.body[:4] == struct.pack(">HH", own, at)
        return False

    assert bench.until(learnt, 15), "the sender never learnt of the error"


def blocked(bench: Bench, nonce: Callable[[], str]) -> None:
    data = nonce().encode()
    assert bench.ping(bench.pc, bench.drawn.other), "the network was not to be reached before"
    net = bench.drawn.other.rpartition(".")[0] + ".0/24"
    bench.applies(bench.site.changed(blocks=(net,)))
    stopped = bench.works(lambda: bench.ping(bench.pc, bench.drawn.other, 1) is None, 10)
    assert stopped, "a blocked network answers ping"
    mark, local = bench.wan.count, bench.lan.count
    bench.pc.put(udp(bench.pc.address, port(), bench.drawn.other, port(), data), bench.macs["lan"])
    proto, at, _, _ = bench.site.forwards[1]
    assert proto == "udp"
    bench.router.put(udp(bench.drawn.other, 99, bench.drawn.given, at, data), bench.macs["wan"])
    assert bench.ping(bench.pc, bench.drawn.world), "another network is blocked too"
    assert not bench.seen(bench.wan, mark, data), "a blocked network is sent to"
    assert not bench.seen(bench.lan, local, data), "a blocked network comes through a door"


def page(bench: Bench, shared: dict) -> None:
    first, began = bench.page(), time.monotonic()
    assert first["name"] == bench.site.name
    assert first["wan"] == f"{bench.drawn.given}/24", first["wan"]
    for mac, address in shared["held"].items():
        found, seconds = first[mac].split()
        assert found == address and 0 < int(seconds) <= bench.site.lease, (mac, first[mac])
    said = int(float(bench.say("cut -d ' ' -f 1 /proc/uptime").partition(".")[0]))
    assert abs(int(first["uptime"]) - said) <= 60 and int(first["uptime"]) > 0
    bench.pause(3)
    second, passed = bench.page(), time.monotonic() - began
    grown = int(second["uptime"]) - int(first["uptime"])
    assert 1 <= grown <= passed + 2, f"{grown} seconds have passed, says the page; {passed:.1f} did"


def _knocks(bench: Bench, count: int, source: str, at: int) -> None:
    for _ in range(count):
        bench.peer.put(udp(source, port(), bench.drawn.given, at, b"knock"), bench.macs["wan"])


def refused(bench: Bench) -> None:
    """Packets of a source and a port that nobody knows: counted, and noted one by one."""
    bench.pause(3)
    before = int(bench.page()["refused"])
    source, at, count = f"193.7.{secrets.randbelow(250)}.9", 1024 + secrets.randbelow(8000), 7
    _knocks(bench, count, source, at)
    assert bench.ping(bench.peer, bench.drawn.given)
    after = int(bench.page()["refused"])
    assert count <= after - before <= count + 3, f"{after - before} instead of {count} were counted"
    lines = bench.say("refused").splitlines()
    line = f"{source} {bench.drawn.given} udp {at}"
    assert lines[-count - 3 :].count(line) == count, f"not {count} times {line!r}: {lines[-9:]}"


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
    assert FLOOD * 0.5 <= counted <= FLOOD + 10, f"{counted} of {FLOOD} were counted"
    bench.pause(2)
    lines = bench.say("refused").splitlines()
    assert f"{source} {bench.drawn.given} udp {at}" in lines, f"not noted: {lines[-5:]}"
    noted = sum(int(word) for word in bench.say(f"dmesg | grep -c {source} || true").split()[:1])
    assert noted <= 25 + 12 * took, f"{noted} packets were noted in {took:.0f} s"
    bench.pause(2)
    last = f"193.9.{secrets.randbelow(250)}.9"
    _knocks(bench, 1, last, at)
    bench.pause(1)
    lines = bench.say("refused").splitlines()
    assert lines[-1:] == [f"{last} {bench.drawn.given} udp {at}"], f"not the last: {lines[-5:]}"


# ---- processes -------------------------------------------------------------------------------


def pids(bench: Bench) -> dict[str, str]:
    rows = [line.split() for line in bench.say("services").splitlines() if line.strip()]
    found = {row[0]: row[1] for row in rows if len(row) == 2}
    missing = {"dhcp", "dns", "page", "uplink", "vakt"} - set(found)
    assert not missing, f"`services` does not name {sorted(missing)}"
    return found


def watchman(bench: Bench) -> None:
    """Who it is, that it goes on after it has ended, and that its answers need its process."""
    for _ in range(30):
        asked = secrets.token_bytes(9)
        got = bench.datagram(bench.pc, bench.site.own, 7710, asked, 30)
        assert got is not None, "it has ended, and nobody started it again"
        assert got[1].decode("ascii", "replace").strip() == vakt(bench.site.key, asked)
    assert bench.works(lambda: pids(bench)["vakt"].isdigit(), 10), "no watchman"
    pid = pids(bench)["vakt"]
    said = bench.say(f"readlink /proc/{pid}/exe; cat /proc/{pid}/status")
    assert said.splitlines()[0] == "/usr/bin/vakt", said.splitlines()[0]
    rows = {
        line.split(":")[0]: line.split(":")[1].split() for line in said.splitlines() if ":" in line
    }
    assert "0" not in rows["Uid"] and "0" not in rows["Gid"], rows["Uid"]
    for kind in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        assert int(rows[kind][0], 16) == 0, f"{kind} {rows[kind]}"
    assert "0" not in rows.get("Groups", []), "it is in the group of root"
    others = bench.say("ls -lnd /etc/shadow").split()
    assert others[0][7:10] == "---" and others[2:3] == ["0"], f"/etc/shadow: {others[:4]}"
    mapped = bench.say(f"grep -c '\\.so' /proc/{pid}/maps || true").split()
    assert mapped[:1] == ["0"], "it is not linked statically"
    bench.run(f"kill -STOP {pid}")
    assert bench.datagram(bench.pc, bench.site.own, 7710, b"stopped", 3) is None, (
        "something else answers while it is stopped"
    )
    bench.run(f"kill -CONT {pid}")


def works(bench: Bench) -> str:
    """What does not work, "" when all does."""
    if bench.dhcp(Client(bench.lan, bench.plc.mac), DISCOVER, (OFFER,), 3) is None:
        return "dhcp"
    reply = bench.resolve(f"{bench.site.name}.plant", seconds=3)
    if reply is None or not reply.addresses:
        return "dns"
    try:
        if bench.page(3)["name"] != bench.site.name:
            return "page"
    except AssertionError:
        return "page"
    return "" if bench.datagram(bench.pc, bench.site.own, 7710, b"works?", 3) else "vakt"


def _fresh(bench: Bench, name: str, before: str) -> bool:
    pid = pids(bench)[name]
    return pid.isdigit() and pid != before


def killed(bench: Bench) -> None:
    """Each service is killed, five times in a row, and then all of them at once."""
    before = pids(bench)
    for name in ("page", "vakt", "dhcp", "dns", "uplink"):
        for _ in range(5):
            pid = pids(bench)[name]
            if pid.isdigit():
                bench.run(f"kill -9 {pid}")
            bench.pause(0.5)
        fresh = functools.partial(_fresh, bench, name, before[name])
        assert bench.works(fresh, 10), f"{name} did not come back"
    bench.run("for n in 1 2 3; do services | while read -r name pid; do kill -9 $pid; done; done")
    mark = bench.lan.count
    data = secrets.token_bytes(16)
    bench.peer.put(udp(bench.peer.address, 9, bench.plc.address, 9, data), bench.macs["wan"])
    back = bench.works(lambda: works(bench) == "", 10)
    assert back, f"not back after 10 seconds: {works(bench)}"
    assert not bench.seen(bench.lan, mark, data), "the wall fell with the services"
    assert bench.ping(bench.pc, bench.drawn.world, 30), "the world is not reached any more"
