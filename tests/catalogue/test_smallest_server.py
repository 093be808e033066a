"""speedrun/smallest-server: its catalogues, its wire, its TCP, what is shipped to agents."""

from __future__ import annotations

import importlib.util
import random
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from tests.catalogue.checkers import helpers

from benchflow.bench.dhcp_message import DISCOVER, KIND, DhcpMessage
from benchflow.bench.ethernet import ARP, BROADCAST, IPV4, Arp, Frame, Packet, read_udp, udp
from benchflow.boot.machine.nics import lan

TASK = Path(__file__).parents[2] / "tasks/speedrun/smallest-server"
BOX, PEER = "52:54:00:00:00:01", "52:54:00:00:00:02"


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    names = ("wire", "fetch", "lease", "catalogues", "box", "hostile", "clients")
    with helpers("speedrun/smallest-server", *names) as loaded:
        yield loaded


def shipped() -> ModuleType:
    path = TASK / "environment/box/catalogue.py"
    spec = importlib.util.spec_from_file_location("catalogue", path)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def read(disk: bytes) -> dict[str, bytes]:
    """The files of a catalogue, read as the order says."""
    magic, count, sectors, total = struct.unpack_from("<4sIII", disk)
    directory = disk[512 : 512 + 32 * count]
    assert magic == b"SKAT" and sectors * 512 <= len(disk) and 512 + 32 * count <= sectors * 512
    assert zlib.crc32(disk[:12] + directory) == total
    found = {}
    for number in range(count):
        name, first, length, crc = struct.unpack_from("<20sIII", directory, 32 * number)
        found[name.rstrip(b"\0").decode()] = value = disk[first * 512 : first * 512 + length]
        assert zlib.crc32(value) == crc and first * 512 + length <= sectors * 512
    assert len(found) == count
    return found


def test_a_catalogue_holds_what_was_drawn(parts: dict[str, ModuleType]) -> None:
    catalogues = parts["catalogues"]
    for seed in range(5):
        rng = random.Random(seed)
        files = catalogues.draw(rng)
        made = catalogues.write(files, rng)
        assert read(made.disk) == files
        assert {len(value) for value in files.values()} >= {*catalogues.LENGTHS, 65_536, 1 << 18}
        assert {1, 20} <= {len(name) for name in files}


def test_a_damaged_one_differs_in_one_bit(parts: dict[str, ModuleType]) -> None:
    catalogues, rng = parts["catalogues"], random.Random(1)
    made = catalogues.write(catalogues.draw(rng), rng)
    spoilt = made.damaged(700, rng).disk
    assert [n for n in range(len(spoilt)) if spoilt[n] != made.disk[n]] == [700]
    assert (spoilt[700] ^ made.disk[700]).bit_count() == 1


def test_heads_that_cannot_be_are_refused_by_who_reads_as_ordered(
    parts: dict[str, ModuleType],
) -> None:
    catalogues, rng = parts["catalogues"], random.Random(2)
    made = catalogues.write(catalogues.draw(rng), rng)
    for head in catalogues.heads_that_cannot_be(made, rng):
        assert len(head) == 512
        magic, count, sectors, _ = struct.unpack_from("<4sIII", head)
        assert magic != b"SKAT" or sectors > 8192 or 512 + 32 * count > sectors * 512


def test_the_longest_catalogue_is_one(parts: dict[str, ModuleType]) -> None:
    catalogues = parts["catalogues"]
    for seed in range(3):
        made = catalogues.longest(random.Random(seed))
        assert read(made.disk) == made.files
        assert catalogues.LONGEST * 3 // 4 < len(made.disk) <= catalogues.LONGEST + 9 * 512


def test_lines_that_are_no_query_are_none(parts: dict[str, ModuleType]) -> None:
    clients, rng = parts["clients"], random.Random(6)
    for _ in range(300):
        for line in clients.no_queries("NAME", rng):
            assert not re.fullmatch(rb"SUM [^ ]{1,20} [^ ]{16}", line, re.DOTALL), line


