"""What a change touches: a slow test always runs when one of its sources was changed.

Its sources are its own file, the modules that this imports, those of the helpers and fixtures of
tests that it imports, the packages of the command if it starts that, and the folder of the task
that it is about. What these import themselves are others' sources: nearly all depend on all.
"""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Who starts the command depends on what runs a job.
_COMMAND = ("src/benchflow/run/", "src/benchflow/sandbox/", "src/benchflow/cli/run.py")
_STARTS_IT = {"tests/run/plain.py", "tests/warm_command.py"}


def base() -> str:
    """$BENCHFLOW_CI_BASE, else where this branch left main, else the last commit."""
    if given := os.environ.get("BENCHFLOW_CI_BASE"):
        return given
    for main in ("origin/main", "main"):
        found = _git("merge-base", main, "HEAD")
        if found and found != _git("rev-parse", "HEAD"):
            return found[0]
    return "HEAD~1"


def changed(since: str) -> set[str]:
    """Files that differ from `since` in this checkout, new ones too; none where git cannot say."""
    return {
        *_git("diff", "--name-only", "--no-renames", since, "--"),
        *_git("ls-files", "--others", "--exclude-standard"),
    }


def is_touched(item: pytest.Item, files: set[str]) -> bool:
    task = getattr(getattr(item, "callspec", None), "params", {}).get("name")
    found = sources(item.path, task if isinstance(task, str) else "")
    return any(file.startswith(source) for source in found for file in files)


def sources(file: Path, task: str = "") -> set[str]:
    """Files, and folders with a slash at the end, from the root of the repository.

    `file`: of tests. `task`: a name; others than those of tasks say nothing.
    """
    own = file.relative_to(ROOT)
    conftests = [folder / "conftest.py" for folder in own.parents if folder != Path()]
    seeds = [str(own), *(str(path) for path in conftests if (ROOT / path).exists())]
    folders = {f"tasks/{task}/"} if task and (ROOT / "tasks" / task).is_dir() else set()
    return _closure(tuple(sorted(seeds))) | folders


@cache
def _closure(seeds: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    left = list(seeds)
    while left:
        file = left.pop()
        if file in found:
            continue
        found.add(file)
        if file in _STARTS_IT:
            found |= set(_COMMAND)
        if file.startswith("tests/") or file.endswith("/__init__.py"):  # what a package gives on
            left += _imported(file)
    return found - {"tests/conftest.py"}


@cache
def _imported(file: str) -> frozenset[str]:
    path = ROOT / file
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(place for name in names for place in _places(name, path.parent))


def _places(name: str, beside: Path) -> Iterator[str]:
    """The files of a module of ours; for a package, its own file."""
    below = name.replace(".", "/")
    tops = [ROOT / "src"] if name.startswith("benchflow") else [beside, ROOT / "tests", ROOT]
    for top in tops:
        for path in (top / f"{below}.py", top / below / "__init__.py"):
            if path.is_file():
                yield str(path.relative_to(ROOT))


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines() if done.returncode == 0 else []
