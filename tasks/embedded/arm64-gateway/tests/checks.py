"""arm64-gateway: does it serve the local side, and hold against the other one?"""

from __future__ import annotations

import secrets
import time

import attacks
import changes
import services
from attacks import CLOSED_TCP, CLOSED_UDP
from bench import PASSWORD
from dhcp import DISCOVER, NAK, OFFER, REQUEST, Client
from frames import ARP, BROADCAST, ICMP, IPV4, IPV6, Frame, read_udp, udp
from names import PTR
from site_data import drawn_mac, port, vakt, word

from benchflow.boot import check, milestone

FACTORY = "10.71.0.1"


# ---- image ----------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R2"], title="The disk and its partitions")
def test_the_disk(image):
    disk = image()
    assert disk.size <= 96 << 20, f"the image has {disk.size} bytes"
    parts = disk.partitions()
    assert parts and all(part.table == "gpt" for part in parts)
    data = [part for part in parts if part.name == "data"]
    assert len(data) == 1 and data[0].size >= 8 << 20, data


# ---- boots ----------------------------------------------------------------------------------


@milestone("boots", weight=2, requires=["image"], proves=["R1"], title="It starts by itself")
def test_it_starts_in_time(bench, metric):
    bench.machine.boot()
    bench.enter(60)
    metric("boot_seconds", bench.machine.elapsed)
    assert bench.machine.elapsed <= 60, "it took longer"


@check("boots", proves=["R2"])
def test_what_can_be_written(bench):
    for place in ("/tmp", "/run"):
        bench.say(f"echo word >{place}/bench && rm {place}/bench")
    rows = [line.split() for line in bench.say("cat /proc/mounts").splitlines()]
    mounts = {row[1]: (row[2], row[3].split(",")) for row in rows if len(row) > 3}
    assert "ro" in mounts["/"][1], mounts["/"]
    assert mounts["/tmp"][0] in ("tmpfs", "ramfs") and mounts["/run"][0] in ("tmpfs", "ramfs")
    assert bench.run("echo word >/etc/bench").status != 0


@check("boots", proves=["R6", "R5"])
def test_a_configuration_can_be_applied(bench):
    assert "name pump-0" in bench.say("site show").splitlines()
    bench.applies(bench.site)
    assert bench.machine.shell.read_file("/tmp/bench.conf") == bench.site.text().encode()
    assert bench.say("site show") == bench.site.text().strip()
    assert bench.works(lambda: bench.say("hostname") == bench.site.name, 10), "another host name"


# ---- leases ---------------------------------------------------------------------------------


@milestone("leases", weight=2, requires=["boots"], proves=["R10", "R15"], title="DHCP")
def test_a_lease(bench):
    def moved() -> bool:
        offer = bench.dhcp(Client(bench.lan, bench.pc.mac), DISCOVER, (OFFER,), 3)
        return offer is not None and offer.addresses(54) == [bench.site.own]

    bench.works(moved, 10)  # after a change the old network may be served for ten seconds
    answer = bench.lease(bench.pc.mac)
    assert answer is not None, "nothing is offered"
    first, last = bench.site.pool
    number = lambda text: [int(part) for part in text.split(".")]  # noqa: E731
    assert number(first) <= number(answer.yours) <= number(last), answer.yours
    assert answer.options.get(1) == bytes([255, 255, 255, 0])
    assert answer.addresses(3) == [bench.site.own] and answer.addresses(6) == [bench.site.own]
    assert answer.options.get(15, b"").rstrip(b"\0") == b"plant"
    assert int.from_bytes(answer.options.get(51, b""), "big") == bench.site.lease
    bench.pc.address = answer.yours
    assert bench.ping(bench.pc, bench.site.own), "the gateway does not answer ping"


@check("leases", proves=["R11"])
def test_addresses_of_their_own(bench):
    for mac, address, _ in bench.site.hosts:
        answer = bench.lease(mac)
        assert answer is not None and answer.yours == address, f"{mac} got {answer}"
    thief = Client(bench.lan, drawn_mac())
    offer = bench.dhcp(thief, DISCOVER, (OFFER,), address=bench.plc.address)
    assert offer is None or offer.yours != bench.plc.address, "a host's address is offered"
    got = bench.dhcp(thief, REQUEST, (NAK, 5), 8, address=bench.plc.address, server=bench.site.own)
    assert got is None or got.kind == NAK, "a host's address was acknowledged to another"


@check("leases", proves=["R10"])
def test_other_networks_are_refused(bench):
    client = Client(bench.lan, drawn_mac())
    got = bench.dhcp(client, REQUEST, (NAK, 5), address=f"198.18.{secrets.randbelow(250)}.7")
    assert got is not None and got.kind == NAK, "no refusal"


