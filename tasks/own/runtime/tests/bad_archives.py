"""Archives that an installer has to refuse."""

from __future__ import annotations

import gzip
import io
import json
import tarfile


def archive(entries: list[tuple[str, bytes, bytes, str]]) -> bytes:
    """(path, type, content, link's end)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as made:
        for path, kind, data, target in entries:
            entry = tarfile.TarInfo(path)
            entry.type, entry.size, entry.linkname = kind, len(data), target
            entry.mode = 0o644
            made.addfile(entry, io.BytesIO(data))
    return gzip.compress(out.getvalue())


def bad_archives(name: str, version: str, good: bytes) -> dict[str, bytes]:
    """Archives that have to be refused, each with what is wrong."""
    told = (
        "package/package.json",
        tarfile.REGTYPE,
        json.dumps({"name": name, "version": version}).encode(),
        "",
    )
    file, link = tarfile.REGTYPE, tarfile.SYMTYPE
    raw = bytearray(gzip.decompress(archive([told, ("package/a", file, b"a" * 2000, "")])))
    raw[1024 + 148 : 1024 + 154] = b"000000"
    return {
        "climbs out": archive([told, ("package/../../../../climbed", file, b"x", "")]),
        "climbs out late": archive([told, ("package/a/b/../../../../x", file, b"x", "")]),
        "has an absolute path": archive([told, ("/tmp/absolute", file, b"x", "")]),
        "has a link": archive(
            [told, ("package/l", link, b"", "/etc"), ("package/l/linked", file, b"x", "")]
        ),
        "has a hard link": archive([told, ("package/h", tarfile.LNKTYPE, b"", "/bin/busybox")]),
        "has a device": archive([told, ("package/d", tarfile.CHRTYPE, b"", "")]),
        "has a pipe": archive([told, ("package/p", tarfile.FIFOTYPE, b"", "")]),
        "is 80 MiB": gzip.compress(
            gzip.decompress(archive([told]))[:1024] + _zeros("package/z", 80 << 20), 1
        ),
        "ends too soon": good[: len(good) * 2 // 3],
        "has a wrong sum": good[:-8] + bytes(4) + good[-4:],
        "has a spoilt header": gzip.compress(bytes(raw)),
        "is none": b"this is no archive" * 30,
    }


def _zeros(path: str, size: int) -> bytes:
    entry = tarfile.TarInfo(path)
    entry.size = size
    return entry.tobuf(tarfile.USTAR_FORMAT) + bytes(size) + bytes(1024)
