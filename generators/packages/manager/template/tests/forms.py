"""Packages and indexes in the drawn forms."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import lzma
import tarfile
from dataclasses import dataclass, field, replace

from ordered import AXES, has

from benchflow.boot.inspect import ed25519

RELATIONS = ("needs", "conflicts", "provides", "replaces")
KINDS = {"f": tarfile.REGTYPE, "d": tarfile.DIRTYPE, "l": tarfile.SYMTYPE}


@dataclass(frozen=True)
class Entry:
    """A file (`f`), folder (`d`) or link (`l`, its target in `data`)."""

    kind: str
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    data: bytes = b""


@dataclass
class Package:
    """One package; paths without a leading slash."""

    name: str
    version: str
    needs: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    provides: list[str] = field(default_factory=list)
    replaces: list[str] = field(default_factory=list)
    config: list[str] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)
    owned: dict[str, str] = field(default_factory=dict)
    trigger: list[str] = field(default_factory=list)
    after: bytes | None = None
    triggered: bytes | None = None
    entries: dict[str, Entry] = field(default_factory=dict)
    repository: int = 0
    #: What its AFTER leaves, for the model: path of a file; the arguments are its content.
    mark: str = ""

    def put(self, path: str, entry: Entry) -> Package:
        """Adds an entry, and the folders in which it lies below the first two."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            self.entries.setdefault("/".join(parts[:depth]), Entry("d", 0o755))
        self.entries[path] = entry
        return self

    def file(self, path: str, text: str | bytes, mode: int = 0o644, uid: int = 0) -> Package:
        data = text.encode() if isinstance(text, str) else text
        return self.put(path, Entry("f", mode, uid, uid, data))

    def link(self, path: str, target: str) -> Package:
        return self.put(path, Entry("l", 0o777, data=target.encode()))

    def folder(self, path: str, mode: int = 0o755) -> Package:
        return self.put(path, Entry("d", mode))

    def conf(self, path: str, text: str, mode: int = 0o644) -> Package:
        self.config.append(path)
        return self.file(path, text, mode)

    def but(self, **changes) -> Package:
        """A copy with some of it otherwise."""
        return replace(self, **{"entries": dict(self.entries), **changes})

    def meta(self) -> bytes:
        rows = [("name", self.name), ("version", self.version)]
        rows += [(relation, one) for relation in RELATIONS for one in getattr(self, relation)]
        rows += [("config", path) for path in self.config]
        rows += [("account", name) for name in self.accounts]
        rows += [("owned", f"{path} {name}") for path, name in self.owned.items()]
        rows += [("trigger", path) for path in self.trigger]
        return "".join(f"{name}{AXES['meta_sign']}{value}\n" for name, value in rows).encode()

    def pack(self) -> bytes:
        rows = [(AXES["meta_name"], Entry("f", data=self.meta()))]
        for name, script in (("AFTER", self.after), ("TRIGGERED", self.triggered)):
            rows += [(name, Entry("f", 0o755, data=script))] if script is not None else []
        rows += [(f"{AXES['payload']}/{path}", one) for path, one in sorted(self.entries.items())]
        return packed(rows)


def packed(rows: list[tuple[str, Entry]]) -> bytes:
    """A container with these members."""
    if AXES["container"] == "frames":
        return b"".join(
            f"{e.kind} {e.mode:04o} {e.uid} {e.gid} {len(e.data)} {path}\n".encode() + e.data
            for path, e in rows
        )
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, one in rows:
            info = tarfile.TarInfo(path)
            info.type, info.mode, info.uid, info.gid = KINDS[one.kind], one.mode, one.uid, one.gid
            if one.kind == "l":
                info.linkname = one.data.decode()
            if one.kind == "f":
                info.size = len(one.data)
            tar.addfile(info, io.BytesIO(one.data) if one.kind == "f" else None)
    data = made.getvalue()
    if AXES["container"] == "targz":
        return gzip.compress(data, mtime=0)
    return lzma.compress(data, preset=1) if AXES["container"] == "tarxz" else data


def digest(data: bytes) -> str:
    return hashlib.new(AXES["digest"], data).hexdigest()


def row_of(package: Package, data: bytes) -> dict:
    """What the index says of a package."""
    told = {
        "name": package.name, "version": package.version, "size": len(data),
        "digest": digest(data),
    }  # fmt: skip
    return told | {each: getattr(package, each) for each in RELATIONS if getattr(package, each)}


def index(rows: list[dict], serial: int) -> bytes:
    rows = sorted(rows, key=lambda row: row["name"])
    form = AXES["index_form"]
    if form == "json":
        told = {"index": 1} | ({"serial": serial} if has("serial") else {}) | {"packages": rows}
        return (json.dumps(told, indent=1) + "\n").encode()
    made = []
    if form == "lines":
        made = ["index 1"] + ([f"serial {serial}"] if has("serial") else [])
        for row in rows:
            more = [f"{each}={','.join(row[each])}" for each in RELATIONS if each in row]
            made.append(" ".join(
                [row["name"], row["version"], str(row["size"]), row["digest"], *more]
            ))  # fmt: skip
        return ("\n".join(made) + "\n").encode()
    head = "Index: 1\n" + (f"Serial: {serial}\n" if has("serial") else "")
    made = [head]
    for row in rows:
        fields = [
            f"{name.capitalize()}: {', '.join(value) if isinstance(value, list) else value}\n"
            for name, value in row.items()
        ]
        made.append("".join(fields))
    return "\n".join(made).encode()


def signed(data: bytes, seed: bytes) -> dict[str, bytes]:
    """The files of an index, by name."""
    signature = ed25519.sign(seed, data)
    files = {}
    if AXES["signature"] == "inline":
        data += f"signed {signature.hex()}\n".encode()
    elif AXES["signature"] == "base64":
        files["sig"] = base64.b64encode(signature) + b"\n"
    else:
        files["sig"] = signature
    return files | {"index": gzip.compress(data, mtime=0) if has("packed-index") else data}
