"""The data set card beside tasks that are exported in the layout of the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.lamp import lamp

from benchflow.authoring.publish import dataset
from benchflow.errors import UsageError
from benchflow.tasks import find, load

__all__ = ["lamp"]


def test_the_hubs_layout_has_a_card_of_all_tasks_that_are_there(lamp: Path, tmp_path: Path) -> None:
    out = tmp_path / "hub"
    made = dataset.write([load(lamp)], out, hub=True)
    assert made.folders == [out / "tasks/embedded-lamp"]
    dataset.write([find("repair/dead-server")], out, hub=True)
    text = (out / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    assert yaml.safe_load(front)["tags"][0] == "harbor"
    assert "| benchflow/repair-dead-server | 2.0.1 |" in body and "/embedded-lamp |" in body
    (out / "README.md").write_text("mine")
    with pytest.raises(UsageError, match="was not made by an export"):
        dataset.write([load(lamp)], out, hub=True)
