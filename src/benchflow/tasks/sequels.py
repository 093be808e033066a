"""Sequels: tasks that begin from what was delivered for an earlier one.

What was delivered comes into both images of the staged task, at the same place: into the agent's,
to work from, and into the verifier's, which has to know what the agent began with. It is either
what the earlier task's oracle makes, in a first stage of both Dockerfiles, or what the agent's own
earlier trial delivered, as files of the build context.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from benchflow.base import shell_pieces
from benchflow.errors import TaskError, UsageError
from benchflow.tasks.digest import digest_of, files_below
from benchflow.tasks.model import Begun, Deliverable, Sequel, Task

#: Of the build contexts; the first stage has the same name.
FOLDER = "earlier"
#: In `environment`, optional: makes the earlier deliverable in place of the bare oracle.
SCRIPT = "earlier.sh"
_RECIPE = ("environment", "solution")
_MADE = "/benchflow-earlier"
_CHUNK = 1 << 20
_MIB = 1 << 20
_FILES_MAX = 200_000
_DEPTH_MAX = 64
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FROM = re.compile(r"(?mi)^FROM\s+\S+\s*$")
_TAKES = re.compile(r"(?mi)^(COPY|ADD)\s+(?!--from=)(.*)$")


class Refused(Exception):
    """A deliverable of an earlier trial is not to be begun from: `path`, and why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} {why}")
        self.path = path
        self.why = why


def earlier_folder(folder: Path, of: str) -> Path:
    """Where the earlier task lies: in the same catalogue as the sequel in `folder`."""
    return folder.parent.parent / of


def problems(earlier: Task, folder: Path) -> list[tuple[str, str]]:
    """What keeps the sequel in `folder` from beginning so: what is wrong, and the remedy."""
    found = []
    if earlier.steps:
        found.append(("the earlier task has several steps", "name one that has a single step"))
    names = [PurePosixPath(each.path).name for each in earlier.deliverables]
    if len(set(names)) < len(names):
        found.append(
            ("the earlier task delivers two things of one name", "they lie in one folder here")
        )
    if (folder / "environment" / FOLDER).exists():
        found.append((f"environment/{FOLDER} is there already", "that name is for what crosses"))
    return found


def recipe_digest(earlier: Path) -> str:
    """Names how the authors' earlier deliverable is made, and what of it crosses."""
    told = tomllib.loads((earlier / "task.toml").read_text(encoding="utf-8"))
    crosses = [
        (each["path"], each["kind"]) for each in told["metadata"]["benchflow"]["deliverables"]
    ]
    return hashlib.sha256(f"{digest_of(earlier, _RECIPE)} {crosses}".encode()).hexdigest()


def with_recipe(own: str, sequel: Sequel | None) -> str:
    """A task's digest: of its `own` folder, and of what it begins from where it is a sequel."""
    if sequel is None:
        return own
    return hashlib.sha256(f"{own} {recipe_digest(sequel.earlier.path)}".encode()).hexdigest()


def delivered_digest(earlier: Task, folder: Path) -> str:
    """Names what a trial delivered below `folder`, at the paths of `earlier`. Raises Refused."""
    total = hashlib.sha256()
    for each in earlier.deliverables:
        content = _carry(folder, each, None)
        total.update(f"{each.path}\0{content}\0".encode())
    return total.hexdigest()


def write(task: Task, target: Path, begun: Begun | None) -> None:
    """Adds what `task` begins from to its staged form in `target`. Nothing where it is no sequel.

    Raises UsageError where what the trial delivered is no longer what it was.
    """
    if task.sequel is None:
        return
    for part in ("environment", "tests"):
        folder = target / part
        if begun is None:
            _write_recipe(task, folder / FOLDER)
        else:
            _write_delivered(task.sequel.earlier, folder / FOLDER, begun)
        dockerfile = folder / "Dockerfile"
        text = dockerfile.read_text(encoding="utf-8").rstrip("\n")
        first = "" if begun else _first_stage(task.sequel.earlier)
        source = f"{FOLDER}/" if begun else f"--from={FOLDER} {_MADE}/"
        dockerfile.write_text(f"{first}{text}\nCOPY {source} {task.sequel.place}/\n")


def _write_recipe(task: Task, folder: Path) -> None:
    assert task.sequel is not None
    earlier = task.sequel.earlier.path
    for part in _RECIPE:
        for path in files_below(earlier / part):
            copy = folder / part / path.relative_to(earlier / part)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(shell_pieces.read(path, earlier))
            copy.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    own = task.path / "environment" / SCRIPT
    script = shell_pieces.read(own, task.path) if own.is_file() else b"bash /solution/solve.sh\n"
    (folder / SCRIPT).write_bytes(script)


def _first_stage(earlier: Task) -> str:
    text = (earlier.path / "environment" / "Dockerfile").read_text(encoding="utf-8")
    bases = list(_FROM.finditer(text))
    if len(bases) != 1 or "<<" in text:
        raise TaskError(
            f"{earlier.name}: its Dockerfile has several stages or here-documents",
            hint="a sequel begins from a task with a plain Dockerfile of one stage",
        )
    base = bases[0]
    text = f"{text[: base.end()].rstrip()} AS {FOLDER}{text[base.end() :]}"
    text = _TAKES.sub(_from_below, text).rstrip("\n")
    paths = " ".join(shlex.quote(each.path) for each in earlier.deliverables)
    folders = "-r " if any(each.kind == "directory" for each in earlier.deliverables) else ""
    return (
        f"{text}\n"
        f"COPY {FOLDER}/solution /solution\n"
        f"COPY {FOLDER}/{SCRIPT} /{SCRIPT}\n"
        f"RUN bash /{SCRIPT} && mkdir {_MADE} && cp {folders}--sparse=always {paths} {_MADE}/\n\n"
    )