def test_another_letter_is_another(parts: dict[str, ModuleType]) -> None:
    wrong, rng = parts["clients"].wrong_letter, random.Random(7)
    for text in ("SUM ", "GET /", " HTTP/1."):
        for _ in range(500):
            made = wrong(text, rng)
            assert made != text and len(made) == len(text)
            assert sum(a != b for a, b in zip(made, text, strict=True)) == 1
            assert not set(made) - set(text) & set(" {}\r\n")


@pytest.mark.parametrize(
    ("options", "ends"),
    [("350101ff", True), ("350101", False), ("00003501 01ff0000", True), ("35ff01", False),
     ("3501ff00", False), ("", False)],
)  # fmt: skip
def test_options_have_an_end(parts: dict[str, ModuleType], options: str, ends: bool) -> None:
    assert parts["lease"].has_an_end(bytes(240) + bytes.fromhex(options)) is ends


def test_another_mac_differs_in_one_bit(parts: dict[str, ModuleType]) -> None:
    made = {parts["lease"].neighbour(BOX, bit) for bit in range(48)}
    assert len(made) == 48 and BOX not in made and all(len(mac) == 17 for mac in made)


def test_the_shipped_script_means_the_same(parts: dict[str, ModuleType]) -> None:
    script, catalogues = shipped(), parts["catalogues"]
    disk = script.drawn(3, 9)
    files = read(disk)
    assert script.files(disk) == files and len(files) == 9
    made = catalogues.Catalogue(files, disk, {})
    for name, value in [*files.items(), ("NOT-THERE", None)]:
        assert script.due(value, "0" * 16).encode() == made.reply(name, "0" * 16)


def test_par_and_limits_are_what_the_order_says(parts: dict[str, ModuleType]) -> None:
    order, box = (TASK / "instruction.md").read_text(), parts["box"]
    assert f"*Par* is {box.PAR:,} bytes" in order
    assert f"1.2 times par, which is {box.PAR * 12 // 10:,} bytes" in order
    assert f"UDP port {box.PORT}" in order and f"within {box.STARTS} seconds of power-on" in order
    assert f"answers come within {box.SOON} seconds" in order
    assert f"At most {box.AFTERWARDS} seconds after such a time" in order


@pytest.fixture
def wire(parts: dict[str, ModuleType]) -> Iterator[object]:
    made = parts["wire"].Wire("smallest-server-test", BOX, random.Random(1))
    made.allowed = {"10.1.1.5"}
    yield made
    made.close()


def frame(source: str, said: Packet | Arp) -> Frame:
    kind = ARP if isinstance(said, Arp) else IPV4
    return Frame(PEER, source, kind, said.pack())


def test_what_the_box_may_send_is_no_fault(wire) -> None:  # type: ignore[no-untyped-def]
    for sent in (
        frame(BOX, udp("10.1.1.5", 7007, "10.1.1.9", 5, b"x")),
        frame(BOX, udp("0.0.0.0", 68, "255.255.255.255", 67, b"x")),
        frame(BOX, Arp(2, BOX, "10.1.1.5", PEER, "10.1.1.9")),
        frame(BOX, Arp(1, BOX, "0.0.0.0", PEER, "10.1.1.5")),
    ):
        assert wire._wrong(sent) == ""


def test_what_it_may_not_send_is_seen(wire) -> None:  # type: ignore[no-untyped-def]
    good = udp("10.1.1.5", 7007, "10.1.1.9", 5, b"x")
    spoilt = good.pack()[:-1] + b"y"
    for sent in (
        frame(PEER, good),
        frame(BOX, udp("10.1.1.6", 7007, "10.1.1.9", 5, b"x")),
        frame(BOX, udp("0.0.0.0", 7007, "10.1.1.9", 5, b"x")),
        frame(BOX, Arp(2, BOX, "10.1.1.6", PEER, "10.1.1.9")),
        frame(BOX, udp("10.1.1.5", 7007, "10.1.1.9", 5, b"x", ttl=1)),
        frame(BOX, udp("0.0.0.0", 68, "255.255.255.255", 67, b"x", ttl=0)),
        Frame(PEER, BOX, IPV4, spoilt),
        Frame(PEER, BOX, IPV4, good.pack()[:19]),
        Frame(PEER, BOX, 0x86DD, bytes(40)),
    ):
        assert wire._wrong(sent)


