"""One form of tar in which equal contents are equal bytes: read strictly, and written.

POSIX ustar, octal numbers with a zero byte behind them, no user's or group's name, a slash behind
the names of directories alone, and two blocks of zeros at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from benchflow.boot import BadDeliverable

BLOCK = 512
FILE, HARDLINK, SYMLINK, DIRECTORY = "0", "1", "2", "5"
_OCTAL = {7: re.compile(rb"[0-7]{7}\0"), 11: re.compile(rb"[0-7]{11}\0")}


@dataclass(frozen=True)
class Member:
    """One member; `name` without the slash that ends a directory's."""

    name: str
    type: str
    mode: int
    uid: int
    gid: int
    mtime: int
    link: str = ""
    data: bytes = b""

    @property
    def said(self) -> tuple[object, ...]:
        """All that another archive would have to say, too."""
        return (self.name, self.type, oct(self.mode), self.uid, self.gid, self.mtime, self.link)


def read(data: bytes, what: str) -> list[Member]:
    """The members, in their order. Raises BadDeliverable for whatever is not the customer's tar."""
    members: list[Member] = []
    at = 0
    while True:
        header = data[at : at + BLOCK]
        if len(header) < BLOCK:
            raise BadDeliverable(f"{what}: the archive ends without two blocks of zeros")
        if not any(header):
            break
        member, size = _header(header, f"{what}, member {len(members) + 1}")
        at += BLOCK
        content = data[at : at + size]
        padded = -(-size // BLOCK) * BLOCK
        if len(content) < size or any(data[at + size : at + padded]):
            raise BadDeliverable(f"{what}: {member.name}: content is cut off or not filled up")
        at += padded
        members.append(Member(**{**member.__dict__, "data": content}))
    if data[at:] != bytes(2 * BLOCK):
        raise BadDeliverable(f"{what}: two blocks of zeros have to be the end, and nothing after")
    return members


def _header(header: bytes, what: str) -> tuple[Member, int]:
    if header[257:265] != b"ustar\x0000":
        raise BadDeliverable(f"{what}: not a ustar header")
    numbers = {}
    for field, start, digits in (
        ("mode", 100, 7), ("uid", 108, 7), ("gid", 116, 7), ("size", 124, 11), ("mtime", 136, 11),
    ):  # fmt: skip
        text = header[start : start + digits + 1]
        if not _OCTAL[digits].fullmatch(text):
            raise BadDeliverable(f"{what}: {field} is {text!r}")
        numbers[field] = int(text[:-1], 8)
    total = sum(header[:148]) + 8 * 32 + sum(header[156:])
    if header[148:156] != b"%06o\0 " % total:
        raise BadDeliverable(f"{what}: wrong checksum {header[148:156]!r}")
    if any(header[265:329]) or any(header[500:]):
        raise BadDeliverable(f"{what}: a user's or group's name, or something after the prefix")
    if any(header[329:345]):
        raise BadDeliverable(f"{what}: device numbers")
    kind = chr(header[156])
    if kind not in (FILE, HARDLINK, SYMLINK, DIRECTORY):
        raise BadDeliverable(f"{what}: type {kind!r}")
    name, prefix = _text(header[:100], what), _text(header[345:500], what)
    if prefix and len(f"{prefix}/{name}".encode()) <= 100:
        raise BadDeliverable(f"{what}: a name of up to 100 bytes is not divided")
    name = f"{prefix}/{name}" if prefix else name
    if (kind == DIRECTORY) != name.endswith("/"):
        raise BadDeliverable(f"{what}: {name!r}: a slash ends the names of directories alone")
    name = name[:-1] if kind == DIRECTORY else name
    if not name or any(part in ("", ".", "..") for part in name.split("/")):
        raise BadDeliverable(f"{what}: the name {name!r}")
    link = _text(header[157:257], what)
    if (kind in (HARDLINK, SYMLINK)) != bool(link) or (kind != FILE and numbers["size"]):
        raise BadDeliverable(f"{what}: {name}: link name or size do not fit the type")
    size = numbers.pop("size")
    return Member(name=name, type=kind, link=link, **numbers), size  # type: ignore[arg-type]


def _text(field: bytes, what: str) -> str:
    text, _, rest = field.partition(b"\0")
    if any(rest):
        raise BadDeliverable(f"{what}: something after the end of a text")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise BadDeliverable(f"{what}: {text!r} is not UTF-8") from None


def write(members: Iterable[Member]) -> bytes:
    """The archive. Whatever a member says is written, be it sensible or not."""
    out = bytearray()
    for member in members:
        out += header_of(member) + member.data + bytes(-len(member.data) % BLOCK)
    return bytes(out) + bytes(2 * BLOCK)


def header_of(member: Member) -> bytes:
    """The header of one member."""
    name = member.name.encode() + (b"/" if member.type == DIRECTORY else b"")
    prefix = b""
    if len(name) > 100:
        cut = name.index(b"/", len(name) - 101)
        prefix, name = name[:cut], name[cut + 1 :]
    header = bytearray(BLOCK)
    for start, text in (
        (0, name), (100, b"%07o" % member.mode), (108, b"%07o" % member.uid),
        (116, b"%07o" % member.gid), (124, b"%011o" % len(member.data)),
        (136, b"%011o" % member.mtime), (148, b" " * 8), (156, member.type.encode()),
        (157, member.link.encode()), (257, b"ustar\x0000"), (345, prefix),
    ):  # fmt: skip
        header[start : start + len(text)] = text
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)
