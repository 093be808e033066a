"""A root file system in memory: of layers laid over each other or of files of our own, searched
with links followed, and as an archive that a kernel starts from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from benchflow.bench.tar_canon import DIRECTORY, FILE, HARDLINK, SYMLINK, Member
from benchflow.boot import BadDeliverable

_LINKS = 40
_KINDS = {DIRECTORY: 0o040000, FILE: 0o100000, SYMLINK: 0o120000}


@dataclass(frozen=True)
class Node:
    """A file, directory or symbolic link; hard links of each other are one and the same node."""

    type: str
    mode: int
    uid: int
    gid: int
    link: str
    data: bytes

    @property
    def is_file(self) -> bool:
        """A regular one."""
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
    tree[member.name] = Node(
        member.type, member.mode, member.uid, member.gid, member.link, member.data
    )


def find(tree: Tree, path: str) -> str | None:
    """Where `path` leads in the tree, every symbolic link on the way followed; None for nowhere.

    The root itself is "".
    """
    done: list[str] = []
    ahead = [part for part in path.split("/") if part not in ("", ".")]
    followed = 0
    while ahead:
        part = ahead.pop(0)
        if part == "..":
            done = done[:-1]
            continue
        here = "/".join([*done, part])
        node = tree.get(here)
        if node is None or (ahead and node.type == FILE):
            return None
        if node.type != SYMLINK:
            done.append(part)
            continue
        followed += 1
        if followed > _LINKS:
            return None
        if node.link.startswith("/"):
            done = []
        ahead = [part for part in node.link.split("/") if part not in ("", ".")] + ahead
    return "/".join(done)


def at(tree: Tree, path: str) -> Node | None:
    """What `path` leads to, links followed."""
    where = find(tree, path)
    return None if where is None else tree.get(where)


def points_at_a_directory(tree: Tree, path: str) -> bool:
    """Whether `path` is one, or leads to one."""
    where = find(tree, path)
    return where == "" or (where is not None and tree[where].type == DIRECTORY)


def content(tree: Tree, path: str) -> bytes:
    """The bytes of a file, links followed inside the tree; b"" when there is none."""
    node = at(tree, path)
    return node.data if node and node.is_file else b""


def directory(mode: int = 0o755, uid: int = 0, gid: int = 0) -> Node:
    """A directory of the bench's own."""
    return Node(DIRECTORY, mode, uid, gid, "", b"")


def file(data: bytes, mode: int = 0o644, uid: int = 0, gid: int = 0) -> Node:
    """A file of the bench's own."""
    return Node(FILE, mode, uid, gid, "", data)


def symlink(target: str) -> Node:
    """A symbolic link of the bench's own."""
    return Node(SYMLINK, 0o777, 0, 0, target, b"")


def initramfs(tree: Tree, mtimes: dict[str, int] | None = None) -> bytes:
    """A cpio archive (newc) that the kernel makes its root file system of.

    In the order of `tree`, so that who shuffles it shuffles what directories list.
    """
    out = bytearray()
    links = Counter(id(node) for node in tree.values() if node.is_file)
    first: dict[int, int] = {}
    for number, (path, node) in enumerate(tree.items(), 1):
        data = node.link.encode() if node.type == SYMLINK else node.data
        inode = first.setdefault(id(node), number) if node.is_file else number
        # Of hard links the first one has the content: a thousand names of a file are one file.
        data = data if inode == number else b""
        mtime = (mtimes or {}).get(path, 0)
        count = links.get(id(node), 1)
        mode = _KINDS[node.type] | node.mode
        out += _record(path, (inode, mode, node.uid, node.gid, count, mtime), data)
    return bytes(out + _record("TRAILER!!!", (0, 0, 0, 0, 1, 0), b""))


def _record(path: str, said: tuple[int, ...], data: bytes) -> bytes:
    name = path.encode() + b"\0"
    numbers = (*said, len(data), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08x" % number for number in numbers) + name
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)
