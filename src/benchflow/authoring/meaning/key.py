"""What the gates of a task depend on, part by part, and the key that is made of it.

Parts: one a module of `boot` and of the task's own `tests` (the definitions that count), one a
folder that no Python of ours runs (`environment`, `solution`, what else lies in `tests`), what
`task.toml` says that a trial or a verdict reads, the libraries that travel with `boot`, and the
packages of the verifier's image.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from benchflow.authoring.meaning.reach import Reached
from benchflow.authoring.meaning.renames import Renames
from benchflow.authoring.meaning.syntax import Definition, Module, read
from benchflow.authoring.meaning.tree_text import Canonical
from benchflow.errors import TaskError
from benchflow.tasks.digest import digest_of, files_below
from benchflow.tasks.sequels import earlier_folder, recipe_digest

_FORMAT = 1
#: The folder that `benchflow` lies in.
SOURCES = Path(__file__).parents[3]
#: Where every verification begins, whatever the task.
_RUNNER = (
    "benchflow.boot.__main__",
    "benchflow.boot.runner.verify",
    "benchflow.boot.runner.plugin",
)
#: Outside of the verifier only.
_NOT_INSIDE = frozenset({"benchflow.boot.runner.zipapp", "benchflow.boot.runner.debian_packages"})
#: Distributions whose sources travel with `boot`.
_LIBRARIES = ("pexpect", "ptyprocess", "qemu.qmp")
#: What `task.toml` says for people: no trial and no verdict reads it.
_FOR_PEOPLE = {
    "task": ("version", "description", "authors", "keywords"),
    "metadata.benchflow": (
        "topic", "name", "family", "variant", "generated", "skills", "expert_minutes",
        "expert_minutes_basis", "oracle_minutes", "needs", "unverified", "exploits",
        "common_exploits", "variants", "authors", "reviewers",
    ),
}  # fmt: skip


def key_of(parts: Mapping[str, str]) -> str:
    """Twelve hexadecimal digits for all parts."""
    return hashlib.sha256(json.dumps([_FORMAT, dict(parts)], sort_keys=True).encode()).hexdigest()[
        :12
    ]


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Names of the parts that differ, or that only one of the two has."""
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))


def parts_of(
    folder: Path, sources: Path = SOURCES, renames: Renames | None = None
) -> dict[str, str]:
    """Part → its meaning, as eight hexadecimal digits, of the task of ours in `folder`.

    `sources` and `renames`: other ones than those in use, to compare. Raises TaskError for Python
    that cannot be read, UsageError for a table of renames that is no proof.
    """
    table = Renames.read() if renames is None else renames
    parts: dict[str, str] = {}
    for tests in [folder / "tests", *sorted(folder.glob("steps/*/tests"))]:
        if tests.is_dir():
            code = _code(tests, sources, table)
            parts |= code | _other_files(folder, tests, frozenset(code))
    # Byte by byte: an agent reads the one, an oracle may deliver the other as it is.
    for part in ("environment", "solution", *_of_steps(folder, "solution")):
        parts[part] = digest_of(folder, [part])[:8]
    if earlier := told(folder)["metadata"]["benchflow"].get("sequel"):
        parts["earlier"] = recipe_digest(earlier_folder(folder, earlier["of"]))[:8]
    parts["task.toml"] = _short(told(folder))
    parts["libraries"] = _short(library_versions())
    parts["packages"] = _short(_packages(folder))
    return parts


def library_versions() -> dict[str, str]:
    """The distributions whose sources travel with `boot`, and which version is installed here."""
    return {name: metadata.version(name) for name in _LIBRARIES}


def reached(
    tests: Path, sources: Path = SOURCES, renames: Renames | None = None
) -> dict[tuple[str, str], Definition]:
    """(module, definition) → what counts for the checks in `tests`, by today's names.

    Modules of the task are called by their plain names. Raises as `parts_of`.
    """
    own = _own_modules(tests)
    table = Renames.read() if renames is None else renames
    canonical = _of_task(tests, table)

    @functools.cache
    def find(name: str) -> Module | None:
        if name in own:
            with _readable(own[name]):
                source = own[name].read_text(encoding="utf-8")
                return _own(source, name, _prefix(tests), frozenset(own), table)
        travels = name == "benchflow" or name.startswith(("benchflow.boot", "benchflow.bench"))
        return _shared(name, sources, table) if travels and name not in _NOT_INSIDE else None

    found = Reached(find)
    for root in (*_RUNNER, "checks", "conftest"):
        found.all_of(root)
    found.close()
    mentions = {word for each in found.found.values() for word in each.mentions}
    # Of the task's own too: what moved out of its tests is recorded under their names.
    names = {canonical(f"{module}:{name}") if module in own else f"{module}:{name}"
             for module, name in found.found}  # fmt: skip
    table.refuse_collisions(names, mentions)
    return found.found


