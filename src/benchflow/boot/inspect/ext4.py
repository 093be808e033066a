"""ext2, ext3 and ext4 through debugfs, which only reads.

No name from the image is ever part of a debugfs command: everything is addressed by inode number.
"""

from __future__ import annotations

import re
import secrets
import stat as modes
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.filesystem import READ_LIMIT, Entry, FileSystem, Kind, child_path
from benchflow.boot.sanitize import clean, first_line

_ROOT_INODE = 2
_LINE = re.compile(r"/(\d+)/(\d{6})/(\d+)/(\d+)/([^/]*)/(\d*)/\Z", re.DOTALL)
_FAST_LINK = re.compile(r'^Fast link dest: "(.*)"$', re.MULTILINE | re.DOTALL)
_BATCH_BYTES = 256 << 20
_BATCH_FILES = 2000
_KINDS: dict[int, Kind] = {
    modes.S_IFREG: "file",
    modes.S_IFDIR: "directory",
    modes.S_IFLNK: "symlink",
    modes.S_IFCHR: "device",
    modes.S_IFBLK: "device",
    modes.S_IFIFO: "fifo",
    modes.S_IFSOCK: "socket",
}
# debugfs prints named pipes with this type (the first bit of the mode is lost in version 1.47).
_PRINTED_FIFO = 0o010000