@check("leases", proves=["R10"])
def test_nothing_is_given_twice(bench, shared):
    """The pool has six addresses, and one is held; the last client finds none."""
    macs = [drawn_mac() for _ in range(5)]
    held = {bench.pc.mac: bench.pc.address}
    for mac in macs:
        answer = bench.lease(mac)
        assert answer is not None, f"nothing was offered after {len(held)} leases"
        assert answer.yours not in held.values(), f"{answer.yours} was given twice"
        held[mac] = answer.yours
    assert bench.lease(drawn_mac(), 5) is None, "more was offered than the pool holds"
    again = bench.lease(macs[0])
    assert again is not None and again.yours == held[macs[0]], "a holder got another address"
    shared["held"] = held


# ---- names ----------------------------------------------------------------------------------


@milestone("names", weight=1, requires=["leases"], proves=["R13", "R15"], title="Local names")
def test_names_of_the_plant(bench):
    for _, address, name in (*bench.site.hosts, ("", bench.site.own, bench.site.name)):
        reply = bench.resolve(f"{name}.plant")
        assert reply is not None and reply.addresses == (address,), f"{name}: {reply}"
        back = ".".join(reversed(address.split("."))) + ".in-addr.arpa"
        reply = bench.resolve(back, PTR)
        assert reply is not None and f"{name}.plant" in reply.names, f"{back}: {reply}"


@check("names", proves=["R14"])
def test_clients_name_nobody(bench, shared):
    name = f"own-{word()}"
    mac = next(mac for mac in shared["held"] if mac != bench.pc.mac)
    answer = bench.lease(mac, name=name)
    assert answer is not None
    for asked in (f"{name}.plant", name):
        reply = bench.resolve(asked, seconds=8)
        assert reply is None or not reply.addresses, f"{asked} is a name now"


# ---- uplink ---------------------------------------------------------------------------------


@milestone("uplink", weight=1, requires=["names"], proves=["R16", "R15"], title="The carrier")
def test_it_takes_the_carriers_address(bench):
    assert bench.until(lambda: bench.carrier.asked, 30), "the gateway never asked the carrier"
    bench.carrier.extra = attacks.unasked(bench)
    bench.carrier.offers = bench.drawn.given
    assert bench.ping(bench.router, bench.drawn.given, 30), "no address within 30 seconds"
    bench.router.ask_arp(bench.drawn.given)
    bench.until(lambda: bench.drawn.given in bench.router.neighbours, 10, "an answer to ARP")
    assert bench.router.neighbours[bench.drawn.given] == bench.macs["wan"]


@check("uplink", proves=["R16"])
def test_it_takes_nothing_else(bench):
    attacks.nothing_was_obeyed(bench)


# ---- routes ---------------------------------------------------------------------------------


@milestone("routes", weight=2, requires=["uplink"], proves=["R18"], title="To the world and back")
def test_tcp_to_the_world(bench, nonce):
    asked, said = nonce().encode(), nonce().encode()
    at = port()
    bench.router.serve_tcp[at] = lambda data: said + data[::-1]
    stream = bench.connect(bench.pc, bench.drawn.world, at)
    assert stream is not None, "no connection"
    carried = bench.exchange(stream, asked + b"\n", said + b"\n" + asked[::-1])
    assert carried, f"the world said {stream.received[:200]!r}"
    callers = {peer for own, peer, _ in bench.router.streams if own == at}
    assert callers == {bench.drawn.given}, f"the world saw {callers}"
    stream.end()


@check("routes", proves=["R18"])
def test_datagrams_pings_and_their_time_to_live(bench, nonce):
    said, at = nonce().encode(), port()
    bench.router.serve_udp[at] = lambda peer, _, data: said + data + peer.encode()
    got = bench.datagram(bench.pc, bench.drawn.other, at, b"?")
    assert got == (bench.drawn.other, said + b"?" + bench.drawn.given.encode()), got
    mark = bench.wan.count
    answer = bench.ping(bench.pc, bench.drawn.world)
    assert answer is not None and answer.source == bench.drawn.world and answer.ttl == 63, answer
    packets = bench.packets(bench.wan, mark)
    out = [p for p in packets if p.protocol == ICMP and p.target == bench.drawn.world]
    assert out and all(one.ttl == 63 for one in out), [one.ttl for one in out]


@check("routes", proves=["R18"])
def test_errors_come_back(bench, nonce):
    services.errors(bench, nonce().encode())


