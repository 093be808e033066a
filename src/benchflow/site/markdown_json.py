"""A page's twins for machines: the same content as Markdown and as JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import to_builtins
from msgspec.json import Encoder

from benchflow.base.numbers import plural
from benchflow.site.page_model import (
    Block,
    Cell,
    Command,
    Console,
    Facts,
    Figure,
    Inline,
    Ladder,
    Link,
    Page,
    Prose,
    Table,
    Trajectory,
    TrialList,
)

SCHEMA = 1
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~])")


def _number(value: object) -> object:
    # What numpy computed is a number for machines too.
    return value.item() if isinstance(value, np.generic) else str(value)


_encode = Encoder(enc_hook=_number).encode


def to_json(page: Page) -> str:
    """The page as one JSON document; tables are lists of objects with the machine's values.

    A number that is none is null.
    """
    document = {
        "schema": SCHEMA,
        "page": page.path,
        "title": page.title,
        "summary": _plain(page.lede),
        **page.about,
        "sections": {
            section.key: [_block_json(block) for block in section.blocks]
            for section in page.sections
        },
    }
    try:
        return _encode(document).decode() + "\n"
    except UnicodeEncodeError:  # a path whose bytes are no UTF-8
        plain = to_builtins(document, enc_hook=_number, str_keys=True)
        text = json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")
        return _encode(json.loads(text, parse_constant=lambda _: None)).decode() + "\n"


def to_markdown(page: Page) -> str:
    """The page as Markdown; links lead to the Markdown twins of the other pages."""
    root = "../" * page.depth
    parts = [f"# {_escape(page.title)}", _inline(page.lede, root)]
    for section in page.sections:
        parts.append(f"## {_escape(section.title)}" if section.title else "")
        told: list[str] = []
        for block in section.blocks:
            # A figure's table is often the one that follows it.
            new = [part for part in _block_markdown(block, root) if part not in told]
            told += new
        parts += told
    return "\n\n".join(part for part in parts if part) + "\n"


def _block_json(block: Block) -> Any:
    match block:
        case Table():
            return {"table": block.key, "caption": block.caption, "rows": _rows(block)}
        case Figure():
            return {"figure": block.key, "title": block.title, "rows": _rows(block.table)}
        case Prose():
            return {"text": [_plain(paragraph) for paragraph in block.paragraphs]}
        case Facts():
            return {"facts": {label: _finite(cell.value) for label, cell in block.items}}
        case Ladder() | Console() | Trajectory() | Command() | TrialList():
            return {block.kind: block}


def _rows(table: Table) -> list[dict[str, Any]]:
    keys = [column.key for column in table.columns]
    return [
        {key: _finite(cell.value) for key, cell in zip(keys, row, strict=True)}
        for row in table.rows
    ]


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _block_markdown(block: Block, root: str) -> Iterator[str]:
    match block:
        case Table():
            yield _table(block, root)
        case Figure():
            yield f"**{_escape(block.title)}** {_escape(block.reading)}"
            yield _table(block.table, root)
        case Prose():
            lines = [_inline(paragraph, root) for paragraph in block.paragraphs]
            if block.look == "list":
                yield "\n".join(f"- {line}" for line in lines)
            else:
                yield from lines
        case Facts():
            yield "\n".join(f"- {_escape(k)}: {_cell(cell, root)}" for k, cell in block.items)
        case Ladder():
            yield "\n".join(_ladder(block))
        case Console():
            yield (
                f"Console of {_escape(block.machine)}: {block.n_lines:,} lines over "
                f"{block.seconds:.0f} s, [plain text]({root}{block.text})"
            )
        case Trajectory():
            first = block.data.format(0)
            steps = plural(block.n_steps, "step")
            yield f"{steps}, {block.chunk} a file, from [{first}]({root}{first})"
        case Command():
            yield f"{_escape(block.title)}:"
            yield "\n".join("    " + line for line in block.text.splitlines())
        case TrialList():
            yield (
                f"{plural(block.n_trials, 'trial')}; their rows, as JSON for programs: "
                + ", ".join(f"[{name}]({root}{name})" for name in block.shards)
            )


def _table(table: Table, root: str) -> str:
    lines = [
        "| " + " | ".join(_escape(c.label) for c in table.columns) + " |",
        "|" + "|".join("--:" if c.numeric else "---" for c in table.columns) + "|",
    ]
    lines += ["| " + " | ".join(_cell(cell, root) for cell in row) + " |" for row in table.rows]
    return (f"{_escape(table.caption)}\n\n" if table.caption else "") + "\n".join(lines)


def _ladder(ladder: Ladder) -> Iterator[str]:
    for step in ladder.steps:
        yield f"- **{_escape(step.id)}** {step.status}: {_escape(step.title)}".rstrip(": ")
        if not step.proofs and step.message:
            yield f"  - {_one_line(step.message)}"
        for proof in step.proofs:
            text = f"  - {proof.status}: {_escape(proof.name)}"
            yield f"{text}: {_one_line(proof.message)}" if proof.message else text


def _cell(cell: Cell, root: str) -> str:
    text = _dots(cell.dots, root) if cell.dots else _one_line(cell.text)
    return f"[{text}]({root}{_twin(cell.href)})" if cell.href and text else text


@lru_cache(4096)
def _dots(dots: tuple[tuple[str, str, str], ...], root: str) -> str:
    # Once for all pages that show the same trials: benchflow.site.attempt_dots.
    return " ".join(f"[{tone}]({root}{_twin(href)})" for tone, _, href in dots)


def _inline(parts: tuple[Inline, ...], root: str) -> str:
    return "".join(
        f"[{_escape(part.text)}]({root}{_twin(part.href)})"
        if isinstance(part, Link)
        else _escape(part)
        for part in parts
    )


def _plain(parts: tuple[Inline, ...]) -> str:
    return "".join(part.text if isinstance(part, Link) else part for part in parts)


def _twin(href: str) -> str:
    path, separator, fragment = href.partition("#")
    return path.removesuffix(".html") + ".md" + separator + fragment


def _one_line(text: str) -> str:
    return _escape(" ".join(text.split()))


def _escape(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)
