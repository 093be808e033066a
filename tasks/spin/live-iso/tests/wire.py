"""What a PC sends on its network card, as QEMU records it in front of the guest.

QEMU writes the record (pcap) into a named pipe, and a thread of ours keeps what is worth keeping: a
guest that sends without end costs neither disk nor memory.
"""

from __future__ import annotations

import os
import select
import struct
import threading
from collections import Counter
from pathlib import Path

WALL_PORT = 7400
KINDS_MAX = 200
REQUESTS_MAX = 50
FRAME_MAX = 1 << 16
_HEADER, _RECORD = struct.Struct("<IHHiIII"), struct.Struct("<IIII")
_MAGIC = 0xA1B2C3D4


class Wire:
    """The record of one card, over all starts of its PC. `path` is made; QEMU writes into it."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        self._path = path
        # Open for both, so that neither QEMU waits for us nor the pipe ends with a QEMU.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._lock = threading.Lock()
        self._data = bytearray()
        self._begun = self._closed = False
        self.kinds: Counter[str] = Counter()
        self.requests: list[bytes] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def arguments(self) -> list[str]:
        """What QEMU is told; `rx` is what the network takes from the card: what the guest sends."""
        record = f"filter-dump,id=line,netdev=net0,file={self._path},queue=rx,maxlen=2048"
        return ["-object", record]

    def begin(self) -> None:
        """Call while the PC is off: the record of its next start begins anew."""
        while self._waiting(0.0):
            pass
        with self._lock:
            self._data.clear()
            self._begun = False

    def seen(self) -> Counter[str]:
        """How often each kind of frame has been sent so far."""
        with self._lock:
            return Counter(self.kinds)

    def strange(self) -> dict[str, int]:
        """What should never be sent."""
        return {kind: count for kind, count in self.seen().items() if not kind.startswith("fine")}

    def close(self) -> None:
        self._closed = True
        self._thread.join(5)
        os.close(self._pipe)
        self._path.unlink(missing_ok=True)

    def _waiting(self, seconds: float) -> bool:
        return bool(select.select([self._pipe], [], [], seconds)[0])

    def _read(self) -> None:
        while not self._closed:
            if not self._waiting(0.2):
                continue
            try:
                data = os.read(self._pipe, 1 << 16)
            except BlockingIOError:
                continue
            with self._lock:
                self._data += data
                self._parse()

    def _parse(self) -> None:
        if not self._begun:
            if len(self._data) < _HEADER.size:
                return
            if _HEADER.unpack_from(self._data)[0] != _MAGIC:
                self._count("not a record")
                self._data.clear()
                return
            del self._data[: _HEADER.size]
            self._begun = True
        while len(self._data) >= _RECORD.size:
            length = _RECORD.unpack_from(self._data)[2]
            if length > FRAME_MAX:
                self._count("not a record")
                self._data.clear()
                return
            if len(self._data) < _RECORD.size + length:
                return
            frame = bytes(self._data[_RECORD.size : _RECORD.size + length])
            del self._data[: _RECORD.size + length]
            kind = classify(frame)
            self._count(kind)
            if kind == "fine: DHCP" and len(self.requests) < REQUESTS_MAX:
                self.requests.append(frame)

    def _count(self, kind: str) -> None:
        if kind in self.kinds or len(self.kinds) < KINDS_MAX:
            self.kinds[kind] += 1


def classify(frame: bytes) -> str:
    """What a frame from the guest is; `fine: …` is what may leave."""
    if len(frame) < 14:
        return "a frame of less than 14 bytes"
    (ether,) = struct.unpack_from(">H", frame, 12)
    if ether == 0x0806:
        return "fine: ARP"
    if ether == 0x86DD:
        return "IPv6"
    if ether != 0x0800:
        return f"Ethernet type {ether:#06x}"
    packet = frame[14:]
    if len(packet) < 20 or packet[0] >> 4 != 4 or len(packet) < (packet[0] & 15) * 4 + 4:
        return "broken IPv4"
    protocol, target = packet[9], ".".join(map(str, packet[16:20]))
    if struct.unpack_from(">H", packet, 6)[0] & 0x1FFF:
        return f"a later fragment to {target}"
    payload = packet[(packet[0] & 15) * 4 :]
    source_port, port = struct.unpack_from(">HH", payload)
    if protocol == 17:
        return "fine: DHCP" if (source_port, port) == (68, 67) else f"UDP to {target} port {port}"
    if protocol == 6:
        flags = payload[13] if len(payload) > 13 else 0
        opens = flags & 0x12 == 0x02
        if source_port == WALL_PORT and not opens:
            return "fine: answers of the wall"
        return f"TCP to {target} port {port}"
    if protocol == 1:
        return "fine: pong" if payload[0] == 0 else f"ICMP type {payload[0]} to {target}"
    return f"IPv4 protocol {protocol} to {target}"


def dhcp_options(frame: bytes) -> dict[int, bytes]:
    """The options of a DHCP request. Raises AssertionError for what is none."""
    packet = frame[14:]
    message = packet[(packet[0] & 15) * 4 + 8 :]
    assert message[236:240] == b"\x63\x82\x53\x63", "a DHCP request without its magic number"
    options: dict[int, bytes] = {}
    at = 240
    while at + 1 < len(message) and message[at] != 255:
        if message[at] == 0:
            at += 1
            continue
        options[message[at]] = message[at + 2 : at + 2 + message[at + 1]]
        at += 2 + message[at + 1]
    return options