class Line:
    """What a Fetch says goes nowhere; what it hears is given to it."""

    def __init__(self) -> None:
        self.wire = SimpleNamespace(takers=[], tickers=[])
        self.rng, self.host, self.box = random.Random(3), "10.1.1.9", "10.1.1.5"
        self.said: list[bytes] = []

    def fresh_port(self) -> int:
        return 4000

    def put(self, protocol: int, body: bytes) -> None:
        self.said.append(body)

    def packet(self, frame: Frame, protocol: int) -> Packet | None:
        return Packet.read(frame.body)


def hears(fetch, sequence: int, flags: int, data: bytes = b"") -> None:  # type: ignore[no-untyped-def]
    known = struct.unpack(">I", fetch.peer.said[0][4:8])[0] + 1
    body = struct.pack(">HHIIBBHHH", 80, 4000, sequence, known, 0x50, flags, 900, 0, 0) + data
    fetch._take(Frame(PEER, BOX, IPV4, Packet("10.1.1.5", "10.1.1.9", 6, body).pack()))


def test_a_fetch_puts_pieces_in_order(parts: dict[str, ModuleType]) -> None:
    one = parts["fetch"].Fetch(Line(), b"GET /A HTTP/1.0\r\n\r\n", window=100)
    hears(one, 500, 0x12)
    reply = b"HTTP/1.0 200 \r\nContent-Length: 4\r\n\r\nabcd"
    hears(one, 501 + 20, 0x11, reply[20:])
    assert not one.received
    hears(one, 501, 0x10, reply[:25])
    hears(one, 501, 0x10, reply[:25])
    assert (one.status, one.promised, one.body, one.ended) == (200, 4, b"abcd", True)
    assert not one.fault


@pytest.mark.parametrize("size", [101, 600])
def test_a_fetch_sees_more_than_it_has_room_for(parts: dict[str, ModuleType], size: int) -> None:
    one = parts["fetch"].Fetch(Line(), b"GET /A HTTP/1.0\r\n\r\n", window=100)
    hears(one, 500, 0x12)
    hears(one, 501, 0x10, bytes(size))
    assert one.fault and not one.received


def test_broken_packets_are_broken(parts: dict[str, ModuleType]) -> None:
    line = Line()
    line.mac, line.wire.box = PEER, BOX  # type: ignore[attr-defined]
    frames = parts["hostile"].broken(line, random.Random(4), "NAME")
    assert len(frames) > 50 and all(len(data) >= 60 for data in frames)


@pytest.mark.parametrize("last", [0x00, 0x0E, 0x0F, 0xFF])
def test_strangers_never_speak_to_the_box(parts: dict[str, ModuleType], last: int) -> None:
    """One box in 256 had the MAC that stood for another's, and believed what was said to it."""
    box = f"52:54:00:00:00:{last:02x}"
    name = f"strangers-{last}"
    line = lan(name).attach()
    line.settimeout(5)
    wire = parts["wire"].Wire(name, box, random.Random(1))
    server = parts["lease"].Server(wire, "10.1.1.1", PEER, "10.1.1.5", strangers=True)
    try:
        asked = DhcpMessage(1, 77, box, "0.0.0.0", "0.0.0.0", {KIND: bytes([DISCOVER])})
        packet = udp("0.0.0.0", 68, "255.255.255.255", 67, asked.pack())
        line.send(Frame(BROADCAST, box, IPV4, packet.pack()).pack())
        wire.run(lambda: server.heard, parts["wire"].Moment(5))
        said = [told(line.recv(2048)) for _ in range(15)]
    finally:
        wire.close()
        line.close()
    for_the_box = [one for one in said if (one.operation, one.number, one.mac) == (2, 77, box)]
    assert [one.yours for one in for_the_box] == ["10.1.1.5"]


def told(data: bytes) -> DhcpMessage:
    sent = Frame.read(data)
    packet = Packet.read(sent.body) if sent else None
    datagram = read_udp(packet) if packet else None
    message = DhcpMessage.read(datagram[2]) if datagram else None
    assert message is not None
    return message
