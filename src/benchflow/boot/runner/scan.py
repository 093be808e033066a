"""Read the milestones of a checks.py without executing a line of it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Never

from benchflow.boot.milestones import ChecksError, Declaration, MilestoneSpec, build_ladder, declare

MODULE = "benchflow.boot"
_KEYS = {"milestone": {"weight", "requires", "proves", "title"}, "check": {"proves"}}
_ID_KEY = {"milestone": "id", "check": "milestone_id"}


def scan(path: Path) -> list[MilestoneSpec]:
    """The milestones and checks that the file at `path` declares, in file order.

    Reads literals only. Raises ChecksError, which names the file, the line and the fix, for
    everything that the plugin would refuse too: syntax errors, duplicate ids, unknown or cyclic
    prerequisites, checks of unknown milestones, arguments that are not literals, test functions
    that belong to no milestone. OSError when the file cannot be read.
    """
    return scan_text(path.read_bytes(), path.name)


def scan_text(source: bytes | str, file: str) -> list[MilestoneSpec]:
    """The same for source that is already read; `file` is the name used in errors."""
    try:
        tree = ast.parse(source, filename=file)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 0
        raise ChecksError(f"not valid Python: {error}", file=file, line=line) from error
    return build_ladder(file, _Reader(file).read(tree))


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.names: dict[str, str] = {}
        self.modules: set[str] = set()

    def read(self, tree: ast.Module) -> list[tuple[str, int, Declaration]]:
        for node in ast.walk(tree):
            self._learn_import(node)
        declared: list[tuple[str, int, Declaration]] = []
        top = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            found = [d for d in node.decorator_list if self._kind(d)]
            self._check_place(node, found, at_top=id(node) in top)
            if found:
                declared.append((node.name, node.lineno, self._declaration(node, found)))
        return sorted(declared, key=lambda row: row[1])

    def _learn_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.ImportFrom) and node.module == MODULE:
            for alias in node.names:
                if alias.name == "*":
                    self._fail("import * hides what is used", node, "import the names you need")
                if alias.name in _KEYS:
                    self.names[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom) and node.module == "benchflow":
            self.modules |= {a.asname or a.name for a in node.names if a.name == "boot"}
        elif isinstance(node, ast.Import):
            self.modules |= {a.asname or a.name for a in node.names if a.name == MODULE}

    def _kind(self, node: ast.expr) -> str | None:
        """`milestone` or `check` when the decorator is one of ours, called or not."""
        target = node.func if isinstance(node, ast.Call) else node
        if isinstance(target, ast.Name):
            return self.names.get(target.id)
        if (
            isinstance(target, ast.Attribute)
            and target.attr in _KEYS
            and ast.unparse(target.value) in self.modules
        ):
            return target.attr
        return None

    def _check_place(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
        found: list[ast.expr],
        *,
        at_top: bool,
    ) -> None:
        if isinstance(node, ast.ClassDef):
            if found or (at_top and node.name.startswith("Test")):
                self._fail(f"class {node.name}: checks are functions", node, "write functions")
            return
        if found and not at_top:
            self._fail(f"{node.name} is a check inside something else", node, "move it to the top")
        if found and isinstance(node, ast.AsyncFunctionDef):
            self._fail(f"{node.name} is async", node, "write a plain def")
        if found and not node.name.startswith("test_"):
            self._fail(
                f"{node.name} is a check but is never run", node, "begin its name with test_"
            )
        if at_top and not found and node.name.startswith("test_"):
            self._fail(
                f"{node.name} belongs to no milestone", node, 'add @milestone("…") or @check("…")'
            )
        if len(found) > 1:
            self._fail(f"{node.name} is declared twice", node, "keep one @milestone or @check")

    def _declaration(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, found: list[ast.expr]
    ) -> Declaration:
        decorator = found[0]
        kind = self._kind(decorator) or ""
        if not isinstance(decorator, ast.Call):
            self._fail(f"@{kind} without a milestone", decorator, f'write @{kind}("…")')
        if len(decorator.args) > 1:
            self._fail(f"@{kind} has one positional argument", decorator, "name the others")
        values: dict[str, object] = {}
        if decorator.args:
            values["id"] = self._literal(decorator.args[0], f"the milestone of @{kind}")
        for keyword in decorator.keywords:
            key = "id" if keyword.arg == _ID_KEY[kind] else keyword.arg
            if key is None or key in values or key not in _KEYS[kind] | {"id"}:
                known = ", ".join(sorted(_KEYS[kind]))
                self._fail(f"@{kind} does not take {keyword.arg or '**'}", keyword, f"use {known}")
            values[key] = self._literal(keyword.value, f"{key} of @{kind}")
        if "id" not in values:
            self._fail(f"@{kind} without a milestone", decorator, f'write @{kind}("…")')
        try:
            return declare(kind, values.pop("id"), **values)
        except ChecksError as error:
            raise ChecksError(
                error.problem, file=self.file, line=decorator.lineno, fix=error.fix
            ) from None

    def _literal(self, node: ast.expr, what: str) -> object:
        try:
            value: object = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            self._fail(f"{what} is not a literal: {ast.unparse(node)[:80]}", node, "write it out")
        return value

    def _fail(self, problem: str, node: ast.AST, fix: str) -> Never:
        line = getattr(node, "lineno", 0)
        raise ChecksError(problem, file=self.file, line=line, fix=fix)
