"""smallest-server: does the box do its job on a network like this, and in how few bytes?"""

from __future__ import annotations

from itertools import pairwise

import catalogues
import clients
import hostile
from box import IMAGE, PAR, PORT, SOON, STARTS, Peer
from catalogues import LENGTHS, LONGEST_FILE, LONGEST_NAME, digits, word
from fetch import Fetch

from benchflow.bench.dhcp_message import DISCOVER, RELEASE, REQUEST, SERVER
from benchflow.bench.ethernet import (
    IPV4,
    Frame,
    echo,
    ip_bytes,
    udp,
)
from benchflow.boot import check, milestone

MOST_BYTES = 1 << 20
AGAIN = 5  # seconds in which an unanswered DHCP message is said again
AT_ONCE = 16
LEASES = (10, 11, 12)  # seconds of a short lease
SILENCE = 25  # seconds for which a long lease goes on without a server
OFF = 5


@milestone(
    "boots", weight=1, proves=["R1"], title="The firmware starts it, and it asks for an address"
)
def test_it_is_an_image_that_is_small_enough(deliverable):
    size = deliverable(IMAGE).stat().st_size
    assert 512 <= size <= MOST_BYTES, f"{size} bytes; [R1] allows {MOST_BYTES}"


@check("boots", proves=["R2", "R3"])
def test_it_asks_for_an_address(main):
    main.machine.boot()
    assert main.until(lambda: main.server.of_kind(DISCOVER), STARTS), f"no DISCOVER in {STARTS} s"


@check("boots", proves=["R4"])
def test_it_sends_nothing_else_before(main):
    main.pause(1)
    main.clean()


@milestone("address", weight=2, requires=["boots"], proves=["R3"],
           title="It takes the address that is offered")  # fmt: skip
def test_it_asks_again_and_takes_what_is_offered(main):
    main.server.silent = False
    assert main.until(lambda: main.leased, AGAIN + SOON), "no REQUEST for what was offered [R3]"


@check("address", proves=["R3"])
def test_it_names_the_server_whose_offer_it_takes(main):
    asked = main.start().server.of_kind(REQUEST)
    assert asked and asked[0].wanted == main.address, "another address than was offered [R3]"
    assert asked[0].message.addresses(SERVER) == [main.server.own], "without the server [R3]"


@milestone("ping", weight=2, requires=["address"], proves=["R6"], title="It answers ARP and ping")
def test_who_has_the_address_is_told(main):
    main.start()
    assert main.has_address() and main.has_address(peer=main.other), "no answer by ARP [R6]"


@check("ping", proves=["R6"])
def test_pings_of_every_size(main):
    main.start()
    for size in (0, 1, 7, 8, 56, 501, 1471, 1472):
        assert main.ping(size), f"no right answer to a ping with {size} bytes [R6]"


@check("ping", proves=["R6"])
def test_pings_from_elsewhere(main):
    main.start()
    assert main.ping(40, peer=main.other), "no answer to another machine [R6]"
    assert main.ping(40, peer=main.far), "no answer by way of the router [R6]"
    main.clean()


@milestone("queries", weight=3, requires=["ping"], proves=["R7"],
           title="Queries over UDP are answered")  # fmt: skip
def test_a_query_is_answered(main):
    main.start().answers(main.small)
    main.answers(main.small, summed=False, why="[R7] without a checksum")


@check("queries", proves=["R7"])
def test_queries_for_files_of_every_length(main):
    main.start().answers(*(main.of(length) for length in (*LENGTHS, 65_536, LONGEST_FILE)))


@check("queries", proves=["R7"])
def test_each_datagram_gets_one_answer_to_who_sent_it(main, rng):
    main.start()
    asked = [(main.small, digits(rng)) for _ in range(8)]
    due = sorted(main.catalogue.reply(*one) for one in asked)
    data = [f"SUM {name} {said}".encode() for name, said in asked]
    for peer in (main.other, main.far):
        got = main.says(*data, peer=peer, every=SOON)
        main.pause(0.5)
        assert sorted(got) == due, f"{len(got)} answers to 8 datagrams, or wrong ones [R7]"


@milestone("files", weight=4, requires=["ping"], proves=["R8"], title="Files come over HTTP")
def test_a_file_comes(main):
    main.start().serves(main.small, why="[R8]")


