"""Images that lie, loop, explode or point elsewhere. Add one for every trick that is met."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import subprocess
import tarfile
from pathlib import Path

MIB = 1 << 20


def ext4(path: Path, tree: Path, size: int = 16 * MIB, offset: int = 0) -> Path:
    """A real file system made from `tree` by mke2fs at byte `offset` of `path`."""
    with path.open("ab") as stream:
        stream.truncate(max(stream.tell(), size + offset))
    # Without checksums of the metadata a forged entry needs no forged checksum.
    options = ["-O", "^metadata_csum"] + (["-E", f"offset={offset}"] if offset else [])
    subprocess.run(
        [
            "mke2fs",
            "-q",
            "-F",
            "-t",
            "ext4",
            *options,
            "-d",
            str(tree),
            str(path),
            f"{size >> 10}k",
        ],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return path


def debugfs(path: Path, *commands: str) -> None:
    """Change a file system by debugfs's own commands."""
    script = "".join(f"{command}\n" for command in commands)
    subprocess.run(
        ["debugfs", "-w", "-f", "-", str(path)],
        input=script.encode(),
        check=True,
        capture_output=True,
    )


def rename_entry(path: Path, old: bytes, new: bytes) -> None:
    """Overwrite a directory entry's name in place, whatever the new name holds."""
    assert len(old) == len(new)
    data = path.read_bytes()
    assert data.count(old) >= 1
    path.write_bytes(data.replace(old, new))


def gzip_bomb(size: int = 4 << 30) -> bytes:
    """Zeros: some MiB that become `size` bytes."""
    block = gzip.compress(bytes(64 * MIB), 9)
    return block * (size // (64 * MIB))


def gzip_bomb_one_stream(size: int = 256 << 20) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9) as stream:
        for _ in range(size // MIB):
            stream.write(bytes(MIB))
    return out.getvalue()


def xz_with_a_huge_dictionary() -> bytes:
    """A stream whose header asks for a dictionary of 1.5 GiB."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    data = bytearray(lzma.compress(b"x" * 100, format=lzma.FORMAT_XZ, filters=filters))
    # The .xz file format, section 3.1: block header after the 12 bytes of the stream header; the
    # LZMA2 dictionary size is one coded byte (39 = 3 GiB), a CRC32 closes the block header.
    size = (data[12] + 1) * 4
    at = data.index(b"\x21\x01", 12, 12 + size) + 2
    data[at] = 39
    import zlib

    data[12 + size - 4 : 12 + size] = struct.pack("<I", zlib.crc32(data[12 : 12 + size - 4]))
    return bytes(data)


def tar(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def member(name: str, content: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, content


def sparse_tar(size: int, *, pax: bool = False) -> bytes:
    """A sparse member `build` without any data that says it is so large: GNU's form, or in PAX."""
    if pax:
        records = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "build",
                   "GNU.sparse.realsize": str(size)}  # fmt: skip
        info = tarfile.TarInfo("GNUSparseFile.0/build")
        info.pax_headers, info.size = records, 512
        return info.tobuf(tarfile.PAX_FORMAT) + b"1\n0\n0\n".ljust(512, b"\0") + bytes(1024)
    header = bytearray(512)
    fields = {
        0: b"build", 100: b"0000644", 108: b"0000000", 116: b"0000000", 124: b"00000000000",
        136: b"00000000000", 156: b"S", 257: b"ustar  ", 386: b"00000000000\0" b"00000000000",
        483: b"\x80" + size.to_bytes(11, "big"), 148: b" " * 8,
    }  # fmt: skip
    for at, data in fields.items():
        header[at : at + len(data)] = data
    header[148:155] = b"%06o\0" % sum(header)
    return bytes(header) + bytes(1024)


def overlapping_mbr(size: int = 8 * MIB) -> bytes:
    """Two partitions over the same sectors."""
    entry = struct.pack("<BBBBBBBBII", 0x80, 0, 0, 0, 0x83, 0, 0, 0, 2048, 4096)
    return (bytes(446) + entry * 2 + bytes(32) + b"\x55\xaa").ljust(size, b"\0")


def mbr_beyond_the_end(size: int = 8 * MIB) -> bytes:
    """A partition of two TiB in a small file."""
    entry = struct.pack("<BBBBBBBBII", 0, 0, 0, 0, 0x83, 0, 0, 0, 2048, 0xFFFF0000)
    return (bytes(446) + entry + bytes(48) + b"\x55\xaa").ljust(size, b"\0")


def looping_logical_partitions(size: int = 8 * MIB) -> bytes:
    """An extended partition whose chain of logical ones points back to its start."""
    extended = struct.pack("<BBBBBBBBII", 0, 0, 0, 0, 0x05, 0, 0, 0, 2048, 8192)
    data = bytearray((bytes(446) + extended + bytes(48) + b"\x55\xaa").ljust(size, b"\0"))
    logical = struct.pack("<BBBBBBBBII", 0, 0, 0, 0, 0x83, 0, 0, 0, 1, 10)
    link = struct.pack("<BBBBBBBBII", 0, 0, 0, 0, 0x05, 0, 0, 0, 0, 8192)
    data[2048 * 512 : 2049 * 512] = bytes(446) + logical + link + bytes(32) + b"\x55\xaa"
    return bytes(data)
