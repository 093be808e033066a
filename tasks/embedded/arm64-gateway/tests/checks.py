"""arm64-gateway: does it serve the local side, and hold against the other one?

A milestone requires only what the machine cannot do without: a gateway that starts and takes a
configuration is asked for all that is not beyond the carrier's line, one that has its address there
for all else. So one demand that is not met hides no other.
"""

from __future__ import annotations

import secrets
import time

import attacks
import carrier_lease
import changes
import leases
import services
import third_card
from bench import PASSWORD
from dhcp import Client
from names import PTR, A
from site_data import FACTORY, drawn_mac, port, vakt, word

from benchflow.bench.dhcp_message import DISCOVER
from benchflow.bench.ethernet import ICMP, read_udp
from benchflow.boot import check, milestone

# ---- image ----------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R2"], title="The disk and its partitions")
def test_the_disk(image):
    disk = image()
    assert disk.size <= 96 << 20, f"at most 96 MiB: the image has {disk.size} bytes"
    parts = disk.partitions()
    assert parts and all(part.table == "gpt" for part in parts), f"[R2] a GPT: {parts}"
    data = [part for part in parts if part.name == "data"]
    assert len(data) == 1 and data[0].size >= 8 << 20, f"[R2] `data`, at least 8 MiB: {data}"


# ---- boots ----------------------------------------------------------------------------------


@milestone("boots", weight=2, proves=["R1"], title="It starts by itself and takes a configuration")
def test_it_starts_in_time(bench, metric):
    bench.switched_on = time.monotonic()
    bench.machine.boot()
    bench.enter(60)
    took = bench.machine.elapsed
    metric("boot_seconds", took)
    assert took <= 60, f"[R1] at most 60 seconds: it took {took:.0f}"


@check("boots", proves=["R6", "R5"])
def test_a_configuration_can_be_applied(bench):
    shown = bench.shown()
    assert shown == FACTORY, f"[R6] /app/order/site.conf in force: `site show` says {shown[:200]!r}"
    bench.applies(bench.site)
    shown = bench.shown()
    assert shown == bench.site.text(), f"[R6] byte for byte: `site show` says {shown[:200]!r}"
    named = bench.works(lambda: bench.host_name() == bench.site.name, 10)
    assert named, f"[R5] the host name: {bench.host_name()!r} instead of {bench.site.name}"


# ---- readonly -------------------------------------------------------------------------------


@milestone(
    "readonly", weight=1, requires=["boots"], proves=["R2"], title="What can be written, and where"
)
def test_what_can_be_written(bench, shared):
    shared["secret"] = secrets.token_hex(32)
    for place in ("/tmp", "/run"):
        written = bench.run(f"echo {shared['secret']} >{place}/{word()}").status == 0
        assert written, f"[R2] /tmp and /run can be written: {place} cannot"
    rows = [line.split() for line in bench.say("cat /proc/mounts").splitlines()]
    root = [row[3].split(",") for row in rows if len(row) > 3 and row[1] == "/"]
    assert root and "ro" in root[-1], f"[R2] `/` is read-only: it is mounted {root[-1:]}"
    written = bench.run(f"echo word >/{word()}").status == 0
    assert not written, "[R2] `/` is read-only: a file could be made in it"


# ---- leases ---------------------------------------------------------------------------------


@milestone("leases", weight=2, requires=["boots"], proves=["R10", "R15"], title="DHCP")
def test_a_lease(bench):
    leases.first(bench)


@check("leases", proves=["R10"])
def test_a_lease_is_renewed(bench):
    leases.renewed(bench)


@check("leases", proves=["R11"])
def test_addresses_of_their_own(bench, shared):
    shared["thief"] = leases.hosts_own(bench)


@check("leases", proves=["R10"])
def test_other_networks_are_refused(bench):
    leases.another_network(bench)


@check("leases", proves=["R10"])
def test_nothing_is_given_twice(bench, shared):
    leases.all_of_the_pool(bench, shared.get("thief") or drawn_mac())


# ---- names ----------------------------------------------------------------------------------