@check("files", proves=["R8"])
def test_files_of_every_length(main):
    main.start()
    for length in LENGTHS:
        main.serves(main.of(length), why="[R8]")


@check("files", proves=["R8", "R11"])
def test_the_longest_file(main):
    main.start().serves(main.of(LONGEST_FILE), window=4096, why="[R8] in 20 s")


@check("files", proves=["R8"])
def test_requests_in_pieces_and_with_more_lines(main):
    main.start()
    name = main.small
    lines = "".join(f"X-{n}: {'y' * 60}\r\n" for n in range(8))
    request = f"GET /{name} HTTP/1.1\r\nHost: box\r\n{lines}\r\n".encode()
    for piece in (7, 61, 536):
        main.whole(name, main.requests([request], piece=piece)[0], f"[R8] pieces of {piece}")


@check("files", proves=["R11"])
def test_small_windows_and_options(main):
    main.start()
    for how in ({"window": 300}, {"window": 1}, {"window": 1460}, {"options": True}):
        name = main.of(2) if how.get("window") == 1 else main.small
        main.serves(name, why=f"[R11] {how}", peer=main.far, **how)
    main.clean()


@milestone("refuses", weight=2, requires=["queries", "files"], proves=["R7"],
           title="What is not there or no question is told apart")  # fmt: skip
def test_queries_for_what_is_not_there(main, rng):
    main.start()
    near = main.small
    names = [near[:-1], near[:-1] + "~", near.swapcase(), word(rng, LONGEST_NAME), "-"]
    names += [near + "\0", near[:-1] + "\0" + near[-1]]
    names = [name for name in names if 0 < len(name) <= LONGEST_NAME]
    main.answers(*(name for name in names if name not in main.catalogue.files))


@check("refuses", proves=["R7"])
def test_datagrams_that_are_no_query(main, rng):
    main.start()
    name, said = main.small, digits(rng)
    lines = clients.no_queries(name, rng)
    good = f"SUM {name} {said}".encode()
    due = [main.catalogue.reply(name, said)]
    got = main.says(*lines, good, many=1)
    main.pause(0.5)
    assert set(got) == set(due), f"an answer to what is no query: {got[:3]} [R7]"
    assert main.says(good, at=PORT + 1, seconds=1) == [], "an answer from another port [R7]"


@check("refuses", proves=["R9"])
def test_files_that_are_not_there(main, rng):
    near = main.start().small
    names = [near[:-1] + "~", word(rng, LONGEST_NAME), "n" * 21, "n" * 300]
    statuses = [one.status for one in main.get(*names)]
    assert statuses == [404] * len(names), f"{statuses} for what is not there [R9]"


@check("refuses", proves=["R9"])
def test_requests_that_are_none(main, rng):
    name = main.start().small
    lines = (
        "PUT /{} HTTP/1.0",
        "GET {} HTTP/1.0",
        "get /{} HTTP/1.0",
        "GET /{}",
        "GET /{} FTP/1.0",
        "GET /{} HTTP/1.7",
        "GET /{} HTTP/1.0 x",
        clients.wrong_letter("GET /", rng) + "{} HTTP/1.0",
        "GET /{}" + clients.wrong_letter(" HTTP/1.", rng) + "0",
    )
    bad = [line.format(name) + "\r\n\r\n" for line in lines]
    made = main.requests([request.encode() for request in bad])
    statuses = [one.status for one in made]
    assert statuses == [400] * len(bad), f"{statuses} for requests that are none [R9]"
    assert all(one.ended and one.promised == len(one.body) for one in made), "no whole reply [R9]"
    main.serves(name)


# -- damaged --------------------------------------------------------------------------------------


@milestone("damaged", weight=3, requires=["refuses"], proves=["R10"],
           title="Nothing comes from what is damaged")  # fmt: skip
def test_damaged_files(spare, drawn, rng):
    names = rng.sample([name for name, value in drawn.files.items() if len(value) > 600], 4)
    hurt, spoilt = names[:3], drawn
    places = (lambda n: 0, lambda n: n - 1, lambda n: rng.randrange(1, n - 1))
    for name, place in zip(hurt, places, strict=True):
        spoilt = spoilt.damaged(drawn.at[name] + place(len(drawn.files[name])), rng)
    spare.insert(spoilt)
    spare.start()
    for name in hurt:
        spare.refuses(name, "a bit of the file")
    spare.answers(names[3])
    spare.serves(names[3])


