"""Demands of what is told, of what changes, and of what lasts."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import replace

import core
from bench import Bench
from clients import Client
from core import name, outside, port, some_doors
from model import WORLD
from ordered import AXES, NETS, STATUS, has, verb
from sitefile import HostLine, free_address, record, write
from wire import magic, mark, since

from benchflow.bench.dhcp_message import ACK, DISCOVER, NAK, OFFER, REQUEST
from benchflow.bench.ethernet import BROADCAST, Packet, read_udp, udp

# -- tells ----------------------------------------------------------------------------------------


def wake(bench: Bench) -> None:
    for key in NETS:
        line = bench.line(bench.named(key))
        place = mark()
        bench.call("wake", line.name)

        def found(key=key, line=line, place=place) -> bool:
            return any(
                one.net.name == key and one.frame.target == BROADCAST
                and magic(line.mac) in one.frame.body for one in since(place)
            )  # fmt: skip

        if not bench.until(found, 10):
            bench.call("wake", line.name)
            assert bench.until(found, 10), f"nothing wakes {line.name} on {NETS[key].name}"
    bench.refused("unknown", verb("wake"), "nobody-here")


def refused_count(bench: Bench) -> None:
    bench.connected()
    for number in range(4):
        before = int(bench.status().get("refused", "-1"))
        assert before >= 0, f"{verb('status')} has no refused"
        mac, count = bench.router(bench.world), 5 + number
        for _ in range(count):
            probe = bench.probe("udp", outside(bench), bench.model.uplink, port(bench))
            bench.world.put(probe.packet, mac)
        to = bench.named("one").address
        bench.world.put(bench.probe("tcp", outside(bench), to, port(bench)).packet, mac)
        assert bench.ping(bench.world, bench.model.uplink)
        bench.adopt(bench.model.site)
        got = int(bench.status().get("refused", "-1")) - before
        if got == count + 1:
            return
    raise AssertionError(f"after {count + 1} packets that are refused, {got} more were counted")


def log_host(bench: Bench) -> None:
    bench.connected()
    for key in ("one", "two"):
        mac, place = bench.mac(), mark()
        address = core.given(bench, key, mac)
        text = f"{AXES['log_word']} {NETS[key].name} {mac} {address}"
        came: list[bytes] = []

        def found(place=place, text=text, came=came) -> bool:
            for one in since(place):
                data = read_udp(one.packet) if one.net.name == WORLD and one.packet else None
                to = one.packet.target if one.packet else ""
                if data and (to, data[1]) == (AXES["log_host"], int(AXES["port_log"])):
                    came.append(data[2])
                    if data[2].rstrip(b"\n") == text.encode():
                        return True
            return False

        assert bench.until(found, 30), f"the log host was not told {text!r}, but {came[-3:]}"


def time_server(bench: Bench) -> None:
    bench.connected()
    for key, net in NETS.items():
        host, stamp, own = bench.named(key), secrets.token_bytes(8), port(bench) + 30_000
        asked = bytes([0x23]) + bytes(39) + stamp
        got: list[tuple[bytes, float]] = []
        place, before = mark(), float(bench.station.run("date +%s")[1])

        def found(place=place, host=host, own=own, stamp=stamp, got=got) -> bool:
            for one in since(place):
                packet = one.packet if one.net is host.net else None
                data = read_udp(packet) if packet and packet.target == host.address else None
                if data and data[:2] == (123, own) and data[2][24:32] == stamp:
                    got.append((data[2], time.monotonic()))
            return bool(got)

        packet, mac = udp(host.address, own, net.own, 123, asked), bench.router(host)
        assert bench.again(lambda h=host, p=packet, m=mac: h.put(p, m), found, 30), (
            f"nobody tells the time on {net.name}"
        )
        after = float(bench.station.run("date +%s")[1])
        data = got[0][0]
        assert len(data) >= 48 and data[0] & 7 == 4 and 1 <= data[1] <= 15, (
            f"the time on {net.name} is told by {data[:4].hex()}"
        )
        said = int.from_bytes(data[40:44], "big") - 2208988800
        assert before - 1 <= said <= after + 1, (
            f"the time on {net.name} is {said}, and the router's clock was {before:.0f} before, "
            f"{after:.0f} after"
        )


# -- changes --------------------------------------------------------------------------------------


def kept(bench: Bench) -> None:
    bench.connected()
    core.leaves(bench)
    site = bench.base.copy()
    site.doors += some_doors(bench, 2)
    bench.adopt(site)
    talks = [
        bench.talk(bench.named("one"), "udp", outside(bench), port(bench)),
        bench.talk(bench.named("two"), "tcp", outside(bench), port(bench)),
    ]
    talks += [
        bench.talk(bench.world, one.protocol, bench.model.uplink, int(one.port),
                   source=outside(bench)) for one in site.doors
    ]  # fmt: skip
    for _ in range(2):
        site = site.copy()
        address = free_address(NETS["one"], bench.draw, {one.address for one in site.hosts})
        site.hosts.append(HostLine(f"h{len(site.hosts)}", NETS["one"].name, bench.mac(), address))
        bench.adopt(site)
        for talk in talks:
            talk.host, talk.other = bench.again_placed(talk.host), bench.again_placed(talk.other)
            assert talk.says(True) and talk.says(), (
                f"what {talk.near[0][0]} had open to {talk.near[1]} ended with a call of "
                f"{verb('reload')}"
            )


def closed_doors(bench: Bench) -> None:
    bench.connected()
    site = bench.base.copy()
    site.doors += some_doors(bench, 3)
    bench.adopt(site)
    talks = [
        bench.talk(bench.world, one.protocol, bench.model.uplink, int(one.port),
                   source=outside(bench)) for one in site.doors
    ]  # fmt: skip
    after = site.copy()
    del after.doors[0]
    other = bench.named("one") if site.doors[1].address != bench.named("one").address else (
        bench.named("one", 1)
    )  # fmt: skip
    after.doors[0] = replace(after.doors[0], address=other.address, to=str(port(bench)))
    bench.adopt(after)
    for talk in talks[:2]:
        talk.other = bench.again_placed(talk.other)
        for back in (False, True):
            assert talk.ends(back), (
                f"what {talk.near[0][0]} had open through a door still passes, without the door"
            )
    if has("kept"):
        talks[2].other = bench.again_placed(talks[2].other)
        assert talks[2].says(True) and talks[2].says(), "another door's connection ended too"


def mistakes(bench: Bench) -> list[tuple[str, list]]:
    """Files that are wrong, and why."""
    site = bench.base.copy()
    site.doors += some_doors(bench, 2)
    good = [record(one) for one in site.lines()]
    at = next(n for n, one in enumerate(good) if one[0] == "host")
    door = next(n for n, one in enumerate(good) if one[0] == "door")
    net = next(net for net in NETS.values() if net.name != good[at][1]["network"])
    second = next(n for n, one in enumerate(good) if one[0] == "host" and n != at)

    def with_(number: int, **told: str) -> list:
        kind, fields = good[number]
        return [*good[:number], (kind, {**fields, **told}), *good[number + 1 :]]

    stranger = free_address(net, bench.draw, {one.address for one in site.hosts})
    found = [
        ("a record of an unknown kind", [*good, ("window", {"name": "a"})]),
        ("a host's address of another network", with_(at, address=stranger)),
        ("a host in no network", with_(at, network="nowhere")),
        ("two hosts of one name", with_(at, name=good[second][1]["name"])),
        ("two hosts of one card", with_(at, mac=good[second][1]["mac"])),
        ("a card without a MAC", with_(at, mac="00:11:22:33:44")),
        ("a door to nobody", with_(door, address=outside(bench))),
        ("a door of another protocol", with_(door, protocol="icmp")),
        ("a port above 65535", with_(door, port="65536")),
        ("a port that is none", with_(door, to="http")),
    ]
    if AXES["site_form"] != "words":
        kind, fields = good[at]
        less = {key: value for key, value in fields.items() if key != "mac"}
        found.append(("a host without a MAC", [*good[:at], (kind, less), *good[at + 1 :]]))
        found.append(("a field that there is not", with_(door, colour="green")))
    return found


def wrong_file(bench: Bench) -> None:
    bench.connected()
    site = bench.base.copy()
    site.doors += some_doors(bench, 2)
    bench.adopt(site)
    for number, (why, records) in enumerate(mistakes(bench)):
        bench.station.write(write(records, bench.draw))
        status, _, wrong = bench.station.call(verb("reload"))
        assert status == STATUS["wrong_file"], (
            f"{verb('reload')} of a file with {why} ended with {status}, not {STATUS['wrong_file']}"
        )
        assert wrong.strip(), f"nothing on standard error about a file with {why}"
        if number % 4 == 0:
            for one in site.doors:
                bench.flow(bench.world, one.protocol, bench.model.uplink, int(one.port),
                           source=outside(bench))  # fmt: skip
    bench.says()


def register(bench: Bench) -> None:
    bench.connected()
    key = bench.files["register.key"].strip()
    came: list[tuple[float, str]] = []
    silent = 2

    def heard(packet: Packet, own: int, data: bytes) -> bytes | None:
        if packet.target != AXES["register_host"]:
            return None
        came.append((time.monotonic(), data[:300].decode("ascii", "replace").rstrip("\n")))
        return f"OK {bench.carrier.gives}".encode() if len(came) > silent else None

    bench.carrier.gives = bench.carrier.another()
    bench.world.serve[int(AXES["port_register"])] = heard
    try:
        bench.connected()
        assert bench.until(lambda: len(came) > silent, 90), (
            f"the register heard {len(came)} times of another address, and had not answered"
        )
        text = f"{AXES['register_word']} {AXES['own_name']} {bench.model.uplink}"
        due = f"{text} {hmac.new(key, text.encode(), hashlib.sha256).hexdigest()}"
        for _, said in came:
            assert said == due, f"the register heard {said!r}, and {due!r} is due"
        bench.until(lambda: False, 15)
        heard_then = len(came)
        bench.until(lambda: False, 15)
        assert len(came) == heard_then, "the register hears of an address that it acknowledged"
    finally:
        bench.world.serve[int(AXES["port_register"])] = bench.registers


#: Kills who has a UDP port open; prints how many these are.
_KILL = """
import os, signal, sys
ports = {"%04X" % int(one) for one in sys.argv[1:]}
nodes = {row.split()[9] for name in ("udp", "udp6") for row in open("/proc/net/" + name)
         if row.split()[1].rpartition(":")[2] in ports}
