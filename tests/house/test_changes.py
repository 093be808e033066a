"""Fragments of the changelog: one sentence each, of a kind that the changelog has."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "changes"
LENGTH_MAX = 240


def kinds() -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
    return [kind["directory"] for kind in settings["type"]]


def faults(folder: Path) -> list[str]:
    """What is wrong with the fragments in `folder`, "NAME: WHY" each."""
    found = []
    for file in sorted(folder.iterdir()):
        if file.name == "README.md":
            continue
        if not re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(kinds())})\.md", file.name):
            found.append(f"{file.name}: name it WHAT.{'|'.join(kinds())}.md")
        elif len(lines := file.read_text().splitlines()) != 1:
            found.append(f"{file.name}: {len(lines)} lines, one is asked for")
        elif len(lines[0]) > LENGTH_MAX or not lines[0].endswith("."):
            found.append(f"{file.name}: one sentence of at most {LENGTH_MAX} characters")
    return found


def test_every_fragment_is_a_sentence_of_a_known_kind() -> None:
    assert faults(FOLDER) == []


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("what.removed.md", "It is gone.\n", "name it"),
        ("what.md", "It is gone.\n", "name it"),
        ("what.fixed.md", "One.\nTwo.\n", "2 lines"),
        ("what.fixed.md", "", "0 lines"),
        ("what.added.md", "x" * 300 + ".\n", "one sentence"),
        ("what.added.md", "no end\n", "one sentence"),
    ],
)
def test_what_is_none_is_named(name: str, text: str, why: str, tmp_path: Path) -> None:
    shutil.copy(FOLDER / "README.md", tmp_path)
    (tmp_path / name).write_text(text)
    (fault,) = faults(tmp_path)
    assert fault.startswith(f"{name}: ") and why in fault
