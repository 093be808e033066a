"""Votes that are recorded, and what the site shows: refused where too few, never rehearsals."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from playwright.sync_api import Browser
from tests.needs import needs
from tests.site.browser import browser, page

from benchflow.arena.make import Made, make
from benchflow.arena.pack import write
from benchflow.arena.recorded import ANSWERS, BALLOTS, FOLDER, recorded
from benchflow.cli.arena import command
from benchflow.errors import UsageError
from benchflow.results.collect import collect
from benchflow.results.records import Collection
from benchflow.results.synthetic import Design, write_job
from benchflow.site.build import build
from benchflow.site.study import Study

from . import voter

EVIL = "</script><b onmouseover=alert(1)>less noise</b>"


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Two agents on nine tasks."""
    top = tmp_path_factory.mktemp("job")
    return collect([write_job(top / "job", Design(agents=2, tasks=9, attempts=1))])


@pytest.fixture(scope="module")
def made(trials: Collection) -> Made:
    return make(trials.records, 9, seed=3)


def noisy(made: Made, draw: random.Random) -> voter.Taste:
    """The first agent by name, three times of four."""
    first = min(side.who for side in made.key.sides.values() if side.uid)

    def taste(question: str, left: str, right: str) -> str:
        is_left = made.key.sides[left].who == first
        return "left" if is_left == (draw.random() < 0.75) else "right"

    return taste


def read(made: Made, top: Path, n: int, *, rehearsal: bool = False) -> Path:
    """`n` sets of votes, written by `arena read -o`; the folder."""
    top.mkdir(parents=True)
    write(made.arena, made.key, top / "arena")
    draw = random.Random(6)
    for _ in range(n):
        rater, told = voter.votes(made.arena, made.key, noisy(made, draw), rehearsal=rehearsal)
        for one in told["votes"]:
            one["looked"], one["remark"] = "end", EVIL
        voter.write(top / "arena", rater, told | {"name": "Vera <i>Voter</i>"})
    given = ["read", str(top / "arena"), "-o", str(top / FOLDER)]
    done = CliRunner().invoke(command, given, catch_exceptions=False)
    assert f"written to {top / FOLDER}" in done.output, done.output
    return top / FOLDER


@pytest.fixture(scope="module")
def site(trials: Collection, made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("site")
    votes = recorded(read(made, top / "votes", 10))
    return build(Study("Voted", trials, votes=votes), top / "site").folder


def test_the_site_shows_strengths_with_intervals_and_tiers(
    site: Path, trials: Collection, made: Made
) -> None:
    told = json.loads((site / "votes.json").read_text())
    text = (site / "votes.html").read_text()
    assert "10 people have looked at pairs" in text and "Who is ahead cannot be told" not in text
    assert "Votes" in (site / "index.html").read_text()
    found = json.dumps(told)
    assert '"tier": 1' in found and '"strength"' in found
    assert "Beside the verdicts: " in text and "50 % is no agreement" in text
    assert "&lt;b onmouseover=alert(1)&gt;less noise" in text and "<b onmouseover" not in text
    assert "Vera &lt;i&gt;Voter" in text
    uids = {record.uid for record in trials.records}
    shown = {side.uid for side in made.key.sides.values()} & uids
    assert shown and all(f"trials/{uid[:2]}/{uid}.html" in text for uid in shown)
    tasks = [path.read_text() for path in (site / "tasks").glob("*.html")]
    assert len(tasks) == 9 and all("What people would rather have" in one for one in tasks)


def test_too_few_are_refused_with_how_many_are_needed(
    trials: Collection, made: Made, tmp_path: Path
) -> None:
    votes = recorded(read(made, tmp_path / "few", 3))
    text = build(Study("Few", trials, votes=votes), tmp_path / "site").folder / "votes.html"
    said = text.read_text()
    assert "3 voters on 9 tasks; strengths with intervals need 8 voters and 8 tasks" in said
    assert "Who is preferred" not in said and "50 % is no agreement" not in said, (
        "no interval is published"
    )
    assert "3 people have looked" in said and "Beside the verdicts: " in said, "counts are"


def test_rehearsals_are_recorded_and_never_shown(
    trials: Collection, made: Made, tmp_path: Path
) -> None:
    folder = read(made, tmp_path / "rehearsed", 12, rehearsal=True)
    assert len((folder / ANSWERS).read_text().splitlines()) == 12
    assert recorded(folder) is None
    rehearsed = make(trials.records, 9, seed=3, rehearsal=True)
    again = read(rehearsed, tmp_path / "arena of rehearsals", 12, rehearsal=True)
    assert recorded(again) is None
    built = build(Study("None", trials, votes=recorded(folder)), tmp_path / "site").folder
    assert not (built / "votes.html").exists()
    assert "votes.html" not in (built / "index.html").read_text()


def test_what_is_recorded_is_small_checked_again_and_can_be_read_again(
    made: Made, tmp_path: Path
) -> None:
    folder = read(made, tmp_path / "kept", 9)
    (ballot,) = (folder / BALLOTS).iterdir()
    assert ballot.stat().st_size < 20_000 and "login:" not in ballot.read_text()
    found = recorded(folder)
    assert found and len(found.votes) == 9 and set(found.keys) == {made.arena.digest}
    lines = (folder / ANSWERS).read_text().splitlines()
    forged = lines[0].replace("right", "neither")
    assert forged != lines[0]
    (folder / ANSWERS).write_text("\n".join([forged, *lines[1:]]))
    found = recorded(folder)
    assert found and len(found.votes) == 8, "what was changed since it was signed is left out"
    done = CliRunner().invoke(command, ["read", str(folder)], catch_exceptions=False)
    assert (
        done.output.startswith("8 voters counted") and "the signature does not fit" in done.output
    )
    ballot.write_text("{}")
    with pytest.raises(UsageError, match="is no ballot"):
        recorded(folder)


@pytest.fixture(scope="module")
@needs("browser")
def opened() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.mark.needs("time")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_of_votes_is_accessible(
    opened: Browser, site: Path, width: int, scheme: str
) -> None:
    look = {"viewport": {"width": width, "height": 860}, "color_scheme": scheme}
    with page(opened, **look) as (tab, faults):
        tab.goto((site / "votes.html").as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert faults == []
        found = Axe().run(tab)
        assert found.violations_count == 0, found.generate_report()
