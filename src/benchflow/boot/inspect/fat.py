"""FAT12, FAT16 and FAT32 through mtools."""

from __future__ import annotations

import re
from pathlib import Path

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.filesystem import Entry, FileSystem, child_path
from benchflow.boot.sanitize import first_line

# No configuration of the host; and geometry that Linux accepts is accepted.
_ENV = {"MTOOLSRC": "/dev/null", "MTOOLS_SKIP_CHECK": "1", "MTOOLS_TWENTY_FOUR_HOUR_CLOCK": "1"}
_ROW = re.compile(
    r"(?P<base>.{8}) (?P<extension>.{3}) +(?P<size><DIR>|\d+) +"
    r"\d+-\d+-\d+ +\d+:\d+ (?: (?P<long>.+))?\Z"
)
_IGNORED = re.compile(r"\s*(Volume |Directory for |\d+ files? |[\d ]+ bytes free|No files|\Z)")
# Characters that FAT forbids and mtools would take as a pattern or as a path.
_FORBIDDEN = re.compile(r'[*?\[\]\\/:"<>|\x00-\x1f]')


class Fat(FileSystem):
    """A file system at byte `offset` of `image`; names are compared without regard to case."""

    def __init__(self, image: Path, offset: int = 0) -> None:
        super().__init__()
        self._drive = f"{image}@@{offset}"
        self._mdir("/")

    def _fold(self, name: str) -> str:
        return name.casefold()

    def _list(self, directory: Entry) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for line in self._mdir(directory.path).split("\n"):
            match = _ROW.match(line)
            if match is None:
                if not _IGNORED.match(line):
                    raise BadDeliverable(
                        f"{first_line(directory.path)}: strange entry {line[:80]!r}"
                    )
                continue
            short = match["base"].rstrip()
            if match["extension"].strip():
                short += "." + match["extension"].rstrip()
            name = match["long"] or short
            if name in (".", ".."):
                continue
            if _FORBIDDEN.search(name) or self._fold(name) in map(self._fold, entries):
                raise BadDeliverable(f"{first_line(directory.path)}: strange name {name[:80]!r}")
            path = child_path(directory.path, name)
            is_directory = match["size"] == "<DIR>"
            entries[name] = Entry(
                path,
                "directory" if is_directory else "file",
                0 if is_directory else int(match["size"]),
                0o755,
            )
        return entries

    def _read(self, entry: Entry, limit: int) -> bytes:
        done = run_tool(["mtype", "-i", self._drive, f"::{entry.path}"], env=_ENV, limit=limit)
        if done.status != 0 or len(done.stdout) != entry.size:
            raise BadDeliverable(f"{first_line(entry.path)} cannot be read: {done.complaint}")
        return done.stdout

    def _target(self, entry: Entry) -> str:
        raise BadDeliverable("FAT has no symbolic links")

    def _mdir(self, path: str) -> str:
        done = run_tool(["mdir", "-a", "-i", self._drive, f"::{path}"], env=_ENV)
        if done.status != 0:
            raise BadDeliverable(f"the FAT file system cannot be read: {done.complaint}")
        return done.stdout.decode(errors="replace")
