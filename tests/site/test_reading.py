"""Reports in words: hostile names stay text, and the example page is what its command prints."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from made_up import collection, ladder, record

from benchflow.base import numbers
from benchflow.base.numbers import points
from benchflow.cli.compare import command as compare
from benchflow.cli.report import command as report
from benchflow.report import tasks
from benchflow.report.document import as_markdown, in_terminal
from benchflow.report.section import Section, Table, escape, markdown, terminal
from benchflow.results.collect import collect
from benchflow.results.records import Record
from benchflow.study.findings import findings, findings_json
from benchflow.study.statistics import Difficulty

PAGE = Path(__file__).parents[2] / "docs" / "example-report.md"
PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "terminal-bench-core-0.1.1.jsonl"


def test_a_name_cannot_make_markup() -> None:
    name = "a|b <script>x</script> [link](http://x) `code` *bold*\n# title"
    page = markdown("t", [Section("s", (name,), Table(("name",), ((name,),)))])
    assert "<script>" not in page
    assert "\n# title" not in page
    assert escape("a|b") == "a\\|b"
    row = page.splitlines()[-1]
    assert row.startswith("| a\\|b") and row.count(" |") == 1


def test_columns_line_up_and_only_essentials_reach_the_terminal() -> None:
    table = Table(("name", "n"), (("a", "1"), ("longer", "22")))
    text = terminal([Section("one", table=table), Section("two", ("x",), essential=False)])
    assert text.splitlines() == ["one", "  name     n", "  a        1", "  longer  22"]


def test_two_trials_are_enough_for_a_report_that_refuses_nearly_everything() -> None:
    found = findings(collection(record("x", True), record("y", False, agent="b")))
    text, page = in_terminal(found), as_markdown(found, [Path("some/jobs")])
    assert "No comparison" in text
    assert "Not told apart" in page
    assert "nan" not in page


def test_where_the_shared_tasks_allow_no_order_no_tier_is_told() -> None:
    easy = [record(f"e{i}", True) for i in range(60)]
    common = [
        record(f"c{i}", agent == "b" and i % 4 > 0, agent=agent)
        for i in range(20)
        for agent in "ab"
    ]
    crossed = in_terminal(findings(collection(*easy, *common)))
    assert "2 agents and models form no tiers (" in crossed and "b m beats a m by" in crossed
    apart = [record(f"d{i}", i % 2 == 0, agent="c") for i in range(8)]
    assert "2 of 3 agents and models form 2 tiers (the others" in in_terminal(
        findings(collection(*common, *apart))
    )
    assert "form 2 tiers: the difference is supported" in in_terminal(findings(collection(*common)))


def test_milestones_claims_and_causes_are_reported_for_jobs_like_ours() -> None:
    rows = [
        record(
            f"t{i % 10}",
            agent == "a" and i % 3 > 0,
            agent=agent,
            minutes=2.0 + i % 7,
            said_done=True,
            ended_itself=True,
            milestone_kind="milestone",
            milestones=ladder("passed", "passed", "passed")
            if agent == "a" and i % 3 > 0
            else ladder(
                *(["passed", "failed"] if i % 4 else ["failed", "not reached"]),
                "not reached",
                message="GuestPanic: it panicked",
            ),
        )
        for i in range(30)
        for agent in "ab"
    ]
    found = findings(collection(*rows, record("t1", None)))
    text, page = in_terminal(found), as_markdown(found, [Path("jobs")])
    assert "the machine panicked, exited or restarted without end" in text
    assert "milestones passed" in text
    assert "1 infrastructure error left out" in text
    assert "a m beats b m by" in text
    assert "half of the milestones" in page
    assert "moments are the latest possible ones" in page
    assert "said that it was done" in page


def test_the_verb_prints_text_markdown_or_json(tmp_path: Path) -> None:
    source = tmp_path / "trials.jsonl"
    lines = [
        {"agent": a, "model": "m", "task": f"t{i}", "trial": f"{i}", "resolved": i % 3 == 0}
        for i in range(12)
        for a in "ab"
    ]
    source.write_text("\n".join(map(json.dumps, lines)))
    run = CliRunner().invoke
    assert "Share of trials resolved" in run(report, [str(source)]).output
    assert run(report, [str(source), "--markdown"]).output.startswith("# What the trials in tr")
    data = json.loads(run(report, [str(source), "--json"]).output)
    assert data["schema"] == 1
    assert data["over_claims"]["claims"] == {}
    assert run(report, [str(source), "--json", "--markdown"]).exit_code == 2


def test_tasks_that_are_equally_hard_stand_in_the_order_of_their_names() -> None:
    """Whatever the last bits of their difficulty are: these differ from processor to processor."""
    solved = {"a": (0, 1, 2), "b": (0, 1), "c": (0,)}
    rows = [
        record(f"t{task}", task % 4 in own, agent=agent)
        for agent, own in solved.items()
        for task in range(12)
    ]
    found = findings(collection(*rows))
    part = found.difficulty
    assert isinstance(part, Difficulty)
    shown = []
    for sign in (1e-12, -1e-12):
        nearly = part.scale.difficulty + sign * np.arange(len(part.tasks))
        scale = replace(part.scale, difficulty=nearly)
        table = tasks.difficulty(replace(found, difficulty=replace(part, scale=scale))).table
        assert table is not None
        shown.append([row[0] for row in table.rows])
    assert shown[0] == shown[1] == ["t10", "t2", "t6", "t1", "t5", "t9"]


def test_a_difference_that_rounds_to_nothing_has_no_sign() -> None:
    assert [points(x) for x in (-0.0002, 0.0, 0.0002)] == ["0.0"] * 3
    assert [numbers.points(x) for x in (-0.0002, -0.052)] == ["0.0", "\u22125.2"]
    assert [numbers.signed(x, 2) for x in (-0.004, -0.006, 1.0)] == ["0.00", "-0.01", "+1.00"]


def test_what_cannot_be_read_is_named_in_one_safe_line(tmp_path: Path) -> None:
    source = tmp_path / "trials.jsonl"
    rows = [
        {"agent": agent, "model": "m", "task": f"t{i}", "trial": f"{i}", "resolved": i % 2 == 0}
        for agent in ("a", "b")
        for i in range(6)
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"task": "\x1b[2Jx\n')
    run = CliRunner().invoke
    for command_, arguments in ((report, []), (compare, ["a m", "b m"])):
        said = run(command_, [*arguments, str(source)])
        assert said.exit_code == 0
        (line,) = [x for x in said.stderr.splitlines() if x.startswith("problem: ")]
        assert str(source) in line and "\x1b" not in line


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published trials are not shipped")
def test_the_example_report_is_what_its_command_prints() -> None:
    found = findings(collect([PUBLISHED]))
    page = as_markdown(found, [PUBLISHED])
    assert page == PAGE.read_text(), "benchflow report …jsonl --markdown > docs/example-report.md"
    assert "droid claude-4-1-opus | 58.75 % | 9.9 | 9.6 | 2.4 |" in page


@pytest.mark.parametrize("seed", range(20))
def test_odd_sets_of_trials_are_reported_or_refused_and_never_break_it(seed: int) -> None:
    """Few trials, gaps, everything alike, records missing here and there; warnings are errors."""
    generator = np.random.default_rng(seed)
    n_tasks, n_agents, n_models, attempts = generator.integers(1, (9, 4, 4, 4))

    def one_of(*choices: Any) -> Any:
        return choices[generator.integers(len(choices))]

    def trial(task: int, agent: int, model: int) -> Record:
        won = one_of(*((True, False), (True,), (False,), (agent == 0,))[seed % 4], None)
        statuses = [one_of("passed", "failed", "not reached") for _ in range(one_of(0, 1, 2, 3))]
        return record(
            f"t{task}.{task % 2}" if seed % 2 else f"t{task}",
            won,
            agent=f"a{agent}",
            model=f"m{model}",
            minutes=one_of(None, 0.0, 3.0, 5.0),
            tokens=one_of(None, 0, 700),
            dollars=one_of(None, 0.3) if seed % 3 else 0.3,
            milestones=ladder(*statuses),
            milestone_kind=one_of("test", "milestone") if statuses else "",
            said_done=one_of(None, True, False),
            ended_itself=one_of(None, True, False),
            steps=one_of(None, 1, 5),
            generator=one_of("", "f", "g"),
            skills=one_of((), ("x",), ("x", "y")),
            expert_minutes=one_of(None, 10.0, 500.0),
        )

    rows = [
        trial(task, agent, model)
        for task in range(n_tasks)
        for agent in range(n_agents)
        for model in range(n_models)
        if generator.random() < 0.8
        for _ in range(attempts)
    ]
    found = findings(collection(record("t0", True), *rows))
    assert "Share of trials resolved" in in_terminal(found)
    assert " nan" not in as_markdown(found, [Path("jobs")])
    json.dumps(findings_json(found), allow_nan=False)