@check("damaged", proves=["R10"])
def test_a_damaged_directory(spare, drawn, rng):
    spare.insert(drawn.damaged(512 + rng.randrange(32 * len(drawn.files)), rng))
    spare.start()
    spare.refuses(spare.small, "a bit of the directory")


@check("damaged", proves=["R10"])
def test_heads_that_cannot_be(spare, drawn, rng):
    for head in catalogues.heads_that_cannot_be(drawn, rng):
        spare.stop()
        with spare.disk.open("r+b") as disk:
            disk.write(head)
        spare.start()
        spare.refuses(spare.small, f"head {head[:16].hex()}", files=False)


@check("damaged", proves=["R2", "R10"])
def test_another_catalogue_after_the_next_start(spare, drawn, rng):
    spare.insert(catalogues.write(catalogues.draw(rng, 3), rng))
    spare.start()
    name = spare.small
    spare.answers(name, why="[R2] of another catalogue")
    spare.serves(name, why="[R2] of another catalogue")


@check("damaged", proves=["R2", "R8"])
def test_the_longest_catalogue(spare, rng):
    held = catalogues.longest(rng)
    spare.insert(held)
    spare.start()
    last = max(held.files, key=lambda name: held.at[name])
    for name in (last, rng.choice(sorted(held.files))):
        spare.answers(name, why="[R2] of the longest catalogue")
        spare.serves(name, why="[R2] of the longest catalogue")


# -- lossy ----------------------------------------------------------------------------------------


@milestone("lossy", weight=4, requires=["queries", "files"], proves=["R12"],
           title="Nothing is lost where frames are")  # fmt: skip
def test_a_file_where_frames_get_lost(steady):
    rough(steady, loss=0.1)
    steady.serves(steady.of(65_536), seconds=60, window=4096, why="[R12] a tenth lost, in 60 s")


@check("lossy", proves=["R12"])
def test_small_files_where_frames_come_late_and_twice(steady):
    rough(steady, loss=0.05, twice=0.15, late=0.2)
    for piece in (50, 536):
        steady.serves(steady.small, seconds=40, piece=piece, why="[R12] late, twice and lost")
    steady.answers(steady.small, steady.small, seconds=20, every=1)


@check("lossy", proves=["R11", "R12"])
def test_a_client_that_reads_nothing_for_a_while(steady):
    name = steady.of(65_536)
    steady.serves(name, seconds=40, stall=20_000, stalls=3, why="[R11] a window that closes")
    steady.clean()


@check("lossy", proves=["R12"])
def test_what_was_cut_off_goes_on(steady):
    name = steady.of(65_536)
    made = Fetch(steady.peer, f"GET /{name} HTTP/1.0\r\n\r\n".encode())
    steady.until(lambda: len(made.received) > 8000, 20)
    rough(steady, loss=1.0)
    steady.pause(22)
    rough(steady)
    steady.settle([made], 30)
    steady.whole(name, made, "[R12] the line was cut for 22 s")


def rough(box, loss=0.0, twice=0.0, late=0.0) -> None:
    box.wire.loss, box.wire.twice, box.wire.late = loss, twice, late


# -- several --------------------------------------------------------------------------------------


@milestone("several", weight=3, requires=["lossy"], proves=["R13"],
           title="Many clients are served at once")  # fmt: skip
def test_sixteen_files_at_once(steady, rng):
    steady.stop()
    steady.start()
    names = [*rng.sample(sorted(steady.catalogue.files), AT_ONCE - 1), steady.of(65_536)]
    steady.serves(*names, seconds=60, why="[R13] sixteen at once")


@check("several", proves=["R13"])
def test_who_is_slow_keeps_nobody_waiting(steady):
    clients.are_slow(steady, AT_ONCE)


@check("several", proves=["R13"])
def test_connections_that_have_ended_do_not_count(steady):
    clients.come_and_go(steady)


@check("several", proves=["R13"])
def test_two_clients_with_one_port(steady):
    clients.share_a_port(steady)


