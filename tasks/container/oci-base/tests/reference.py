"""What the packages that the customer shipped hold: certificates and zones."""

from __future__ import annotations

import io
import lzma
import re
import struct
import tarfile
import zoneinfo
from datetime import datetime, timedelta, timezone
from pathlib import Path

from authorities import certificates

_ZONES = "./usr/share/zoneinfo/"
_NOT_ZONES = re.compile(
    r"(posix|right)(/|$)|(localtime|posixrules|leapseconds)$|.*\.(tab|zi|list)$"
)


def contents(deb: Path) -> dict[str, bytes]:
    """Every file of a Debian package by its path, links resolved."""
    data = deb.read_bytes()
    at = 8
    while at < len(data):
        name, size = data[at : at + 16].decode().strip(), int(data[at + 48 : at + 58])
        if name.startswith("data.tar"):
            plain = lzma.decompress(data[at + 60 : at + 60 + size])
            with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
                return _extracted(tar)
        at += 60 + size + size % 2
    raise ValueError(f"{deb}: no data")


def _extracted(tar: tarfile.TarFile) -> dict[str, bytes]:
    found = {}
    for member in tar:
        if member.isfile() or member.islnk() or member.issym():
            try:
                file = tar.extractfile(member)
            except KeyError:
                continue  # a link out of the package
            if file:
                found[member.name] = file.read()
    return found


def fnv(data: bytes) -> int:
    """The 64-bit FNV-1a hash."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def trusted(deb: Path) -> set[bytes]:
    """The certificates that ca-certificates installs."""
    files = contents(deb)
    return {
        der
        for path, data in files.items()
        if path.startswith("./usr/share/ca-certificates/") and path.endswith(".crt")
        for der in certificates(data)
    }


def zones(deb: Path) -> dict[str, bytes]:
    """Every zone that tzdata installs, by name."""
    files = contents(deb)
    names = {path.removeprefix(_ZONES): data for path, data in files.items()}
    return {
        name: data
        for name, data in names.items()
        if not name.startswith("./") and not _NOT_ZONES.match(name) and data[:4] == b"TZif"
    }


def load(data: bytes) -> zoneinfo.ZoneInfo:
    """A zone. Raises ValueError, or something as clear, for what is none."""
    return zoneinfo.ZoneInfo.from_file(io.BytesIO(data))


def transitions(data: bytes) -> list[int]:
    """The moments at which a TZif file (version 2 or later) says that something changes."""
    if data[:4] != b"TZif" or data[4:5] < b"2":
        raise ValueError("not a zone of version 2")
    first = struct.unpack_from(">6I", data, 20)
    at = 44 + _block(first, 4)
    second = struct.unpack_from(">6I", data, at + 20)
    return list(struct.unpack_from(f">{second[3]}q", data, at + 44))


def footer(data: bytes) -> str:
    """The rule in the last line of a TZif file. Raises ValueError for anything after it."""
    first = struct.unpack_from(">6I", data, 20)
    at = 44 + _block(first, 4)
    at += 44 + _block(struct.unpack_from(">6I", data, at + 20), 8)
    if data[at : at + 1] != b"\n" or data[-1:] != b"\n" or data.count(b"\n", at) != 2:
        raise ValueError("its last line is not the rule, or something follows")
    return data[at + 1 : -1].decode("ascii")


def _block(counts: tuple[int, ...], width: int) -> int:
    isut, isstd, leap, times, types, chars = counts
    return times * (width + 1) + types * 6 + chars + leap * (width + 4) + isstd + isut


def local(zone: zoneinfo.ZoneInfo, seconds: int) -> str:
    """As almanac prints it."""
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)  # noqa: UP017
    there = moment.astimezone(zone)
    offset = there.utcoffset() or timedelta()
    sign = "-" if offset < timedelta() else "+"
    # Seconds, as local mean times have them, are left out as C does it: towards zero.
    hours, rest = divmod(int(abs(offset).total_seconds()) // 60, 60)
    return f"{there:%Y-%m-%d %H:%M:%S} {there.tzname()} {sign}{hours:02d}{rest:02d}"


def changes(zone: zoneinfo.ZoneInfo, start: int, end: int) -> list[int]:
    """The seconds in which the zone's offset or name changes between two moments."""
    step, found = 14 * 86400, []
    for low in range(start, end, step):
        high = low + step
        if _rule(zone, low) == _rule(zone, high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _rule(zone, low) != _rule(zone, middle) else (middle, high)
        found.append(high)
    return found


def _rule(zone: zoneinfo.ZoneInfo, seconds: int) -> str:
    return local(zone, seconds)[20:]
