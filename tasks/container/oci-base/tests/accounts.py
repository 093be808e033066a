"""Who has an account in an image, as its C library reads it: each line, first and last."""

from __future__ import annotations

from benchflow.bench import rootfs_tree as rootfs
from benchflow.bench.rootfs_tree import Tree

#: Where else musl's library, or a program that lets people in, would look for a password.
_ELSEWHERE = ("etc/tcb", "etc/pam.d", "etc/pam.conf", "etc/security", "etc/sudoers",
              "etc/doas.conf", "etc/master.passwd")  # fmt: skip
_WANTED = {"root": ("0", "0"), "harbor": ("10001", "10001")}


def wrong(tree: Tree) -> list[str]:
    """What is wrong with the accounts, with the words that want it otherwise; [] if nothing."""
    found = [*_users(_rows(tree, "etc/passwd")), *_shadow(_rows(tree, "etc/shadow"))]
    found += _groups(_rows(tree, "etc/group"))
    found += [f"/{path} can let somebody in [R9]" for path in _ELSEWHERE
              if rootfs.find(tree, path) is not None]  # fmt: skip
    for path in ("etc/passwd", "etc/shadow", "etc/group"):
        node = rootfs.at(tree, path)
        if not node or node.uid or node.mode & 0o022:
            found.append(f"/{path} is missing, or others than root can change it [R9, R10]")
    shadow = rootfs.at(tree, "etc/shadow")
    if shadow and ((shadow.uid, shadow.gid) != (0, 0) or shadow.mode & 0o077):
        found.append(f"/etc/shadow: mode {shadow.mode:04o}, others than root can read it [R9]")
    return found


def _rows(tree: Tree, path: str) -> list[list[str]]:
    text = rootfs.content(tree, path).decode(errors="replace")
    # Whatever is no line to us may be one to the library: nothing is left out.
    return [line.split(":") for line in text.removesuffix("\n").split("\n")]


def _users(rows: list[list[str]]) -> list[str]:
    names = [row[0] for row in rows]
    if sorted(names) != sorted(_WANTED):
        return [f"/etc/passwd has {names}, not root and harbor, each once [R9]"]
    found = []
    for row in rows:
        if len(row) != 7:
            found.append(f"/etc/passwd: {':'.join(row)!r} has not seven fields [R9]")
            continue
        if (row[2], row[3]) != _WANTED[row[0]]:
            found.append(f"/etc/passwd: {row[0]} has the numbers {row[2]}:{row[3]} [R8, R9]")
        if row[1] != "x" and not _locked(row[1]):
            found.append(f"/etc/passwd: {row[0]} has the password {row[1]!r} [R9]")
        if row[0] == "harbor" and row[5].rstrip("/") != "/home/harbor":
            found.append(f"/etc/passwd: harbor is at home in {row[5]} [R8]")
    return found


def _shadow(rows: list[list[str]]) -> list[str]:
    names = [row[0] for row in rows]
    if sorted(names) != sorted(_WANTED):
        return [f"/etc/shadow has {names}, not root and harbor, each once [R9]"]
    open_ = [row[0] for row in rows if len(row) < 2 or not _locked(row[1])]
    return [f"/etc/shadow: the password of {name} is not locked [R9]" for name in open_]


def _groups(rows: list[list[str]]) -> list[str]:
    found = []
    numbers = {row[0]: row[2] for row in rows if len(row) == 4}
    if len(numbers) != len(rows) or len(set(numbers.values())) != len(rows):
        found.append("/etc/group: a line that is none, or a name or number twice [R8]")
    if (numbers.get("root", "0"), numbers.get("harbor")) != ("0", "10001"):
        found.append(f"/etc/group: {numbers}; harbor is 10001 [R8]")
    for row in rows:
        # A group that owns nothing gives nothing: in such a one harbor may be, too.
        allowed = {"", row[0], "root", *(["harbor"] if row[2:3] not in (["0"], []) else [])}
        strangers = set(row[-1].split(",")) - allowed
        if strangers:
            found.append(f"/etc/group: {sorted(strangers)} in {row[0]} [R8, R10]")
        if len(row) == 4 and row[1] not in ("", "x") and not _locked(row[1]):
            found.append(f"/etc/group: {row[0]} has a password [R9]")
    return found


def _locked(password: str) -> bool:
    return password[:1] in ("*", "!")
