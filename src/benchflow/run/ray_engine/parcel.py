"""Folders on their way between machines: packed in pieces, unpacked as what a stranger sent."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from benchflow.errors import InfrastructureError

PIECE = 1 << 20
#: Of one folder: what is beyond is no trial of ours.
MOST_FILES, MOST_BYTES = 500_000, 256 << 30
_BLOCK = 1 << 16
#: What unpacking meets where no folder was packed: each name comes once, below one that came.
_NOT_OURS = (
    tarfile.TarError,
    EOFError,
    FileExistsError,
    FileNotFoundError,
    NotADirectoryError,
    ValueError,
    zlib.error,
)
_ZEROS = bytes(_BLOCK)


class BadParcel(InfrastructureError):
    """What came is not what a node of ours sends."""


def pack(folder: Path) -> Iterator[bytes]:
    """A folder's files, folders and links as a compressed archive, in pieces. Nothing may be
    writing there. Pipes, sockets and devices are left out. Raises OSError."""
    hear, tell = os.pipe()
    failed: list[BaseException] = []

    def write() -> None:
        try:
            with os.fdopen(tell, "wb") as pipe:
                _write(folder, pipe)
        except BrokenPipeError:
            pass  # nobody wants the rest
        except BaseException as error:  # raised again below
            failed.append(error)

    writer = threading.Thread(target=write, daemon=True, name="pack")
    writer.start()
    with os.fdopen(hear, "rb") as pipe:
        while piece := pipe.read(PIECE):
            yield piece
    writer.join()
    if failed:
        raise failed[0]


def _write(folder: Path, pipe: BinaryIO) -> None:
    with tarfile.open(fileobj=pipe, mode="w|gz", compresslevel=1) as tar:
        for path in _below(folder):
            info = tar.gettarinfo(path, path.relative_to(folder).as_posix())
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            if info.isreg():
                with path.open("rb") as file:
                    tar.addfile(info, file)
            elif info.isdir() or info.issym():
                tar.addfile(info)


def _below(folder: Path) -> Iterator[Path]:
    for top, names, files in os.walk(folder):
        names.sort()
        for name in sorted([*names, *files]):
            path = Path(top) / name
            if stat.S_IFMT(path.lstat().st_mode) in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
                yield path


def unpack(archive: Path, target: Path) -> list[str]:
    """Unpack into `target`, a new folder; names what was left out: links that lead outside, and
    what is no file, folder or link.

    Raises BadParcel for an archive that is torn, names a path outside or one path twice, or is
    larger than any trial; OSError where it cannot be written.
    """
    target.mkdir(parents=True)
    left_out: list[str] = []
    files = size = 0
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                files, size = files + 1, size + member.size
                if files > MOST_FILES or size > MOST_BYTES:
                    raise BadParcel(f"{archive.name}: is larger than any trial")
                if not _take(tar, member, target):
                    left_out.append(member.name)
    except _NOT_OURS as error:
        raise BadParcel(f"{archive.name}: {type(error).__name__}: {error}") from error
    return left_out


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> bool:
    # Hard links are none that we pack.
    if not (member.isreg() or member.isdir() or member.issym()):
        return False
    try:
        safe = tarfile.data_filter(member, str(target))
    except (tarfile.LinkOutsideDestinationError, tarfile.AbsoluteLinkError):
        return False
    path = target / safe.name
    if safe.isdir():
        path.mkdir(exist_ok=True)
    elif safe.issym():
        path.symlink_to(safe.linkname)
    else:
        source = tar.extractfile(member)
        assert source is not None
        _write_file(cast(BinaryIO, source), path, executable=bool(member.mode & stat.S_IXUSR))
    return True


def _write_file(source: BinaryIO, path: Path, *, executable: bool) -> None:
    """What is zeros stays a hole: disk images are mostly that."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o755 if executable else 0o644), "wb") as file:
        while block := source.read(_BLOCK):
            if block == _ZEROS:
                file.seek(len(block), os.SEEK_CUR)
            else:
                file.write(block)
        file.truncate(file.tell())


def digest_of(folder: Path) -> str:
    """What a folder holds: names, kinds, executable bits and contents, as SHA-256 (hex)."""
    total = hashlib.sha256()
    for path in _below(folder):
        name = os.fsencode(path.relative_to(folder).as_posix())
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            told = b"l", os.fsencode(path.readlink())
        elif stat.S_ISDIR(mode):
            told = b"d", b""
        else:
            content = hashlib.sha256(path.read_bytes()).hexdigest().encode()
            told = (b"x" if mode & stat.S_IXUSR else b"-"), content
        total.update(b"%s %s %s\0" % (*told, name))
    return total.hexdigest()
