"""The words of docs/glossary.md are the words everywhere: pages, help, messages, docstrings.

Not looked at: what stands in back quotes or in a fence, and strings without white space (keys, file
names and other parts of formats, which keep the names that they had), tasks and their template
(stories of their own), and these:

- `authoring/corpus`: a gate's record holds for its very bytes;
- messages of `boot`: they are part of what a gate's record depends on, docstrings are not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/benchflow"
#: What is not said → what is said instead.
INSTEAD = {
    r"cheat(?:s|ed|ing)?": "exploit",
    r"rungs?": "milestone",
    r"mend(?:s|ed|ing)?": "fix, repair",
    r"anew": "again, from scratch",
    r"whoever": "who, the one that, somebody who",
    r"look(?:s|ed|ing)? on(?! (?:the|a|disk|top)\b)": "follow, watch, show",
    r"(?:go|goes|going|gone|went) on(?! (?:the|a)\b)": "continue, resume",
    r"the letter|letter's|letter alone|customer's letter": "instruction",
    r"wrong work": "an incorrect submission",
    r"right work": "correct work",
}
_WORDS = {re.compile(rf"\b(?:{old})\b", re.IGNORECASE): new for old, new in INSTEAD.items()}
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`|\]\([^)]*\)|<[^>]*>")
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("benchmarks/*.md"),
        *ROOT.glob("results/*.md"),
        *ROOT.glob("examples/*.md"),
    )
)
MODULES = sorted(
    path.relative_to(SOURCE).as_posix()
    for path in SOURCE.rglob("*.py")
    if not {"corpus", "template"} & set(path.relative_to(SOURCE).parts)
)


def wrong(text: str) -> list[str]:
    """Each word that is not ours, with what is said instead."""
    plain = _CODE.sub("", text)
    return [f"{hit[0]!r}: say {new}" for old, new in _WORDS.items() for hit in old.finditer(plain)]


@pytest.mark.parametrize("name", PAGES)
def test_pages_use_the_words_of_the_glossary(name: str) -> None:
    text = _FENCE.sub("", (ROOT / name).read_text())
    found = {
        f"{name}:{n}": said for n, line in enumerate(text.splitlines(), 1) if (said := wrong(line))
    }
    assert found == {}


@pytest.mark.parametrize("name", MODULES)
def test_help_messages_and_docstrings_use_them_too(name: str) -> None:
    found = {f"{name}:{line}": said for line, text in _texts(name) if (said := wrong(text))}
    assert found == {}


def _texts(name: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse((SOURCE / name).read_text())
    if name.startswith("boot/"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def test_the_list_sees_what_it_should_and_nothing_else() -> None:
    for said in ("Cheats gain", "a rung of it", "mended since", "starts anew", "Whoever asks"):
        assert wrong(said), said
    for said in (
        "it goes on with it",
        "who looks on",
        "gone on",
        "as the letter says",
        "wrong work",
    ):
        assert wrong(said), said
    for said in (
        "lower-case letters",
        "typed letter by letter",
        "the `rungs` table",
        "goes on a disk",
    ):
        assert not wrong(said), said
    assert not wrong("see [exploits](cheats.md)")
