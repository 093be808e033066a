"""What a module says of itself, read from its source: signatures, fields, docstrings."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Field:
    """One annotated attribute of a class; `says`: the string below it."""

    name: str
    type: str
    default: str
    says: str


@cache
def module(name: str) -> ast.Module:
    """The syntax tree of a module, which is not imported."""
    spec = importlib.util.find_spec(name)
    assert spec and spec.origin, name
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def classes(name: str) -> dict[str, ast.ClassDef]:
    """The classes of a module, in its order."""
    return {node.name: node for node in module(name).body if isinstance(node, ast.ClassDef)}


def functions(name: str) -> dict[str, ast.FunctionDef]:
    """The functions of a module, in its order."""
    return {node.name: node for node in module(name).body if isinstance(node, ast.FunctionDef)}


def fields(node: ast.ClassDef) -> Iterator[Field]:
    """Annotated attributes in their order; those with a leading underscore are left out."""
    for place, statement in enumerate(node.body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if statement.target.id.startswith("_"):
            continue
        default = ast.unparse(statement.value) if statement.value else ""
        below = node.body[place + 1] if place + 1 < len(node.body) else None
        says = ""
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            says = " ".join(str(below.value.value).split())
        yield Field(statement.target.id, ast.unparse(statement.annotation), default, says)


def methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Public methods and properties that say what they do."""
    for statement in node.body:
        if (
            isinstance(statement, ast.FunctionDef)
            and not statement.name.startswith("_")
            and ast.get_docstring(statement)
        ):
            yield statement


def constructor(node: ast.ClassDef) -> str:
    """`Disk(path: Path, bus: Bus = 'virtio')`: from `__init__`, else from a dataclass' fields."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            return f"{node.name}({_arguments(statement)})"
    parts = [
        f"{field.name}: {field.type}" + (f" = {field.default}" if field.default else "")
        for field in fields(node)
    ]
    return f"{node.name}({', '.join(parts)})"


def signature(node: ast.FunctionDef) -> str:
    """`run(command: str, timeout: float = 30.0) -> Result`; a property has no parentheses."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    names = {ast.unparse(decorator) for decorator in node.decorator_list}
    if "property" in names:
        return f"{node.name}{returns}"
    return f"{node.name}({_arguments(node)}){returns}"


def _arguments(node: ast.FunctionDef) -> str:
    arguments = ast.parse(f"def f({ast.unparse(node.args)}): pass").body[0]
    assert isinstance(arguments, ast.FunctionDef)
    named = arguments.args
    if named.args and named.args[0].arg in ("self", "cls"):
        named.args = named.args[1:]
    return ast.unparse(named)
