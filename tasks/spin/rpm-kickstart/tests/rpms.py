"""RPM packages, as rpm 4.18 reads them: read without trust, and written for one trial."""

from __future__ import annotations

import gzip
import hashlib
import re
import struct
from dataclasses import dataclass, field

from benchflow.boot.inspect.openpgp import Key, signed

HEADER_MAX = 16 << 20
_MAGIC = b"\x8e\xad\xe8\x01\0\0\0\0"
_LEAD = struct.Struct(">4sBBhh66shh16x")
_CHAR, _INT16, _INT32, _STRING, _BIN, _STRINGS, _I18N = 1, 3, 4, 6, 7, 8, 9
_SIZES = {_INT16: 2, _INT32: 4, 5: 8}
_SIGNATURES, _IMMUTABLE = 62, 63
SIG_MD5, SIG_SHA1, SIG_SHA256, SIG_SIZE, SIG_DSA, SIG_PAYLOAD = 1004, 269, 273, 1000, 267, 1007
NAME, VERSION, RELEASE, EPOCH, ARCH, SIZE = 1000, 1001, 1002, 1003, 1022, 1009
SOURCE_RPM, VENDOR = 1044, 1011
CONFIG, GHOST = 1, 64
FLAGS = {"": 0, "<": 2, ">": 4, "=": 8, "<=": 10, ">=": 12}
# (name, flags, version) of each kind of dependency.
DEPENDENCIES = {
    "provides": (1047, 1112, 1113), "requires": (1049, 1048, 1050),
    "conflicts": (1054, 1053, 1055), "obsoletes": (1090, 1114, 1115),
    "recommends": (5046, 5048, 5047),
}  # fmt: skip
_SCRIPTS = {"pre": (1023, 1085), "post": (1024, 1086), "preun": (1025, 1087),
            "postun": (1026, 1088)}  # fmt: skip

Values = dict[int, list | bytes]


# -- reading ----------------------------------------------------------------------------------


def header(data: bytes, at: int = 0, *, magic: bool = True) -> tuple[Values, int]:
    """The tags of the header at `at`, and where it ends. AssertionError for what is none."""
    if magic:
        assert data[at : at + 4] == _MAGIC[:4], "no header of an RPM"
        at += 8
    assert at + 8 <= len(data), "a header is cut off"
    count, size = struct.unpack_from(">II", data, at)
    assert count < 65536 and size <= HEADER_MAX, "a header without measure"
    store = at + 8 + 16 * count
    end = store + size
    assert end <= len(data), "a header is cut off"
    found: Values = {}
    for number in range(count):
        tag, kind, offset, n = struct.unpack_from(">IIII", data, at + 8 + 16 * number)
        assert offset <= size and n <= size, f"tag {tag} lies outside"
        found[tag] = _value(data[store:end], kind, offset, n)
    return found, end


def _value(store: bytes, kind: int, offset: int, count: int) -> list | bytes:
    if kind in _SIZES:
        width = _SIZES[kind]
        assert offset + width * count <= len(store), "a number lies outside"
        letter = {2: "H", 4: "I", 8: "Q"}[width]
        return list(struct.unpack_from(f">{count}{letter}", store, offset))
    if kind in (_STRING, _STRINGS, _I18N):
        texts, at = [], offset
        for _ in range(count):
            end = store.find(b"\0", at)
            assert end >= 0, "a text without an end"
            texts.append(store[at:end].decode("utf-8", "replace"))
            at = end + 1
        return texts
    return store[offset : offset + count]


def text(tags: Values, tag: int) -> str:
    value = tags.get(tag)
    return str(value[0]) if isinstance(value, list) and value else ""


_LINKED = re.compile(r"/(bin|sbin|lib|lib64)/")


def placed(path: str) -> str:
    """Where it lies: /bin, /sbin, /lib and /lib64 are links to the folders of /usr [R7]."""
    return f"/usr{path}" if _LINKED.match(path) else path


@dataclass(frozen=True)
class File:
    """A file that a package says it has. `digest` is "" for what is no regular file.

    `named` is its path as the package has it, `path` where that lies.
    """

    path: str
    named: str
    mode: int
    digest: str
    flags: int
    target: str
    user: str
    group: str