@milestone("names", weight=1, requires=["boots"], proves=["R13", "R15"], title="Local names")
def test_names_of_the_plant(bench):
    for _, address, name in (*bench.site.hosts, ("", bench.site.own, bench.site.name)):
        reply = bench.resolve(f"{name}.plant")
        assert reply is not None and reply.addresses == (address,), (
            f"[R13] {name}.plant is {address}, the answer was {reply}"
        )
        back = ".".join(reversed(address.split("."))) + ".in-addr.arpa"
        reply = bench.resolve(back, PTR)
        assert reply is not None and f"{name}.plant" in reply.names, (
            f"[R13] their addresses' names: {back} is {name}.plant, the answer was {reply}"
        )


@check("names", proves=["R14"])
def test_clients_name_nobody(bench):
    name = f"own-{word()}"
    mac = next((mac for mac in bench.held if mac != bench.pc.mac), drawn_mac())
    bench.lease(mac, name=name)
    for asked in (f"{name}.plant", name):
        reply = bench.resolve(asked, seconds=8)
        said = reply.addresses if reply else ()
        assert not said, f"[R14] gets no name for it: {asked} is {said} now"


# ---- uplink ---------------------------------------------------------------------------------


@milestone("uplink", weight=1, requires=["boots"], proves=["R16", "R15"], title="The carrier")
def test_it_takes_the_carriers_address(bench):
    assert bench.until(lambda: bench.carrier.asked, 30), "[R16] it never asked the carrier"
    bench.carrier.extra = attacks.unasked(bench)
    bench.carrier.offers = given = bench.drawn.given
    assert bench.ping(bench.router, given, 30), f"[R16] within 30 seconds: {given} is not there"
    bench.router.ask_arp(given)
    bench.until(lambda: given in bench.router.neighbours, 10, "an answer to ARP")
    mac = bench.router.neighbours[given]
    assert mac == bench.macs["wan"], f"[R3] the carrier's side: {given} is at {mac}"
    bench.online = True


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
    assert stream is not None, "[R18] reaches the world by TCP: no connection"
    carried = bench.exchange(stream, asked + b"\n", said + b"\n" + asked[::-1])
    assert carried, f"[R18] by TCP: the world's answer came as {stream.received[:200]!r}"
    callers = {peer for own, peer, _ in bench.router.streams if own == at}
    assert callers == {bench.drawn.given}, f"[R18] from the gateway's address: from {callers}"
    stream.end()


@check("routes", proves=["R18"])
def test_datagrams_pings_and_their_time_to_live(bench, nonce):
    said, at = nonce().encode(), port()
    bench.router.serve_udp[at] = lambda peer, _, data: said + data + peer.encode()
    got = bench.datagram(bench.pc, bench.drawn.other, at, b"?")
    wanted = (bench.drawn.other, said + b"?" + bench.drawn.given.encode())
    assert got == wanted, f"[R18] by UDP, from the gateway's address: {got} instead of {wanted}"
    mark = bench.wan.count
    answer = bench.ping(bench.pc, bench.drawn.world)
    assert answer is not None and answer.source == bench.drawn.world and answer.ttl == 63, (
        f"[R18] ping, time to live counted down by one to 63: {answer}"
    )
    packets = bench.packets(bench.wan, mark)
    out = {p.ttl for p in packets if p.protocol == ICMP and p.target == bench.drawn.world}
    assert out == {63}, f"[R18] counted down by one: 64 became {out}"
    attacks.dying_packets_stay(bench, nonce().encode())


@check("routes", proves=["R18"])
def test_errors_come_back(bench, nonce):
    services.errors(bench, nonce().encode())


@check("routes", proves=["R19"])
def test_what_is_not_of_the_local_network_stays(bench, nonce):
    attacks.foreign_sources_stay(bench, nonce().encode())
    attacks.version_six(bench)
    assert bench.ping(bench.pc, bench.drawn.world), "[R18] nothing is forwarded any more"


# ---- cache ----------------------------------------------------------------------------------


