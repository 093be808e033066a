"""The box on its network: switched on with a catalogue, asked by its peers, switched off."""

from __future__ import annotations

import random
from dataclasses import replace

from catalogues import LONGEST, Catalogue, digits
from fetch import Fetch
from lease import Server
from wire import Moment, Wire, without_sum

from benchflow.bench.ethernet import (
    ARP,
    BROADCAST,
    ICMP,
    IPV4,
    UDP,
    Arp,
    Frame,
    Packet,
    drawn_mac,
    echo,
    read_udp,
    udp,
)
from benchflow.boot import Disk, Nic

IMAGE = "/app/out/box.img"
PORT = 7007
PAR = 4330  # bytes: [R16] of the order
STARTS = 15  # seconds from power-on to an address
SOON = 5  # seconds in which an answer comes where nothing is lost
AFTERWARDS = 15  # seconds after which what a network brought is over
NOTHING = "00:00:00:00:00:00"


class Peer:
    """Another machine on the network; one that is far away has its router's MAC."""

    def __init__(self, box: Box, host: str, mac: str = "") -> None:
        self.owner, self.host, self.mac = box, host, mac or drawn_mac()
        self.wire, self.rng = box.wire, box.rng
        self._port = self.rng.randrange(20_000, 40_000)
        self.wire.takers.append(self._arp)

    @property
    def box(self) -> str:
        """The box's address."""
        return self.owner.address

    def fresh_port(self) -> int:
        self._port += 1
        return self._port

    def put(self, protocol: int, body: bytes) -> None:
        """A packet to the box."""
        self.send(Packet(self.host, self.box, protocol, body))

    def send(self, packet: Packet) -> None:
        """On its last hop or its first: an answer has hops of its own."""
        hops = replace(packet, ttl=self.rng.randrange(1, 256))
        self.wire.send(Frame(self.wire.box, self.mac, IPV4, hops.pack()))

    def ask_arp(self, address: str) -> None:
        said = Arp(1, self.mac, self.host, NOTHING, address)
        self.wire.send(Frame(BROADCAST, self.mac, ARP, said.pack()))

    def packet(self, frame: Frame, protocol: int) -> Packet | None:
        """The packet in a frame, where it is the box's to this peer."""
        if frame.kind != IPV4 or frame.target != self.mac:
            return None
        packet = Packet.read(frame.body)
        if packet is None or (packet.source, packet.target) != (self.box, self.host):
            return None
        return packet if packet.protocol == protocol else None

    def _arp(self, frame: Frame) -> None:
        said = Arp.read(frame.body) if frame.kind == ARP else None
        if said and said.operation == 1 and said.target == self.host:
            answer = Arp(2, self.mac, self.host, said.mac, said.address)
            self.wire.send(Frame(frame.source, self.mac, ARP, answer.pack()))


