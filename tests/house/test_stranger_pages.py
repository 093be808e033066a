"""What a stranger reads first holds: links lead somewhere, pictures say what they show, commands
exist. The words are held by test_words.py."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree
from pathlib import Path

import click
import pytest

from benchflow.cli.app import benchflow

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("results/*.md"),
        *ROOT.glob("benchmarks/*.md"),
        *ROOT.glob("examples/*.md"),
    ]
)
FIRST = [ROOT / "README.md", *sorted(ROOT.glob("docs/tutorials/*.md")), ROOT / "docs/index.md"]
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"^(?:PYTHONPATH=\S+ )?\.venv/bin/benchflow (.+)$", re.MULTILINE)


def names(pages: list[Path]) -> list[str]:
    return [page.relative_to(ROOT).as_posix() for page in pages]


@pytest.mark.parametrize("name", names(PAGES))
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    lost = []
    for _, _, target in _LINK.findall(_FENCE.sub("", page.read_text())):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or (
            anchor and place.suffix == ".md" and anchor not in anchors(place)
        ):
            lost.append(target)
    assert lost == []


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings: lower case, without punctuation, dashes for spaces."""
    heads = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("name", names(PAGES))
def test_pictures_say_what_they_show(name: str) -> None:
    text = (ROOT / name).read_text()
    assert all(words for mark, words, _ in _LINK.findall(text) if mark)
    for tag in re.findall(r"<img[^>]*>", text):
        assert re.search(r'alt="[^"]{10,}"', tag), tag


#: Whom a page is for is said in its first two lines, but for those that everybody reads first.
_NOT_ASKED = {"README.md", "CHANGELOG.md", "docs/example-report.md", "examples/README.md"}


@pytest.mark.parametrize("name", [name for name in names(PAGES) if name not in _NOT_ASKED])
def test_a_page_says_whom_it_is_for(name: str) -> None:
    title, first, *_ = [line for line in (ROOT / name).read_text().splitlines() if line]
    assert title.startswith("# ")
    assert first.startswith("For "), f"say below the title whom {name} is for"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


@pytest.mark.parametrize("name", names(FIRST))
def test_commands_of_the_first_pages_exist(name: str) -> None:
    """Each is parsed as the command line would, and not run."""
    calls = _CALL.findall((ROOT / name).read_text())
    for call in calls:
        words = shlex.split(call, comments=True)
        command: click.Command = benchflow
        context = click.Context(command)
        while isinstance(command, click.Group) and words:
            verb = words.pop(0)
            found = command.get_command(context, verb)
            assert found is not None, f"{call}: there is no {verb}"
            command, context = found, click.Context(found, info_name=verb, parent=context)
            if not (words and not words[0].startswith("-")):
                break
            if isinstance(command, click.Group) and words[0] not in command.list_commands(context):
                break
        parser = command.make_parser(context)
        options = {option for each in parser._long_opt for option in [each]} | set(
            parser._short_opt
        )
        used = {word.partition("=")[0] for word in words if word.startswith("-")}
        assert used <= options | {"--help"}, f"{call}: {sorted(used - options)} is no option"


def test_the_picture_is_whole_and_carries_no_script() -> None:
    picture = ROOT / "docs/pictures/first-run.svg"
    tree = xml.etree.ElementTree.parse(picture)
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert "script" not in tags and "text" in tags
    told = re.search(r": (\d+) of (\d+) milestones, resolved", picture.read_text())
    assert told and told[1] == told[2], "a whole ladder"