@milestone("cache", weight=2, requires=["uplink"], proves=["R20"], title="The world's names")
def test_answers_are_kept(bench):
    name, short = f"{word()}.{word()}.net", f"{word()}.org"
    bench.zone.records[name] = ([bench.drawn.world], 3000)
    bench.zone.records[short] = ([bench.drawn.other], 4)
    for _ in range(3):
        reply = bench.resolve(name)
        assert reply is not None and reply.addresses == (bench.drawn.world,), (
            f"[R20] names of the world: {name} is {bench.drawn.world}, the answer was {reply}"
        )
        assert 0 < reply.ttl <= 3000, f"[R20] its time to live: 3000 became {reply.ttl}"
    times = bench.zone.times(name, A)
    assert times == 1, f"[R20] nobody asks them again: {times} times"
    reply = bench.resolve(short)
    assert reply is not None and reply.addresses == (bench.drawn.other,), f"[R20] {short}: {reply}"
    bench.pause(2)  # its seconds are those of the wall, which reference seconds never undercut
    time.sleep(4.5)
    bench.zone.down = True
    try:
        reply = bench.resolve(short, seconds=4)
        used = reply.addresses if reply else ()
        assert not used, f"[R20] later it is not used: {short} is {used} after 4 seconds"
        reply = bench.resolve(name)
        assert reply is not None and reply.addresses == (bench.drawn.world,), (
            f"[R20] there even if they are gone: {name}: {reply}"
        )
    finally:
        bench.zone.down = False


@check("cache", proves=["R13"])
def test_what_is_local_never_leaves(bench):
    attacks.local_names(bench)


@check("cache", proves=["R21"])
def test_private_answers_do_not_pass(bench):
    attacks.private_answers(bench)


@check("cache", proves=["R21"])
def test_strangers_are_not_believed(bench):
    attacks.forged_answers(bench)


# ---- shut -----------------------------------------------------------------------------------


@milestone("shut", weight=3, requires=["uplink"], proves=["R22", "R25"], title="The wall holds")
def test_silence_to_the_carrier(bench):
    attacks.silent_everywhere(bench)


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
    attacks.pings(bench)


@check("shut", proves=["R25"])
def test_the_local_side_finds_what_it_is_to_find(bench):
    found = attacks.open_on_the_local_side(bench)
    assert not found, f"[R25] and nothing else: on the local side there answered {found}"
    mark = bench.wan.count
    Client(bench.wan, drawn_mac()).ask(DISCOVER)
    bench.pause(2)
    datagrams = [read_udp(packet) for packet in bench.packets(bench.wan, mark)]
    given = [one for one in datagrams if one and one[1] == 68]
    assert not given, "[R25] it gives no addresses on the carrier's side: an offer was seen there"


# ---- forwards -------------------------------------------------------------------------------


@milestone("forwards", weight=2, requires=["uplink"], proves=["R26"], title="Doors in the wall")
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


@milestone("page", weight=2, requires=["uplink"], proves=["R29"], title="What it says")
def test_the_page(bench):
    services.page(bench)


@check("page", proves=["R29", "R30"])
def test_what_was_refused(bench):
    services.refused(bench)


@check("page", proves=["R30"])
def test_a_flood(bench):
    services.flood(bench)


@check("page", proves=["R31"])
def test_forty_that_say_nothing(bench):
    idle = [bench.connect(bench.pc, bench.site.own, 80, 5) for _ in range(40)]
    assert any(stream is not None for stream in idle), "[R31] none of forty was connected"
    name = bench.page(30)["name"]
    assert name == bench.site.name, f"[R31] keep nobody else from reading it: {name!r}"
    for stream in idle:
        if stream is not None:
            stream.end()


# ---- vakt -----------------------------------------------------------------------------------


