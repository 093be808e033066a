"""What the image's compiled files are, and what they should not tell."""

from __future__ import annotations

import re

from rootfs import Tree

from benchflow.boot import BadDeliverable, Elf, is_elf

LOADER = "/lib/ld-musl-x86_64.so.1"
_MONTHS = rb"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TELLS = {
    "a path of the machine that built it": re.compile(
        rb"/(app|build|root/|usr/src|var/tmp|home/(?!harbor))[\w./-]*"
    ),
    "when it was built": re.compile(
        rb"20\d\d-\d\d-\d\d[ T]\d\d:\d\d|" + _MONTHS + rb" [ \d]\d 20\d\d"
    ),
}
_DEBRIS = re.compile(
    r"(^|/)(dpkg|apt|apk|doc|docs|man|info|locale|include|lintian|pkgconfig|__pycache__|licenses)(/|$)"
    r"|\.(a|h|o|la|pc|gz|bak|orig|rej|tmp|log|pyc|md)$|~$|(^|/)\.[^/]*$"
    r"|^usr/share/zoneinfo/(posix|right)(/|$)|^usr/share/zoneinfo/.*\.(tab|zi|list)$"
)


def compiled(tree: Tree) -> dict[str, bytes]:
    """Every ELF file of an image by path."""
    return {path: node.data for path, node in tree.items() if node.is_file and is_elf(node.data)}


def linked_otherwise(tree: Tree) -> str:
    """The first program that is not linked to musl's library and to nothing else; "" if none."""
    library = LOADER[1:]
    node = tree.get(library)
    seen = 0
    while node and not node.is_file and seen < 8:
        folder = library.rpartition("/")[0]
        library = node.link[1:] if node.link.startswith("/") else f"{folder}/{node.link}"
        node, seen = tree.get(library), seen + 1
    if not node or not is_elf(node.data):
        return f"{LOADER} is no library"
    for path, data in compiled(tree).items():
        if data == node.data:
            continue
        elf = Elf(data)
        if elf.interpreter != LOADER:
            return f"{path} is loaded by {elf.interpreter or 'nobody: it is static'}"
        if not elf.needed or set(elf.needed) - {"libc.so", "libc.musl-x86_64.so.1", LOADER[5:]}:
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
    for section in (".symtab", ".debug_info", ".comment"):
        try:
            if elf.section(section):
                return f"a section {section}"
        except (KeyError, BadDeliverable):
            continue
    return ""


def debris(tree: Tree) -> list[str]:
    """Paths that belong to no image: documentation, package managers, headers, left-overs."""
    return [path for path in tree if _DEBRIS.search(path)]
