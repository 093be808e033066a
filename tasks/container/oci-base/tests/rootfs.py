"""Layers laid over each other, in memory; and what a kernel can start from."""

from __future__ import annotations

from dataclasses import dataclass

from tarform import DIRECTORY, FILE, HARDLINK, SYMLINK, Member

from benchflow.boot import BadDeliverable

_LINKS = 8
_KINDS = {DIRECTORY: 0o040000, FILE: 0o100000, SYMLINK: 0o120000}


@dataclass(frozen=True)
class Node:
    """A file, directory or symbolic link; hard links of each other share `inode`."""

    type: str
    mode: int
    uid: int
    gid: int
    link: str
    data: bytes
    inode: int

    @property
    def is_file(self) -> bool:
        return self.type == FILE


Tree = dict[str, Node]


def overlay(layers: list[list[Member]]) -> Tree:
    """The tree. Raises BadDeliverable where a layer cannot be unpacked without surprises."""
    tree: Tree = {}
    for members in layers:
        for member in members:
            _lay(tree, member)
    return tree


def _lay(tree: Tree, member: Member) -> None:
    folder, _, last = member.name.rpartition("/")
    if folder and (folder not in tree or tree[folder].type != DIRECTORY):
        raise BadDeliverable(f"{member.name} lies in no directory")
    if last.startswith(".wh."):
        gone = f"{folder}/{last[4:]}" if folder else last[4:]
        if gone not in tree:
            raise BadDeliverable(f"{member.name} takes away what is not there")
        for path in [p for p in tree if p == gone or p.startswith(f"{gone}/")]:
            del tree[path]
        return
    before = tree.get(member.name)
    if before and (before.type == DIRECTORY or member.type == DIRECTORY):
        raise BadDeliverable(f"{member.name} is there already")
    if member.type == HARDLINK:
        target = tree.get(member.link)
        if not target or not target.is_file:
            raise BadDeliverable(f"{member.name} is a hard link to no file")
        tree[member.name] = target
        return
    inode = len(tree) + 1_000 if not before else before.inode + 1_000_000
    tree[member.name] = Node(
        member.type, member.mode, member.uid, member.gid, member.link, member.data, inode
    )


def content(tree: Tree, path: str) -> bytes:
    """The bytes of a file, symbolic links followed inside the tree; b"" when there is none."""
    for _ in range(_LINKS):
        node = tree.get(path)
        if node is None or node.type != SYMLINK:
            return node.data if node else b""
        folder = "" if node.link.startswith("/") else path.rpartition("/")[0]
        parts: list[str] = []
        for part in f"{folder}/{node.link}".split("/"):
            if part == "..":
                parts = parts[:-1]
            elif part not in ("", "."):
                parts.append(part)
        path = "/".join(parts)
    return b""


def directory(mode: int = 0o755, uid: int = 0, gid: int = 0) -> Node:
    """A directory of the bench's own."""
    return Node(DIRECTORY, mode, uid, gid, "", b"", 0)


def file(data: bytes, mode: int = 0o644, uid: int = 0, gid: int = 0) -> Node:
    """A file of the bench's own."""
    return Node(FILE, mode, uid, gid, "", data, 0)


def symlink(target: str) -> Node:
    """A symbolic link of the bench's own."""
    return Node(SYMLINK, 0o777, 0, 0, target, b"", 0)


def initramfs(tree: Tree, mtimes: dict[str, int] | None = None) -> bytes:
    """A cpio archive (newc) that the kernel makes its root file system of.

    In the order of `tree`, so that who shuffles it shuffles what directories list.
    """
    out = bytearray()
    for number, (path, node) in enumerate(tree.items(), 1):
        data = node.link.encode() if node.type == SYMLINK else node.data
        mtime = (mtimes or {}).get(path, 0)
        out += _record(path, _KINDS[node.type] | node.mode, node.uid, node.gid, mtime, data, number)
    return bytes(out + _record("TRAILER!!!", 0, 0, 0, 0, b"", 0))


def _record(
    path: str, mode: int, uid: int, gid: int, mtime: int, data: bytes, inode: int
) -> bytes:  # fmt: skip
    name = path.encode() + b"\0"
    numbers = (inode, mode, uid, gid, 1, mtime, len(data), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08x" % number for number in numbers) + name
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)
