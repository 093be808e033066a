"""The package as a whole: what it imports, that its public names say what they promise."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from benchflow.boot.runner.debian_packages import packages

BENCH = Path(__file__).parents[2] / "src/benchflow/bench"
MODULES = sorted(path for path in BENCH.glob("*.py") if path.name != "__init__.py")
#: Libraries that a task has in its own verifier's image (`tests/image/build.sh`).
_OF_A_TASK = {"aiosmtpd"}
PAGE = BENCH.parents[2] / "docs/bench.md"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_it_imports_boot_and_what_the_verifiers_image_has(path: Path) -> None:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports of bench are absolute, so that a task's are alike"
            found.add(node.module or "")
    ours = ("benchflow.boot", "benchflow.bench")
    strange = {name for name in found if not name.startswith(ours)}
    in_image = {"cryptography"} if "python3-cryptography" in packages("x86_64", "bios") else set()
    text = path.read_text()
    in_image |= {name for name in _OF_A_TASK if f'PACKAGES = ("python3-{name}",)' in text}
    assert {name.partition(".")[0] for name in strange} <= sys.stdlib_module_names | in_image


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_public_names_have_contracts_and_the_page_has_the_module(path: Path) -> None:
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.ClassDef)
    public = [each for each in tree.body if isinstance(each, kinds) and each.name[0] != "_"]
    for owner in list(public):
        if isinstance(owner, ast.ClassDef):
            public += [each for each in owner.body
                       if isinstance(each, ast.FunctionDef) and each.name[0] != "_"]  # fmt: skip
    bare = {each.name for each in public if not ast.get_docstring(each)}
    assert ast.get_docstring(tree) and not bare
    assert f"`{path.stem}`" in PAGE.read_text()
    assert len(path.read_text().splitlines()) < 400
