"""What a network may bring beside what is meant for the box: broken, foreign, needless frames."""

from __future__ import annotations

import random
import struct

from box import PORT, Peer

from benchflow.bench.dhcp_message import ACK, KIND, OFFER, SERVER, DhcpMessage
from benchflow.bench.ethernet import (
    ARP,
    BROADCAST,
    ICMP,
    IPV4,
    IPV6,
    SYN,
    TCP,
    UDP,
    Arp,
    Frame,
    Packet,
    checksum,
    echo,
    ip_bytes,
    summed,
    udp,
)


def to_box(peer: Peer, body: bytes, kind: int = IPV4, target: str = "") -> bytes:
    """A frame as it is, however short."""
    frame = Frame(target or peer.wire.box, peer.mac, kind, body)
    return frame.pack()


def resummed(head: bytes) -> bytes:
    """An IP packet whose head was changed, with a right sum over what it calls its head."""
    size = max(20, (head[0] & 15) * 4)
    blank = head[:10] + b"\0\0" + head[12:]
    return blank[:10] + struct.pack(">H", checksum(blank[:size])) + blank[12:]


def broken(peer: Peer, rng: random.Random, name: str) -> list[bytes]:
    """Packets that are none, at each layer; their sums are right where they have some."""
    asked = f"SUM {name} {rng.getrandbits(64):016x}".encode()
    good = udp(peer.host, peer.fresh_port(), peer.box, PORT, asked).pack()
    made = [good[:cut] for cut in (0, 1, 9, 19, 20, 23, 27)]
    made += [resummed(bytes([0x40 | words]) + good[1:]) for words in (0, 1, 4, 6, 15)]
    made += [resummed(bytes([version << 4 | 5]) + good[1:]) for version in (0, 6, 15)]
    for size in (0, 1, 19, 20, 27, len(good) + 60, 1500, 0xFFFF):
        made.append(resummed(good[:2] + struct.pack(">H", size) + good[4:]))
    for flags in (0x2000, 0x2001, 1, 0x1FFF):
        made.append(resummed(good[:6] + struct.pack(">H", flags) + good[8:]))
    for size in (0, 1, 7, 8, 9, 0x1000, 0xFFFF):
        made.append(protocol(peer, UDP, good[20:24] + struct.pack(">H", size) + b"\0\0" + asked))
    for head in (0, 1, 4, 6, 15):
        made.append(protocol(peer, TCP, segment(peer, rng, head, 0x18, b"GET / ")))
    made += [protocol(peer, TCP, rng.randbytes(n)) for n in (0, 1, 13, 19)]
    made += [protocol(peer, ICMP, b"\x08\0\xf7\xff"[:n]) for n in (0, 1, 3, 4)]
    made += [protocol(peer, rng.randrange(256), rng.randbytes(40)) for _ in range(5)]
    return [to_box(peer, body) for body in made]


def protocol(peer: Peer, number: int, body: bytes) -> bytes:
    return Packet(peer.host, peer.box, number, body).pack()


def segment(peer: Peer, rng: random.Random, head: int, flags: int, data: bytes = b"") -> bytes:
    """A segment of a connection that nobody has."""
    body = struct.pack(
        ">HHIIBBHHH", rng.randrange(1024, 65536), 80, rng.getrandbits(32), rng.getrandbits(32),
        head << 4, flags, rng.getrandbits(16), 0, 0,
    )  # fmt: skip
    return summed(peer.host, peer.box, TCP, body + data, 16)


def opening(peer: Peer, rng: random.Random, port: int) -> bytes:
    """An opening of a connection to a port."""
    body = segment(peer, rng, 5, SYN)
    body = summed(peer.host, peer.box, TCP, body[:2] + struct.pack(">H", port) + body[4:16]
                  + b"\0\0" + body[18:], 16)  # fmt: skip
    return to_box(peer, Packet(peer.host, peer.box, TCP, body).pack())


