"""Who can log in, as the C library's files say."""

from __future__ import annotations

from benchflow.boot.inspect.filesystem import FileSystem


def _rows(tree: FileSystem, path: str) -> list[list[str]]:
    if not tree.exists(path):
        return []
    return [line.split(":") for line in tree.read_text(path).splitlines() if line.strip()]


def only_root(tree: FileSystem) -> None:
    """root is the only account with its rights, and the only one with a password that can be said.

    As getpwnam and getspnam read them: the first line of a name counts, and of a field `x` or `*`
    in passwd the one in shadow does.
    """
    secrets: dict[str, str] = {}
    for row in _rows(tree, "/etc/shadow"):
        secrets.setdefault(row[0], row[1] if len(row) > 1 else "")
    seen: set[str] = set()
    for row in _rows(tree, "/etc/passwd"):
        name, secret, number = [*row, "", "", ""][:3]
        if name in seen:
            continue
        seen.add(name)
        secret = secrets.get(name, "*") if secret in ("x", "*") else secret
        if name == "root":
            assert secret, "root has no password in /etc/passwd or /etc/shadow [R1]"
            continue
        assert number.strip("0"), f"the account {name!r} is another root (user 0) [R1]"
        assert secret[:1] in ("*", "!"), (
            f"the account {name!r} can log in: its password field is {secret[:8]!r}, and one that "
            "begins with * or ! was wanted, for no other way in was asked for [R1]"
        )
    for name in set(secrets) - seen:
        assert name == "root" or secrets[name][:1] in ("*", "!"), f"/etc/shadow opens {name!r} [R1]"
