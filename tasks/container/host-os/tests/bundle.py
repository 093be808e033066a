"""Bundles as the order fixes them: made from the delivered one, and spoilt."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from benchflow.boot import BadDeliverable
from benchflow.boot.inspect import ed25519
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.ext4 import Ext4

MANIFEST = 1024
HEAD = MANIFEST + 64
CHUNK = 1 << 16


def manifest(version: int | str, digest: str, size: int) -> bytes:
    """The 1024 bytes that are signed."""
    text = f"HOST-BUNDLE-1\nversion={version}\nsize={size}\nsha256={digest}\n"
    return text.encode().ljust(MANIFEST, b"\0")


def digest_of(path: Path, start: int, size: int) -> str:
    """SHA-256 of `size` bytes of a file from `start`; of what there is when it ends before."""
    state = hashlib.sha256()
    with path.open("rb") as stream:
        stream.seek(start)
        while size > 0 and (data := stream.read(min(size, 1 << 20))):
            state.update(data)
            size -= len(data)
    return state.hexdigest()


def append_file(stream: BinaryIO, source: Path, start: int) -> None:
    """Append a file's content from `start` on; what is zero takes no room on the disk."""
    with source.open("rb") as file:
        file.seek(start)
        while data := file.read(CHUNK):
            if data.count(0) == len(data):
                stream.seek(len(data), 1)
            else:
                stream.write(data)
    stream.truncate(stream.tell())


def is_ext4(head: bytes, size: int) -> bool:
    """Whether these 2048 bytes begin a file system of this size, with what ext3 lacks."""
    block = head[1024:]
    count, power = (int.from_bytes(block[at : at + 4], "little") for at in (4, 24))
    incompatible, read_only = (int.from_bytes(block[at : at + 4], "little") for at in (96, 100))
    newer = incompatible & ~0x16 or read_only & ~0x7
    return block[56:58] == b"\x53\xef" and count << (10 + power) == size and bool(newer)


@dataclass(frozen=True)
class Release:
    """A version of ours: what stands in its /etc/host-release, and the SHA-256 of its slot."""

    version: int
    build: str
    digest: str


class Vendor:
    """Makes releases from the delivered slot image with the delivered key."""

    def __init__(self, first: Path, pem: bytes, slot: int, scratch: Path) -> None:
        self.first, self.slot, self._scratch = first, slot, scratch
        self.seed = ed25519.seed_of(pem, "vendor.pem")
        self.release1 = Release(1, "", digest_of(first, HEAD, slot))

    def head(self) -> bytes:
        with self.first.open("rb") as stream:
            return stream.read(HEAD)

    def release(
        self, path: Path, version: int, build: str, files: Mapping[str, bytes] | None = None
    ) -> Release:
        """Write the bundle of a version: the first one with another number, and other programs."""
        with path.open("wb") as stream:
            stream.write(bytes(HEAD))
            append_file(stream, self.first, HEAD)
        text = f"version={version}\nbuild={build}\n".encode()
        self._edit(path, {"/etc/host-release": (text, 0o644)})
        self._edit(path, {name: (content, 0o755) for name, content in (files or {}).items()})
        digest = digest_of(path, HEAD, self.slot)
        head = manifest(version, digest, self.slot)
        with path.open("r+b") as stream:
            stream.write(head + ed25519.sign(self.seed, head))
        return Release(version, build, digest)

    def false(
        self,
        path: Path,
        text: bytes,
        *,
        seed: bytes | None = None,
        signature: bytes | None = None,
        size: int | None = None,
    ) -> None:
        """Write something like a bundle, whose slot image is zeros."""
        with path.open("wb") as stream:
            stream.write(text + (signature or ed25519.sign(seed or self.seed, text)))
            stream.truncate(HEAD + self.slot if size is None else size)

    def _edit(self, copy: Path, files: Mapping[str, tuple[bytes, int]]) -> None:
        """Replace or add files; they are read back, for debugfs ends with 0 whatever happens."""
        if not files:
            return
        slot = Ext4(self.first, HEAD, scratch=self._scratch)
        script: list[str] = []
        for number, (path, (content, mode)) in enumerate(files.items()):
            parent, _, name = path.rpartition("/")
            found = slot.stat(parent)
            real = f"{found.path.rstrip('/')}/{name}"
            if found.kind != "directory" or any(ord(sign) < 33 or sign in "\"'" for sign in real):
                raise BadDeliverable(f"{parent} of the slot image is no folder that can be used")
            source, back = self._scratch / f"edit{number}", self._scratch / f"back{number}"
            source.write_bytes(content)
            back.unlink(missing_ok=True)
            script += [f"rm {real}"] if name in slot.listdir(parent) else []
            script += [f"write {source} {real}", f"sif {real} mode 0{0o100000 | mode:o}"]
            script += [f"sif {real} uid 0", f"sif {real} gid 0", f"dump {real} {back}"]
        command = ["debugfs", "-w", "-f", "-", f"{copy}?offset={HEAD}"]
        done = run_tool(command, stdin="".join(f"{line}\n" for line in script).encode())
        for number, (path, (content, _)) in enumerate(files.items()):
            back = self._scratch / f"back{number}"
            if not back.is_file() or back.read_bytes() != content:
                raise BadDeliverable(f"{path} cannot be put into the slot image: {done.complaint}")
