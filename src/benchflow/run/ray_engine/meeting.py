"""Where a node and the driver see the same folder: a shared file system, found out by a word in a
file and never assumed. A trial's archive is then written there, and not sent through Ray's memory.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from benchflow.run.ray_engine import parcel

_NAME = ".meeting"
#: Other machines see a file's size late on some file systems (NFS: attributes are kept 3 to 60 s).
_SEEN_SECONDS = 60.0


@dataclass(frozen=True)
class Meeting:
    """A folder of the driver's, and the word in its `.meeting`. Empty: nodes are not to look."""

    folder: str = ""
    word: str = ""

    def place(self) -> Path | None:
        """The folder, where this machine sees it with that word in it."""
        path = Path(self.folder) / _NAME
        try:
            same = bool(self.word) and path.read_text(encoding="ascii") == self.word
        except (OSError, ValueError):
            return None
        return path.parent if same else None


def begin(folder: Path) -> Meeting:
    """The driver's side: a word in `folder`. `BENCHFLOW_SHARED_FOLDER=never`: none."""
    if os.environ.get("BENCHFLOW_SHARED_FOLDER", "auto") == "never":
        return Meeting()
    folder.mkdir(parents=True, exist_ok=True)
    word = uuid4().hex
    (folder / _NAME).write_text(word)
    return Meeting(str(folder.resolve()), word)


def end(meeting: Meeting) -> None:
    """Take the word away, and the folder where nothing else is in it."""
    if meeting.folder:
        with suppress(OSError):
            (Path(meeting.folder) / _NAME).unlink()
            Path(meeting.folder).rmdir()


def archive_of(folder: Path, trial: str) -> Path:
    """Where a trial's archive lies until it is unpacked."""
    return folder / f"{trial}.tar.gz.part"


def hand_over(meeting: Meeting, trial: str, folder: Path) -> int | None:
    """The node's side: write a trial's folder where the driver sees it.

    Its bytes, or None where the driver's folder is not seen here or cannot be written.
    """
    place = meeting.place()
    if place is None:
        return None
    try:
        with archive_of(place, trial).open("wb") as file:
            for piece in parcel.pack(folder):
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            return file.tell()
    except OSError:
        return None


def wait_for(archive: Path, size: int) -> None:
    """Until the driver sees what a node has written. Raises BadParcel where it does not come."""
    until = time.monotonic() + _SEEN_SECONDS
    while True:
        found = archive.lstat() if archive.is_file() and not archive.is_symlink() else None
        if found is not None and stat.S_ISREG(found.st_mode) and found.st_size == size:
            return
        if time.monotonic() > until:
            raise parcel.BadParcel(f"{archive} is not the {size} bytes that a node wrote")
        time.sleep(0.2)
