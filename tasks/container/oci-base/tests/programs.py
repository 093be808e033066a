"""What the image's files are, where they may lie, and what compiled ones should not tell."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from benchflow.bench import rootfs_tree as rootfs
from benchflow.bench.rootfs_tree import Tree
from benchflow.boot import BadDeliverable, Elf, is_elf

LOADER = "/lib/ld-musl-x86_64.so.1"
_LIBRARIES = {"libc.so", "libc.musl-x86_64.so.1", LOADER[5:]}
_MONTHS = rb"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_TELLS = {
    "a path of the machine that built it": re.compile(
        rb"/(app|build|root|usr/src|var/tmp|home/(?!harbor[/\0]))/[\w./-]*"
        rb"|(?<![\w./+-])/[\w.+-]+/[\w./+-]*\.(c|h|cc|S|s|o|y)\b"
    ),
    "when it was built": re.compile(
        rb"\b(19|20)\d\d-[01]\d-[0-3]\d\b|\b[0-2]\d:[0-5]\d:[0-5]\d\b|" + _MONTHS
        + rb" +\d{1,2},? +(19|20)\d\d|\b\d{1,2} +" + _MONTHS + rb" +(19|20)\d\d"
    ),
    "its compiler": re.compile(rb"GCC: \(|clang version|GNU C\d\d |Linker: "),
    # The header of a note of GNU's of type 3, whether a section names it or not.
    "a build id": re.compile(rb"\x04\0\0\0[\x08-\x40]\0\0\0\x03\0\0\0GNU\0"),
}  # fmt: skip
_SECTIONS = re.compile(
    rb"\.(symtab|strtab|z?debug\w*|stab\w*|comment|gnu_debug\w+|gnu\.build\S*)\0"
)
_PROGRAMS = {"bin", "sbin", "usr/bin", "usr/sbin", "usr/local/bin", "usr/local/sbin"}
_LIBRARY = {"lib", "lib64", "usr/lib", "usr/lib64"}
#: What musl's library and BusyBox's commands read there, and the four that the letter names.
_ETC = {
    "passwd",
    "group",
    "shadow",
    "os-release",
    "localtime",
    "almanac.conf",
    "hosts",
    "hostname",
    "resolv.conf",
    "services",
    "protocols",
    "networks",
    "profile",
    "shells",
    "mtab",
    "fstab",
    "nsswitch.conf",
    "timezone",
    "TZ",
    "busybox.conf",
    "inittab",
    "issue",
    "motd",
    "host.conf",
}


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
        elf = Elf(data)
        if elf.interpreter != LOADER:
            return f"{path} is loaded by {elf.interpreter or 'nobody: it is static, or a library'}"
        if not elf.needed or set(elf.needed) - _LIBRARIES:
            return f"{path} needs {elf.needed}"
    return ""


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
    for section in (".symtab", ".debug_info", ".comment"):
        try:
            if elf.section(section):
                return f"a section {section}"
        except (KeyError, BadDeliverable):
            continue
    return ""


def misplaced(tree: Tree) -> Iterator[tuple[str, str]]:
    """(path, why) of whatever lies where no program of the image would look for it.

    Only allowed places are listed: what has none is left over.
    """
    known: dict[bytes, rootfs.Node] = {}
    for path, node in tree.items():
        folder, _, name = path.rpartition("/")
        if node.is_file and is_elf(node.data) and known.setdefault(node.data, node) is not node:
            yield path, "a copy of another program"
        if name.startswith("."):
            yield path, "a hidden file"
        elif node.type == rootfs.DIRECTORY or rootfs.points_at_a_directory(tree, path):
            if not _folder(path):
                yield path, "a directory that nothing needs"
        elif folder in _PROGRAMS:
            if node.is_file and not is_elf(node.data) and not _script(node.data):
                yield path, "neither compiled nor a script"
        elif folder in _LIBRARY:
            target = rootfs.at(tree, path)
            if target is None or not (is_elf(target.data) or name == "os-release"):
                yield path, "no library"
        elif not _file(path, folder, name):
            yield path, "no program of the image reads it"


def _folder(path: str) -> bool:
    """Whether it may be there (what lies in it is looked at by itself)."""
    words = r"locale|include|docs?|man|info|licenses|pkgconfig|dpkg|apt|apk|lintian|__pycache__"
    return not re.search(rf"(^|/)({words})(/|$)|zoneinfo/(posix|right)(/|$)", path)


def _file(path: str, folder: str, name: str) -> bool:
    if folder == "etc":
        return name in _ETC
    if path == "etc/ssl/cert.pem" or folder == "etc/ssl/certs":
        return True  # what they hold is looked at with the certificates
    if path.startswith("usr/share/zoneinfo/"):
        return True  # each of them is compared with Debian's
    return path == "linuxrc"


def _script(data: bytes) -> bool:
    if not data.startswith(b"#!"):
        return False
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return not any(unicodedata.category(c) == "Cc" and c not in "\t\n" for c in text)
