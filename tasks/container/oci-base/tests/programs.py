"""What the image's files are, where they may lie, and what compiled ones should not tell."""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Iterator

from authorities import CERTIFICATES, KEPT

from benchflow.bench import rootfs_tree as rootfs
from benchflow.bench.rootfs_tree import Tree
from benchflow.boot import BadDeliverable, Elf, is_elf

LOADER = "/lib/ld-musl-x86_64.so.1"
_LIBRARIES = {"libc.so", "libc.musl-x86_64.so.1", LOADER[5:]}
_MONTHS = rb"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_TELLS = {
    "a path of the machine that built it": re.compile(
        rb"/(app|build|root|usr/src|var/tmp|home/(?!harbor[/\0]))/[\w./-]*"
        rb"|(?<![\w./+-])/[\w.+-]+/[\w./+-]*\.(c|h|cc|cpp|cxx|hpp|hh|S|s|o|y|rs|go|zig)\b"
    ),
    "when it was built": re.compile(
        rb"\b(19|20)\d\d-[01]\d-[0-3]\d\b|\b[0-2]\d:[0-5]\d:[0-5]\d\b|" + _MONTHS
        + rb" +\d{1,2},? +((19|20)\d\d|\d\d:\d\d)|\b\d{1,2}\.? +" + _MONTHS + rb" +(19|20)\d\d"
        rb"|\b(19|20)\d\d(?P<one>[/.])[01]\d(?P=one)[0-3]\d\b|\b[0-3]?\d(?P<two>[/.])[01]?\d(?P=two)(19|20)\d\d\b"
        rb"|\b20[0-4]\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])\b|\b[0-2]?\d[:.][0-5]\d *(h|UTC|GMT)\b"
    ),
    "its compiler": re.compile(rb"GCC: \(|clang version|GNU C\d\d |Linker: "),
    # The header of a note of GNU's of type 3, whether a section names it or not.
    "a build id": re.compile(rb"\x04\0\0\0[\x08-\x40]\0\0\0\x03\0\0\0GNU\0"),
}  # fmt: skip
_SECTIONS = re.compile(
    rb"\.(symtab|strtab|z?debug\w*|stab\w*|comment|gnu_debug\w+|gnu\.build\S*)\0"
)
_PROGRAMS = {"bin", "sbin", "usr/bin", "usr/sbin", "usr/local/bin", "usr/local/sbin",
             "usr/libexec"}  # fmt: skip
_LIBRARY = {"lib", "lib64", "usr/lib", "usr/lib64"}
#: What the letter names, or what a run-time lays over.
_ETC = {"passwd", "group", "shadow", "os-release", "localtime", "almanac.conf",
        "hosts", "hostname", "resolv.conf"}  # fmt: skip
#: The folders that [R6] wants or a system's programs look for, empty as they may be.
_FOLDERS = {
    "bin", "dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "usr", "var",
    "home/harbor", "mnt", "media", "opt", "srv", "boot", "sbin", *_LIBRARY, *_PROGRAMS,
    "usr/local", "usr/share", "dev/pts", "dev/shm", "dev/mqueue", "run/lock",
    "var/log", "var/tmp", "var/run", "var/lock", "var/lib", "var/cache", "var/spool",
    "etc/ssl", "etc/ssl/certs", "usr/share/zoneinfo",
}  # fmt: skip
#: What is there when the image runs, and not before.
_RUN_TIME = ("/proc/", "/dev/", "/sys/", "/run/", "proc/", "dev/", "sys/", "run/")
_SYMTAB, _ALLOC, _LOAD, _DYNAMIC, _DT_STRTAB, _DT_SYMTAB = 2, 2, 1, 2, 5, 6


def compiled(tree: Tree) -> dict[str, bytes]:
    """Every ELF file of an image by path."""
    return {path: node.data for path, node in tree.items() if node.is_file and is_elf(node.data)}


def linked_otherwise(tree: Tree) -> str:
    """The first program that is not linked to musl's library and to nothing else; "" if none."""
    node = rootfs.at(tree, LOADER)
    if not node or not is_elf(node.data):
        return f"{LOADER} is no library"
    for path, data in compiled(tree).items():
        if data == node.data:
            continue
        if path.rpartition("/")[0] in _LIBRARY:
            return f"{path} is another library"
        elf = Elf(data)
        if elf.interpreter != LOADER:
            return f"{path} is loaded by {elf.interpreter or 'nobody: it is static, or a library'}"
        if not elf.needed or set(elf.needed) - _LIBRARIES:
            return f"{path} needs {elf.needed}"
        # One that has all of the library within it needs it in name alone.
        if not imports(data):
            return f"{path} takes nothing from the library"
    return ""


def imports(data: bytes) -> set[str]:
    """The names that a compiled file takes from libraries; none for what is damaged."""
    try:
        (start,) = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        heads = [struct.unpack_from("<IIQQQQ", data, start + n * size) for n in range(count)]
        dynamic = dict(
            struct.unpack_from("<qQ", data, at)
            for kind, _, offset, _, _, held in heads if kind == _DYNAMIC
            for at in range(offset, min(offset + held, len(data)) - 15, 16)
        )  # fmt: skip
        table, names = (
            next(a - where + offset for kind, _, offset, where, _, held in heads
                 if kind == _LOAD and where <= a < where + held)
            for a in (dynamic[_DT_SYMTAB], dynamic[_DT_STRTAB])
        )  # fmt: skip
        found = set()
        # Linkers put the names right behind the symbols.
        for at in range(table, names - 23, 24):
            name, _, _, section = struct.unpack_from("<IBBH", data, at)
            # The first symbol of every table is none.
            if name and not section:
                end = data.find(b"\0", names + name)
                found.add(data[names + name : end].decode(errors="replace"))
        return found
    except (struct.error, KeyError, StopIteration):
        return set()


