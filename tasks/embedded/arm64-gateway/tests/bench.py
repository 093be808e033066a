"""The gateway between two networks of the verifier's: switched on, asked, listened to."""

from __future__ import annotations

import contextlib
import re
import secrets
import struct
import time
from collections.abc import Callable

from boards import NETWORKS
from dhcp import Carrier, Client
from hosts import Cable, Host
from names import A, Reply, Zone, question
from site_data import Carrier as Drawn
from site_data import Site, drawn_mac
from streams import Stream

from benchflow.bench.dhcp_message import ACK, DISCOVER, NAK, OFFER, REQUEST, DhcpMessage
from benchflow.bench.ethernet import ARP, ICMP, IPV4, IPV6, Arp, Frame, Packet, echo, read_udp, udp
from benchflow.boot import Machine

PASSWORD = "Sluice-Valve-9"
FAULTS_MAX = 20
LINES = ("name", "uptime", "wan", "refused")


class Rows(dict[str, str]):
    """The page's lines by key; one that is asked for and not there is the gateway's fault."""

    def __missing__(self, key: str) -> str:
        raise AssertionError(f"[R29] the page has no line for {key}: {str(dict(self))[:300]}")


class Bench:
    """Both networks, and the machine that is on them now. `faults` are frames of the gateway that
    must never be on a network: each is noted when it is seen. `apart` ends the networks' names."""

    def __init__(self, site: Site, drawn: Drawn, macs: dict[str, str], apart: str = "") -> None:
        self.site, self.drawn, self.macs, self.apart = site, drawn, macs, apart
        self.machine: Machine = None  # type: ignore[assignment]
        self.switched_on = self.logged_in = time.monotonic()
        self.online = False  # whether the gateway was seen to have its address from the carrier
        self.answers_right = False  # whether the watchman was seen to answer as it should
        self.held: dict[str, str] = {}  # leases of the pool: MAC → address
        self.kept: dict[str, str] = {}  # those that were found to hold after a start
        self.without_carrier: str | None = None  # what the page said of an unusable offer
        self.lan, self.wan, self.third = (
            Cable(NETWORKS[card] + apart) for card in ("lan", "wan", "third")
        )
        self.faults: list[str] = []
        self.own_addresses = {site.own, "10.71.0.1"}
        self.given = {drawn.given}
        self.lan.watchers.append(self._lan_rules)
        self.wan.watchers.append(self._wan_rules)
        self.third.watchers.append(lambda frame: self._fault("third card", frame))
        self.plc = Host(self.lan, site.hosts[0][0], site.hosts[0][1])
        # Until it has a lease: what does not need DHCP is asked without it.
        self.pc = Host(self.lan, drawn_mac(), site.free())
        self.router = Host(self.wan, drawn_mac(), drawn.router, drawn.bits)
        self.zone = Zone()
        self.router.also |= {drawn.world, drawn.other, drawn.names}
        self.router.serve_udp[53] = lambda peer, port, data: self.zone(peer, port, data)
        self.peer = Host(self.wan, drawn_mac(), drawn.stranger, drawn.bits)
        self.peer.also.add(drawn.third)
        self.carrier = Carrier(self.router)
        self.carrier.names = [drawn.names]

    # -- what is never to be seen ---------------------------------------------------------------

    def _fault(self, what: str, frame: Frame) -> None:
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(f"{what}: {frame.source} {frame.kind:04x} {frame.body[:28].hex()}")

    def _lan_rules(self, frame: Frame) -> None:
        if frame.source != self.macs["lan"] or frame.kind == IPV6:
            self._fault("local side", frame)
        said = Arp.read(frame.body) if frame.kind == ARP else None
        if said and said.address not in self.own_addresses | {"0.0.0.0"}:
            self._fault("ARP on the local side", frame)

    def _wan_rules(self, frame: Frame) -> None:
        if frame.source != self.macs["wan"] or frame.kind not in (ARP, IPV4):
            self._fault("carrier's side", frame)
        said = Arp.read(frame.body) if frame.kind == ARP else None
        packet = Packet.read(frame.body) if frame.kind == IPV4 else None
        address = said.address if said else packet.source if packet else "0.0.0.0"
        if address not in self.given | {"0.0.0.0"}:
            self._fault("source on the carrier's side", frame)

    # -- waiting --------------------------------------------------------------------------------

    def until(self, found: Callable[[], object], seconds: float, what: str = "") -> bool:
        """Whether something came true in time; with `what` it has to. `found` is asked while no
        frame is taken in, so it must not wait for one itself."""
        deadline = self.machine.deadline(seconds)
        while True:
            with self.lan.lock, self.wan.lock:
                if found():
                    return True
            if deadline.remaining() <= 0 or not self.machine.alive:
                assert not what, f"{what}: not within {seconds:g} seconds"
                return False
            time.sleep(0.05)

    def works(self, attempt: Callable[[], object], seconds: float) -> bool:
        """Whether an attempt that itself waits for frames succeeds in time."""
        deadline = self.machine.deadline(seconds)
        while not (done := attempt()) and deadline.remaining() > 0 and self.machine.alive:
            continue
        return bool(done)

    def pause(self, seconds: float) -> None:
        """For what must not happen, and has had its time then."""
        self.until(lambda: False, seconds)

    def again(self, attempt: Callable[[], object], found: Callable[[], object], seconds: float,
              every: float = 3.0) -> bool:  # fmt: skip
        """Attempt something until what is looked for is found, or time is up."""
        deadline = self.machine.deadline(seconds)
        while deadline.remaining() > 0 and self.machine.alive:
            attempt()
            if self.until(found, min(every, max(0.1, deadline.remaining()))):
                return True
        return False

    # -- the console ----------------------------------------------------------------------------

    def enter(self, seconds: float = 60) -> None:
        self.machine.login("root", PASSWORD, timeout=seconds)
        self.logged_in = time.monotonic()

    def run(self, command: str, seconds: float = 60):
        return self.machine.shell.run(command, timeout=seconds)

    def say(self, command: str, seconds: float = 60) -> str:
        return self.machine.shell.run(command, timeout=seconds, check=True).stdout.strip()

    def host_name(self) -> str:
        """By the kernel; asked in several ways, for no command is promised."""
        ways = "uname -n || hostname || { read -r name </proc/sys/kernel/hostname; echo $name; }"
        return self.say(f"{{ {ways}; }} 2>/dev/null")

    def shown(self) -> str:
        """The configuration in force, byte for byte."""
        return self.machine.shell.run("site show", timeout=60, check=True).stdout

    def apply(self, text: str, path: str = "/tmp/bench.conf"):
        self.machine.shell.write_file(path, text.encode())
        return self.run(f"site apply {path}")

    def applies(self, site: Site) -> None:
        """Put a configuration into force, and make the bench's own side fit it."""
        self.own_addresses.add(site.own)  # it may be announced before the shell says so
        result = self.apply(site.text())
        assert result.status == 0, f"[R6] status 0: a good one was refused: {result.stdout[:300]!r}"
        if site.lan != self.site.lan:
            self.pc.address = site.free()
        self.site = site
        self.plc.address = site.hosts[0][1]

    # -- DHCP -----------------------------------------------------------------------------------

    def dhcp(self, client: Client, kind: int, wanted: tuple[int, ...], seconds: float = 20,
             **how) -> DhcpMessage | None:  # fmt: skip
        """One question, repeated until one of the `wanted` kinds of answer comes."""
        mark, numbers, got = self.lan.count, [], []

        def look() -> bool:
            got[:] = [
                one for number in numbers for one in client.answers(number, mark)
                if one.kind in wanted
            ]  # fmt: skip
            return bool(got)

        self.again(lambda: numbers.append(client.ask(kind, **how)), look, seconds, 4)
        return got[0] if got else None

    def lease(self, mac: str, seconds: float = 30, **how) -> DhcpMessage | None:
        """The acknowledgement of a whole conversation, None when there is no offer."""
        client = Client(self.lan, mac)
        offer = self.dhcp(client, DISCOVER, (OFFER,), seconds, **how)
        if offer is None:
            return None
        server = offer.addresses(54)
        assert server == [self.site.own], f"[R10] the offer comes from {server}"
        how = {**how, "address": offer.yours, "server": server[0]}
        answer = self.dhcp(client, REQUEST, (ACK, NAK), seconds, **how)
        assert answer is not None and answer.kind == ACK, f"[R10] an offer was answered by {answer}"
        assert answer.yours == offer.yours, "[R10] another address was offered than acknowledged"
        return answer

    def renewed(self, seconds: float = 15) -> DhcpMessage | None:
        """The answer to a client that asks the gateway itself for more time."""
        client, mark, numbers = Client(self.lan, self.pc.mac), self.lan.count, []
        ask = (self.pc.address, self.site.own, self.macs["lan"])
        got: list[DhcpMessage] = []

        def look() -> bool:
            got[:] = [one for number in numbers for one in client.answers(number, mark)]
            return bool(got)

        self.again(lambda: numbers.append(client.renew(*ask)), look, seconds, 4)
        return got[0] if got else None

    # -- traffic --------------------------------------------------------------------------------

    def mac_of(self, host: Host) -> str:
        return self.macs["lan" if host.cable is self.lan else "wan"]

    def ping(self, host: Host, target: str, seconds: float = 15, source: str = "") -> Packet | None:
        """The answer to a ping that carries a nonce, None without one."""
        data, got = secrets.token_bytes(24), []
        ident = secrets.randbelow(60000) + 1

        def look() -> bool:
            got[:] = host.received(
                lambda p: p.protocol == ICMP and p.body[:1] == b"\0" and p.body[8:] == data
                and p.body[4:6] == struct.pack(">H", ident)
            )  # fmt: skip
            return bool(got)

        packet = echo(source or host.address, target, ident, 1, data)
        self.again(lambda: host.put(packet, self.mac_of(host)), look, seconds, 3)
        return got[0] if got else None

    def datagram(self, host: Host, target: str, port: int, data: bytes, seconds: float = 15,
                 every: float = 3.0) -> tuple[str, bytes] | None:  # fmt: skip
        """(who answered, with what) to a datagram from a fresh port."""
        own, got = host.port(), []

        def look() -> bool:
            for packet in host.received(lambda p: True):
                found = read_udp(packet)
                if found and found[:2] == (port, own):
                    got.append((packet.source, found[2]))
                    return True
            return False

        packet = udp(host.address, own, target, port, data)
        self.again(lambda: host.put(packet, self.mac_of(host)), look, seconds, every)
        return got[0] if got else None

    def resolve(self, name: str, kind: int = A, seconds: float = 20) -> Reply | None:
        """What the gateway answers to a question of the local side."""
        number = secrets.randbelow(65536)
        asked = question(number, name, kind)
        got = self.datagram(self.pc, self.site.own, 53, asked, seconds, every=5)
        if got is None:
            return None
        assert got[0] == self.site.own, f"the answer comes from {got[0]}"
        reply = Reply.read(got[1])
        assert reply is not None and reply.answered and reply.number == number, "not an answer"
        assert reply.name == name.lower(), f"an answer about {reply.name!r}"
        return reply

    def connect(self, host: Host, target: str, port: int, seconds: float = 15,
                source: str = "") -> Stream | None:  # fmt: skip
        """A connection, None when it is refused or nobody answers."""
        own = host.port()
        stream = Stream(host, source or host.address, own, target, port, self.mac_of(host))
        with host.cable.lock:
            host.streams[own, target, port] = stream
        stream.open()
        self.until(lambda: stream.established or stream.reset, seconds)
        return stream if stream.established and not stream.reset else None

    def exchange(self, stream: Stream, data: bytes, wanted: bytes, seconds: float = 15) -> bool:
        """Whether what is sent brings what is wanted back."""
        stream.send(data)
        return self.until(lambda: wanted in stream.received, seconds)

    def fetch(self, host: Host, target: str, port: int, data: bytes, seconds: float = 20) -> bytes:
        """All that a server says to a request until it ends; b"" when it cannot be reached."""
        stream = self.connect(host, target, port, seconds)
        if stream is None:
            return b""
        stream.send(data)
        self.until(lambda: stream.ended or stream.reset, seconds)
        stream.end()
        return stream.received

    def page(self, seconds: float = 20) -> dict[str, str]:
        """The status page by key; leases as MAC → "ADDRESS SECONDS"."""
        request = f"GET / HTTP/1.0\r\nHost: {self.site.own}\r\n\r\n".encode()
        got = self.fetch(self.pc, self.site.own, 80, request, seconds).decode("ascii", "replace")
        assert re.match(r"HTTP/1\.[01] 200\b", got), f"[R29] the page: {got[:100]!r}"
        body = re.split(r"\r?\n\r?\n", got, maxsplit=1)[-1]
        rows = Rows()
        for line in body.splitlines()[:500]:
            key, _, value = line.strip().partition("=")
            if key == "lease":
                key, _, value = value.partition(" ")
            elif key not in LINES:
                continue
            assert key not in rows, f"[R29] {key} is there twice"
            rows[key] = value
        return rows

    def seen(self, cable: Cable, mark: int, holds: bytes) -> list[Frame]:
        """Frames of the gateway since a mark that hold some bytes."""
        return [frame for frame in cable.since(mark) if holds in frame.body]

    def packets(self, cable: Cable, mark: int) -> list[Packet]:
        """The IPv4 packets of the gateway since a mark."""
        bodies = [frame.body for frame in cable.since(mark) if frame.kind == IPV4]
        return [packet for packet in map(Packet.read, bodies) if packet is not None]

    def close(self) -> None:
        for cable in (self.lan, self.wan, self.third):
            with contextlib.suppress(OSError):
                cable.close()