def _prefix(tests: Path) -> str:
    """The place of the task's own modules in its folder."""
    return f"steps.{tests.parent.name}.tests" if tests.parent.parent.name == "steps" else "tests"


def _of_task(tests: Path, renames: Renames) -> Canonical:
    return _canonical(_prefix(tests), frozenset(_own_modules(tests)), renames)


def _canonical(prefix: str, own: frozenset[str], renames: Renames) -> Canonical:
    """Recorded names, those of the task's own modules by their place (`tests.checks:test_it`)."""

    def canonical(name: str) -> str:
        module, colon, _ = name.partition(":")
        return f"{prefix}.{name}" if colon and module in own else renames(name)

    return canonical


def _code(tests: Path, sources: Path, renames: Renames) -> dict[str, str]:
    canonical = _of_task(tests, renames)
    by_module: dict[str, dict[str, str]] = {}
    for (module, name), definition in reached(tests, sources, renames).items():
        recorded = canonical(f"{module}:{name}")
        by_module.setdefault(recorded.partition(":")[0], {})[recorded] = definition.text
    return {
        module.removeprefix("benchflow.").replace(".", "/"): _short(texts)
        for module, texts in by_module.items()
    }


@functools.cache
def _shared(name: str, sources: Path, renames: Renames) -> Module | None:
    """A module that every task shares: read once for all of a catalogue, in one process."""
    path = sources / Path(*name.split("."))
    package = path / "__init__.py"
    if package.is_file():
        return _read(package, name, renames, is_package=True)
    source = path.with_suffix(".py")
    return _read(source, name, renames) if source.is_file() else None


@functools.cache
def _own(source: str, name: str, prefix: str, own: frozenset[str], renames: Renames) -> Module:
    """A module of a task's own: read once for the same text, in one process."""
    return read(source, name, _canonical(prefix, own, renames))


def _own_modules(tests: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(tests.glob("*.py"))}


def _read(path: Path, name: str, renames: Renames, *, is_package: bool = False) -> Module:
    with _readable(path):
        source = path.read_text(encoding="utf-8")
        return read(source, name, renames, is_package=is_package)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (SyntaxError, ValueError) as error:
        raise TaskError(f"{path}: cannot be read as Python: {error}", hint="fix it") from error


def _other_files(folder: Path, tests: Path, read_as_code: frozenset[str]) -> dict[str, str]:
    """Files of the tests by their bytes: what is no Python, what no check imports, and modules
    that a check names as a file, to run it elsewhere."""
    named = {
        word
        for path in _own_modules(tests).values()
        for word in re.findall(r"(\w+)\.py\b", path.read_text(encoding="utf-8"))
    }
    found = {}
    for path in files_below(tests):
        name = path.relative_to(folder).as_posix()
        is_module = path.suffix == ".py" and path.parent == tests
        if is_module and name.removesuffix(".py") in read_as_code and path.stem not in named:
            continue
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    return found


def _of_steps(folder: Path, part: str) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in sorted(folder.glob(f"steps/*/{part}"))]


def told(folder: Path) -> dict[str, Any]:
    """What `task.toml` says that a trial or a verdict reads."""
    data = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
    ours = dict(data["metadata"]["benchflow"])
    read = {**data, "metadata": {"benchflow": ours}, "task": dict(data["task"])}
    for place, keys in _FOR_PEOPLE.items():
        table = read
        for step in place.split("."):
            table = table.get(step, {})
        for key in keys:
            table.pop(key, None)
    return read


def _packages(folder: Path) -> str:
    from benchflow.tasks.stage import verifier_dockerfile

    ours = told(folder)["metadata"]["benchflow"]
    further = tuple(ours.get("further_arches", ()))
    return verifier_dockerfile(ours["arch"], ours["firmware"], further)


def _short(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]