def system(data: bytes) -> list[tuple[str, str]]:
    """ID and VERSION_ID of an os-release, sorted, quotation marks taken off."""
    found = []
    for line in data.decode(errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key in ("ID", "VERSION_ID"):
            quoted = len(value) > 1 and value[0] in "\"'" and value[0] == value[-1]
            found.append((key, value[1:-1] if quoted else value))
    return sorted(found)


def tells(data: bytes) -> str:
    """What a compiled file tells of its making; "" for nothing."""
    for what, pattern in _TELLS.items():
        found = pattern.search(data)
        if found:
            return f"{what}: {found[0][:60]!r}"
    elf = Elf(data)
    if elf.build_id:
        return f"a build id: {elf.build_id}"
    names = elf.section(".shstrtab") or b""
    found = _SECTIONS.search(names + b"\0")
    if found:
        return f"a section {found[0][:-1].decode()}"
    return _unloaded(data)


def _unloaded(data: bytes) -> str:
    """What of a compiled file no loader looks at, whatever it is called; "" for nothing."""
    if data[4:6] != b"\x02\x01":
        return ""
    try:
        segments, sections = struct.unpack_from("<QQ", data, 32)
        wide, count, size, number, names = struct.unpack_from("<5H", data, 54)
        ends = [64, segments + wide * count, sections + size * number]
        for n in range(count):
            kind, _, offset, _, _, held = struct.unpack_from("<IIQQQQ", data, segments + n * wide)
            ends += [offset + held] if kind == _LOAD else []
        for n in range(number):
            _, kind, flags, _, offset, held = struct.unpack_from(
                "<IIQQQQ", data, sections + n * size
            )
            if kind == _SYMTAB:
                return "a symbol table"
            if not flags & _ALLOC and kind and held and n != names:
                return f"a section that is not loaded: {data[offset : offset + 60]!r}"
            ends += [offset + held] if n == names else []
    except struct.error:
        raise BadDeliverable("the ELF file is cut off") from None
    rest = data[max(ends) :].strip(b"\0")
    return f"{len(rest)} bytes after its end: {rest[:60]!r}" if rest else ""


def _loaded(data: bytes) -> bytes:
    """What of a compiled file comes into memory: two files with the same are one, twice."""
    try:
        (start,) = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        parts = []
        for n in range(count):
            kind, _, offset, _, _, held = struct.unpack_from("<IIQQQQ", data, start + n * size)
            if kind == _LOAD:
                # The first has the ELF header in it, which says where sections are.
                parts.append(data[max(offset, 64) : offset + held])
        return b"\0".join(parts) or data
    except struct.error:
        return data


def misplaced(tree: Tree) -> Iterator[tuple[str, str]]:
    """(path, why) of whatever lies where no program of the image would look for it.

    Only allowed places are listed: what has none is left over.
    """
    known: dict[bytes, rootfs.Node] = {}
    read = b"\0".join(n.data for n in tree.values() if n.is_file and _program(n.data))
    certs = tuple(
        place for place in (rootfs.find(tree, name) for name in (CERTIFICATES, KEPT)) if place
    )
    used: set[str] = set(_FOLDERS)
    for path, node in tree.items():
        if node.type != rootfs.DIRECTORY and not rootfs.points_at_a_directory(tree, path):
            parts = path.split("/")
            used |= {"/".join(parts[:n]) for n in range(1, len(parts))}
    for path, node in tree.items():
        folder, _, name = path.rpartition("/")
        loaded = _loaded(node.data) if node.is_file and is_elf(node.data) else b""
        if loaded and known.setdefault(loaded, node) is not node:
            yield path, "a copy of another program"
        if name.startswith("."):
            yield path, "a hidden file"
        elif node.type == rootfs.DIRECTORY:
            if path not in used or _unwanted(path):
                yield path, "a directory that nothing needs"
        elif rootfs.points_at_a_directory(tree, path):
            # Names of zones are compared with Debian's, links followed.
            if path not in used and not path.startswith("usr/share/zoneinfo/"):
                yield path, "a link to a directory that nothing needs"
        elif rootfs.find(tree, path) is None and not node.link.lstrip("./").startswith(_RUN_TIME):
            yield path, f"a link to {node.link}, which is not there"
        elif folder in _PROGRAMS:
            if node.is_file and not _program(node.data):
                yield path, "neither compiled nor a script"
        elif folder in _LIBRARY:
            target = rootfs.at(tree, path)
            if target is None or not (is_elf(target.data) or name == "os-release"):
                yield path, "no library"
        elif not _file(path, name, certs, read):
            yield path, "no program of the image reads it"


def _unwanted(path: str) -> bool:
    words = r"locale|include|docs?|man|info|licenses|pkgconfig|dpkg|apt|apk|lintian|__pycache__"
    return bool(re.search(rf"(^|/)({words})(/|$)|zoneinfo/(posix|right)(/|$)", path))


def _file(path: str, name: str, certs: tuple[str, ...], read: bytes) -> bool:
    folder = path.rpartition("/")[0]
    if folder in ("etc", "usr/etc"):
        return name in _ETC or f"/etc/{name}".encode() in read
    if path == "etc/ssl/cert.pem" or path.startswith(tuple(f"{place}/" for place in certs)):
        return True  # what they hold is looked at with the certificates
    if path.startswith("usr/share/zoneinfo/"):
        return True  # each of them is compared with Debian's
    return path == "linuxrc"


def _program(data: bytes) -> bool:
    return is_elf(data) or _script(data)


def _script(data: bytes) -> bool:
    if not data.startswith(b"#!"):
        return False
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return not any(unicodedata.category(c) == "Cc" and c not in "\t\n\x1b" for c in text)
