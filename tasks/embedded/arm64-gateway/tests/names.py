"""DNS (RFC 1035) as far as the bench needs it: questions for addresses, and a server of its own."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from benchflow.bench.ethernet import ip_bytes, ip_text

A, CNAME, PTR, TXT, AAAA, SRV = 1, 5, 12, 16, 28, 33
DEPTH_MAX = 64


def encode(name: str) -> bytes:
    labels = [label.encode() for label in name.rstrip(".").split(".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def question(number: int, name: str, kind: int = A) -> bytes:
    return (
        struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0)
        + encode(name)
        + struct.pack(">HH", kind, 1)
    )


def _name(data: bytes, at: int) -> tuple[str, int]:
    """The name at a place, and where it ends there. Raises ValueError."""
    labels, end = [], 0
    for _ in range(DEPTH_MAX):
        if at >= len(data):
            raise ValueError("cut off")
        size = data[at]
        if size >= 192:
            end = end or at + 2
            at = int.from_bytes(data[at : at + 2], "big") & 0x3FFF
            continue
        if size == 0:
            return ".".join(labels).lower(), end or at + 1
        labels.append(data[at + 1 : at + 1 + size].decode("ascii", "replace"))
        at += 1 + size
    raise ValueError("no end")


@dataclass(frozen=True)
class Reply:
    """An answer: `code` 0 is success, 3 says that there is no such name."""

    number: int
    code: int
    name: str
    kind: int
    addresses: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    ttl: int = 0
    answered: bool = field(default=False)

    @classmethod
    def read(cls, data: bytes) -> Reply | None:
        try:
            number, flags, asked, answers = struct.unpack(">HHHH", data[:8])
            name, at = _name(data, 12) if asked == 1 else ("", 12)
            kind = int.from_bytes(data[at : at + 2], "big") if asked == 1 else 0
            at += 4 if asked == 1 else 0
            found: list[str] = []
            names: list[str] = []
            least = 1 << 31
            for _ in range(min(answers, 50)):
                _, at = _name(data, at)
                what, _, ttl, size = struct.unpack(">HHIH", data[at : at + 10])
                at += 10
                if what == A and size == 4:
                    found.append(ip_text(data[at : at + 4]))
                    least = min(least, ttl)
                elif what == PTR:
                    names.append(_name(data, at)[0])
                at += size
        except (ValueError, struct.error):
            return None
        return cls(number, flags & 15, name, kind, tuple(found), tuple(names),
                   least if found else 0, bool(flags & 0x8000))  # fmt: skip


class Zone:
    """The world's names, served by a host at port 53: name → (addresses, seconds to live); those
    of `aliases` are said to be another name's, which is in the answer too."""

    def __init__(self) -> None:
        self.records: dict[str, tuple[list[str], int]] = {}
        self.aliases: dict[str, str] = {}
        self.asked: list[tuple[str, int]] = []
        self.down = False
        self.before: Callable[[str, int, bytes], None] = lambda peer, port, data: None

    def __call__(self, peer: str, port: int, data: bytes) -> bytes | None:
        asked = Reply.read(data)
        if asked is None or asked.answered or self.down or len(self.asked) > 5000:
            return None
        self.asked.append((asked.name, asked.kind))
        self.before(peer, port, data)
        addresses, ttl = self.records.get(asked.name, (None, 0))
        return answer(data, asked, addresses, ttl, self.aliases.get(asked.name, ""))

    def times(self, name: str, kind: int | None = None) -> int:
        """How often somebody asked for a name, or for records of this kind of it."""
        return sum(one == name and kind in (None, what) for one, what in self.asked)


def answer(data: bytes, asked: Reply, addresses: list[str] | None, ttl: int,
           alias: str = "") -> bytes:  # fmt: skip
    """The answer to a question: no such name when `addresses` is None."""
    size = 12 + len(encode(asked.name)) + 4
    shown = addresses or [] if asked.kind == A else []
    code = 0 if addresses is not None else 3
    owner, records, count = b"\xc0\x0c", b"", len(shown)
    if alias and shown:
        owner, count = encode(alias), count + 1
        records = b"\xc0\x0c" + struct.pack(">HHIH", CNAME, 1, ttl, len(owner)) + owner
    for one in shown:
        records += owner + struct.pack(">HHIH", A, 1, ttl, 4) + ip_bytes(one)
    head = struct.pack(">HHHHHH", asked.number, 0x8180 | code, 1, count, 0, 0)
    return head + data[12:size] + records


__all__ = ["AAAA", "PTR", "SRV", "TXT", "A", "Reply", "Zone", "answer", "encode", "question"]