@dataclass(frozen=True)
class Package:
    """A package's header."""

    tags: Values

    @property
    def name(self) -> str:
        return text(self.tags, NAME)

    @property
    def epoch(self) -> int:
        value = self.tags.get(EPOCH)
        return int(value[0]) if value else 0

    @property
    def nevra(self) -> str:
        version, release = text(self.tags, VERSION), text(self.tags, RELEASE)
        return f"{self.name}-{self.epoch}:{version}-{release}.{text(self.tags, ARCH)}"

    @property
    def is_source(self) -> bool:
        return SOURCE_RPM not in self.tags

    def files(self) -> list[File]:
        bases = self.tags.get(1117, [])
        folders, indexes = self.tags.get(1118, []), self.tags.get(1116, [])
        columns = [self.tags.get(tag, []) for tag in (1030, 1035, 1037, 1036, 1039, 1040)]
        assert all(len(column) == len(bases) for column in (indexes, *columns)), (
            f"{self.name}: its lists of files do not fit"
        )
        made = []
        for base, index, mode, digest, flags, target, user, group in zip(
            bases, indexes, *columns, strict=True
        ):
            assert index < len(folders), f"{self.name}: a file without a folder"
            named = folders[index] + base
            made.append(File(placed(named), named, mode, digest, flags, target, user, group))
        return made

    def needs(self, kind: str) -> list[tuple[str, int, str]]:
        names, flags, versions = (self.tags.get(tag, []) for tag in DEPENDENCIES[kind])
        assert len(names) == len(flags) == len(versions), f"{self.name}: {kind} do not fit"
        return list(zip(names, flags, versions, strict=True))


def read(data: bytes, key: Key | None = None) -> Package:
    """A package file; its digests are checked, and its signature, when a key is given."""
    assert data[:4] == b"\xed\xab\xee\xdb", "not an RPM"
    signature, end = header(data, 96)
    start = (end + 7) // 8 * 8
    tags, stop = header(data, start)
    name = text(tags, NAME)
    digest = hashlib.sha256(data[start:stop]).hexdigest()
    assert text(signature, SIG_SHA256) == digest, f"{name}: its header is not what it was"
    payload = tags.get(5092)
    assert payload and payload[0] == hashlib.sha256(data[stop:]).hexdigest(), (
        f"{name}: its content is not what it was"
    )
    if key is not None:
        made = signature.get(SIG_DSA)
        assert isinstance(made, bytes) and signed(data[start:stop], made, key), (
            f"{name} is not signed with the key"
        )
    return Package(tags)


# -- writing ----------------------------------------------------------------------------------


