"""docs/reference/checks-api.md: all that a check can import from `benchflow.boot`."""

from __future__ import annotations

import ast
import inspect

from benchflow import boot
from benchflow.reference.source import classes, constructor, functions, methods, module, signature

_INTRODUCTION = """\
# The checks API

For authors of a task's `tests/checks.py`, to look a name up. How checks become a verdict: \
[checks.md](../checks.md); what a machine promises, and what is believed of a guest: \
[boot.md](../boot.md).

Made of the code (`python -m benchflow.reference`); not edited. Import from `benchflow.boot`. All \
times are reference seconds.
"""
#: Title → modules, in the order of the page; what a module defines and `benchflow.boot` offers,
#: and the classes that come out of it.
_PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "Declare milestones and checks": {
        "milestones": ("milestone", "check", "MilestoneSpec", "CheckSpec", "ChecksError")
    },
    "Machines": {
        "machine.virtual_machine": ("Machine",),
        "machine.disks": ("Disk",),
        "machine.nics": ("Nic",),
        "machine.shell": ("Shell",),
        "machine.frames": ("Result", "Apart"),
        "machine.console": ("Console",),
        "machine.deadline": ("Deadline",),
        "observer": ("Observer",),
    },
    "Deliverables and file systems, without booting": {
        "inspect.deliverable": ("Deliverable",),
        "inspect.image": ("Image",),
        "inspect.partitions": ("Partition",),
        "inspect.filesystem": ("Entry", "FileSystem"),
        "inspect.cpio": ("Initramfs",),
        "inspect.archive": ("Tar", "decompress"),
        "inspect.elf": ("Elf", "is_elf", "strings"),
        "inspect.kernel_image": ("kernel_release", "kernel_banner", "unpack_kernel"),
    },
    "Signatures": {"inspect.ed25519": (), "inspect.openpgp": ()},
}


def page() -> str:
    """The whole page."""
    parts = [_INTRODUCTION, "## Fixtures\n", _fixtures()]
    for title, modules in _PARTS.items():
        parts.append(f"## {title}\n")
        for name, offered in modules.items():
            parts += _module(name, offered)
    parts += ["## Errors\n", f"```\n{_tree()}\n```\n"]
    return "\n".join(parts)


def documented() -> set[str]:
    """Names of `benchflow.boot` that the page has, errors included."""
    named = {n for modules in _PARTS.values() for names in modules.values() for n in names}
    return named | {name for name in boot.__all__ if name in _tree()}


def _fixtures() -> str:
    node = classes("benchflow.boot.runner.fixtures")["Fixtures"]
    lines = [f"- `{method.name}`: {_first(method)}" for method in methods(node)]
    return "\n".join(lines) + "\n"


def _module(name: str, offered: tuple[str, ...]) -> list[str]:
    full = f"benchflow.boot.{name}"
    known: dict[str, ast.FunctionDef | ast.ClassDef] = {**functions(full), **classes(full)}
    if not offered:
        short = name.rpartition(".")[2]
        public = [n for n in known if not n.startswith("_") and ast.get_docstring(known[n])]
        title = [
            f"### `{short}`\n",
            f"`from benchflow.boot import {short}`. {_doc(module(full))}\n",
        ]
        return title + [_entry(known[n], prefix=f"{short}.") for n in public]
    return [_entry(known[n]) for n in offered]


def _entry(node: ast.FunctionDef | ast.ClassDef, prefix: str = "") -> str:
    if isinstance(node, ast.FunctionDef):
        return f"### `{prefix}{node.name}`\n\n{_code(prefix + signature(node))}\n\n{_doc(node)}\n"
    lines = [f"### `{prefix}{node.name}`\n", f"{_code(constructor(node))}\n", f"{_doc(node)}\n"]
    told = [f"- `{signature(method)}`: {_first(method)}" for method in methods(node)]
    return "\n".join([*lines, *([*told, ""] if told else [])])


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _doc(node: ast.FunctionDef | ast.ClassDef | ast.Module) -> str:
    return inspect.cleandoc(ast.get_docstring(node) or "")


def _first(node: ast.FunctionDef) -> str:
    """The docstring as one paragraph: these stand in a list."""
    return " ".join(_doc(node).split())


def _tree() -> str:
    text = ast.get_docstring(module("benchflow.boot.errors")) or ""
    return text[text.index("BootError") :].rstrip()