class Ext4(FileSystem):
    """A file system at byte `offset` of `image`. The journal is not replayed: what counts is what
    reached the disk, so shut a machine down cleanly before its disk is inspected."""

    def __init__(self, image: Path, offset: int = 0, *, scratch: Path | None = None) -> None:
        super().__init__()
        if "?" in str(image):
            raise BadDeliverable(f"{image}: a ? in the name of an image is not allowed")
        self._device = f"{image}?offset={offset}" if offset else str(image)
        self._scratch = scratch
        self._listed: dict[int, dict[str, tuple[int, int, int, int, int]]] = {}
        self._names_checked = False
        self._debugfs(f"stat <{_ROOT_INODE}>")

    def _root(self) -> Entry:
        return Entry("/", "directory", mode=0o755, key=_ROOT_INODE)

    def _list(self, directory: Entry) -> dict[str, Entry]:
        if directory.key not in self._listed:
            self._prefetch([directory])
        entries: dict[str, Entry] = {}
        for name, (inode, mode, uid, gid, size) in self._listed[directory.key].items():
            kind = _KINDS.get(modes.S_IFMT(mode))
            if kind is None and modes.S_IFMT(mode) == _PRINTED_FIFO:
                kind = "fifo"
            if kind is None:
                raise BadDeliverable(f"{first_line(name)} has the impossible mode {mode:o}")
            path = child_path(directory.path, name)
            entries[name] = Entry(path, kind, size, modes.S_IMODE(mode), uid, gid, inode)
        return entries

    def _prefetch(self, directories: list[Entry]) -> None:
        self._check_names()
        wanted = [d.key for d in directories if d.key not in self._listed]
        for start in range(0, len(wanted), 500):
            batch = wanted[start : start + 500]
            # debugfs echoes each line that it reads, so a line that only we know parts the answers.
            part = secrets.token_hex(16)
            script = "".join(f"{part}\nls -p <{inode}>\n" for inode in batch) + f"{part}\n"
            done = run_tool(["debugfs", "-f", "-", self._device], stdin=script.encode())
            answers = done.stdout.decode(errors="surrogateescape").split(f"debugfs: {part}\n")
            if len(answers) != len(batch) + 2:
                raise BadDeliverable(f"directories cannot be read: {done.complaint}")
            for inode, answer in zip(batch, answers[1:-1], strict=True):
                self._listed[inode] = self._parse(inode, answer)

    def _parse(self, inode: int, answer: str) -> dict[str, tuple[int, int, int, int, int]]:
        echo = f"debugfs: ls -p <{inode}>\n"
        if not answer.startswith(echo) or not answer.endswith("\n\n"):
            raise BadDeliverable(f"directory {inode} cannot be read: {first_line(answer)}")
        found: dict[str, tuple[int, int, int, int, int]] = {}
        for line in answer.removeprefix(echo).removesuffix("\n\n").split("\n"):
            match = _LINE.match(line)
            if match is None:
                raise BadDeliverable(f"directory {inode} holds a strange name: {line[:80]!r}")
            name = match[5]
            if match[1] == "0":
                continue
            if name in found:
                raise BadDeliverable(f"directory {inode} holds the name {name[:80]!r} twice")
            found[name] = (
                int(match[1]), int(match[2], 8), int(match[3]), int(match[4]), int(match[6] or 0)
            )  # fmt: skip
        return {name: row for name, row in found.items() if name not in (".", "..")}

    def _read(self, entry: Entry, limit: int) -> bytes:
        return self._debugfs(f"cat <{entry.key}>", limit=limit)

    def _target(self, entry: Entry) -> str:
        if entry.size >= 60:
            return self._read(entry, 4096).decode(errors="surrogateescape")
        text = self._debugfs(f"stat <{entry.key}>").decode(errors="surrogateescape")
        match = _FAST_LINK.search(text)
        if match is None:
            return self._read(entry, 4096).decode(errors="surrogateescape")
        return match[1][: entry.size]

    def contents(self, top: str = "/", limit: int = READ_LIMIT) -> Iterator[tuple[Entry, bytes]]:
        batch: list[Entry] = []
        size = 0
        for entry in self.walk(top):
            if entry.kind != "file":
                continue
            if entry.size > limit:
                raise BadDeliverable(
                    f"{first_line(entry.path)} has {entry.size} bytes; the limit is {limit}"
                )
            if batch and (size + entry.size > _BATCH_BYTES or len(batch) >= _BATCH_FILES):
                yield from self._dump(batch, limit)
                batch, size = [], 0
            batch.append(entry)
            size += entry.size
        if batch:
            yield from self._dump(batch, limit)

    def _dump(self, batch: list[Entry], limit: int) -> Iterator[tuple[Entry, bytes]]:
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            script = "".join(f"dump <{e.key}> {n}\n" for n, e in enumerate(batch))
            done = run_tool(
                ["debugfs", "-f", "-", self._device],
                stdin=script.encode(),
                max_file=limit,
                cwd=Path(folder),
            )
            for number, entry in enumerate(batch):
                path = Path(folder, str(number))
                if not path.is_file() or path.stat().st_size != entry.size:
                    raise BadDeliverable(
                        f"{first_line(entry.path)} cannot be read: {done.complaint}"
                    )
                yield entry, path.read_bytes()

    def problems(self) -> str:
        """What e2fsck, which changes nothing here, finds wrong; empty for a clean file system.

        A journal that was not replayed is a problem too.
        """
        done = run_tool(["e2fsck", "-fn", self._device], limit=1 << 20)
        said = (done.stderr + done.stdout).decode(errors="replace")
        if done.status == 0 and "skipping journal recovery" not in said:
            return ""
        return clean(said, 1000)

    def _check_names(self) -> None:
        """Refuse names that hold a slash: with a line break they forge lines of a listing.

        debugfs prints names as they are; e2fsck alone looks at every one of them.
        """
        if self._names_checked:
            return
        done = run_tool(["e2fsck", "-fn", self._device], limit=8 << 20)
        if b"illegal characters in its name" in done.stdout:
            raise BadDeliverable("the ext4 file system holds names with impossible characters")
        self._names_checked = True

    def _debugfs(self, command: str, limit: int = READ_LIMIT) -> bytes:
        done = run_tool(["debugfs", "-R", command, self._device], limit=limit)
        # The first line on stderr is always the version; debugfs ends with 0 whatever happened.
        complaints = done.stderr.decode(errors="replace").splitlines()[1:]
        if complaints or done.status != 0:
            raise BadDeliverable(
                f"the ext4 file system cannot be read: {first_line(' '.join(complaints))}"
            )
        return done.stdout