def _from_below(found: re.Match[str]) -> str:
    words = found[2].split()
    flags = [word for word in words if word.startswith("--")]
    paths = [word for word in words if not word.startswith("--")]
    if found[2].lstrip().startswith("[") or found[2].endswith("\\"):
        raise TaskError(
            f"{found[0]}: cannot be read in the Dockerfile of a sequel's earlier task",
            hint="write COPY SOURCE… TARGET in one line",
        )
    below = [f"{FOLDER}/environment/{path}" for path in paths[:-1]]
    return " ".join([found[1], *flags, *below, paths[-1]])


def _write_delivered(earlier: Task, folder: Path, begun: Begun) -> None:
    folder.mkdir()
    total = hashlib.sha256()
    try:
        for each in earlier.deliverables:
            content = _carry(begun.folder, each, folder / PurePosixPath(each.path).name)
            total.update(f"{each.path}\0{content}\0".encode())
    except Refused as error:
        raise UsageError(
            f"{begun.trial}: {error.path} {error.why}",
            hint="begin from another trial, or leave --from-trial out",
        ) from error
    if total.hexdigest() != begun.digest:
        raise UsageError(
            f"{begun.trial}: what it delivered has changed since",
            hint="begin from a trial whose artifacts nobody has touched",
        )


def _carry(folder: Path, each: Deliverable, target: Path | None) -> str:
    """Copies what is delivered at one path, holes left out, and names its content; copies nothing
    where there is no `target`. It is an agent's work: no link is followed, and no more than the
    task allows is read. Raises Refused."""
    source = _opened(folder, each.path)
    try:
        if each.kind != "directory":
            return _carry_file(source, each, _Room(each), target)
        if not stat.S_ISDIR(os.fstat(source).st_mode):
            raise Refused(each.path, "is not a folder")
        return "".join(_carry_folder(source, each, _Room(each), target, ""))
    finally:
        os.close(source)


class _Room:
    """What one deliverable may still hold."""

    def __init__(self, each: Deliverable) -> None:
        self._bytes, self._stored = each.max_mb * _MIB, each.max_stored_mb * _MIB
        self._files = _FILES_MAX

    def takes(self, told: os.stat_result) -> bool:
        self._files -= 1
        if stat.S_ISREG(told.st_mode):
            self._bytes -= told.st_size
            self._stored -= told.st_blocks * 512
        return min(self._bytes, self._stored, self._files) >= 0


def _carry_file(source: int, each: Deliverable, room: _Room, target: Path | None) -> str:
    told = os.fstat(source)
    if not stat.S_ISREG(told.st_mode):
        raise Refused(each.path, "is not a regular file")
    if not room.takes(told):
        raise Refused(each.path, f"is larger than the {each.max_mb} MiB that are allowed")
    return _copied(source, told.st_size, target)


def _carry_folder(
    source: int, each: Deliverable, room: _Room, target: Path | None, below: str
) -> Iterator[str]:
    if below.count("/") > _DEPTH_MAX or not room.takes(os.fstat(source)):
        raise Refused(each.path, "holds more than the task allows")
    if target is not None:
        target.mkdir()
    for name in sorted(os.listdir(source)):
        path = f"{below}{name}"
        try:
            inner = os.open(name, _FLAGS, dir_fd=source)
        except OSError as error:
            raise Refused(f"{each.path}/{path}", f"cannot be read: {error.strerror}") from error
        copy = None if target is None else target / name
        try:
            if stat.S_ISDIR(os.fstat(inner).st_mode):
                yield f"{path}/\0"
                yield from _carry_folder(inner, each, room, copy, f"{path}/")
            else:
                yield f"{path}\0{_carry_file(inner, each, room, copy)}\0"
        finally:
            os.close(inner)


def _opened(folder: Path, path: str) -> int:
    parts = PurePosixPath(path).parts[1:]
    try:
        at = os.open(folder, _FLAGS | os.O_DIRECTORY)
        for number, part in enumerate(parts, 1):
            more = os.O_DIRECTORY if number < len(parts) else 0
            try:
                inner = os.open(part, _FLAGS | more, dir_fd=at)
            finally:
                os.close(at)
            at = inner
    except FileNotFoundError:
        raise Refused(path, "is gone") from None
    except OSError as error:
        raise Refused(path, f"cannot be read as a file: {error.strerror}") from error
    return at


def _copied(source: int, size: int, target: Path | None) -> str:
    total, left = hashlib.sha256(), size
    with (target or Path(os.devnull)).open("wb") as copy:
        while left and (data := os.read(source, min(_CHUNK, left))):
            total.update(data)
            left -= len(data)
            if target is None:
                continue
            if data.count(0) == len(data):
                copy.seek(len(data), os.SEEK_CUR)
            else:
                copy.write(data)
        if target is not None:
            copy.truncate(size)
    return f"{size - left} {total.hexdigest()}"
