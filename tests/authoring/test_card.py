"""The data set card beside tasks that are exported in the layout of the Hugging Face Hub."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tests.lamp import lamp

from benchflow.authoring.publish import card, dataset
from benchflow.errors import UsageError
from benchflow.tasks import find, load

__all__ = ["lamp"]


def test_the_hubs_layout_has_a_card_of_all_tasks_that_are_there(lamp: Path, tmp_path: Path) -> None:
    out = tmp_path / "hub"
    made = dataset.write([load(lamp)], out, hub=True)
    assert made.folders == [out / "tasks/embedded-lamp"]
    server = find("repair/dead-server")
    dataset.write([server], out, hub=True)
    text = (out / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    assert yaml.safe_load(front)["tags"][0] == "harbor"
    assert f"| benchflow/repair-dead-server | {server.version} |" in body
    assert "/embedded-lamp |" in body
    (out / "README.md").write_text("mine")
    with pytest.raises(UsageError, match="was not made by an export"):
        dataset.write([load(lamp)], out, hub=True)


def test_nothing_that_a_task_says_is_markup(tmp_path: Path) -> None:
    said = "a | b \\\\| [text](https://x) <img src=x>\\n---\\n# top \\u001b[31m"
    folder = tmp_path / "tasks/one"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(
        f'[task]\nname = "x/one"\nversion = "1 | 2"\ndescription = "{said}"\n'
    )
    body = card.write(tmp_path).read_text().split("---\n", 2)[2]
    [row] = [line for line in body.splitlines() if "x/one" in line]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 8
    assert "<img" not in row and not re.search(r"(?<!\\)\[", row) and "\x1b" not in row
    assert "\n---\n" not in body and "\n# top" not in body
