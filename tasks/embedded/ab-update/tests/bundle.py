"""Bundles as the order fixes them: made, taken apart, and spoilt in every way."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from benchflow.boot import BadDeliverable, Image, Partition
from benchflow.boot.inspect import ed25519
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.ext4 import Ext4

SLOT = 32 << 20
MANIFEST = 1024
SIGNATURE = 64
BOARD = "varde-3"
CHUNK = 1 << 16
HEAD = MANIFEST + SIGNATURE
WHOLE = HEAD + SLOT


def manifest(version: int | str, digest: str, *, board: str = BOARD, size: int = SLOT) -> bytes:
    """The 1024 bytes that are signed."""
    text = f"UNIT-BUNDLE-1\nboard={board}\nversion={version}\nsize={size}\nsha256={digest}\n"
    return text.encode().ljust(MANIFEST, b"\0")


def digest_of(path: Path, start: int = 0, size: int = SLOT) -> str:
    """SHA-256 of `size` bytes of a file from `start`; of what there is when it ends before."""
    state = hashlib.sha256()
    with path.open("rb") as stream:
        stream.seek(start)
        while size > 0 and (data := stream.read(min(size, 1 << 20))):
            state.update(data)
            size -= len(data)
    return state.hexdigest()


def append_file(stream: BinaryIO, source: Path, start: int = 0) -> None:
    """Append a file's content from `start` on; what is zero takes no room on the disk."""
    with source.open("rb") as file:
        file.seek(start)
        while data := file.read(CHUNK):
            if data.count(0) == len(data):
                stream.seek(len(data), 1)
            else:
                stream.write(data)
    stream.truncate(stream.tell())


def is_ext4(head: bytes) -> bool:
    """Whether these 2048 bytes begin a file system of a slot's size, with what ext3 lacks."""
    block = head[1024:]
    count, size = (int.from_bytes(block[at : at + 4], "little") for at in (4, 24))
    incompatible, read_only = (int.from_bytes(block[at : at + 4], "little") for at in (96, 100))
    newer = incompatible & ~0x16 or read_only & ~0x7
    return block[56:58] == b"\x53\xef" and count << (10 + size) == SLOT and bool(newer)


def holds_nothing(disk: Image, part: Partition) -> bool:
    """Whether there is no file system, or one without a file in it."""
    kind = disk.filesystem(part)
    if kind != "ext4":
        return not kind
    try:
        return all(one.kind == "directory" for one in disk.ext4(part).walk("/"))
    except BadDeliverable:
        return True


@dataclass(frozen=True)
class Release:
    """A version of ours: its bundle, the SHA-256 of its slot, what stands in its /etc/release."""

    version: int
    build: str
    path: Path
    digest: str


class Vendor:
    """Makes releases and bundles from the delivered slot image with the delivered key."""

    def __init__(self, first: Path, pem: bytes, folder: Path) -> None:
        self._folder = folder
        self.seed = ed25519.seed_of(pem, "vendor.pem")
        self.release1 = Release(1, "", first, digest_of(first, HEAD))
        self._editor = Editor(first, folder)

    def head(self) -> bytes:
        """Manifest and signature of the first bundle."""
        with self.release1.path.open("rb") as stream:
            return stream.read(HEAD)

    def kernel(self) -> bytes:
        """The delivered /boot/vmlinuz."""
        return Ext4(self.release1.path, HEAD, scratch=self._folder).read("/boot/vmlinuz")

    def sign(self, text: bytes, seed: bytes | None = None) -> bytes:
        return ed25519.sign(seed or self.seed, text)

    def release(self, path: Path, version: int, build: str, **changes: bytes) -> Release:
        """Write the bundle of a version: the first one with another number, and other files.

        `health_NAME` is a script in /etc/health.d, `kernel` and `init` are what [R8] names.
        """
        with path.open("wb") as stream:
            stream.write(bytes(HEAD))
            append_file(stream, self.release1.path, HEAD)
        files = {"/etc/release": (f"version={version}\nbuild={build}\n".encode(), 0o644)}
        for name, content in changes.items():
            if name == "kernel":
                files["/boot/vmlinuz"] = (content, 0o644)
            elif name == "init":
                files["/sbin/init"] = (content, 0o755)
            else:
                files[f"/etc/health.d/{name.removeprefix('health_')}"] = (content, 0o755)
        self._editor.edit(path, files)
        release = Release(version, build, path, digest_of(path, HEAD))
        text = manifest(version, release.digest)
        with path.open("r+b") as stream:
            stream.write(text + self.sign(text))
        return release

    def false(
        self,
        path: Path,
        text: bytes,
        *,
        signature: bytes | None = None,
        seed: bytes | None = None,
        content: Path | None = None,
        size: int = WHOLE,
    ) -> None:
        """Write something like a bundle; `content` is a bundle that lends its slot, or zeros."""
        with path.open("wb") as stream:
            stream.write(text + (self.sign(text, seed) if signature is None else signature))
            if content is not None:
                append_file(stream, content, HEAD)
            stream.truncate(size)


class Editor:
    """Changes files in the slots of copies of one bundle, links in the way taken into account."""

    def __init__(self, bundle: Path, folder: Path) -> None:
        self._folder = folder
        self._files = Ext4(bundle, HEAD, scratch=folder)
        self._places: dict[str, tuple[str, bool]] = {}

    def _place(self, path: str) -> tuple[str, bool]:
        """Where `path` really lies, a link there not followed, and whether there is anything."""
        if path not in self._places:
            parent, _, name = path.rpartition("/")
            found = self._files.stat(parent)
            real = f"{found.path.rstrip('/')}/{name}"
            if found.kind != "directory" or any(ord(sign) < 33 or sign in "\"'" for sign in real):
                raise BadDeliverable(f"{parent} of the slot image is no folder that can be used")
            self._places[path] = (real, name in self._files.listdir(parent))
        return self._places[path]

    def edit(self, copy: Path, files: Mapping[str, tuple[bytes, int]]) -> None:
        """Replace or add files, given as path to content and mode, in `copy`.

        They are read back: debugfs ends with 0 whatever happens.
        """
        script: list[str] = []
        for number, (path, (content, mode)) in enumerate(files.items()):
            real, exists = self._place(path)
            source, back = self._folder / f"edit{number}", self._folder / f"back{number}"
            source.write_bytes(content)
            back.unlink(missing_ok=True)
            script += [f"rm {real}"] if exists else []
            script += [f"write {source} {real}", f"sif {real} mode 0{0o100000 | mode:o}"]
            script += [f"sif {real} uid 0", f"sif {real} gid 0", f"dump {real} {back}"]
        command = ["debugfs", "-w", "-f", "-", f"{copy}?offset={HEAD}"]
        done = run_tool(command, stdin="".join(f"{line}\n" for line in script).encode())
        for number, (path, (content, _)) in enumerate(files.items()):
            back = self._folder / f"back{number}"
            if not back.is_file() or back.read_bytes() != content:
                raise BadDeliverable(f"{path} cannot be put into the slot image: {done.complaint}")
