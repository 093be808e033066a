"""The reviewer's page: all there is to know of a task, and nothing in it can do harm."""

from __future__ import annotations

import html.parser
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import warm_command
from tests.lamp import Edit, edit, lamp

from benchflow.authoring import review_page
from benchflow.authoring.review import review
from benchflow.base.home import home
from benchflow.tasks import load

__all__ = ["edit", "lamp"]
BENCHFLOW = str(Path(sys.executable).parent / "benchflow")
EVIL = "<script>alert(1)</script>\x1b]0;owned\x07<img src=x onerror=alert(2)>"


@pytest.fixture
def forget() -> Iterator[None]:
    yield
    for path in (home() / "checks").glob("embedded-lamp-*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def tags(text: str) -> list[str]:
    found: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append(tag)

    Reader().feed(text)
    return found


def test_it_says_what_is_known_and_what_is_not(lamp: Path, forget: None) -> None:
    assert warm_command.run(["check", str(lamp), "--gate", "coverage"]).returncode == 0
    found = review(load(lamp))
    assert found.open_gates == len(found.gates) - 1
    text = review_page.text(found)
    for part in (
        "embedded/lamp 1.0.0",
        "A. Author",
        "passed         coverage     2 requirements, 3 checks",
        "not run yet    oracle",
        "painted: gained not tried yet; may gain lit: a painted lamp looks lit from afar",
        "test_still_lit",
        "[R2] It gets warm.",
        "/app/lamp.img  disk, at most 64 MiB, 64 stored",
    ):
        assert part in text, part


def test_nothing_of_a_task_can_act_on_the_reviewer(edit: Edit) -> None:
    folder = edit("instruction.md", "Build a lamp.", EVIL)
    (folder / "task.toml").write_text(
        (folder / "task.toml")
        .read_text()
        .replace("a painted lamp looks", "</td><script>x</script>")
    )
    found = review(load(folder))
    written = review_page.html(found)
    assert not {"script", "img"} & set(tags(written))
    assert "&lt;script&gt;" in written
    assert "\x1b" not in review_page.text(found) and "\x07" not in review_page.text(found)


def test_the_verb_writes_a_page_and_json(lamp: Path, tmp_path: Path) -> None:
    target = tmp_path / "review.html"
    done = warm_command.run(["review", str(lamp), "--html", str(target)])
    assert done.returncode == 1
    assert target.read_text().startswith("<!doctype html>")
    nowhere = ["review", str(lamp), "--html", str(tmp_path / "missing" / "page.html")]
    for wrong in (nowhere, ["review", str(lamp), "--html", str(target), "--json"]):
        assert warm_command.run(wrong).returncode == 2
    shown = warm_command.run(["review", str(lamp), "--json"])
    data = json.loads(shown.stdout)
    assert data["task"] == "embedded/lamp"
    assert data["gates"]["oracle"] is None
    assert data["exploits"][0]["name"] == "painted"
