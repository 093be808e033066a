"""OCI image layouts of the verifier's own, good ones and false ones: layers, images, indexes."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PLAIN = "application/vnd.oci.image.layer.v1.tar"
GZIP = PLAIN + "+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
REF = "org.opencontainers.image.ref.name"


@dataclass(frozen=True)
class LayerFile:
    """An entry of a layer; `link` makes it a symbolic, `hard` a hard link, `kind` anything else."""

    content: bytes = b""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    link: str | None = None
    hard: str | None = None
    folder: bool = False
    kind: bytes | None = None


@dataclass(frozen=True)
class Layer:
    """A layer's tar, and the same as gzip."""

    data: bytes
    packed: bytes

    @classmethod
    def of(cls, files: Sequence[tuple[str, LayerFile]]) -> Layer:
        """The entries in just this order."""
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path, one in files:
                entry = tarfile.TarInfo(path)
                entry.mode, entry.uid, entry.gid, entry.mtime = one.mode, one.uid, one.gid, 1
                if one.folder:
                    entry.type = tarfile.DIRTYPE
                elif one.link is not None:
                    entry.type, entry.linkname = tarfile.SYMTYPE, one.link
                elif one.hard is not None:
                    entry.type, entry.linkname = tarfile.LNKTYPE, one.hard
                elif one.kind is not None:
                    entry.type, entry.devmajor, entry.devminor = one.kind, 1, 1
                entry.size = len(one.content) if entry.isfile() else 0
                tar.addfile(entry, io.BytesIO(one.content))
        data = stream.getvalue()
        return cls(data, gzip.compress(data, 1, mtime=0))


def digest(data: bytes) -> str:
    """As descriptors name it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def descriptor(kind: str, data: bytes, **more: object) -> dict[str, object]:
    """Of a blob; `more` are further keys, or the same ones said wrongly."""
    return {"mediaType": kind, "digest": digest(data), "size": len(data), **more}


@dataclass
class LayoutWriter:
    """A folder of blobs with an index over them."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    entries: list[dict[str, object]] = field(default_factory=list)

    def blob(self, kind: str, data: bytes, **more: object) -> dict[str, object]:
        """Add a blob; its descriptor."""
        self.blobs[digest(data)] = data
        return descriptor(kind, data, **more)

    def image(
        self,
        layers: Sequence[Layer],
        config: Mapping[str, object],
        *,
        packed: bool = True,
        platform: tuple[str, str] = ("linux", "amd64"),
        changed: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        """Add an image; the descriptor of its manifest. `changed` are keys of its configuration."""
        whole = {
            "os": platform[0],
            "architecture": platform[1],
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [digest(one.data) for one in layers]},
            **(changed or {}),
        }
        about = self.blob(CONFIG, json.dumps(whole).encode())
        kind = GZIP if packed else PLAIN
        parts = [self.blob(kind, one.packed if packed else one.data) for one in layers]
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": about, "layers": parts}
        return self.blob(MANIFEST, json.dumps(manifest).encode())

    def index(self, entries: Sequence[Mapping[str, object]]) -> dict[str, object]:
        """Add an index that lies among the blobs."""
        whole = {"schemaVersion": 2, "mediaType": INDEX, "manifests": list(entries)}
        return self.blob(INDEX, json.dumps(whole).encode())

    def names(self, entry: Mapping[str, object], ref: str | None = None, **more: object) -> None:
        """Put a descriptor into index.json."""
        one = {**entry, **more}
        if ref is not None:
            one["annotations"] = {REF: ref}
        self.entries.append(one)

    def write(self, folder: Path) -> Path:
        """Write the layout into a folder that is not there yet."""
        (folder / "blobs/sha256").mkdir(parents=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        whole = {"schemaVersion": 2, "manifests": self.entries}
        (folder / "index.json").write_text(json.dumps(whole))
        for name, data in self.blobs.items():
            (folder / "blobs/sha256" / name.removeprefix("sha256:")).write_bytes(data)
        return folder


def simple(layers: Sequence[Layer], config: Mapping[str, object], **more: object) -> LayoutWriter:
    """A layout with one image."""
    layout = LayoutWriter()
    layout.names(layout.image(layers, config, **more))  # type: ignore[arg-type]
    return layout
