"""What a stranger reads first in the pages and the report of the published results is true."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec.structs import replace

from benchflow.report.document import in_terminal
from benchflow.results.collect import collect
from benchflow.results.records import Collection
from benchflow.site.build import shell_of
from benchflow.site.markdown_json import to_markdown
from benchflow.site.page_model import Page, Table
from benchflow.site.pages import agent, overview, skills, task, trials
from benchflow.site.study import Study
from benchflow.site.urls import trial_page
from benchflow.site.vendor import Vendor
from benchflow.study.findings import findings
from benchflow.tasks import find

RESULTS = Path(__file__).parents[2] / "results"


@cache
def study() -> Study:
    return Study("Published", collect([RESULTS], trajectories=False))


@cache
def report() -> str:
    return " ".join(in_terminal(findings(study().collection)).split())


def nowhere(path: str, text: str) -> None:
    assert path and text


def words(page: Page) -> str:
    return " ".join(to_markdown(page).replace("\\", "").split())


def test_parts_of_an_error_that_one_task_cannot_tell_are_said_to_be_unknown() -> None:
    why = (
        "How much of the ± of external unnamed frontier coding agent is due to re-runs is unknown: "
        "half of the tasks or more were tried once."
    )
    who = next(who for who in study().ranked if who.startswith("external"))
    assert why in report() and why in words(overview.make(study(), nowhere))
    assert "17.9 — — 56 to 92 %" in report() and "42.1" not in report()
    assert "due to re-runs of the same tasks is unknown" in words(agent.make(study(), who, nowhere))


def test_nobody_is_ranked_where_the_best_shares_no_tasks_with_the_others() -> None:
    first = words(overview.make(study(), nowhere))
    assert "| Tier |" not in first and " tier agent and model" not in report()
    assert "1 tier" not in report()
    assert (
        "nobody is ranked: external unnamed frontier coding agent shares fewer than two tasks with "
        "anybody else; between the others: the difference is not supported" in report()
    )


def test_the_first_page_says_that_no_agent_by_name_was_measured() -> None:
    first = words(overview.make(study(), nowhere))
    assert "No coding agent with a provider's model has been measured here by name yet" in first
    assert "27 trials by external unnamed frontier coding agent" in first
    assert "(models served on the measuring machine itself)" in first
    named = Study("n", Collection((replace(study().records[0], agent="codex", model="m"),), ()))
    assert overview.who_was_measured(named) == ()


def test_a_task_tells_what_it_asks_and_whose_time_it_shows() -> None:
    said = words(task.make(study(), "embedded/ab-update", nowhere))
    known = find("embedded/ab-update")
    assert known.description in said and "Median time" not in said
    order = (known.path / "instruction.md").read_text(encoding="utf-8").split("\n")[0]
    assert order.strip() in said and known.skills[0] in said
    listed = task.index(study(), nowhere).sections[0].blocks[-1]
    assert isinstance(listed, Table)
    keys = [column.key for column in listed.columns]
    (row,) = [row for row in listed.rows if row[0].value == "embedded/ab-update"]
    shown = {key: cell.text for key, cell in zip(keys, row, strict=True)}
    assert shown["solvers"] == "1 of 3"
    assert (shown["best"].split()[0], shown["share"]) == ("external", "100.0 %")
    older = words(task.make(study(), "repair/dead-server@1.0.1", nowhere))
    assert "while these trials are of 1.0.1" in older


def test_no_figure_is_nan_and_nothing_is_said_twice() -> None:
    said = words(skills.make(study(), nowhere))
    assert "nan" not in said and "unknown: too few tasks in common" in said
    assert "cannot be told apart: no run links these groups" in said


def test_names_are_spelled_as_recorded_and_versions_are_no_generators() -> None:
    assert "127-0-0-1" not in report() and "127.0.0.1" in report()
    assert "no generators are recorded" not in report()
    assert "versions of one task, and tasks whose names agree up to the first dot" in report()


def test_the_list_of_trials_leads_to_each_without_javascript() -> None:
    page = trials.make(study(), nowhere)
    html = shell_of(study(), Vendor(None, "")).render(page).partition("<noscript>")[2]
    assert html.count("<li>") == len(study().records)
    assert f'href="{trial_page(study().records[0].uid)}"' in html