class Box:
    """One machine with its wire. `address` is what the server offers."""

    def __init__(self, machines, deliverable, folder, name: str, rng: random.Random,
                 catalogue: Catalogue) -> None:  # fmt: skip
        self.rng, self.name, self.catalogue, self._folder = rng, name, catalogue, folder
        mac = drawn_mac()
        self.wire = Wire(name, mac, rng)
        net = f"10.{rng.randrange(1, 250)}.{rng.randrange(1, 250)}"
        self.address = f"{net}.{rng.randrange(20, 180)}"
        self.server = Server(self.wire, f"{net}.1", drawn_mac(), self.address)
        self.peer, self.other = (
            Peer(self, f"{net}.{rng.randrange(200, 220)}"),
            Peer(self, f"{net}.7"),
        )
        router = Peer(self, f"{net}.1", self.server.mac)
        self.far = Peer(self, f"192.168.{rng.randrange(256)}.9", router.mac)
        self.disk = folder / f"{name}.disk"
        self.insert(catalogue)
        self.machine = machines.create(
            name, rng=False, vga=False, nics=[Nic("virtio-net-pci,romfile=", lan=name, mac=mac)],
            disks=[
                Disk(deliverable(IMAGE), bus="ide"), Disk(self.disk, bus="ide"),
            ],
        )  # fmt: skip

    def insert(self, catalogue: Catalogue) -> None:
        """What the next start finds."""
        self.catalogue = catalogue
        # The longest, always: what QEMU lays over it has the first one's length.
        self.disk.write_bytes(catalogue.disk.ljust(LONGEST + 8192, b"\0"))

    def until(self, found, seconds: float) -> bool:
        """Whether something comes true in so many reference seconds."""
        return self.wire.run(found, self.machine.deadline(seconds))

    def lasts(self, seconds: float) -> None:
        """So many reference seconds pass, for what must be over then."""
        self.until(lambda: False, seconds)

    def pause(self, seconds: float, found=lambda: False) -> None:
        """Real seconds, for what must not happen, or for what is on its way."""
        self.wire.run(found, Moment(seconds))

    def nobody(self, why: str) -> None:
        """It answers neither ARP nor ping: `faults` have what it says all the same."""
        self.wire.allowed.clear()
        for _ in range(4):
            self.peer.ask_arp(self.address)
            for target in (self.address, "0.0.0.0"):
                self.peer.send(echo(self.peer.host, target, 1, 1, bytes(30)))
            self.pause(0.5)
        self.clean(why)

    @property
    def leased(self) -> bool:
        return self.server.leased_at > 0

    def start(self) -> Box:
        """Switched on, with an address; at once where it is on already."""
        if not self.machine.alive:
            self.server.leased_at = 0.0
            self.machine.boot()
        if not self.leased:
            assert self.until(lambda: self.leased, STARTS), f"no lease within {STARTS} s [R5]"
        return self

    def stop(self) -> None:
        """Its power is cut."""
        if self.machine.alive:
            self.machine.power_cut()
        self.pause(0.1)
        self.wire.allowed.clear()

    def close(self) -> None:
        self.stop()
        self.wire.close()

    def clean(self, why: str = "[R4]") -> None:
        """Nothing was sent that must not be."""
        assert not self.wire.faults, f"on its network: {self.wire.faults} {why}"

    # -- asking ---------------------------------------------------------------------------------

    def again(self, attempt, found, seconds: float, every: float = 2) -> bool:
        """Attempt something until what is looked for is found, or time is up."""
        deadline = self.machine.deadline(seconds)
        while deadline.remaining() > 0 and self.machine.alive:
            attempt()
            if self.until(found, min(every, max(0.1, deadline.seconds - deadline.used()))):
                return True
        return False

    def has_address(self, seconds: float = SOON, peer: Peer | None = None) -> bool:
        """Whether somebody says by ARP that he has the box's address, and it is the box."""
        peer, got = peer or self.peer, []

        def take(frame: Frame) -> None:
            said = Arp.read(frame.body) if frame.kind == ARP and frame.target == peer.mac else None
            if said and said.operation == 2 and said.address == self.address:
                got.append(said.mac == self.wire.box and said.target == peer.host)

        self.wire.takers.append(take)
        try:
            return self.again(lambda: peer.ask_arp(self.address), lambda: any(got), seconds)
        finally:
            self.wire.takers.remove(take)

    def ping(self, size: int, seconds: float = SOON, peer: Peer | None = None) -> bool:
        """Whether a ping with so many drawn bytes is answered with them."""
        peer, got = peer or self.peer, []
        data, ident, number = self.rng.randbytes(size), *(self.rng.getrandbits(16) for _ in "ab")

        def take(frame: Frame) -> None:
            packet = peer.packet(frame, ICMP)
            if packet and packet.body[:2] == b"\0\0":
                head = ident.to_bytes(2, "big") + number.to_bytes(2, "big")
                got.append(packet.body[4:] == head + data)

        self.wire.takers.append(take)
        try:
            asked = echo(peer.host, self.address, ident, number, data)
            return self.again(lambda: peer.send(asked), lambda: any(got), seconds)
        finally:
            self.wire.takers.remove(take)

    def says(self, *data: bytes, seconds: float = SOON, peer: Peer | None = None, at: int = PORT,
             many: int = 0, every: float = 2, summed: bool = True) -> list[bytes]:  # fmt: skip
        """The answers to datagrams that are sent from one port, again and again until there are
        `many` (as many as datagrams). `summed`: with a checksum, which UDP may do without."""
        peer, got = peer or self.peer, []
        own = peer.fresh_port()

        def take(frame: Frame) -> None:
            packet = peer.packet(frame, UDP)
            found = read_udp(packet) if packet else None
            if found and found[:2] == (at, own):
                got.append(found[2])

        def send() -> None:
            for one in data:
                packet = udp(peer.host, own, self.address, at, one)
                peer.send(packet if summed else without_sum(packet))

        self.wire.takers.append(take)
        try:
            self.again(send, lambda: len(got) >= (many or len(data)), seconds, every)
            return got
        finally:
            self.wire.takers.remove(take)

    def get(self, *names: str, seconds: float = 20, peer: Peer | None = None, **how) -> list[Fetch]:
        """Files asked for at once, each over a connection of its own."""
        asked = [f"GET /{name} HTTP/1.0\r\nHost: box\r\n\r\n".encode() for name in names]
        return self.requests(asked, seconds, peer=peer, **how)

    def requests(self, asked: list[bytes], seconds: float = 20, peer: Peer | None = None,
                 **how) -> list[Fetch]:  # fmt: skip
        """Requests, each over a connection of its own, until all are answered."""
        made = [Fetch(peer or self.peer, request, **how) for request in asked]
        self.settle(made, seconds)
        return made

    def settle(self, made: list[Fetch], seconds: float) -> None:
        """Wait until all connections have ended, at most so long."""
        self.until(lambda: all(one.ended or one.reset for one in made), seconds)
        self.until(lambda: all(one.over or one.reset or not one.ended for one in made), 2)
        for one in made:
            one.stop()

    def serves(self, *names: str, seconds: float = 20, why: str = "[R9]", **how) -> None:
        """Each file comes whole."""
        for name, one in zip(names, self.get(*names, seconds=seconds, **how), strict=True):
            self.whole(name, one, why)

    def whole(self, name: str, one: Fetch, why: str) -> None:
        """The reply is the file."""
        due = self.catalogue.files[name]
        got = f"{one.status}, {len(one.body)} of {len(due)} bytes, ended {one.ended}"
        assert one.ended and one.status == 200, f"/{name}: {got}: {why}"
        assert one.body == due, f"/{name}: {got}, other bytes than the file's: {why}"
        assert one.promised == len(due), f"/{name}: Content-Length {one.promised}: [R9]"
        assert not one.fault, f"/{name}: {one.fault} [R11]"
        if not self.wire.loss:
            # A client that hears nothing of its own end says it again and again.
            assert one.over or one.reset, f"/{name}: the client's own end is not answered: {why}"

    def answers(self, *names: str, seconds: float = SOON, why: str = "[R7]", **how) -> None:
        """Queries get the answers that are due."""
        for name in names:
            said = digits(self.rng)
            due = self.catalogue.reply(name, said)
            got = self.says(f"SUM {name} {said}".encode(), seconds=seconds, **how)
            assert got and set(got) == {due}, f"SUM {name}: {got[:2]}, due was {due!r}: {why}"

    def refuses(self, name: str, why: str, files: bool = True) -> None:
        """A damaged file is said to be one, and nothing of it is sent."""
        said = digits(self.rng)
        got = self.says(f"SUM {name} {said}".encode())
        assert got and set(got) == {f"BAD {said}".encode()}, f"{got[:2]}, due was BAD: [R10] {why}"
        if files:
            one = self.get(name)[0]
            assert one.status == 500 and one.ended, f"/{name}: {one.status}, not 500: [R10] {why}"
            assert self.catalogue.files[name][:64] not in one.received, f"its bytes: [R10] {why}"

    def works(self, why: str) -> None:
        """It serves as before, in so many seconds."""
        name, deadline = self.small, self.machine.deadline(AFTERWARDS)
        while not (got := self.get(name, seconds=SOON)[0]).ended and deadline.remaining() > 0:
            continue
        self.whole(name, got, why)
        self.answers(name, why=why)
        assert self.has_address() and self.ping(56), f"neither ARP nor ping: {why}"

    @property
    def small(self) -> str:
        """The name of a file of a few thousand bytes."""
        held = self.catalogue.files
        return self.rng.choice([name for name, value in held.items() if 500 < len(value) < 9000])

    def of(self, length: int) -> str:
        """The name of the file with this length."""
        return next(n for n, value in self.catalogue.files.items() if len(value) == length)
