"""docs/reference/task-toml.md: every key of task.toml, from the schema that reads it."""

from __future__ import annotations

import ast

from benchflow.reference.markdown import table
from benchflow.reference.source import Field, classes, fields, module

_MODULE = "benchflow.tasks.schema"
_INTRODUCTION = """\
# task.toml

For authors of tasks, to look a key up. How a task is written: [authoring.md](../authoring.md).

Made of `src/benchflow/tasks/schema.py` (`python -m benchflow.reference`); not edited. A task of \
ours is a Harbor task (schema 1.4) with the table `[metadata.benchflow]`. A key that is not here \
is refused, since it is most often a typing error. A key without a default has to be there. Plain \
Harbor tasks are read by Harbor and not by this. `Name` is lower-case letters, digits and hyphens; \
`AbsolutePath` begins with a slash and does not end with one.
"""
#: Class of the schema → the table in which its keys stand.
_TABLES = {
    "TaskFile": "The file",
    "Package": "[task]",
    "Author": "[[task.authors]]",
    "Agent": "[agent]",
    "Verifier": "[verifier]",
    "Environment": "[environment]",
    "Benchflow": "[metadata.benchflow]",
    "Generated": "[metadata.benchflow.generated]",
    "Deliverable": "[[metadata.benchflow.deliverables]]",
    "Exploit": "[[metadata.benchflow.exploits]]",
    "Variant": "[[metadata.benchflow.variants]]",
    "CommonExploit": "[[metadata.benchflow.common_exploits]]",
    "AuthorDid": "[[metadata.benchflow.authors]]",
    "Reviewer": "[[metadata.benchflow.reviewers]]",
    "Step": "[[steps]]",
}


def page() -> str:
    """The whole page."""
    known = classes(_MODULE)
    parts = [_INTRODUCTION]
    for name, title in _TABLES.items():
        rows = [_row(field) for field in fields(known[name])]
        parts.append(f"## `{title}`\n" if title.startswith("[") else f"## {title}\n")
        if says := _doc(name):
            parts.append(f"{says}\n")
        parts.append(table(["key", "value", "default", "meaning"], rows))
    return "\n".join(parts)


def undocumented() -> list[str]:
    """Keys that say nothing of what they mean, as “Class.key”."""
    return [
        f"{name}.{field.name}"
        for name, node in classes(_MODULE).items()
        if not name.startswith("_")
        for field in fields(node)
        if field.name != "model_config" and not field.says
    ]


def _doc(name: str) -> str:

    return " ".join((ast.get_docstring(classes(_MODULE)[name]) or "").split())


def _row(field: Field) -> list[str]:
    return [f"`{field.name}`", _type(field.type), _default(field.default), field.says]


def _default(text: str) -> str:
    """The default in words: `Field(512, ge=16)` → `512`; "" where the key is needed."""

    if not text:
        return ""
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.Call):
        if not node.args:
            return ""
        text = ast.unparse(node.args[0])
    return "not set" if text == "None" else f"`{text}`"


def _type(text: str) -> str:
    """The module's own lists of values are written out, patterns are left out."""
    if text.startswith("Annotated["):
        text = text[len("Annotated[") :].partition(",")[0]

    for statement in module(_MODULE).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name, value = statement.targets[0].id, ast.unparse(statement.value)
            if value.startswith("Literal["):
                text = text.replace(name, value)
    return f"`{text}`"