def foreign(peer: Peer, rng: random.Random) -> list[bytes]:
    """For others, of other protocols, or from where nobody is."""
    net = peer.box.rsplit(".", 1)[0]
    made = [to_box(peer, rng.randbytes(rng.choice((0, 1, 46, 1500))), kind) for kind in
            (IPV6, 0x88CC, 0x8100, 5, rng.randrange(65536)) for _ in range(3)]  # fmt: skip
    made += [to_box(peer, rng.randbytes(n), ARP, BROADCAST) for n in (0, 7, 27, 28, 60)]
    arp = b"\0\1\x08\0\x06\x04\0\1" + bytes(6) + ip_bytes(f"{net}.3") + bytes(6)
    made += [to_box(peer, arp + ip_bytes(f"{net}.{n}"), ARP, BROADCAST) for n in range(181, 199)]
    for source in (peer.box, "255.255.255.255", "0.0.0.0", "127.0.0.1", "224.0.0.1"):
        made.append(to_box(peer, udp(source, PORT, peer.box, PORT, b"SUM A").pack()))
        made.append(to_box(peer, echo(source, peer.box, 1, 1, b"x" * 20).pack()))
    other = f"{net}.198"
    made.append(to_box(peer, udp(peer.host, 9, other, PORT, b"SUM A").pack(), target=BROADCAST))
    return made


def false_dhcp(peer: Peer, number: int, server: str) -> list[bytes]:
    """DHCP messages of the box's own transaction that are cut short, whose options reach beyond the
    end, that say of themselves to be something else, or come to another port."""
    mac = peer.wire.box
    made = []
    other = DhcpMessage(
        2, number, mac, server[:-1] + "9", "0.0.0.0", {KIND: bytes([ACK]), SERVER: ip_bytes(server)}
    ).pack()
    for kind in (OFFER, ACK):
        options = {KIND: bytes([kind]), SERVER: ip_bytes(server)}
        whole = DhcpMessage(2, number, mac, server[:-1] + "9", "0.0.0.0", options).pack()
        made += [whole[:cut] for cut in (0, 8, 236, 240, 241, 243)]
        made.append(whole[:240] + b"\x35\xff\5")
        made.append(whole[:240] + b"\x33\4\0\0\0\1" * 40)
        made.append(whole[:240] + bytes(60))
    made += [other[:236] + b"\x63\x82\x53\x64" + other[240:], other]
    ports = [68] * (len(made) - 1) + [69]
    return [
        to_box(peer, udp(server, 67, "255.255.255.255", port, data).pack(), target=BROADCAST)
        for data, port in zip(made, ports, strict=True)
    ]


def needless(peer: Peer, rng: random.Random, query: bytes) -> list[bytes]:
    """What is whole, comes to the box, and is not for it to answer: a query for another host, an
    answer by ARP, an answer to a ping."""
    other = f"{peer.box.rsplit('.', 1)[0]}.198"
    said = Arp(2, peer.mac, peer.host, peer.wire.box, peer.box)
    answered = echo(peer.host, peer.box, 5, 5, rng.randbytes(20), reply=True)
    return [
        to_box(peer, udp(peer.host, 4009, other, PORT, query).pack()),
        to_box(peer, udp(peer.host, 4009, other, PORT, query).pack(), target=BROADCAST),
        to_box(peer, echo(peer.host, other, 6, 6, rng.randbytes(20)).pack()),
        to_box(peer, said.pack(), ARP),
        to_box(peer, said.pack(), ARP, BROADCAST),
        to_box(peer, answered.pack()),
    ]


def flood(peer: Peer, rng: random.Random, frames: int) -> list[bytes]:
    """Openings that never go on, pieces of connections that nobody has, and noise."""
    made = []
    for _ in range(frames):
        source = f"{peer.box.rsplit('.', 1)[0]}.{rng.randrange(1, 255)}"
        flags = rng.choice((2, 2, 2, 0x10, 0x18, 1, 4, 0x12, 0x3F, 0))
        body = segment(peer, rng, 5, flags, rng.randbytes(rng.choice((0, 0, 30))))
        body = summed(source, peer.box, TCP, body[:16] + b"\0\0" + body[18:], 16)
        made.append(to_box(peer, Packet(source, peer.box, TCP, body).pack()))
        if rng.random() < 0.2:
            made.append(to_box(peer, rng.randbytes(rng.randrange(0, 1500))))
    return made


def spoilt(frame: bytes, place: int) -> bytes:
    """One bit of it is another."""
    return frame[:place] + bytes([frame[place] ^ 4]) + frame[place + 1 :]
