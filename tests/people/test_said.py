"""What ratings say: figures of experts alone, refused where there are too few, and where shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from tests.needs import needs
from tests.site.browser import browser, page

from benchflow.analysis.bradley_terry import Strengths
from benchflow.analysis.stated_hours import StatedHours
from benchflow.authoring.publish.datasheet import datasheet
from benchflow.cli.app import benchflow
from benchflow.people import recorded
from benchflow.people.pack import Pack, pack_of
from benchflow.people.reading import read
from benchflow.people.said import Measured, disagreements, said
from benchflow.results.collect import collect
from benchflow.results.synthetic import Design, write_job
from benchflow.site.build import build
from benchflow.site.study import Study
from benchflow.study.statistics import Refused
from benchflow.tasks import find

from .made_packs import NAMES, pack, rating, task
from .rater import Rater
from .raters import LIKELY, envelopes, ratings

PACK = pack()


def test_experts_find_what_was_put_in_and_novices_change_nothing(tmp_path: Path) -> None:
    experts = envelopes(PACK, 20, doubt="R1")
    alone = said(ratings(tmp_path, PACK, *experts))
    novices = envelopes(PACK, 20, doubt="R1", novices=30)[20:]
    both = said(ratings(tmp_path, PACK, *experts, *novices))
    assert isinstance(alone.hours, StatedHours) and isinstance(both.hours, StatedHours)
    assert alone.hours.hours.tolist() == both.hours.hours.tolist()
    for name, truth in zip(NAMES, LIKELY, strict=True):
        hours = alone.hours_of(name)
        assert hours is not None
        assert hours[1] <= truth <= hours[2]
    assert isinstance(alone.harder, Strengths) and isinstance(both.harder, Strengths)
    strength = dict(zip(alone.harder.names, alone.harder.strength, strict=True))
    assert [strength[name] for name in NAMES] == sorted(strength.values())
    assert both.harder.n_voters == 20
    assert (both.n_raters, both.n_experts) == (50, 20)
    assert [(one.n_experts, one.n_others) for one in both.tasks] == [(20, 30)] * 3
    [doubted] = alone.unfair
    assert (doubted.task, doubted.demand, doubted.n, doubted.n_experts) == (NAMES[0], "R1", 13, 20)
    sign = alone.agreement["would sign"]
    assert not isinstance(sign, Refused)
    assert sign.alpha == pytest.approx(1.0), "all sign alike in this data"


def test_too_few_are_refused_with_how_many_are_needed(tmp_path: Path) -> None:
    found = said(ratings(tmp_path, PACK, *envelopes(PACK, 2, doubt="R1")))
    assert isinstance(found.hours, Refused) and "no task has 3 raters" in found.hours.refused
    assert isinstance(found.harder, Refused) and "needs 6" in found.harder.refused
    assert all(isinstance(one, Refused) for one in found.agreement.values())
    assert found.unfair == ()
    four = said(ratings(tmp_path, PACK, *envelopes(PACK, 4)))
    assert isinstance(four.hours, Refused) and "needs 5" in four.hours.refused
    five = said(ratings(tmp_path, PACK, *envelopes(PACK, 5)))
    assert isinstance(five.hours, StatedHours)
    assert isinstance(five.harder, Refused)


def test_where_all_agree_on_the_order_no_finite_scale_is_told(tmp_path: Path) -> None:
    found = said(ratings(tmp_path, PACK, *envelopes(PACK, 8, noise=0.001, seed=5)))
    if isinstance(found.harder, Refused):
        assert "no finite strength" in found.harder.refused
    assert [one.compared for one in found.tasks] == [16, 16, 16]


def test_two_contents_of_a_task_are_two_tasks(tmp_path: Path) -> None:
    changed = Pack("benchflow-pack/1", (task(NAMES[0]), *(task(n) for n in NAMES[1:])))
    newer = Pack(
        "benchflow-pack/1",
        (
            type(changed.tasks[0])(
                **{f: getattr(changed.tasks[0], f) for f in changed.tasks[0].__struct_fields__}
                | {"digest": "sha256:new"}
            ),
        ),
    )
    file = tmp_path / "all.jsonl"
    file.write_bytes(b"\n".join([*envelopes(PACK, 3), *envelopes(newer, 3, seed=2)]))
    packs = {PACK.digest: PACK, newer.digest: newer}
    found = said(recorded.ratings_of(read([file], recorded.asked(packs)), packs))
    assert [one.n_experts for one in found.tasks if one.task.startswith(NAMES[0])] == [3, 3]
    assert all("#" in one.task for one in found.tasks if one.task.startswith(NAMES[0]))


def test_where_experts_and_attempts_part_is_said_and_whether_it_is_shown(tmp_path: Path) -> None:
    found = said(ratings(tmp_path, PACK, *envelopes(PACK, 20)))
    measured = {
        NAMES[0]: Measured(solved=2, tried=40, stated_hours=40.0),
        NAMES[1]: Measured(solved=20, tried=40, stated_hours=6.0),
        NAMES[2]: Measured(solved=38, tried=40),
    }
    apart = disagreements(found, measured)
    said_of = {(one.task, one.what.split()[0]): one for one in apart}
    assert said_of[NAMES[0], "its"].what.startswith("its author states 40 hours")
    assert (NAMES[1], "its") not in said_of
    assert said_of[NAMES[2], "experts"].shown
    assert said_of[NAMES[2], "38"].shown, "none of the experts would sign the third"
    few = {name: Measured(solved=at, tried=2) for at, name in enumerate(NAMES)}
    assert not any(one.shown for one in disagreements(found, few) if "agents" in one.what)
    assert disagreements(found, {}) == ()


def test_the_site_has_a_page_of_experts_only_where_they_spoke(tmp_path: Path) -> None:
    job = write_job(tmp_path / "job", Design(agents=2, tasks=3, attempts=2, consoles=False))
    trials = collect([job])
    plain = build(Study("t", trials), tmp_path / "plain").folder
    assert not (plain / "experts.html").exists()
    assert "experts.html" not in (plain / "index.html").read_text()
    rehearsed = pack(rehearsal=True)
    none = ratings(tmp_path, rehearsed, *envelopes(rehearsed, 12))
    assert not none, "rehearsals are no ratings"
    assert Study("t", trials, ratings=none).said is None


@pytest.fixture(scope="module")
def rated_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of made-up trials and ratings of the very tasks that were tried."""
    folder = tmp_path_factory.mktemp("rated")
    job = write_job(folder / "job", Design(agents=3, tasks=3, attempts=4, consoles=False))
    trials = collect([job])
    first = {record.task: record for record in trials.records}
    made = Pack(
        "benchflow-pack/1",
        tuple(
            type(PACK.tasks[0])(
                **{f: getattr(task(name), f) for f in PACK.tasks[0].__struct_fields__}
                | {"version": first[name].task_version}
            )
            for name in sorted(first)
        ),
    )
    found = ratings(folder, made, *envelopes(made, 14, doubt="R1", novices=2))
    return build(Study("Rated", trials, ratings=found), folder / "site").folder


