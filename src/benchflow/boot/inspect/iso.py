"""ISO 9660 with Rock Ridge through xorriso."""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.filesystem import Entry, Kind
from benchflow.boot.inspect.listed_filesystem import Tree
from benchflow.boot.sanitize import first_line

_ROW = re.compile(
    r"(?P<type>[-dlbcps])(?P<mode>[-rwxsStT]{9})[ +]+\d+ +(?P<uid>\d+) +(?P<gid>\d+) +"
    r"(?P<size>\d+|\d+,\d+) +\w{3} +\d+ +[\d:]+ +(?P<names>'.*)\Z",
    re.DOTALL,
)
_START = re.compile(r"^(?=[-dlbcps][-rwxsStT]{9}[ +])", re.MULTILINE)
_KINDS: dict[str, Kind] = {
    "-": "file", "d": "directory", "l": "symlink", "b": "device",
    "c": "device", "p": "fifo", "s": "socket",
}  # fmt: skip


class Iso(Tree):
    """The tree of an ISO image. The whole tree is listed once, when it is opened."""

    def __init__(self, image: Path, *, scratch: Path | None = None) -> None:
        super().__init__("the ISO")
        self._image = image
        self._scratch = scratch
        # xorriso takes anything else for a blank medium and shows an empty tree.
        with image.open("rb") as stream:
            stream.seek(0x8001)
            if stream.read(5) != b"CD001":
                raise BadDeliverable("not an ISO 9660 image")
        done = self._xorriso("-find", "/", "-exec", "lsdl", "--")
        rows = _START.split(done.decode(errors="surrogateescape"))
        for row in rows:
            if row.strip():
                self._enter(row.rstrip("\n"))

    def _enter(self, row: str) -> None:
        match = _ROW.match(row)
        try:
            names = shlex.split(match["names"]) if match else []
        except ValueError:
            names = []
        if match is None or not names or not names[0].startswith("/"):
            raise BadDeliverable(f"the ISO holds a strange name: {row[:120]!r}")
        path = self._path(names[0])
        if path == "/":
            return
        if self._has(path):
            raise BadDeliverable(f"the ISO holds {first_line(path)} twice")
        kind = _KINDS[match["type"]]
        self._add(
            Entry(
                path,
                kind,
                int(match["size"]) if kind == "file" else 0,
                _mode(match["mode"]),
                int(match["uid"]),
                int(match["gid"]),
                target=names[2] if kind == "symlink" and len(names) == 3 else "",
            )
        )

    def _read(self, entry: Entry, limit: int) -> bytes:
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            dest = Path(folder, "file")
            self._xorriso(
                "-osirrox", "on", "-extract_single", entry.path, str(dest), max_file=limit
            )
            if not dest.is_file() or dest.stat().st_size != entry.size:
                raise BadDeliverable(f"{first_line(entry.path)} cannot be read from the ISO")
            return dest.read_bytes()

    def _xorriso(self, *commands: str, max_file: int | None = None) -> bytes:
        done = run_tool(
            ["xorriso", "-no_rc", "-report_about", "SORRY", "-indev", f"stdio:{self._image}",
             *commands],
            max_file=max_file,
        )  # fmt: skip
        if done.status != 0:
            raise BadDeliverable(f"the ISO cannot be read: {done.complaint}")
        return done.stdout


def _mode(text: str) -> int:
    """Permission bits of `rwsr-xr-t`."""
    mode = 0
    for index, char in enumerate(text):
        if char in "rwxst":
            mode |= 0o400 >> index
        if char in "sStT":
            mode |= 0o4000 >> (index // 3)
    return mode
