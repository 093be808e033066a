"""OCI image layouts, read strictly: every digest, size and media type, and nothing beside them.

One image in a `tar_canon` archive whose members are sorted, with gzipped layers: the form that a
task orders which wants the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchflow.bench import tar_canon
from benchflow.boot import BadDeliverable

_TYPE = "application/vnd.oci.image."
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
#: All layers of an image, unpacked. Whoever wants more is a bomb.
ROOM = 64 << 20


@dataclass(frozen=True)
class Layout:
    """A layout that is whole. `layers` are the members of each, `plain` each one's tar."""

    ref: str
    epoch: int
    configuration: dict[str, Any]
    layers: list[list[tar_canon.Member]]
    diff_ids: list[str]
    plain: list[bytes]


def read(data: bytes, what: str = "the layout") -> Layout:
    """Raises BadDeliverable for whatever LIST.md and the specification do not allow."""
    files = _files(data, what)
    if _json(files.pop("oci-layout", b""), "oci-layout") != {"imageLayoutVersion": "1.0.0"}:
        raise BadDeliverable(f"{what}: oci-layout")
    index = _json(files.pop("index.json", b""), "index.json")
    _keys(index, {"schemaVersion", "manifests"}, {"mediaType"}, "index.json")
    _is(index["schemaVersion"] == 2 and type(index["schemaVersion"]) is int, "index.json: version")
    _is(index.get("mediaType", f"{_TYPE}index.v1+json") == f"{_TYPE}index.v1+json", "index.json")
    _is(_list(index["manifests"]) and len(index["manifests"]) == 1, "one manifest in index.json")
    blobs = _Blobs(files)
    top = index["manifests"][0]
    manifest = _json(blobs.get(top, f"{_TYPE}manifest.v1+json", {"annotations"}), "the manifest")
    notes = top.get("annotations")
    _is(isinstance(notes, dict) and set(notes) == {"org.opencontainers.image.ref.name"},
        "the annotations in index.json")  # fmt: skip
    _keys(manifest, {"schemaVersion", "config", "layers"}, {"mediaType"}, "the manifest")
    kind = manifest.get("mediaType", f"{_TYPE}manifest.v1+json")
    _is(manifest["schemaVersion"] == 2 and kind == f"{_TYPE}manifest.v1+json", "the manifest")
    config = _json(blobs.get(manifest["config"], f"{_TYPE}config.v1+json"), "the configuration")
    _is(_list(manifest["layers"]), "the manifest's layers")
    room, plain = ROOM, []
    for number, descriptor in enumerate(manifest["layers"], 1):
        packed = blobs.get(descriptor, f"{_TYPE}layer.v1.tar+gzip")
        plain.append(gunzip(packed, room, f"layer {number}"))
        room -= len(plain[-1])
    blobs.all_used()
    diff_ids = [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in plain]
    _is(isinstance(config, dict) and isinstance(config.get("rootfs"), dict), "the configuration")
    _is(config["rootfs"].get("diff_ids") == diff_ids, "diff_ids are not those of the layers")
    layers = [tar_canon.read(tar, f"layer {number}") for number, tar in enumerate(plain, 1)]
    for number, members in enumerate(layers, 1):
        _sorted(members, f"layer {number}")
    ref = notes["org.opencontainers.image.ref.name"]
    epoch = tar_canon.read(data, what)[0].mtime
    return Layout(ref, epoch, config, layers, diff_ids, plain)


def gunzip(data: bytes, room: int, what: str) -> bytes:
    """One gzip member without time, name, comment or extra, and nothing after it."""
    # Bit 0 of the flags says that it is probably text, and puts nothing into the header.
    if data[:3] != b"\x1f\x8b\x08" or data[3:4] not in (b"\0", b"\1") or data[4:8] != bytes(4):
        raise BadDeliverable(f"{what}: its gzip header is {data[:10].hex()}")
    stream = zlib.decompressobj(wbits=31)
    try:
        plain = stream.decompress(data, room + 1)
    except zlib.error as error:
        raise BadDeliverable(f"{what}: {error}") from error
    if len(plain) > room:
        raise BadDeliverable(f"{what}: larger than {ROOM >> 20} MiB when unpacked")
    if not stream.eof or stream.unused_data:
        raise BadDeliverable(f"{what}: cut off, or something after its end")
    return plain


def _files(data: bytes, what: str) -> dict[str, bytes]:
    members = tar_canon.read(data, what)
    _sorted(members, what)
    folders = [m.name for m in members if m.type == tar_canon.DIRECTORY]
    _is(folders == ["blobs", "blobs/sha256"], f"directories {folders}")
    for m in members:
        wanted = 0o755 if m.type == tar_canon.DIRECTORY else 0o644
        _is(m.type in (tar_canon.DIRECTORY, tar_canon.FILE), f"{m.name} is a link")
        _is((m.mode, m.uid, m.gid) == (wanted, 0, 0), f"mode or owner of {m.name}")
        _is(m.mtime == members[0].mtime, f"{m.name}: another time")
    return {m.name: m.data for m in members if m.type == tar_canon.FILE}


def _sorted(members: list[tar_canon.Member], what: str) -> None:
    names = [member.name.encode() for member in members]
    for one, two in pairwise(names):
        if one >= two:
            raise BadDeliverable(f"{what}: {two!r} comes after {one!r}")


class _Blobs:
    """What lies in blobs/sha256, and what was asked for."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files
        self._used: set[str] = set()

    def get(self, descriptor: Any, media_type: str, more: set[str] | None = None) -> bytes:
        _keys(descriptor, {"mediaType", "digest", "size"} | (more or set()), set(), "a descriptor")
        digest, size = descriptor["digest"], descriptor["size"]
        _is(descriptor["mediaType"] == media_type, f"{descriptor['mediaType']!r}: media type")
        _is(isinstance(digest, str) and bool(_DIGEST.match(digest)), f"the digest {digest!r}")
        name = f"blobs/sha256/{digest[7:]}"
        _is(name in self._files, f"{name} is missing")
        data = self._files[name]
        _is(type(size) is int and size == len(data), f"{name}: size {size!r}")
        _is(hashlib.sha256(data).hexdigest() == digest[7:], f"{name} has another digest")
        self._used.add(name)
        return data

    def all_used(self) -> None:
        more = sorted(set(self._files) - self._used)
        _is(not more, f"files that nothing refers to: {more[:3]}")


def _is(true: bool, what: str) -> None:
    if not true:
        raise BadDeliverable(f"not a layout as ordered: {what}")


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _keys(value: Any, must: set[str], may: set[str], what: str) -> None:
    _is(isinstance(value, dict) and must <= set(value) <= must | may, f"the keys of {what}")


def _json(data: bytes, what: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _is(len({key for key, _ in pairs}) == len(pairs), f"{what}: a key twice")
        return dict(pairs)

    try:
        return json.loads(data.decode(), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise BadDeliverable(f"{what} is not JSON: {error}") from error