@check("routes", proves=["R19", "R4"])
def test_what_is_not_of_the_local_network_stays(bench, nonce):
    attacks.foreign_sources_stay(bench, nonce().encode())
    local = b"\xfe\x80" + bytes(13)
    body = b"\x60\0\0\0\0\x08\x3b\x40" + local + b"\1" + local + b"\2" + bytes(8)
    for target in (bench.macs["lan"], "33:33:00:00:00:01", BROADCAST):
        bench.lan.send(Frame(target, bench.pc.mac, IPV6, body))
    assert bench.ping(bench.pc, bench.drawn.world), "nothing is forwarded any more"
    assert not bench.faults, bench.faults


# ---- cache ----------------------------------------------------------------------------------


@milestone("cache", weight=2, requires=["routes"], proves=["R20"], title="The world's names")
def test_answers_are_kept(bench, shared):
    name, short = f"{word()}.{word()}.net", f"{word()}.org"
    bench.zone.records[name] = ([bench.drawn.world], 3000)
    bench.zone.records[short] = ([bench.drawn.other], 4)
    for _ in range(3):
        reply = bench.resolve(name)
        assert reply is not None and reply.addresses == (bench.drawn.world,), reply
        assert 0 < reply.ttl <= 3000
    assert bench.zone.times(name) == 1, f"the carrier was asked {bench.zone.times(name)} times"
    reply = bench.resolve(short)
    assert reply is not None and reply.addresses == (bench.drawn.other,), reply
    bench.pause(2)  # its seconds are those of the wall, which reference seconds never undercut
    time.sleep(4.5)
    bench.zone.down = True
    reply = bench.resolve(short, seconds=4)
    assert reply is None or not reply.addresses, "used after its time to live"
    reply = bench.resolve(name)
    assert reply is not None and reply.addresses == (bench.drawn.world,), "gone with the carrier"
    bench.zone.down = False


@check("cache", proves=["R13"])
def test_what_is_local_never_leaves(bench):
    asked = [f"{word()}.plant", f"{word()}.{word()}.plant"]
    pointers = [f"{word()}.plant", "9.8.7.10.in-addr.arpa", "3.2.20.172.in-addr.arpa",
                "5.77.168.192.in-addr.arpa"]  # fmt: skip
    for kind, names in ((1, asked), (PTR, pointers)):
        for name in names:
            bench.zone.records[name] = ([bench.drawn.world], 60)
            reply = bench.resolve(name, kind, seconds=8)
            assert reply is None or not reply.addresses + reply.names, f"{name}: {reply}"
            assert not bench.zone.times(name), f"{name} went to the carrier"


@check("cache", proves=["R21"])
def test_private_answers_do_not_pass(bench):
    for address in ("10.3.2.1", bench.plc.address, bench.site.own, "172.31.4.9", "192.168.1.7",
                    "127.0.0.1", "127.44.0.9", "169.254.169.254"):  # fmt: skip
        name = f"{word(9)}.com"
        bench.zone.records[name] = ([address], 60)
        reply = bench.resolve(name, seconds=8)
        assert reply is None or not reply.addresses, f"{name} is {reply.addresses}"
    good = f"{word(9)}.com"
    bench.zone.records[good] = ([bench.drawn.other], 60)
    reply = bench.resolve(good)
    assert reply is not None and reply.addresses == (bench.drawn.other,), reply


@check("cache", proves=["R21"])
def test_strangers_are_not_believed(bench):
    attacks.forged_answers(bench)


# ---- shut -----------------------------------------------------------------------------------


@milestone("shut", weight=3, requires=["cache"], proves=["R22", "R25"], title="The wall holds")
def test_silence_to_the_carrier(bench):
    attacks.silence(bench, bench.peer, bench.drawn.given, CLOSED_TCP, CLOSED_UDP)


@check("shut", proves=["R24"])
def test_local_targets_from_the_other_side(bench, nonce):
    attacks.local_targets(bench, nonce().encode())


@check("shut", proves=["R24"])
def test_sources_that_lie(bench, nonce):
    attacks.lying_sources(bench, nonce().encode())


@check("shut", proves=["R24"])
def test_arp_on_each_side(bench):
    attacks.arp(bench)


@check("shut", proves=["R23"])
def test_pings_are_limited(bench):
    attacks.many_pings(bench)


@check("shut", proves=["R25"])
def test_the_local_side_finds_what_it_is_to_find(bench):
    open_ports = attacks.refused_or_silent(bench)
    assert not open_ports, f"open on the local side: {open_ports}"
    mark = bench.wan.count
    Client(bench.wan, drawn_mac()).ask(DISCOVER)
    bench.pause(2)
    datagrams = [read_udp(packet) for packet in bench.packets(bench.wan, mark)]
    assert not [one for one in datagrams if one and one[1] == 68], "it gives addresses there"