def test_the_page_of_experts_escapes_their_words_and_links_tasks(rated_site: Path) -> None:
    text = (rated_site / "experts.html").read_text()
    assert "&lt;b&gt;no 1&lt;/b&gt;" in text and "<b>no 1" not in text
    assert 'href="experts.html"' in (rated_site / "index.html").read_text()
    [some, *_] = sorted((rated_site / "tasks").glob("*.html"))
    assert "What experts say" in some.read_text()
    assert (rated_site / "experts.md").exists() and (rated_site / "experts.json").exists()


@needs("browser")
@pytest.mark.needs("browser")
def test_the_page_of_experts_is_accessible_on_a_phone_and_a_desk(rated_site: Path) -> None:
    with browser() as opened:
        for width, height in ((390, 844), (1280, 900)):
            with page(opened, viewport={"width": width, "height": height}) as (tab, faults):
                tab.goto((rated_site / "experts.html").as_uri())
                assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
                assert faults == []
                # What axe reads itself, the page's policy forbids: looked at last.
                found = Axe().run(tab)
                assert found.violations_count == 0, found.generate_report()


def test_tasks_show_and_the_datasheet_tell_what_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = find("repair/dead-server").path
    copied = tmp_path / "tasks" / "repair" / "dead-server"
    shutil.copytree(source, copied)
    shutil.copytree(source.parents[1] / "lib", tmp_path / "tasks" / "lib")
    monkeypatch.setenv("BENCHFLOW_TASKS", str(tmp_path / "tasks"))
    one = find("repair/dead-server")
    assert "## Experts" not in datasheet(one)
    made = pack_of([one])
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"\n".join(envelopes(made, 7, doubt="R7")))
    packs = {made.digest: made}
    recorded.write(tmp_path / "ratings", read([file], recorded.asked(packs)), packs)
    said_there = CliRunner().invoke(benchflow, ["tasks", "show", "repair/dead-server"])
    assert "experts       7" in said_there.output, said_there.output
    assert "R7: unfair 4, unclear 0, of 7 experts" in said_there.output
    (tmp_path / "stamp").touch()
    from benchflow.authoring.publish import datasheet as module

    module._stamps.cache_clear()
    assert "## Experts" in datasheet(one)
    # Another content of the task is another task: what was said is not told of it.
    (copied / "instruction.md").write_text("Something else.")
    changed = CliRunner().invoke(benchflow, ["tasks", "show", "repair/dead-server"])
    assert "experts" not in changed.output


def test_rate_read_tells_the_figures(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"\n".join(envelopes(PACK, 12, doubt="R1")))
    (tmp_path / "pack.json").write_bytes(PACK.encoded)
    arguments = ["rate", "read", str(file), "--pack", str(tmp_path / "pack.json")]
    done = CliRunner().invoke(benchflow, arguments)
    assert "12 sets of answers kept" in done.output, done.output
    assert "How hard, on one scale" in done.output
    assert "Doubted by 8 of 12" in done.output
    assert "Rater 1: repair/lamp, R1 unfair: “<b>no 1</b>”" in done.output


def test_rate_read_tells_what_they_wrote_on_one_line_each(tmp_path: Path) -> None:
    made = pack(NAMES[:1])
    rater = Rater()
    body = rating(rater, made, comment="one\n\x1b[31mtwo", name="Eve\x07")
    body["tasks"][0]["exploit"] = "copy\r\nit"
    file, where = tmp_path / "in.json", tmp_path / "pack.json"
    file.write_bytes(rater.envelope(body))
    where.write_bytes(made.encoded)
    done = CliRunner().invoke(benchflow, ["rate", "read", str(file), "--pack", str(where)])
    assert "Eve: repair/lamp, points without the work: “copy it”" in done.output
    assert "Eve: anything else: “one " in done.output and "\x1b" not in done.output
