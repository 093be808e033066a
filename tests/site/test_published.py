"""What a stranger reads first in the pages and the report of the published results is true."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchflow.report.document import in_terminal
from benchflow.results.collect import collect
from benchflow.site.markdown_json import to_markdown
from benchflow.site.page_model import Page
from benchflow.site.pages import agent, overview
from benchflow.site.study import Study
from benchflow.study.findings import findings

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
    assert "21.7 — — 47 to 90 %" in report() and "42.1" not in report()
    assert "due to re-runs of the same tasks is unknown" in words(agent.make(study(), who, nowhere))


def test_nobody_is_ranked_where_the_best_shares_no_tasks_with_the_others() -> None:
    first = words(overview.make(study(), nowhere))
    assert "| Tier |" not in first and " tier agent and model" not in report()
    assert "1 tier" not in report()
    assert (
        "nobody is ranked: external unnamed frontier coding agent shares fewer than two tasks with "
        "anybody else; between the others: the difference is not supported" in report()
    )