@dataclass
class Rpm:
    """A package of the bench's. `files` by path; what is in `config` is %config(noreplace)."""

    name: str
    version: str = "1"
    files: dict[str, str] = field(default_factory=dict)
    config: tuple[str, ...] = ()
    scripts: dict[str, str] = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    recommends: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    modes: dict[str, int] = field(default_factory=dict)
    release: str = "1"

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}-{self.release}.noarch.rpm"

    def paths(self) -> list[str]:
        return sorted(self.files, key=lambda path: (path.rpartition("/")[0], path))

    def mode(self, path: str) -> int:
        default = 0o755 if "/bin/" in path or "/sbin/" in path else 0o644
        return 0o100000 | self.modes.get(path, default)

    def pack(self, key: Key | None) -> bytes:
        """The package, signed with `key` unless there is none."""
        paths = self.paths()
        payload = gzip.compress(self._cpio(paths), 6, mtime=0)
        immutable = _header(_IMMUTABLE, self._tags(paths, payload))
        tags = [
            (SIG_SHA1, _STRING, [hashlib.sha1(immutable).hexdigest()]),
            (SIG_SHA256, _STRING, [hashlib.sha256(immutable).hexdigest()]),
            (SIG_SIZE, _INT32, [len(immutable) + len(payload)]),
            (SIG_MD5, _BIN, hashlib.md5(immutable + payload).digest()),
        ]
        if key is not None:
            tags.append((SIG_DSA, _BIN, key.signature(immutable)))
        signature = _header(_SIGNATURES, tags)
        label = f"{self.name}-{self.version}-{self.release}".encode()[:65]
        lead = _LEAD.pack(b"\xed\xab\xee\xdb", 3, 0, 0, 1, label, 1, 5)
        return lead + signature + bytes(-len(signature) % 8) + immutable + payload

    def dependencies(self, kind: str) -> list[tuple[str, int, str]]:
        if kind == "provides":
            own = (self.name, FLAGS["="], f"{self.version}-{self.release}")
            return [own, *((name, 0, "") for name in self.provides)]
        made = []
        for one in getattr(self, kind, ()):
            name, relation, version = (*one.split(), "", "")[:3]
            made.append((name, FLAGS[relation], version))
        if kind == "requires":
            # rpm wants to be told that it knows these two.
            known = 1 << 24 | FLAGS["<="]
            made += [("rpmlib(CompressedFileNames)", known, "3.0.4-1"),
                     ("rpmlib(PayloadFilesHavePrefix)", known, "4.0-1")]  # fmt: skip
            made += [("/bin/sh", 0, "")] if self.scripts else []
        return made

    def _tags(self, paths: list[str], payload: bytes) -> list[tuple[int, int, list | bytes]]:
        data = [self.files[path].encode() for path in paths]
        folders = sorted({path.rpartition("/")[0] + "/" for path in paths})
        n, size = len(paths), sum(map(len, data))
        tags: list[tuple[int, int, list | bytes]] = [
            (100, _STRINGS, ["C"]), (NAME, _STRING, [self.name]),
            (VERSION, _STRING, [self.version]), (RELEASE, _STRING, [self.release]),
            (1004, _I18N, ["made for one trial"]), (1005, _I18N, ["made for one trial"]),
            (1006, _INT32, [1_700_000_000]), (1007, _STRING, ["bench"]), (SIZE, _INT32, [size]),
            (1014, _STRING, ["none"]), (1016, _I18N, ["Unspecified"]), (1021, _STRING, ["linux"]),
            (ARCH, _STRING, ["noarch"]), (SOURCE_RPM, _STRING, ["bench-1-1.src.rpm"]),
            (1064, _STRING, ["4.18.0"]), (1124, _STRING, ["cpio"]), (1125, _STRING, ["gzip"]),
            (1126, _STRING, ["6"]), (1132, _STRING, ["noarch-linux"]), (5011, _INT32, [8]),
            (5092, _STRINGS, [hashlib.sha256(payload).hexdigest()]), (5093, _INT32, [8]),
        ]  # fmt: skip
        for name, script in self.scripts.items():
            body, program = _SCRIPTS[name]
            tags += [(body, _STRING, [script]), (program, _STRING, ["/bin/sh"])]
        for kind, (names, flags, versions) in DEPENDENCIES.items():
            if held := self.dependencies(kind):
                tags += [(names, _STRINGS, [one[0] for one in held]),
                         (flags, _INT32, [one[1] for one in held]),
                         (versions, _STRINGS, [one[2] for one in held])]  # fmt: skip
        if n:
            digests = [hashlib.sha256(one).hexdigest() for one in data]
            flags = [CONFIG | 16 if path in self.config else 0 for path in paths]
            tags += [
                (1028, _INT32, [len(one) for one in data]),
                (1030, _INT16, [self.mode(path) for path in paths]),
                (1033, _INT16, [0] * n), (1034, _INT32, [1_700_000_000] * n),
                (1035, _STRINGS, digests), (1036, _STRINGS, [""] * n), (1037, _INT32, flags),
                (1039, _STRINGS, ["root"] * n), (1040, _STRINGS, ["root"] * n),
                (1045, _INT32, [0xFFFFFFFF] * n), (1095, _INT32, [1] * n),
                (1096, _INT32, list(range(1, n + 1))), (1097, _STRINGS, [""] * n),
                (1116, _INT32, [folders.index(p.rpartition("/")[0] + "/") for p in paths]),
                (1117, _STRINGS, [path.rpartition("/")[2] for path in paths]),
                (1118, _STRINGS, folders),
            ]  # fmt: skip
        return tags

    def _cpio(self, paths: list[str]) -> bytes:
        made = bytearray()
        for number, path in enumerate(paths, 1):
            data = self.files[path].encode()
            made += _member(number, self.mode(path), f".{path}", data)
        return bytes(made + _member(0, 0, "TRAILER!!!", b""))


def _member(inode: int, mode: int, name: str, data: bytes) -> bytes:
    raw = name.encode() + b"\0"
    numbers = (inode, mode, 0, 0, 1, 1_700_000_000, len(data), 0, 0, 0, 0, len(raw), 0)
    head = b"070701" + b"".join(b"%08x" % number for number in numbers) + raw
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def _header(region: int, tags: list[tuple[int, int, list | bytes]]) -> bytes:
    store, index = bytearray(), bytearray()
    for tag, kind, value in sorted(tags, key=lambda one: one[0]):
        if kind in (_INT16, _INT32):
            width = _SIZES[kind]
            store += bytes(-len(store) % width)
            raw = struct.pack(f">{len(value)}{'H' if width == 2 else 'I'}", *value)
        elif kind == _BIN:
            raw = bytes(value)  # type: ignore[arg-type]
        else:
            raw = b"".join(str(one).encode() + b"\0" for one in value)
        index += struct.pack(">IIII", tag, kind, len(store), len(value))
        store += raw
    count = len(tags) + 1
    first = struct.pack(">IIII", region, _BIN, len(store), 16)
    store += struct.pack(">IIiI", region, _BIN, -16 * count, 16)
    return _MAGIC + struct.pack(">II", count, len(store)) + first + bytes(index) + bytes(store)
