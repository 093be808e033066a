"""Pages that are made of the code and the tasks: the committed ones are as made today, the
catalogue has a page a task, and a new task needs its own folder alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from benchflow import boot
from benchflow.authoring.check import GATES
from benchflow.authoring.gate_table import ABOUT
from benchflow.reference import catalogue, checks_api, task_file
from benchflow.reference.__main__ import main
from benchflow.reference.committed import PAGES
from benchflow.reference.markdown import deeper, sections, table
from benchflow.tasks.catalogue import names

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return catalogue.pages(ROOT)


# click keeps a help option once it was made, with whatever names were wanted first, so the page of
# the command line is compared in a process of its own: tests/cli/test_cli.py.
@pytest.mark.parametrize("name", [name for name in PAGES if name != "docs/cli.md"])
def test_a_generated_page_is_as_the_code_is(name: str) -> None:
    made = PAGES[name]()
    assert (ROOT / name).read_text() == made, "make it again: python -m benchflow.reference"


def test_nothing_is_left_out_of_the_reference() -> None:
    assert set(boot.__all__) - checks_api.documented() == set()
    assert task_file.undocumented() == [], "say below the key what it means"
    assert tuple(ABOUT) == GATES


@pytest.mark.needs("time")
def test_the_catalogue_has_a_page_a_task(pages: dict[str, str]) -> None:
    assert set(pages) == {"index.md", *(f"{name}.md" for name in names(ROOT / "tasks"))}
    for name in pages.keys() - {"index.md"}:
        assert f"]({name})" in pages["index.md"]
        found = sections(pages[name], 2)
        assert {
            "What the customer wants",
            "Milestones",
            "How it is proved",
            "What it does not prove",
            "Exploits",
            "Gates",
        } <= found.keys(), name
        assert all(found.values()), name


def test_a_new_task_needs_its_own_folder_alone(tmp_path: Path) -> None:
    folder = tmp_path / "tasks/repair/dead-server"
    for part in ("lib", "repair/dead-server"):  # what tasks share is there before any of them
        shutil.copytree(ROOT / "tasks" / part, tmp_path / "tasks" / part)
    (folder / "README.md").write_text(
        "# dead-server\n\nIn short.\n\n## How it is proved\nBy a look.\n\n"
        "## What it does not prove\nAll else.\n"
    )
    made = catalogue.pages(tmp_path)
    page = made["repair/dead-server.md"]
    assert sections(page, 2)["How it is proved"] == "By a look."
    assert "None is recorded." in page
    assert "Measured" not in sections(page, 2)
    assert "](repair/dead-server.md)" in made["index.md"]


def test_measured_attempts_are_those_of_the_results(pages: dict[str, str]) -> None:
    found = sections(pages["container/oci-base.md"], 2)["Measured attempts"]
    assert re.search(
        r"external unnamed .*\| 1\.0\.0 \| resolved \| 13 of 13 \| 1\.00 \| 43 \|", found
    )


def test_what_strangers_did_is_told(pages: dict[str, str]) -> None:
    told = sections(pages["container/oci-base.md"], 2)["Reviews"]
    assert re.search(
        r"\*Blind attempt\* at 1\.0\.0 .* resolved, reward 1, 43 minutes, 32 calls", told
    )


def test_the_command_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 2
    assert "python -m benchflow.reference" in capsys.readouterr().err


def test_headings_in_fences_are_text() -> None:
    text = "# a\n```\n# no heading\n```\n## `b` \nc\n# d\n"
    assert sections(text, 2) == {"b": "c"}
    assert deeper(text, 1) == "## a\n```\n# no heading\n```\n### `b` \nc\n## d"
    assert table(["x"], [["a|b"]]) == "| x |\n|---|\n| a\\|b |\n"
    assert table(["x"], []) == ""
