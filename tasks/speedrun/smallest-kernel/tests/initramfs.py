"""The initramfs that the verifier brings: drawn, in newc, plain or packed by gzip, whole or not."""

from __future__ import annotations

import gzip
import random
import zlib
from dataclasses import dataclass
from pathlib import Path

import draws

BENCH = Path("/opt/bench")
FOLDERS = ("bin", "dev", "etc", "mnt", "proc", "root", "sys", "tmp")


@dataclass(frozen=True)
class Kept:
    """A file of two names, with an owner and rights; a pipe; and how long all of it is at least."""

    mode: int
    uid: int
    gid: int
    word: str
    least: int = 0

    @classmethod
    def draw(cls, rng: random.Random, least: int = 0) -> Kept:
        mode = 0o400 | rng.choice((0, 0o4000)) | rng.randrange(0o400)
        return cls(mode, rng.randrange(1, 60_000), rng.randrange(1, 60_000), draws.word(rng), least)

    def members(self) -> list[bytes]:
        owner, data = (self.uid, self.gid), self.word.encode()
        return [
            entry("etc/kept", 0o100000 | self.mode, owner=owner, names=2, number=7),
            entry("etc/same", 0o100000 | self.mode, data, owner=owner, names=2, number=7),
            entry("etc/queue", 0o010000 | self.mode & 0o777, owner=owner),
        ]

    @property
    def due(self) -> str:
        """What `SHOWS` says of it."""
        of = f"{self.uid} {self.gid}"
        return f"{self.mode:o} {of} 2\n{self.mode & 0o777:o} {of} 1\nfifo\n{self.word}{self.word}"


SHOWS = "stat -c '%a %u %g %h' /etc/kept /etc/queue; stat -c %F /etc/queue; cat /etc/kept /etc/same"


def entry(name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0), *,
          owner: tuple[int, int] = (0, 0), names: int = 1, number: int = 0) -> bytes:  # fmt: skip
    """One member of a cpio archive."""
    path = name.encode() + b"\0"
    # Who has the same number is the same file for some kernels, whatever its count of links.
    number = number or zlib.crc32(path)
    fields = [number, mode, *owner, names, 0, len(data), 0, 0, *device, len(path), 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields)
    return padded(head + path) + padded(data)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def archive(drawn: str, files: dict[str, bytes], kept: Kept) -> bytes:
    """All of it; /init is the last member."""
    members = [entry(folder, 0o040755) for folder in FOLDERS]
    members.append(entry("dev/console", 0o020600, device=(5, 1)))
    members.append(entry("etc/drawn", 0o100644, drawn.encode()))
    members.append(entry("etc/passwd", 0o100644, b"root:x:0:0::/:/bin/sh\n"))
    members.append(entry("bin/busybox", 0o100755, (BENCH / "busybox").read_bytes()))
    for applet in (BENCH / "applets").read_text().split():
        if applet != "busybox":
            members.append(entry(f"bin/{applet}", 0o120777, b"busybox"))
    members.append(entry("bin/probe32", 0o100755, (BENCH / "probe32").read_bytes()))
    members.append(entry("bin/probe-pie", 0o100755, (BENCH / "probe-pie").read_bytes()))
    members += kept.members()
    members.append(entry("bin/probe", 0o120777, b"/init"))
    members += [entry(name, 0o100755, data) for name, data in files.items()]
    if (more := kept.least - sum(map(len, members)) - (BENCH / "probe").stat().st_size) > 0:
        members.append(entry("etc/more", 0o100644, random.Random(kept.word).randbytes(more)))
    members.append(entry("init", 0o100755, (BENCH / "probe").read_bytes()))
    members.append(entry("TRAILER!!!", 0))
    made = b"".join(members)
    return made + bytes(-len(made) % 512)


def packed(data: bytes) -> bytes:
    return gzip.compress(data, 1)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Cut off, long before its end."""
    return data[: rng.randrange(len(data) * 3 // 10, len(data) * 6 // 10)]
