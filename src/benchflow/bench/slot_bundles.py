"""Signed bundles for devices with two slots: made from the delivered one, and spoilt.

A bundle is a manifest (text lines, filled up with zeros to `MANIFEST` bytes), its Ed25519 signature
(64 bytes), and the image of a slot, an ext4 without a partition table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

from benchflow.bench.delivered_files import sha256_of
from benchflow.bench.ext4_edit import Ext4Editor
from benchflow.boot import BadDeliverable, Image
from benchflow.boot.inspect import ed25519
from benchflow.boot.inspect.ext4 import Ext4

MANIFEST = 1024
#: Where the slot's image begins.
HEAD = MANIFEST + 64
#: What the partitions of such a device are usually called.
SLOTS = ("slot-a", "slot-b", "data")
_CHUNK = 1 << 16


@dataclass(frozen=True)
class BundleForm:
    """What an order fixes: the manifest's first line, further lines of it before the version, and
    the file of a slot that says which version it is."""

    magic: str
    release_file: str
    fields: Mapping[str, str] = field(default_factory=dict)

    def manifest(self, version: int | str, digest: str, size: int, **fields: str) -> bytes:
        """The bytes that are signed; `fields` are said otherwise than the order fixes them."""
        said = {**self.fields, **fields, "version": version, "size": size, "sha256": digest}
        text = f"{self.magic}\n" + "".join(f"{name}={value}\n" for name, value in said.items())
        return text.encode().ljust(MANIFEST, b"\0")


@dataclass(frozen=True)
class Release:
    """A version of ours: its bundle, the SHA-256 of its slot, what stands in its release file."""

    version: int
    build: str
    path: Path
    digest: str


class Vendor:
    """Makes releases and false bundles from the first one, with the delivered key.

    `first` is the delivered bundle of version 1, `pem` the delivered private key, `slot` the size
    of a slot in bytes, `scratch` a folder of ours.
    """

    def __init__(self, form: BundleForm, first: Path, pem: bytes, slot: int, scratch: Path) -> None:
        self.form, self.slot = form, slot
        self._scratch = scratch
        self.seed = ed25519.seed_of(pem, "vendor.pem")
        self.release1 = Release(1, "", first, sha256_of(first, HEAD, slot))
        self._editor = Ext4Editor(first, HEAD, scratch)

    @property
    def whole(self) -> int:
        """The size of a bundle."""
        return HEAD + self.slot

    def head(self) -> bytes:
        """Manifest and signature of the first bundle."""
        with self.release1.path.open("rb") as stream:
            return stream.read(HEAD)

    def read(self, path: str) -> bytes:
        """A file of the delivered slot (`/boot/vmlinuz`)."""
        return Ext4(self.release1.path, HEAD, scratch=self._scratch).read(path)

    def manifest(self, version: int | str, digest: str, *, size: int = 0, **fields: str) -> bytes:
        """The bytes that are signed, for this size of slot unless another is said."""
        return self.form.manifest(version, digest, size or self.slot, **fields)

    def sign(self, text: bytes, seed: bytes | None = None) -> bytes:
        """The signature of a manifest by the vendor's key, or by another one."""
        return ed25519.sign(seed or self.seed, text)

    def release(
        self,
        path: Path,
        version: int,
        build: str,
        files: Mapping[str, tuple[bytes, int]] | None = None,
    ) -> Release:
        """Write the bundle of a version: the first one with another number, and other files.

        `files` are path to content and mode.
        """
        with path.open("wb") as stream:
            stream.write(bytes(HEAD))
            append_file(stream, self.release1.path, HEAD)
        said = f"version={version}\nbuild={build}\n".encode()
        self._editor.edit(path, {self.form.release_file: (said, 0o644), **(files or {})})
        release = Release(version, build, path, sha256_of(path, HEAD, self.slot))
        text = self.manifest(version, release.digest)
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
        size: int | None = None,
    ) -> None:
        """Write something like a bundle.

        `text` is its manifest, signed by the vendor, by `seed`, or with `signature` as it is;
        `content` a bundle that lends its slot, zeros otherwise; `size` where the file ends.
        """
        with path.open("wb") as stream:
            stream.write(text + (self.sign(text, seed) if signature is None else signature))
            if content is not None:
                append_file(stream, content, HEAD)
            stream.truncate(self.whole if size is None else size)


def append_file(stream: BinaryIO, source: Path, start: int = 0) -> None:
    """Append a file's content from `start` on; what is zero takes no room on the disk."""
    with source.open("rb") as file:
        file.seek(start)
        while data := file.read(_CHUNK):
            if data.count(0) == len(data):
                stream.seek(len(data), 1)
            else:
                stream.write(data)
    stream.truncate(stream.tell())


@dataclass(frozen=True)
class NamedPartitions:
    """Where the partitions of some names lie: name to (start, size), in bytes."""

    places: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, image: Image, names: Sequence[str] = SLOTS) -> NamedPartitions:
        """AssertionError where one of `names` is missing, or there twice."""
        places: dict[str, tuple[int, int]] = {}
        for partition in image.partitions():
            if partition.name in names:
                assert partition.name not in places, f"{partition.name} is there twice"
                places[partition.name] = (partition.start, partition.size)
        missing = set(names) - set(places)
        assert not missing, f"no partition is called {sorted(missing)}"
        return cls(places)

    def digest(self, disk: Path, name: str, size: int | None = None) -> str:
        """SHA-256 of a partition as it is on `disk`, or of its first `size` bytes."""
        start, whole = self.places[name]
        return sha256_of(disk, start, whole if size is None else size)

    def changed_outside(self, before: Path, after: Path, sector: int = 512) -> list[int]:
        """The sectors outside of these partitions that differ between two copies of a disk."""
        found: list[int] = []
        with before.open("rb") as one, after.open("rb") as two:
            position = 0
            for start, size in [*sorted(self.places.values()), (before.stat().st_size, 0)]:
                one.seek(position)
                two.seek(position)
                left, right = one.read(start - position), two.read(start - position)
                if left != right:
                    for at in range(0, len(left), sector):
                        if left[at : at + sector] != right[at : at + sector]:
                            found.append((position + at) // sector)
                position = start + size
        return found


@dataclass(frozen=True)
class DeliveredSlots:
    """Where the partitions of such a device lie, of a disk that may be wrong: name to (start,
    size), in bytes, to the number by which the kernel calls it, and what is wrong."""

    places: Mapping[str, tuple[int, int]]
    faults: Sequence[str] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, image: Image) -> Self:
        """What there is of `SLOTS`; `faults` has what is missing, there twice or not in a GPT."""
        try:
            partitions = image.partitions()
        except BadDeliverable as error:
            return cls({}, (f"its partitions cannot be read: {error.message}",))
        names = [one.name for one in partitions]
        faults = [f"{names.count(name)} partitions are called {name}, and 1 is wanted"
                  for name in SLOTS if names.count(name) != 1]  # fmt: skip
        faults += [f"partition {one.number} is of a table other than GPT"
                   for one in partitions if one.table != "gpt"]  # fmt: skip
        named = [one for one in partitions if one.name in SLOTS]
        return cls({one.name: (one.start, one.size) for one in named}, faults,
                   {one.name: one.number for one in named})  # fmt: skip

    def place(self, name: str) -> tuple[int, int]:
        """Start and size. AssertionError where there is no such partition."""
        assert name in self.places, f"no partition is called {name}"
        return self.places[name]

    def digest(self, disk: Path, slot: str) -> str:
        """SHA-256 of slot `a` or `b` as it is on `disk`."""
        return sha256_of(disk, *self.place(f"slot-{slot}"))