# -- hostile --------------------------------------------------------------------------------------


@milestone("hostile", weight=3, requires=["several"], proves=["R14"],
           title="Whatever the network brings, it goes on")  # fmt: skip
def test_broken_packets(steady, rng):
    clients.say_nothing_sensible(steady, rng)


@check("hostile", proves=["R8", "R14"])
def test_what_means_nothing_within_a_connection(steady, rng):
    clients.mean_nothing(steady, rng)


@check("hostile", proves=["R13", "R14"])
def test_requests_without_end(steady):
    clients.ask_without_end(steady)


@check("hostile", proves=["R14"])
def test_spoilt_packets_have_no_effect(steady, rng):
    peer, name = Peer(steady, steady.peer.host[:-3] + "230"), steady.small
    asked = udp(peer.host, 9, steady.address, PORT, f"SUM {name} {digits(rng)}".encode()).pack()
    pinged = echo(peer.host, steady.address, 5, 5, bytes(40)).pack()
    answers = clients.answers_to(steady, peer)
    for packet, places in ((asked, (8, 25, 45, len(asked) - 3)), (pinged, (9, 26, 40))):
        for place in places:
            frame = Frame(steady.wire.box, peer.mac, IPV4, hostile.spoilt(packet, place))
            steady.wire.send(frame)
    steady.pause(1)
    assert not answers, "a packet with a wrong sum was answered [R14]"
    made = Fetch(peer, f"GET /{name} HTTP/1.0\r\n\r\n".encode(), spoils=3)
    steady.settle([made], 20)
    steady.whole(name, made, "[R14] spoilt at first")


@check("hostile", proves=["R14"])
def test_a_flood_of_openings_and_noise(steady, rng):
    for frame in hostile.flood(steady.peer, rng, 2000):
        steady.wire.send_bytes(frame)
    steady.works("[R14] after a flood")


@check("hostile", proves=["R14"])
def test_connections_that_say_nothing(steady):
    for _ in range(10):
        silent = [Fetch(steady.other, b"") for _ in range(20)]
        steady.until(lambda made=silent: all(one.established for one in made), 2)
        for one in silent:
            one.vanish()
    steady.works("[R14] after 200 silent connections")
    steady.clean()


# -- lease ----------------------------------------------------------------------------------------


@milestone("lease", weight=3, requires=["ping"], proves=["R3", "R4"],
           title="It has an address as long as it was given one")  # fmt: skip
def test_it_is_nobody_without_an_address(spare):
    server = spare.server
    server.silent, server.strangers = True, True
    spare.machine.boot()
    assert spare.until(lambda: server.of_kind(DISCOVER), STARTS), "no DISCOVER [R3]"
    spare.nobody("it has no address yet [R4]")
    server.silent = False
    assert spare.until(lambda: spare.leased, AGAIN + SOON), (
        "beside others' offers it took none [R3]"
    )
    again = [one.message.kind for one in server.heard]
    assert again == sorted(again), f"{again}: it began again for what was not for it [R3]"
    assert spare.ping(30), "no ping at the address that it was given [R3]"
    spare.clean()


@check("lease", proves=["R3"])
def test_a_server_that_does_not_hear_and_one_that_refuses(spare):
    spare.server.deaf, spare.server.refuses = 2, 1
    spare.machine.boot()
    assert spare.until(lambda: spare.leased, STARTS + 5 * AGAIN), "it gave up [R3]"
    heard, refused = spare.server.heard, spare.server.refused
    begun = [one.message.kind for one in heard[refused : refused + 1]]
    assert begun == [DISCOVER], f"refused, it says {begun}, not DISCOVER (1) [R3]"
    discovers = spare.server.of_kind(DISCOVER)
    gaps = [b.at - a.at for a, b in pairwise(discovers)]
    assert len(discovers) >= 3 and min(gaps[:1]) > 0.5, f"DISCOVER at once again: {gaps} [R3]"
    assert spare.ping(30), "no ping at the address that it was given [R3]"
    spare.clean()


