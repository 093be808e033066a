"""What clients may do that checks.py asks for in a line: lines that are no query, segments that
mean nothing, requests without end, connections beside others."""

from __future__ import annotations

import time

import hostile
from box import SOON, Peer
from catalogues import digits
from fetch import Fetch

from benchflow.bench.ethernet import ACK, ICMP, IPV4, PSH, RST, TCP, Frame

SILENT = 18  # seconds


def wrong_letter(text: str, rng) -> str:
    """One of its characters is another, which is no space and no end of a line."""
    at = rng.randrange(len(text))
    return text[:at] + chr(33 + (ord(text[at]) - 33 + rng.randrange(1, 80)) % 90) + text[at + 1 :]


def answers_to(box, peer: Peer) -> list[Frame]:
    """What the box sends to a peer from now on."""
    answers: list[Frame] = []
    box.wire.takers.append(lambda frame: answers.extend([frame] * (frame.target == peer.mac)))
    return answers


def refusal(frame: Frame) -> bool:
    """Whether it says that there is nobody: a reset of TCP, or ICMP about what came."""
    body = frame.body
    return frame.kind == IPV4 and (
        (body[9] == TCP and bool(body[33] & RST)) or (body[9] == ICMP and body[20] in (3, 12))
    )


def mean_nothing(steady, rng) -> None:
    """Segments of a connection that are none of it; and another port."""
    name = steady.small
    request = f"GET /{name} HTTP/1.0\r\n\r\n".encode()
    made = Fetch(steady.peer, request[:9])
    steady.until(lambda: made.acknowledged(9), SOON)
    far = rng.randrange(1 << 29, 1 << 30)
    for flags, more in (
        (ACK | PSH, {"head": 15}), (RST, {"ahead": far}), (RST | ACK, {"ahead": far}),
        (ACK, {"known": far}), (ACK | PSH, {"head": 2}),
    ):  # fmt: skip
        made.disturb(flags, **more)
    steady.pause(0.5)
    made.goes_on(request[9:])
    steady.settle([made], 20)
    steady.whole(name, made, "[R14] beside segments that mean nothing")
    elsewhere = hostile.opening(steady.peer, rng, 81)
    answers = answers_to(steady, steady.peer)
    steady.wire.send_bytes(elsewhere)
    steady.pause(1)
    assert all(map(refusal, answers)), "port 81 is open [R8]"


def ask_without_end(steady) -> None:
    """Beside requests that never end, others are answered."""
    name = steady.small
    request = f"GET /{name} HTTP/1.0\r\n\r\n".encode()
    before = Fetch(steady.other, request[:9])
    steady.until(lambda: before.acknowledged(9), SOON)
    much = b"GET /" + b"n" * 300_000
    endless = [Fetch(steady.peer, much, piece=1024) for _ in range(3)]
    after = Fetch(steady.far, request[:9])
    steady.until(
        lambda: all(one.ended or one.reset or one.acknowledged(290_000) for one in endless), 30
    )
    steady.pause(1)
    for one in (before, after):
        one.goes_on(request[9:])
    steady.settle([before, after], 20)
    for one in endless:
        one.stop()
    for one in (before, after):
        steady.whole(name, one, "[R14] beside requests without end")
    steady.works("[R14] after requests without end")


def come_and_go(steady) -> None:
    """Many short connections while one pauses."""
    name, others = steady.of(65_536), [steady.small for _ in range(8)]
    asked = f"GET /{name} HTTP/1.0\r\n\r\n".encode()
    slow = Fetch(steady.other, asked, stall=3000, stalls=8)
    for _ in range(9):
        steady.serves(*others, why="[R13] eight at once")
    steady.settle([slow], 40)
    steady.whole(name, slow, "[R13] 72 came and went while it paused")


def share_a_port(steady) -> None:
    """One number of a port, three addresses."""
    name, port = steady.of(65_536), steady.peer.fresh_port()
    asked = f"GET /{name} HTTP/1.0\r\n\r\n".encode()
    made = [Fetch(peer, asked, port=port) for peer in (steady.peer, steady.other, steady.far)]
    steady.settle(made, 40)
    for one in made:
        steady.whole(name, one, "[R13] three clients use one number of a port")


def no_queries(name: str, rng) -> list[bytes]:
    """Datagrams that are no query, each with digits of its own."""
    bad = [
        "{0}", "SUM", "SUM ", "SUM {1}", "SUM {1} ", "sum {1} {0}", "SUM  {0}", "SUM  {1} {0}",
        "SUM {1} {2}", "SUM {1} {0}0", "SUM {1}{0}", "GET {1} {0}", "SUM {1} {0}\n",
        "SUM {1} {0} and more", "SUM {1} b {0}", "SUM {1} {2} ", "SUM {1} {3}",
        "SUM nnnnnnnnnnnnnnnnnnnnn {0}", " SUM {1} {0}", "S" * 1400,
    ]  # fmt: skip
    lines = []
    for line in [*bad, wrong_letter("SUM ", rng) + "{1} {0}"]:
        own = digits(rng)
        spaced = f"{own[:8]} {own[9:]}"
        lines.append(line.format(own, name, own[1:], spaced).encode())
    return lines


def say_nothing_sensible(steady, rng) -> None:
    """Broken packets, and such that are not for the box."""
    peer, number = steady.peer, steady.server.heard[-1].message.number
    quiet = Peer(steady, steady.peer.host[:-3] + "231")
    answers = answers_to(steady, quiet)
    query = f"SUM {steady.small} {digits(rng)}".encode()
    for frame in (
        *hostile.broken(quiet, rng, steady.small), *hostile.needless(quiet, rng, query),
        *hostile.foreign(peer, rng), *hostile.false_dhcp(peer, number, steady.server.own),
    ):  # fmt: skip
        steady.wire.send_bytes(frame)
    steady.pause(1)
    said = [frame for frame in answers if not refusal(frame)]
    assert not said, f"an answer to what is broken or not for it: {said[:2]} [R4], [R7], [R14]"
    steady.works("[R14] after broken packets")


def are_slow(steady, at_once) -> None:
    """So many less four say nothing for 18 seconds, and one reads nothing for a while."""
    slow = [Fetch(steady.other, b"GET /") for _ in range(at_once - 4)]
    name, short = steady.of(65_536), steady.small
    asked = f"GET /{name} HTTP/1.0\r\n\r\n".encode()
    slow.append(Fetch(steady.other, asked, stall=3000, stalls=12))
    silent, begun = slow[:-1], time.monotonic()

    def speak() -> None:
        # Whoever says nothing for more than 20 seconds may be given up.
        while silent and time.monotonic() - begun > SILENT:
            silent.pop().goes_on(f"{short} HTTP/1.0\r\n\r\n".encode())

    steady.wire.tickers.append(speak)
    steady.pause(2)
    steady.serves(steady.small, steady.small, seconds=10, why="[R13] beside slow ones")
    steady.answers(steady.small, peer=steady.far)
    steady.settle(slow, 60)
    steady.wire.tickers.remove(speak)
    steady.whole(name, slow[-1], "[R13] it had only paused")
    for one in slow[:-1]:
        steady.whole(short, one, "[R13] it had said nothing for 18 s")
    steady.clean()
