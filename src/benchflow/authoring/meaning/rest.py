"""What a task's own modules mean beyond the definitions that the key is made of.

Checks run in the order in which they stand in the file, and what a module does when it is imported
happens from top to bottom: `order`. Code that makes names while it runs comes to definitions that
no text names, and code that reads its own text to comments: then all of the modules counts. It is
kept beside the key, so that a record from before it was known still holds.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from benchflow.authoring.meaning.syntax import defined, is_registered, read
from benchflow.authoring.meaning.tree_text import FUNCTIONS, IMPORTS, is_docstring
from benchflow.errors import TaskError

#: What comes to definitions by names that are made while it runs.
_MAKES_NAMES = frozenset({"eval", "exec", "globals", "import_module", "vars", "__import__"})
_HOLDS_NAMES = frozenset({"__dict__", "modules"})
_READS_ITSELF = re.compile(r"\b(__doc__|getdoc|getsource\w*|getcomments|get_docstring)\b")


def rest_of(folder: Path) -> str:
    """Eight hexadecimal digits for the modules beside the checks of the task in `folder`. Raises
    TaskError for Python that cannot be read."""
    sources = {
        path.relative_to(folder).as_posix(): path
        for tests in (folder / "tests", *folder.glob("steps/*/tests"))
        for path in sorted(tests.glob("*.py"))
    }
    texts, trees = {}, {}
    for name, path in sources.items():
        try:
            texts[name] = path.read_text(encoding="utf-8")
            trees[name] = ast.parse(texts[name])
        except (SyntaxError, ValueError) as error:
            raise TaskError(f"{path}: cannot be read as Python: {error}", hint="fix it") from error
    told: dict[str, object] = {"order": {name: [*order(tree)] for name, tree in trees.items()}}
    if any(map(_makes_names, trees.values())):
        told["all"] = {name: _meaning(text) for name, text in texts.items()}
    if any(map(_READS_ITSELF.search, texts.values())):
        told["text"] = texts
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:8]


def order(tree: ast.Module) -> Iterator[str]:
    """Checks, hooks, values and other statements from top to bottom, by name where they have one;
    functions and classes that something has to name may lie anywhere."""
    for node in tree.body:
        if isinstance(node, IMPORTS) or is_docstring(node):
            continue
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)) or is_registered(node):
            yield " ".join(defined(node))


def _meaning(text: str) -> list[tuple[str, str]]:
    found = read(text, "own", lambda name: name).definitions
    return sorted((name, definition.text) for name, definition in found.items())


def _makes_names(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "id", getattr(called, "attr", ""))
        if name in _MAKES_NAMES or getattr(node, "attr", "") in _HOLDS_NAMES:
            return True
        asked = node.args[1:2] if isinstance(node, ast.Call) and name == "getattr" else []
        if any(not isinstance(each, ast.Constant) for each in asked):
            return True
    return False
