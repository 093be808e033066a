"""Members of a zip file that anybody may have made: bounded, checked, never unpacked to disk."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from benchflow.errors import MissingTool
from benchflow.results.safe_files import UnreadableRecord

MAX_MEMBER = 256 << 20
#: All that is read from one archive; keeps a bomb of many members from running for days.
MAX_TOTAL = 16 << 30
#: Zstandard's number in APPNOTE.TXT 6.3.7; Python's zipfile knows it from 3.14 on.
_ZSTD = 93
_LOCAL_HEADER = struct.Struct("<4s22xHH")


class Archive:
    """A zip file opened for reading; a context manager.

    Names are looked up, never turned into paths. Raises UnreadableRecord for what is no zip file.
    """

    def __init__(self, path: Path) -> None:
        self._left = MAX_TOTAL
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise UnreadableRecord(f"cannot be read: {error.strerror}") from error
        try:
            self._zip = zipfile.ZipFile(self._file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
            self._file.close()
            raise UnreadableRecord(f"is no whole zip file ({error})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()
        self._file.close()

    def __contains__(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    @property
    def names(self) -> list[str]:
        """Each member's name once, in the order of the directory."""
        return list(self._zip.NameToInfo)

    @property
    def repeated(self) -> list[str]:
        """Names that more than one member has; `read` gives the last, as zip readers do."""
        times = Counter(info.filename for info in self._zip.infolist())
        return [name for name, n in times.items() if n > 1]

    def read(self, name: str) -> bytes:
        """What member `name` holds, its checksum verified.

        Raises UnreadableRecord, and MissingTool where zstandard is needed and not installed.
        """
        try:
            info = self._zip.getinfo(name)
        except KeyError:
            raise UnreadableRecord("is missing in the archive") from None
        limit = min(MAX_MEMBER, self._left)
        if max(info.file_size, info.compress_size) > limit:
            raise UnreadableRecord(f"is {info.file_size >> 20} MiB long: too much to read")
        try:
            data = self._unzstd(info, limit) if info.compress_type == _ZSTD else self._plain(info)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError,
                OSError) as error:  # fmt: skip
            raise UnreadableRecord(f"is damaged ({type(error).__name__})") from error
        if len(data) > limit:
            raise UnreadableRecord("grows beyond what its directory entry says")
        self._left -= len(data)
        return data

    def _plain(self, info: zipfile.ZipInfo) -> bytes:
        with self._zip.open(info) as member:
            return member.read(info.file_size + 1)

    def _unzstd(self, info: zipfile.ZipInfo, limit: int) -> bytes:
        try:
            import zstandard
        except ImportError:
            raise MissingTool(
                "this archive is compressed with Zstandard", hint="uv sync --extra analysis"
            ) from None
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or header[:4] != b"PK\x03\x04" or info.flag_bits & 1:
            raise zipfile.BadZipFile("no readable member")
        _, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        self._file.seek(name_length + extra_length, io.SEEK_CUR)
        raw = self._file.read(info.compress_size)
        try:
            reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            data = reader.read(min(info.file_size, limit) + 1)
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from error
        if zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("checksum")
        return data
