"""The initramfs that the verifier brings: drawn, in newc, plain or packed by gzip, whole or not."""

from __future__ import annotations

import gzip
import random
import zlib
from pathlib import Path

BENCH = Path("/opt/bench")
FOLDERS = ("bin", "dev", "etc", "mnt", "proc", "root", "sys", "tmp")


def entry(name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> bytes:
    """One member of a cpio archive."""
    path = name.encode() + b"\0"
    # Who has the same number is the same file for some kernels, whatever its count of links.
    fields = [zlib.crc32(path), mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields)
    return padded(head + path) + padded(data)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def archive(drawn: str, files: dict[str, bytes]) -> bytes:
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
    members.append(entry("bin/probe", 0o120777, b"/init"))
    members += [entry(name, 0o100755, data) for name, data in files.items()]
    members.append(entry("init", 0o100755, (BENCH / "probe").read_bytes()))
    members.append(entry("TRAILER!!!", 0))
    made = b"".join(members)
    return made + bytes(-len(made) % 512)


def packed(data: bytes) -> bytes:
    return gzip.compress(data, 1)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Cut off, long before its end."""
    return data[: rng.randrange(len(data) * 3 // 10, len(data) * 6 // 10)]