@milestone("vakt", weight=1, requires=["boots"], proves=["R32"], title="The watchman")
def test_the_watchman_answers(bench):
    for size in (1, 8, 16, 33, 64):
        asked = secrets.token_bytes(size - 1) + b"\xe5"
        got = bench.datagram(bench.pc, bench.site.own, 7710, asked, 20)
        assert got is not None, "[R32] serves UDP port 7710: it does not answer"
        said, wanted = got[1].decode("ascii", "replace").strip(), vakt(bench.site.key, asked)
        assert said == wanted and got[0] == bench.site.own, (
            f"[R32] as in vakt.examples: {got[0]} said {said!r} instead of {wanted!r}"
        )
    bench.answers_right = True


@check("vakt", proves=["R32", "R33"])
def test_the_watchman_has_no_rights(bench):
    services.watchman(bench)


# ---- applies --------------------------------------------------------------------------------


@milestone("applies", weight=2, requires=["boots"], proves=["R7", "R5"], title="It can be changed")
def test_wrong_configurations(bench):
    changes.wrong_ones(bench)


@check("applies", proves=["R5", "R6"])
def test_right_configurations(bench):
    changes.right_ones(bench)


@milestone("lasts", weight=2, requires=["uplink"], proves=["R28"], title="What a change leaves")
def test_what_a_change_leaves_and_what_it_ends(bench, nonce):
    changes.connections(bench, nonce)


@check("applies", proves=["R6", "R10", "R13"])
def test_another_local_network(bench):
    changes.another_network(bench)


# ---- recovers -------------------------------------------------------------------------------


@milestone("recovers", weight=2, requires=["boots"], proves=["R33"], title="Services come back")
def test_who_does_the_work(bench, cut):
    services.named(bench)


@check("recovers", proves=["R33"])
def test_killed_services(bench):
    services.killed(bench)


# ---- keeps ----------------------------------------------------------------------------------


@milestone("keeps", weight=3, requires=["boots"], proves=["R12", "R3"], title="A new start")
def test_leases_over_a_power_cut(bench, machines):
    changes.power_cut_after_a_lease(bench, machines)


@check("page", proves=["R29"])
def test_the_page_after_a_start(bench):
    """Only of leases that were found to hold: what else a start does is judged above."""
    if bench.kept:
        changes.page_after_a_start(bench)


# ---- overlaps -------------------------------------------------------------------------------


@milestone(
    "overlaps", weight=1, requires=["uplink"], proves=["R17"], title="What the carrier offers"
)
def test_networks_that_overlap(bench):
    changes.overlapping_offer(bench)


@check("page", proves=["R29"])
def test_the_page_without_a_carrier(bench):
    said = bench.without_carrier
    assert said in (None, "-"), f"[R29] wan=-, without one: it was {said!r}"


@check("overlaps", proves=["R16"])
def test_a_lease_of_the_carriers_that_runs_out(bench):
    carrier_lease.runs_out(bench)


# ---- wires ----------------------------------------------------------------------------------


@milestone(
    "wires", weight=2, requires=["boots"], proves=["R3", "R4"], title="What must not be sent"
)
def test_what_was_never_on_the_wires(bench):
    """Over all that was done: the third card, IPv6, and sources that are not the gateway's."""
    third_card.nothing_is_let_in(bench)
    attacks.version_six(bench)
    bench.pause(2)
    assert not bench.faults, (
        f"[R3] nothing on the third card, [R4] no IPv6, [R24] no address but its own: "
        f"{bench.faults}"
    )


# ---- login ----------------------------------------------------------------------------------


@milestone("login", weight=1, requires=["boots"], proves=["R1"], title="One password")
def test_other_passwords(bench):
    changes.other_passwords(bench, PASSWORD)


# ---- power-cuts -----------------------------------------------------------------------------


@milestone("power-cuts", weight=3, requires=["boots"], proves=["R8"], title="The power goes")
def test_cuts_during_a_change(cut):
    cut.cuts.result()


@check("readonly", proves=["R2"])
def test_the_rest_of_the_disk(bench, cut, image, shared):
    changes.rest_of_the_disk(cut.bench, image())
    changes.rest_of_the_disk(bench, image(), shared.get("secret", "").encode())


@check("power-cuts", proves=["R9"])
def test_data_that_are_lost(bench, machines):
    changes.lost_data(bench, machines)
