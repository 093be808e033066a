"""Where a repository comes from: a folder, git, an archive, a Debian source package."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchflow.authoring.onboard import archives
from benchflow.authoring.onboard.tree import TOTAL_MAX, Note, Tree, of_folder
from benchflow.errors import InfrastructureError, MissingTool, UsageError

_COMMIT = re.compile(r"[0-9A-Za-z][0-9A-Za-z._/-]{0,199}")
_FETCH_SECONDS = 600
_STANZA = re.compile(r"^Files:\s*\n((?:[ \t]+\S+ \d+ \S+\n?)+)", re.MULTILINE)
_SHA256 = re.compile(r"^Checksums-Sha256:\s*\n((?:[ \t]+\S+ \d+ \S+\n?)+)", re.MULTILINE)
# Hooks, filters, file monitors and helpers of a repository's own configuration run programs. None
# of git's commands here reads one: what is named is only served from (upload-pack, which promises
# to run nothing of it), and copied into an empty repository without a work tree.
_GIT_ENV = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "https:file",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ASKPASS": "/bin/false",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}


@dataclass(frozen=True)
class Source:
    """`pin` is what makes it this very source: a commit, or a checksum as `sha256:…`."""

    kind: str
    where: str
    pin: str
    tree: Tree


@contextmanager
def opened(what: str) -> Iterator[Source]:
    """The repository named by PATH, URL or either with @COMMIT, for as long as it is read.

    Raises UsageError for what is none, or cannot be read safely.
    """
    with tempfile.TemporaryDirectory(prefix="benchflow-repo-") as scratch:
        yield _open(what, Path(scratch))


def _open(what: str, scratch: Path) -> Source:
    where, commit = _split(what)
    if "://" in where:
        return _git(where, commit, scratch, where)
    path = Path(where)
    if not path.exists():
        raise UsageError(f"{where} does not exist", hint="name a folder, an archive or a URL")
    path = path.resolve()
    if path.is_dir() and _is_git(path):
        return _git(f"file://{path}", commit, scratch, path.name)
    if commit:
        raise UsageError(f"{where} is no git repository: it has no {commit}", hint="leave @… out")
    if path.is_dir():
        recipes = sorted(path.glob("*.dsc"))
        if len(recipes) == 1:
            return _debian(recipes[0])
        if len(recipes) > 1:
            raise UsageError(f"{where} has {len(recipes)} .dsc files", hint="name one of them")
        tree = of_folder(path)
        return Source("folder", path.name, f"sha256:{digest(tree)}", tree)
    if path.suffix == ".dsc":
        return _debian(path)
    tree = archives.opened(path)
    return Source("archive", path.name, f"sha256:{_sha256(path)}", tree)


def _split(what: str) -> tuple[str, str]:
    """PATH or URL, and the commit behind its last @ where it is one."""
    head, mark, tail = what.rpartition("@")
    if not mark or Path(what).exists() or ("://" in what and "/" not in head.partition("://")[2]):
        return what, ""
    if not _COMMIT.fullmatch(tail) or ".." in tail:
        raise UsageError(f"{tail!r} names no commit", hint="write PATH@COMMIT, or URL@COMMIT")
    return head, tail


def _is_git(path: Path) -> bool:
    bare = (path / "objects").is_dir() and (path / "refs").is_dir() and (path / "HEAD").is_file()
    own = path / ".git"
    if own.is_symlink() or own.is_file():
        raise UsageError(
            f"{own} leads to a repository elsewhere", hint="name that repository, or an archive"
        )
    return bare or own.is_dir()


def _git(url: str, commit: str, scratch: Path, where: str) -> Source:
    store = scratch / "store.git"
    _run_git(["init", "-q", "--bare", "--template=", str(store)])
    wanted = commit or "HEAD"
    fetch = ["fetch", "-q", "--no-tags", "--no-recurse-submodules", "--depth", "1", url]
    try:
        _run_git([*fetch, wanted], store)
    except UsageError as error:
        if not re.fullmatch(r"[0-9a-f]{4,39}", wanted):
            raise
        raise UsageError(
            f"{error.message} ({wanted} is a shortened commit)", hint="write all 40 digits"
        ) from None
    pin = _run_git(["rev-parse", "FETCH_HEAD^{commit}"], store).decode().strip()
    tree = Tree()
    listed = _run_git(["ls-tree", "-r", "-l", "-z", "--full-tree", pin], store)
    objects: dict[str, str] = {}
    links: list[tuple[str, str]] = []
    for entry in listed.split(b"\0")[:-1]:
        told, raw = entry.split(b"\t", 1)
        mode, kind, name_of, size = told.decode().split()
        name = os.fsdecode(raw)
        if kind == "commit":
            tree.submodules.append(name)
        elif mode == "120000":
            links.append((name, name_of if int(size) <= 4096 else ""))
        else:
            objects[name] = name_of
            tree.add(name, int(size), executable=mode == "100755")
    blobs = _Blobs(store)
    for name, name_of in links:
        tree.link(name, os.fsdecode(blobs.read(name_of)) if name_of else "/(too long)")
    tree.reader = lambda name: blobs.read(objects[name])
    return Source("git", where, pin, tree)


class _Blobs:
    """One `git cat-file --batch` for all that is read."""

    def __init__(self, store: Path) -> None:
        self._git = subprocess.Popen(
            [_git_program(), "--git-dir", str(store), "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_GIT_ENV},
        )

    def read(self, name: str) -> bytes:
        assert self._git.stdin and self._git.stdout
        self._git.stdin.write(name.encode() + b"\n")
        self._git.stdin.flush()
        head = self._git.stdout.readline().split()
        if len(head) != 3:
            return b""
        data = self._git.stdout.read(int(head[2]))
        self._git.stdout.read(1)
        return data

    def __del__(self) -> None:
        for stream in (self._git.stdin, self._git.stdout):
            if stream:
                stream.close()
        self._git.wait()


def _git_program() -> str:
    found = shutil.which("git")
    if found is None:
        raise MissingTool("git is missing", hint="install it: apt-get install git")
    return found


def _run_git(arguments: list[str], store: Path | None = None) -> bytes:
    command = [_git_program(), *(["--git-dir", str(store)] if store else []), *arguments]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=_FETCH_SECONDS,
            preexec_fn=_bounded,
            env={**os.environ, **_GIT_ENV},
        )
    except subprocess.TimeoutExpired:
        raise InfrastructureError(
            f"git was not done in {_FETCH_SECONDS} seconds", hint="clone it, and name the folder"
        ) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise UsageError(
            f"git cannot read it: {''.join(said)[:300]}",
            hint="is it a repository with that commit?",
        )
    return done.stdout


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (TOTAL_MAX, TOTAL_MAX))


def _debian(recipe: Path) -> Source:
    """A .dsc with its archives beside it, as `apt-get source --download-only` leaves them."""
    text = recipe.read_text(encoding="utf-8", errors="replace")
    rows = _SHA256.search(text) or _STANZA.search(text)
    if rows is None:
        raise UsageError(f"{recipe.name} lists no files", hint="is it a Debian source package?")
    tree = Tree()
    for row in rows[1].splitlines():
        sum_wanted, _, name = row.split()
        part = recipe.parent / Path(name).name
        if not part.is_file():
            raise UsageError(f"{name} is missing beside {recipe.name}", hint="fetch it too")
        if len(sum_wanted) == 64 and _sha256(part) != sum_wanted:
            raise UsageError(f"{name} is not what {recipe.name} says", hint="fetch it again")
        if archives.is_archive(part):
            below = "debian/" if ".debian.tar" in name else ""
            archives.add(tree, part, below)
        elif not name.endswith(".asc"):
            tree.refused.append(Note("no archive: left out", name))
    return Source("debian", recipe.name, f"sha256:{_sha256(recipe)}", tree)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(tree: Tree) -> str:
    """SHA-256 over names and contents of what can be read of a folder."""
    total = hashlib.sha256()
    for name in sorted(tree.sizes):
        content = hashlib.sha256(tree.bytes_of(name)).hexdigest()
        total.update(os.fsencode(name) + f"\0{tree.sizes[name]}\0{content}\n".encode())
    return total.hexdigest()
