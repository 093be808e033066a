"""Bundles as the order fixes them: made, taken apart, and spoilt in every way."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import ed25519

from benchflow.boot import BadDeliverable, Image
from benchflow.boot.tools import run_tool

SLOT = 32 << 20
MANIFEST = 1024
SIGNATURE = 64
BOARD = "varde-3"
CHUNK = 1 << 16


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


@dataclass(frozen=True)
class Release:
    """A version of ours: its slot image in a file, and what stands in its /etc/release."""

    version: int
    build: str
    slot: Path
    digest: str


class Vendor:
    """Makes releases and bundles from the delivered slot image with the delivered key."""

    def __init__(self, first: Path, pem: bytes, folder: Path) -> None:
        self._folder = folder
        self.seed = ed25519.seed_of(pem)
        self.first = first
        head = first.read_bytes()[: MANIFEST + SIGNATURE] if first.stat().st_size < 1 << 27 else b""
        self.head = head
        self._slot = folder / "first.slot"
        with self._slot.open("wb") as stream:
            append_file(stream, first, MANIFEST + SIGNATURE)
        self.release1 = Release(1, "", self._slot, digest_of(self._slot))

    def kernel(self) -> bytes:
        """The delivered /boot/vmlinuz."""
        return Image(self._slot, scratch=self._folder).ext4().read("/boot/vmlinuz")

    def sign(self, text: bytes, seed: bytes | None = None) -> bytes:
        return ed25519.sign(seed or self.seed, text)

    def release(self, version: int, build: str, **changes: bytes | None) -> Release:
        """The first version with another number and `changes`: path (`_` for `/`) to content.

        Names: `health_NAME` for a script in /etc/health.d, `kernel`, `init`; None removes.
        """
        slot = self._folder / f"{version}.slot"
        with slot.open("wb") as stream:
            append_file(stream, self._slot)
        edit = Editor(slot, self._folder)
        edit.put("/etc/release", f"version={version}\nbuild={build}\n".encode(), 0o644)
        for name, content in changes.items():
            if name == "kernel":
                edit.put("/boot/vmlinuz", content, 0o644)
            elif name == "init":
                edit.put("/sbin/init", content, 0o755)
            else:
                edit.put(f"/etc/health.d/{name.removeprefix('health_')}", content, 0o755)
        edit.check()
        return Release(version, build, slot, digest_of(slot))

    def bundle(
        self,
        path: Path,
        release: Release,
        *,
        text: bytes | None = None,
        signature: bytes | None = None,
        seed: bytes | None = None,
        slot: Path | None = None,
        size: int | None = None,
    ) -> Path:
        """Write a bundle; with `text`, `signature`, `seed`, `slot` or `size` a false one."""
        text = manifest(release.version, release.digest) if text is None else text
        signature = self.sign(text, seed) if signature is None else signature
        with path.open("wb") as stream:
            stream.write(text + signature)
            append_file(stream, slot or release.slot)
            if size is not None:
                stream.truncate(size)
        return path


class Editor:
    """Changes files of an ext4 image through debugfs, with links in the way taken into account."""

    def __init__(self, image: Path, folder: Path) -> None:
        self._image = image
        self._folder = folder
        self._script: list[str] = []
        self._expected: list[tuple[str, bytes | None]] = []
        self._files = Image(image, scratch=folder).ext4()

    def put(self, path: str, content: bytes | None, mode: int) -> None:
        """Replace what lies at `path`, a link itself and not what it leads to; None removes it."""
        parent, _, name = path.rpartition("/")
        place = self._files.stat(parent)
        if place.kind != "directory":
            raise BadDeliverable(f"{parent} of the slot image is not a directory")
        real = f"{place.path.rstrip('/')}/{name}"
        if any(ord(sign) < 33 or sign in "\"'" for sign in real):
            raise BadDeliverable(f"the slot image has a strange folder {real!r}")
        if name in self._files.listdir(parent):
            self._script.append(f"rm {real}")
        if content is not None:
            source = self._folder / f"edit{len(self._expected)}"
            source.write_bytes(content)
            self._script += [
                f"write {source} {real}",
                f"sif {real} mode 0{0o100000 | mode:o}",
                f"sif {real} uid 0",
                f"sif {real} gid 0",
            ]
        self._expected.append((real, content))

    def check(self) -> None:
        """Write the changes, and see that they arrived: debugfs ends with 0 whatever happens."""
        done = run_tool(
            ["debugfs", "-w", "-f", "-", str(self._image)],
            stdin="".join(f"{line}\n" for line in self._script).encode(),
        )
        files = Image(self._image, scratch=self._folder).ext4()
        for path, content in self._expected:
            found = files.read(path) if files.exists(path) else None
            if found != content:
                raise BadDeliverable(f"{path} cannot be put into the slot image: {done.complaint}")