found = set()
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        for fd in os.listdir("/proc/%s/fd" % pid):
            to = os.readlink("/proc/%s/fd/%s" % (pid, fd))
            if to[:8] == "socket:[" and to[8:-1] in nodes:
                found.add(int(pid))
    except OSError:
        pass
for pid in found - {1, os.getpid()}:
    os.kill(pid, signal.SIGKILL)
print(len(found))
"""


def watched(bench: Bench) -> None:
    bench.connected()
    bench.station.machine.shell.write_file("/run/.ports", _KILL.encode())
    for number in ("53", "67"):
        said = bench.station.run(f"python3 -IS /run/.ports {number}")[1]
        line, one = bench.line(bench.named("one")), name(bench)
        bench.carrier.records[one] = outside(bench)
        where = f"after {said.strip()} processes with port {number} were killed"
        got = bench.lease("one", line.mac, 90)
        assert got and got.yours == line.address, f"{where}, {line.name} is given nothing"
        bench.resolves(bench.named("two"), one, 0, [bench.carrier.records[one]], seconds=90)


# -- lasts ----------------------------------------------------------------------------------------


def lease_memory(bench: Bench) -> None:
    key = "two"
    holders = [bench.mac() for _ in range(3)]
    given = {mac: core.given(bench, key, mac) for mac in holders}
    bench.lose_power()
    assert bench.ping(bench.named(key), NETS[key].own, 120)
    for mac, address in given.items():
        stranger = Client(bench, bench.nets[key], bench.mac())
        offer = stranger.ask(DISCOVER, (OFFER,), 90, address=address)
        assert offer, f"nothing is offered on {NETS[key].name} after the power went"
        assert offer.yours not in given.values(), (
            f"{offer.yours}, which {mac} holds, was offered to another client after the power went"
        )
        holder = Client(bench, bench.nets[key], mac)
        said = holder.ask(REQUEST, (ACK, NAK), 30, address=address)
        got = said and (said.kind, said.yours)
        assert got == (ACK, address), f"the holder of {address} asks for it again, and gets {got}"


def last_good(bench: Bench) -> None:
    site = bench.base.copy()
    site.doors += some_doors(bench, 2)
    bench.adopt(site)
    wrong = [*(record(one) for one in bench.base.hosts), ("window", {"name": "open"})]
    bench.station.write(write(wrong, bench.draw))
    for without in (False, True):
        if without:
            bench.station.run("rm /data/site; sync")
        bench.lose_power()
        bench.connected()
        bench.says()
        for one in site.doors:
            bench.flow(bench.world, one.protocol, bench.model.uplink, int(one.port),
                       source=outside(bench))  # fmt: skip
    bench.station.write(site.text(bench.draw))
