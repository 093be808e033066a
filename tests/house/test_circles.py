"""No module needs itself: imports are read from the sources, lazy ones and those for types too."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"


def modules(sources: Path) -> dict[str, Path]:
    """Dotted name → file. A task's template is no package."""
    found = {}
    for path in sorted(sources.rglob("*.py")):
        parts = path.relative_to(sources).with_suffix("").parts
        if "template" not in parts:
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """Which modules of `known` a file imports, wherever in it."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            target = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{target}.{alias.name}"
                found.add(inner if inner in known else target)
    return (found & known.keys()) - {name}


def circle(sources: Path) -> list[str]:
    """A circle of imports, or nothing."""
    known = modules(sources)
    graph = {name: imported(name, path, known) for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def test_no_module_needs_itself() -> None:
    assert len(modules(SOURCES)) > 300
    assert circle(SOURCES) == []


@pytest.mark.parametrize(
    "text",
    [
        "from house import b",
        "def late():\n    from house.b import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import x",
    ],
)
def test_a_circle_is_found_however_it_is_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house/__init__.py").touch()
    (tmp_path / "house/a.py").write_text(text + "\n")
    (tmp_path / "house/b.py").write_text("import house.a\n")
    assert set(circle(tmp_path)) == {"house.a", "house.b"}