@check("lease", proves=["R4", "R5"])
def test_a_lease_is_renewed_and_ends(spare, rng):
    server = spare.server
    server.seconds = lease = rng.choice(LEASES)
    first = spare.start().server.leased_at
    assert spare.until(lambda: server.leased_at > first, lease), "not renewed in time [R5]"
    server.silent = True
    assert spare.ping(30), "no ping after renewing [R5]"
    begun = Fetch(spare.peer, f"GET /{spare.of(65_536)} HTTP/1.0\r\n\r\n".encode(), window=300)
    spare.lasts(lease / 2)
    begun.vanish()
    spare.lasts(lease / 2 + 3)
    spare.nobody("its lease is over [R4], [R5]")
    spare.address = server.offers = server.own.rsplit(".", 1)[0] + ".181"
    server.seconds, server.silent = 86_400, False
    assert spare.until(lambda: spare.address in spare.wire.allowed, 3 * AGAIN), "no new one [R5]"
    spare.answers(spare.small, why="[R5] at its new address")
    server.silent = True
    spare.pause(SILENCE)
    assert spare.ping(30), f"of a lease of a day it has no address after {SILENCE} s [R5]"
    spare.clean()


@check("lease", proves=["R3", "R4"])
def test_a_renewal_that_is_refused(spare, rng):
    server = spare.server
    server.seconds = lease = rng.choice(LEASES)
    spare.start()
    server.refuses, server.quits = 1, True
    mark = server.refused
    assert spare.until(lambda: server.refused > mark, lease), "not renewed in time [R5]"
    spare.pause(0.5)
    spare.nobody("its renewal was refused [R3], [R4]")
    server.silent = False
    assert spare.until(lambda: spare.address in spare.wire.allowed, 3 * AGAIN), "no new one [R3]"
    assert spare.ping(30), "no ping at the address that it was given anew [R3]"
    spare.clean()


@milestone("off", weight=2, requires=["lease"], proves=["R15"],
           title="The power button switches it off in order")  # fmt: skip
def test_it_gives_its_address_back_and_is_off(steady):
    mark = len(steady.server.heard)
    assert steady.machine.shutdown(OFF), f"not off within {OFF} s [R15]"
    steady.pause(2, lambda: steady.server.of_kind(RELEASE, mark))
    given = steady.server.of_kind(RELEASE, mark)
    assert given, "its address was not given back [R15]"
    message = given[0].message
    assert message.current == steady.address, f"it gave {message.current} back [R15]"
    assert message.options.get(SERVER) == ip_bytes(steady.server.own), "not to its server [R15]"


@check("off", proves=["R15"])
def test_it_is_off_in_the_middle_of_work(steady):
    name = steady.of(LONGEST_FILE)
    made = [Fetch(steady.peer, f"GET /{name} HTTP/1.0\r\n\r\n".encode()) for _ in range(3)]
    steady.until(lambda: all(len(one.received) > 2000 for one in made), SOON)
    assert steady.machine.shutdown(OFF), f"not off within {OFF} s [R15]"


@check("off", proves=["R15"])
def test_it_is_off_without_an_address(spare):
    spare.server.silent = True
    spare.machine.boot()
    assert spare.until(lambda: spare.server.of_kind(DISCOVER), STARTS), "no DISCOVER [R3]"
    assert spare.machine.shutdown(OFF), f"without an address it is not off within {OFF} s [R15]"
    spare.pause(0.5)
    assert not spare.server.of_kind(RELEASE), "it gave back an address that it had not [R15]"
    spare.clean()


@milestone("within-10", weight=1, requires=["damaged", "hostile", "off"], proves=["R16"],
           title="Within 10 times par")  # fmt: skip
def test_the_image_is_within_10_times_par(size):
    assert size <= 10 * PAR, f"{size} bytes; 10 times par are {10 * PAR} [R16]"


@milestone("within-3", weight=2, requires=["within-10"], proves=["R16"], title="Within 3 times par")
def test_the_image_is_within_3_times_par(size):
    assert size <= 3 * PAR, f"{size} bytes; 3 times par are {3 * PAR} [R16]"


@milestone("within-par", weight=2, requires=["within-3"], proves=["R16"],
           title="Within 1.2 times par")  # fmt: skip
def test_the_image_is_within_1_2_times_par(size):
    assert size <= int(1.2 * PAR), f"{size} bytes; 1.2 times par are {int(1.2 * PAR)} [R16]"