# ---- forwards -------------------------------------------------------------------------------


@milestone("forwards", weight=2, requires=["shut"], proves=["R26"], title="Doors in the wall")
def test_forwards_from_the_carriers_side(bench, nonce):
    services.forwards(bench, bench.peer, nonce, seen_as=bench.drawn.stranger)


@check("forwards", proves=["R26"])
def test_forwards_from_the_local_side(bench, nonce):
    services.forwards(bench, bench.pc, nonce, seen_as=None)


@check("forwards", proves=["R26", "R22"])
def test_nothing_beside_the_doors(bench):
    attacks.beside_the_doors(bench)


@check("forwards", proves=["R27"])
def test_blocked_networks(bench, nonce):
    services.blocked(bench, nonce)


# ---- page -----------------------------------------------------------------------------------


@milestone("page", weight=2, requires=["forwards"], proves=["R29"], title="What it says")
def test_the_page(bench, shared):
    services.page(bench, shared)


@check("page", proves=["R29", "R30"])
def test_what_was_refused(bench):
    services.refused(bench)


@check("page", proves=["R30"])
def test_a_flood(bench):
    services.flood(bench)


@check("page", proves=["R31"])
def test_forty_that_say_nothing(bench):
    idle = [bench.connect(bench.pc, bench.site.own, 80) for _ in range(40)]
    assert sum(stream is not None for stream in idle) >= 1
    assert bench.page(30)["name"] == bench.site.name
    for stream in idle:
        if stream is not None:
            stream.end()


# ---- vakt -----------------------------------------------------------------------------------


@milestone("vakt", weight=1, requires=["page"], proves=["R32"], title="The watchman")
def test_the_watchman_answers(bench):
    for size in (1, 8, 16, 33, 64):
        asked = secrets.token_bytes(size - 1) + b"\xe5"
        got = bench.datagram(bench.pc, bench.site.own, 7710, asked, 20)
        assert got is not None, "it does not answer"
        assert got[1].decode("ascii", "replace").strip() == vakt(bench.site.key, asked)


@check("vakt", proves=["R32", "R33"])
def test_the_watchman_has_no_rights(bench):
    services.watchman(bench)


# ---- applies --------------------------------------------------------------------------------


@milestone("applies", weight=3, requires=["vakt"], proves=["R7", "R5"], title="It can be changed")
def test_wrong_configurations(bench):
    changes.wrong_ones(bench)


@check("applies", proves=["R28"])
def test_what_a_change_leaves_and_what_it_ends(bench, nonce):
    changes.connections(bench, nonce)


@check("applies", proves=["R6", "R10", "R13"])
def test_another_local_network(bench, shared):
    changes.another_network(bench, shared)


# ---- recovers -------------------------------------------------------------------------------


@milestone("recovers", weight=2, requires=["applies"], proves=["R33"], title="Services come back")
def test_killed_services(bench, cut):
    services.killed(bench)


# ---- keeps ----------------------------------------------------------------------------------


@milestone("keeps", weight=3, requires=["recovers"], proves=["R12", "R3"], title="A new start")
def test_leases_over_a_power_cut(bench, machines, shared):
    changes.power_cut_after_a_lease(bench, machines, shared)


@check("keeps", proves=["R17"])
def test_networks_that_overlap(bench):
    changes.overlapping_offer(bench)


@check("keeps", proves=["R3", "R4", "R24"])
def test_what_was_never_on_the_wires(bench):
    """Over all that was done: the third card, IPv6, and sources that are not the gateway's."""
    packet = udp("198.18.0.9", 7, bench.site.own, 53, b"?").pack()
    bench.third.send(Frame(bench.macs["third"], drawn_mac(), IPV4, packet))
    question = b"\0\1\x08\0\6\4\0\1" + bytes(20)
    bench.third.send(Frame(BROADCAST, drawn_mac(), ARP, question))
    bench.pause(1)
    assert not bench.faults, bench.faults


@check("keeps", proves=["R1"])
def test_another_password(bench):
    changes.another_password(bench, f"{PASSWORD[:-1]}8")


# ---- power-cuts -----------------------------------------------------------------------------


@milestone("power-cuts", weight=3, requires=["keeps"], proves=["R8"], title="The power goes")
def test_cuts_during_a_change(cut):
    cut.cuts.result()


@check("power-cuts", proves=["R2"])
def test_the_rest_of_the_disk(bench, cut, image):
    for one in (cut.bench, bench):
        changes.rest_of_the_disk(one, image())


@check("power-cuts", proves=["R9"])
def test_data_that_are_lost(bench, machines, work):
    changes.lost_data(bench, machines, work)
