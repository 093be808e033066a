"""Parcels: the customer's packages, read strictly and made."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from benchflow.bench import tar_canon
from benchflow.boot import BadDeliverable

_NAME = re.compile(r"(?!\.\.?\Z)[a-z0-9+.-]+\Z")
_VERSION = re.compile(r"[A-Za-z0-9+.~-]+\Z")
_NUMBER = re.compile(r"(0|[1-9][0-9]*)\Z")
_MODE = re.compile(r"[0-7]{4}\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\]")


@dataclass(frozen=True)
class Entry:
    """A line of a manifest: kind is dir, file, symlink or hardlink."""

    kind: str
    path: str
    mode: int = 0o777
    uid: int = 0
    gid: int = 0
    target: str = ""
    data: bytes = b""


@dataclass(frozen=True)
class Parcel:
    """One package."""

    name: str
    version: str
    entries: tuple[Entry, ...] = ()
    needs: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        return f"{self.name}_{self.version}.parcel"

    def manifest(self) -> str:
        """The manifest as it has to be."""
        lines = ["parcel\t1", f"name\t{self.name}", f"version\t{self.version}"]
        lines += [f"needs\t{name}" for name in sorted(self.needs)]
        lines += [f"replaces\t{name}" for name in sorted(self.replaces)]
        for e in sorted(self.entries, key=lambda entry: entry.path.encode()):
            if e.kind == "dir":
                lines.append(f"dir\t{e.mode:04o}\t{e.uid}\t{e.gid}\t{e.path}")
            elif e.kind == "file":
                digest = hashlib.sha256(e.data).hexdigest()
                lines.append(
                    f"file\t{e.mode:04o}\t{e.uid}\t{e.gid}\t{len(e.data)}\t{digest}\t{e.path}"
                )
            elif e.kind == "symlink":
                lines.append(f"symlink\t{e.uid}\t{e.gid}\t{e.target}\t{e.path}")
            else:
                lines.append(f"hardlink\t{e.target}\t{e.path}")
        return "\n".join(lines) + "\n"

    def pack(self, manifest: str | None = None) -> bytes:
        """The parcel's bytes; another manifest makes it a lie."""
        return tar_canon.write(self.members((manifest or self.manifest()).encode()))

    def members(self, manifest: bytes) -> list[tar_canon.Member]:
        files = sorted((e.path.encode(), e.data) for e in self.entries if e.kind == "file")
        named = [("PARCEL", manifest)]
        named += [(f"data/{number:06d}", data) for number, (_, data) in enumerate(files, 1)]
        return [tar_canon.Member(name, "0", 0o644, 0, 0, 0, data=data) for name, data in named]


def read(data: bytes, file: str) -> Parcel:
    """The parcel in `data`. Raises BadDeliverable when it has not the form of PARCEL.md."""
    members = tar_canon.read(data, file)
    if not members or members[0].name != "PARCEL":
        raise BadDeliverable(f"{file}: the first member is not PARCEL")
    try:
        text = members[0].data.decode()
    except UnicodeDecodeError:
        raise BadDeliverable(f"{file}: the manifest is not UTF-8") from None
    lines = text.split("\n")
    contents = [member.data for member in members[1:]]
    made = _manifest(lines[:-1], contents, file)
    # One form only: what is read is written again.
    if made.file != file:
        raise BadDeliverable(f"{file} calls itself {made.file}")
    if made.pack() != data:
        raise BadDeliverable(f"{file} is not in the one form that its manifest can have")
    return made


def _manifest(lines: list[str], contents: list[bytes], file: str) -> Parcel:
    head: dict[str, str] = {}
    words: dict[str, list[str]] = {"needs": [], "replaces": []}
    entries: list[Entry] = []
    paths: set[str] = set()
    contents = list(contents)
    for number, line in enumerate(lines, 1):
        wrong = f"{file}: manifest, line {number}: {line[:120]!r}"
        fields = line.split("\t")
        if number <= 3:
            if len(fields) != 2 or fields[0] != ("parcel", "name", "version")[number - 1]:
                raise BadDeliverable(wrong)
            head[fields[0]] = fields[1]
        elif fields[0] in words and len(fields) == 2 and _NAME.match(fields[1]):
            if fields[1] in words[fields[0]]:
                raise BadDeliverable(wrong)
            words[fields[0]].append(fields[1])
        else:
            entry = _entry(fields, entries, contents, wrong)
            if entry.path in paths or not _path(entry):
                raise BadDeliverable(wrong)
            paths.add(entry.path)
            entries.append(entry)
    if contents:
        raise BadDeliverable(f"{file}: more members than files in the manifest")
    if head.get("parcel") != "1" or not _NAME.match(head.get("name", "")):
        raise BadDeliverable(f"{file}: the first lines of its manifest")
    if not _VERSION.match(head.get("version", "")):
        raise BadDeliverable(f"{file}: the version in its manifest")
    return Parcel(
        head["name"], head["version"], tuple(entries), tuple(words["needs"]),
        tuple(words["replaces"]),
    )  # fmt: skip


def _entry(fields: list[str], before: list[Entry], contents: list[bytes], wrong: str) -> Entry:
    kind, count = fields[0], len(fields)
    if kind in ("dir", "file") and count == {"dir": 5, "file": 7}[kind]:
        if not _MODE.match(fields[1]):
            raise BadDeliverable(wrong)
        mode, uid, gid = int(fields[1], 8), _id(fields[2], wrong), _id(fields[3], wrong)
        if kind == "dir":
            return Entry("dir", fields[4], mode, uid, gid)
        if not contents:
            raise BadDeliverable(f"{wrong}: its content is missing")
        data = contents.pop(0)
        if fields[4] != str(len(data)) or fields[5] != hashlib.sha256(data).hexdigest():
            raise BadDeliverable(f"{wrong}: other content")
        return Entry("file", fields[6], mode, uid, gid, data=data)
    if kind == "symlink" and count == 5:
        if not 1 <= len(fields[3].encode()) <= 100 or _FORBIDDEN.search(fields[3]):
            raise BadDeliverable(wrong)
        uid, gid = _id(fields[1], wrong), _id(fields[2], wrong)
        return Entry("symlink", fields[4], 0o777, uid, gid, fields[3])
    if kind == "hardlink" and count == 3:
        for entry in before:
            if entry.kind == "file" and entry.path == fields[1]:
                return Entry("hardlink", fields[2], entry.mode, entry.uid, entry.gid, fields[1])
    raise BadDeliverable(wrong)


def _id(text: str, wrong: str) -> int:
    if not _NUMBER.match(text) or int(text[:6]) > 65535 or len(text) > 5:
        raise BadDeliverable(wrong)
    return int(text)


def _path(entry: Entry) -> bool:
    path = entry.path
    name = path.encode() + (b"/" if entry.kind == "dir" else b"")
    if not 1 <= len(path.encode()) <= 255 or _FORBIDDEN.search(path):
        return False
    if any(part in ("", ".", "..") or part.startswith(".wh.") for part in path.split("/")):
        return False
    if len(name) <= 100:
        return True
    cut = name.find(b"/", len(name) - 101, len(name) - 1)
    return 0 < cut <= 155
