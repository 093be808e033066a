"""Packages and indexes as FORMAT.md has them: made, and read without mercy."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

NAME = re.compile(r"[a-z][a-z0-9+-]{0,39}")
VERSION = re.compile(r"(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){0,3}")
OUTSIDE = ("proc/", "sys/", "dev/", "run/", "tmp/", "var/lib/lade/")
BLOCK = 512


def is_need(word: str) -> bool:
    name, sign, least = word.partition(">=")
    return bool(NAME.fullmatch(name)) and (not sign or bool(VERSION.fullmatch(least)))


def is_path(path: str) -> bool:
    parts = path.split("/")
    return (
        all(part not in ("", ".", "..") for part in parts)
        and all(" " <= sign <= "~" for sign in path)
        and not path.startswith(OUTSIDE)
    )


def circle(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """Names whose needs go round, empty where none do."""
    done: set[str] = set()
    for start in needs:
        way = [start]
        ahead = [iter(needs[start])]
        while way:
            need = next(ahead[-1], None)
            if need is None:
                done.add(way.pop())
                ahead.pop()
                continue
            name = need.partition(">=")[0]
            if name in way:
                return way[way.index(name) :]
            if name in needs and name not in done:
                way.append(name)
                ahead.append(iter(needs[name]))
    return []


def by_number(version: str) -> tuple[int, ...]:
    """Versions in their order."""
    numbers = [int(part) for part in version.split(".")]
    return tuple(numbers + [0] * (4 - len(numbers)))


@dataclass(frozen=True)
class Entry:
    kind: str  # file, directory, symlink
    mode: int = 0o755
    uid: int = 0
    gid: int = 0
    data: bytes = b""
    link: str = ""


@dataclass
class Package:
    name: str
    version: str
    needs: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    configs: list[str] = field(default_factory=list)
    check: bytes | None = None
    entries: dict[str, Entry] = field(default_factory=dict)

    def dir(self, path: str, mode: int = 0o755, uid: int = 0, gid: int = 0) -> Package:
        self._parents(path)
        self.entries[path] = Entry("directory", mode, uid, gid)
        return self

    def file(
        self, path: str, data: bytes | str, mode: int = 0o644, uid: int = 0, gid: int = 0
    ) -> Package:
        self._parents(path)
        content = data.encode() if isinstance(data, str) else data
        self.entries[path] = Entry("file", mode, uid, gid, content)
        return self

    def config(self, path: str, data: bytes | str, mode: int = 0o644) -> Package:
        self.configs.append(path)
        return self.file(path, data, mode)

    def link(self, path: str, target: str, uid: int = 0, gid: int = 0) -> Package:
        self._parents(path)
        self.entries[path] = Entry("symlink", 0o777, uid, gid, link=target)
        return self

    def but(self, **changes) -> Package:
        """A copy with other values."""
        copied = {name: list(getattr(self, name)) for name in ("needs", "conflicts", "configs")}
        return replace(self, **{**copied, "entries": dict(self.entries), **changes})

    def _parents(self, path: str) -> None:
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            self.entries.setdefault("/".join(parts[:depth]), Entry("directory"))

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.pkg"

    @property
    def plain(self) -> dict[str, Entry]:
        """Files and links."""
        return {path: e for path, e in self.entries.items() if e.kind != "directory"}

    def meta(self) -> bytes:
        lines = [f"name={self.name}", f"version={self.version}"]
        lines += [f"needs={need}" for need in sorted(self.needs)]
        lines += [f"conflicts={name}" for name in sorted(self.conflicts)]
        lines += [f"config={path}" for path in sorted(self.configs)]
        return "".join(f"{line}\n" for line in lines).encode()

    def pack(self) -> bytes:
        out = member("META", Entry("file", 0o644, data=self.meta()))
        if self.check is not None:
            out += member("CHECK", Entry("file", 0o755, data=self.check))
        for path in sorted(self.entries, key=str.encode):
            out += member(f"root/{path}", self.entries[path])
        return out + bytes(2 * BLOCK)


_TYPES = {"file": b"0", "symlink": b"2", "directory": b"5"}


def header(name: str, entry: Entry) -> bytes:
    full = name + "/" if entry.kind == "directory" else name
    block = struct.pack(
        "100s8s8s8s12s12s8s1s100s8s247x",
        full.encode(), b"%07o" % entry.mode, b"%07o" % entry.uid, b"%07o" % entry.gid,
        b"%011o" % len(entry.data), b"%011o" % 0, b" " * 8, _TYPES[entry.kind],
        entry.link.encode(), b"ustar\x0000",
    )  # fmt: skip
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def member(name: str, entry: Entry) -> bytes:
    return header(name, entry) + entry.data + bytes(-len(entry.data) % BLOCK)


def read(data: bytes, what: str = "the package") -> Package:
    """Take a package apart. AssertionError when it has not the one form that there is."""
    kinds = {value: kind for kind, value in _TYPES.items()}
    members: list[tuple[str, Entry]] = []
    at = 0
    while data[at : at + BLOCK].strip(b"\0"):
        head = data[at : at + BLOCK]
        assert len(head) == BLOCK and head[156:157] in kinds, f"{what}: a header at {at}"
        name = head[:100].split(b"\0")[0].decode("latin-1")
        link = head[157:257].split(b"\0")[0].decode("latin-1")
        try:
            mode, uid, gid, size = (
                int(head[a:b].rstrip(b"\0"), 8)
                for a, b in ((100, 108), (108, 116), (116, 124), (124, 136))
            )
        except ValueError:
            raise AssertionError(f"{what}: numbers in the header of {name!r}") from None
        content = data[at + BLOCK : at + BLOCK + size]
        kind = kinds[head[156:157]]
        if kind == "directory":
            assert name.endswith("/"), f"{what}: {name!r} has no slash"
            name = name[:-1]
        assert (kind == "symlink") == bool(link), f"{what}: {name!r} has the target {link!r}"
        assert kind == "file" or not size, f"{what}: {name!r} has the size {size}"
        assert min(mode, uid, gid) >= 0, f"{what}: numbers in the header of {name!r}"
        entry = Entry(kind, mode, uid, gid, content, link)
        piece = member(name, entry)
        assert data[at : at + len(piece)] == piece, f"{what}: {name!r} has another form"
        members.append((name, entry))
        at += len(piece)
    assert members and members[0][0] == "META", f"{what}: META is not first"
    try:
        lines = [line.split("=", 1) for line in members[0][1].data.decode("ascii").splitlines()]
        values = {key: [v for k, v in lines if k == key] for key in {line[0] for line in lines}}
        package = Package(
            values["name"][0], values["version"][0], values.get("needs", []),
            values.get("conflicts", []), values.get("config", []),
        )  # fmt: skip
    except (UnicodeDecodeError, ValueError, KeyError, IndexError):
        raise AssertionError(f"{what}: META cannot be read") from None
    rest = members[1:]
    if rest and rest[0][0] == "CHECK":
        package.check = rest[0][1].data
        rest = rest[1:]
    for name, entry in rest:
        path = name.removeprefix("root/")
        assert name.startswith("root/") and is_path(path), f"{what}: the path {name!r}"
        assert entry.kind != "symlink" or entry.mode == 0o777, f"{what}: {name!r}"
        parent = path.rpartition("/")[0]
        known = package.entries.get(parent)
        assert not parent or (known and known.kind == "directory"), f"{what}: below {path!r}"
        package.entries[path] = entry
    assert NAME.fullmatch(package.name) and VERSION.fullmatch(package.version), f"{what}: META"
    assert all(is_need(need) for need in package.needs), f"{what}: needs"
    assert all(NAME.fullmatch(name) for name in package.conflicts), f"{what}: conflicts"
    for told in (package.needs, package.conflicts, package.configs):
        assert len(set(told)) == len(told), f"{what}: {told} has a repetition"
    files = {path for path, entry in package.entries.items() if entry.kind == "file"}
    assert set(package.configs) <= files, f"{what}: a configuration file that is none"
    assert package.pack() == data, f"{what}: order, repetitions, or more than there may be"
    return package


def index(packages: Iterable[tuple[Package, bytes]], serial: int | str) -> bytes:
    """The INDEX of packages and their files."""
    lines = ["lade-index 1", f"serial {serial}"]
    for package, data in sorted(packages, key=lambda item: item[0].name):
        needs = ",".join(sorted(package.needs)) or "-"
        conflicts = ",".join(sorted(package.conflicts)) or "-"
        digest = hashlib.sha256(data).hexdigest()
        lines.append(f"{package.name} {package.version} {len(data)} {digest} {needs} {conflicts}")
    return "".join(f"{line}\n" for line in lines).encode()
