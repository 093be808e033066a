"""Statistics from records: the glue is right, and what the data cannot carry is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from made_up import collection, ladder, record

from benchflow.report.document import as_markdown
from benchflow.results.records import Record
from benchflow.results.versions import apart
from benchflow.site.markdown_json import to_json
from benchflow.site.pages import agent as agent_page
from benchflow.site.pages import overview, task
from benchflow.site.pages import skills as skills_page
from benchflow.site.study import Study
from benchflow.study.arrays import Trials, one_spelling
from benchflow.study.budget_stats import budgets, reach, worth
from benchflow.study.caveats import IF_GENERATORS, changes, doubted, gaps, mixtures
from benchflow.study.findings import findings, findings_json
from benchflow.study.ladder_stats import milestones, steps
from benchflow.study.statistics import (
    CLAIMED_WRONGLY,
    Refused,
    agent_or_model,
    behaviours,
    difficulty,
    horizons,
    over_claims,
    skills,
)


def design(chances: dict[tuple[str, str], float], n_tasks: int = 20, n: int = 3) -> Trials:
    """Trials of these cells; chances are on every task, tasks differ by a little."""
    generator = np.random.default_rng(1)
    return Trials.of(
        record(
            f"t{task}",
            bool(generator.random() < chance + 0.2 * np.sin(task)),
            agent=agent,
            model=model,
            minutes=float(generator.uniform(1, 9)),
        )
        for (agent, model), chance in chances.items()
        for task in range(n_tasks)
        for _ in range(n)
    )


def test_errors_are_counted_for_whom_they_hit_and_in_no_array() -> None:
    trials = Trials.of(
        [record("x", True), record("y", None), record("x", None, agent="b"), record("y", False)]
    )
    assert trials.entries == ("a m",)
    assert trials.outcomes["a m"].successes.tolist() == [1, 0]
    assert (trials.outcomes["a m"].errors, trials.n_errors) == (1, 2)


def test_versions_of_a_task_are_never_mixed() -> None:
    trials = Trials.of([record("x", True, task_version="1"), record("x", False, task_version="2")])
    assert trials.tasks == ("x@1", "x@2")


def test_contents_and_hint_levels_of_a_task_are_never_mixed() -> None:
    forms = [("1", "aaaaaaaaaa", 0), ("1", "bbbbbbbbbb", None), ("2", "cc", 0), ("2", "cc", 2)]
    made = [
        record("x", True, task_version=version, task_digest=digest, hint=hint)
        for version, digest, hint in forms
    ]
    trials = Trials.of([*made, record("y", True, task_version="1", task_digest="d")])
    assert trials.tasks == ("x@1#aaaaaaaa", "x@1#bbbbbbbb", "x@2", "x@2 +hint 2", "y")
    assert apart(apart(made)) == apart(made)


def test_tasks_of_a_generator_are_one_unit_however_few_that_leaves() -> None:
    drawn = [record(f"g#{n}", True, generator="repair/server", topic="repair") for n in range(9)]
    by_hand = [record(f"h{n}", True, topic="repair") for n in range(3)]
    trials = Trials.of([*drawn, *by_hand])
    assert set(trials.units) == {"generator repair/server", "h0", "h1", "h2"}
    assert "12 tasks, 1 generator, 4 units" in mixtures(trials)[0]
    assert Trials.of([drawn[0], *by_hand]).units == ("g#0", "h0", "h1", "h2"), "one draw is a task"


def test_topics_are_no_units() -> None:
    filed = [record(f"{n}.{v}", True, topic=f"t{n}") for n in range(20) for v in "ab"]
    assert not Trials.of(filed).in_generators


def test_spellings_of_a_model_are_one_model_and_said_to_be() -> None:
    trials = design({("x", "m-4.1"): 0.8, ("x", "n"): 0.5, ("y", "m-4-1"): 0.6, ("y", "n"): 0.3})
    found = agent_or_model(trials)
    assert not isinstance(found.effects, Refused)
    assert found.effects.models is not None
    assert found.effects.models.names == ("m-4-1 - n",)
    assert found.merged == (("m-4-1", "m-4-1", "m-4.1"),)
    assert one_spelling("Claude_4.1") == "claude-4-1"


def test_confounded_agents_and_models_are_refused_with_the_map() -> None:
    found = agent_or_model(design({("x", "m"): 0.8, ("y", "n"): 0.5}))
    assert isinstance(found.effects, Refused)
    assert "no run links" in found.effects.refused
    assert found.cells.n_tasks.tolist() == [[20, 0], [0, 20]]


def test_over_claims_take_declarations_first_and_endings_where_there_are_none() -> None:
    rows = [
        record(f"t{i % 4}", i % 3 == 0, said_done=i % 2 == 0, ended_itself=True) for i in range(12)
    ]
    rows += [
        record(f"t{i % 4}", i % 3 == 0, agent="b", ended_itself=True if i else None)
        for i in range(12)
    ]
    found = over_claims(Trials.of(rows))
    assert found.declared == {"a m": True, "b m": False}
    assert found.claims["a m"].said_done.value == 6 / 12
    wrong = found.claims["a m"].wrong
    assert wrong is not None
    assert wrong.value == 4 / 6
    assert found.unknown == {"a m": 0, "b m": 1}


def test_a_success_that_cost_more_counts_as_a_failure_under_a_smaller_budget() -> None:
    rows = [record(f"t{i}", True, minutes=float(i + 1)) for i in range(10)]
    minutes, tokens, _ = budgets(Trials.of(rows))
    curve = minutes.curves["a m"]
    assert [rate.value for rate in curve.rates] == [
        sum(m <= at for m in range(1, 11)) / 10 for at in minutes.at
    ]
    assert tokens.refused == {"a m": "no trial has a record"}


def test_a_limit_censors_and_an_ending_competes() -> None:
    rows = [record(f"t{i}", True, minutes=5.0, ended_itself=True) for i in range(4)]
    rows += [record(f"t{i}", False, minutes=3.0, ended_itself=False) for i in range(4)]
    cut = reach(Trials.of(rows)).curves["a m"]
    assert cut.share[-1] == pytest.approx(1.0)
    rows[4:] = [record(f"t{i}", False, minutes=3.0, ended_itself=True) for i in range(4)]
    ended = reach(Trials.of(rows)).curves["a m"]
    assert ended.share[-1] == pytest.approx(0.5)
    assert ended.ended[-1] == pytest.approx(0.5)


def test_milestones_are_reached_at_the_latest_when_the_work_was_handed_over() -> None:
    rows = [
        record(
            f"t{i}",
            False,
            minutes=8.0,
            ended_itself=True,
            milestones=ladder("passed", "passed", "failed", "not reached"),
            milestone_kind="milestone",
        )
        for i in range(4)
    ]
    half = reach(Trials.of(rows), goal="half of the milestones")
    assert not half.measured
    assert half.curves["a m"].share[-1] == 1
    assert half.curves["a m"].low[-1] < 1
    assert reach(Trials.of(rows)).curves["a m"].share[-1] == 0


def test_worth_needs_two_with_records() -> None:
    cheap = [record(f"t{i}", i % 2 == 0, dollars=1.0) for i in range(12)]
    assert worth(Trials.of(cheap)).refused == "1 of 1 have the records"
    dear = [record(f"t{i}", i % 3 > 0, agent="b", dollars=5.0) for i in range(12)]
    front = worth(Trials.of(cheap + dear)).front
    assert front is not None
    assert front.on_front == (True, True)
    assert front.cost.tolist() == [5.0, 1.0]
    assert (front.low < front.score).all() and (front.score < front.high).all()


def test_behaviour_is_at_equal_difficulty_and_leaves_out_who_has_no_records() -> None:
    def trial(i: int, agent: str, factor: float) -> Record:
        return record(
            f"t{i % 9}",
            i % 2 == 0,
            agent=agent,
            minutes=factor * (1 + i % 9) + i / 100,
            ended_itself=agent == "b" or i % 5 > 0,
        )

    rows = [trial(i, agent, f) for i in range(36) for agent, f in (("a", 1.0), ("b", 2.0))]
    rows += [record(f"t{i}", i > 4, agent="c") for i in range(9)]
    found = behaviours(Trials.of(rows))
    minutes = found.found["minutes"]
    assert not isinstance(minutes, Refused)
    assert minutes.effects.names == ("a m", "b m")
    assert minutes.effects.effect[1] / minutes.effects.effect[0] == pytest.approx(2, rel=0.1)
    assert found.left_out["minutes"] == ("c m",)
    assert isinstance(found.found["dollars"], Refused)
    claimed = found.found[CLAIMED_WRONGLY]
    assert not isinstance(claimed, Refused)
    assert claimed.basis.n_trials == 36


def test_the_scale_leaves_out_who_solved_all_and_names_dead_tasks() -> None:
    trials = design({("x", "m"): 0.5, ("y", "m"): 0.3})
    perfect = [record(f"t{i}", True, agent="z") for i in range(20)]
    dead = [record("dead", False, agent=agent) for agent in ("x", "y") for _ in range(3)]
    found = difficulty(Trials.of([*trials.records, *perfect, *dead]))
    assert not isinstance(found, Refused)
    assert found.left_out == ("z m",)
    assert "dead" in found.dead
    assert isinstance(difficulty(Trials.of(perfect)), Refused)


def test_a_task_is_dead_only_where_everybody_alike_solved_it_or_not() -> None:
    """Whoever has no place on the scale has solved, or failed, its tasks all the same."""
    trials = design({("x", "m"): 0.5, ("y", "m"): 0.3})
    hard = [record(f"hard {i}", False, agent=agent) for i in range(8) for agent in "xy"]
    easy = [record(f"easy {i}", True, agent=agent) for i in range(8) for agent in "xy"]
    alike = [*trials.records, *hard, *easy]
    found = difficulty(Trials.of(alike))
    assert not isinstance(found, Refused)
    assert {*found.dead} >= {f"{kind} {i}" for kind in ("hard", "easy") for i in range(8)}
    perfect = [record(f"hard {i}", True, agent="perfect") for i in range(8)]
    perfect += [record("theirs", True, agent="perfect")]
    zero = [record(f"easy {i}", False, agent="zero") for i in range(8)]
    rows = [*alike, *perfect, *zero]
    for found in (difficulty(Trials.of(rows)), Study("t", collection(*rows)).difficulty):
        assert not isinstance(found, Refused)
        assert found.left_out == ("perfect m", "zero m")
        assert "theirs" not in found.tasks
        assert not any(task.startswith(("hard", "easy")) for task in found.dead)
        assert found.shares[found.tasks.index("hard 0")] == pytest.approx(1 / 3)


def test_what_no_task_states_is_refused() -> None:
    trials = design({("x", "m"): 0.5, ("y", "m"): 0.3})
    assert skills(trials) == Refused("no task names its skills")
    assert horizons(trials) == Refused("no task states how long an expert needs")
    assert milestones(trials) == Refused("no trial has milestones or tests")


def test_an_amount_below_zero_is_not_recorded_and_breaks_nothing() -> None:
    """A clock that was set back, a refund, a slip in a task's file."""
    rows = [
        record(f"t{i}", i % 3 > 0, agent=agent, minutes=2.0 + i + j + (agent == "b") * (i % 5),
                   dollars=1.0, steps=5 + i,
               expert_minutes=float(10 + i))
        for i in range(12) for agent in "ab" for j in range(4)
    ]  # fmt: skip
    rows += [
        record("t0", agent="a", minutes=-1.0, dollars=-1.0, steps=3, expert_minutes=10.0),
        record("below", agent="a", expert_minutes=-5.0),
    ]
    found = findings(collection(*rows))
    assert not isinstance(found.behaviours.found["minutes"], Refused)
    assert not isinstance(found.horizons, Refused)
    assert np.nanmin(Trials.of(rows).amounts("dollars")) == 1.0
    assert isinstance(horizons(Trials.of(rows[-1:])), Refused)
    skills_page.make(Study("t", collection(*rows)), lambda path, text: None)


def test_intervals_are_named_by_their_level() -> None:
    trials = design({("x", "m"): 0.8, ("y", "m"): 0.5})
    page = as_markdown(findings(collection(*trials.records), 0.8), [Path("x")])
    assert "80 % interval" in page and "95 % interval" not in page


def test_every_milestone_counts_who_reached_it_and_who_passed() -> None:
    rows = [
        record("x", False, milestones=ladder("passed", "failed"), milestone_kind="milestone"),
        record("x", False, milestones=ladder("failed", "not reached"), milestone_kind="milestone"),
        record(
            "x", True, agent="b", milestones=ladder("passed", "passed"), milestone_kind="milestone"
        ),
    ]
    first, second = steps(Trials.of(rows))
    assert (first.passed, first.reached) == (2, 3)
    assert (second.passed, second.reached) == (1, 2)
    assert second.by_entry == {"a m": (0, 1), "b m": (1, 1)}
    assert second.low < 0.5 < second.high


def test_doubts_and_gaps_are_counted() -> None:
    rows = [record(f"t{i % 4}", i % 2 == 0, ended_itself=True) for i in range(8)]
    rows += [record("t0", False, failure_mode="parse_error")]
    doubt = doubted(Trials.of(rows))["a m"]
    assert (doubt.n, doubt.as_counted, doubt.without) == (1, 4 / 9, 4 / 8)
    gap = gaps(Trials.of([*rows, record("only b", True, agent="b")]))["a m"]
    assert (gap.fewest, gap.most, gap.usual, gap.missing) == (0, 3, 2, 2)


def test_a_conclusion_that_hangs_on_copies_of_a_task_is_named() -> None:
    """Eight alike tasks that one wins: many tasks, but one generator."""
    rows = [record(f"one.{i}", agent == "a", agent=agent) for i in range(10) for agent in "ab"]
    rows += [record(f"t{i}", i % 2 == 0, agent=agent) for i in range(10) for agent in "ab"]
    found = changes(Trials.of(rows), {("a m", "b m"): True}, 0.95)
    assert [(one.a, one.b, one.decided, one.if_) for one in found] == [
        ("a m", "b m", False, IF_GENERATORS)
    ]


def test_different_hints_under_one_name_are_said() -> None:
    said = mixtures(Trials.of([record("x", True, hint=1), record("y", False)]))
    assert "a m: trials with different hints (0, 1) are counted together" in said


def test_all_of_it_is_json() -> None:
    trials = design({("x", "m"): 0.8, ("y", "m"): 0.5, ("y", "n"): 0.2})
    lost = record("t0", None, agent="y", model="n")
    data = json.loads(json.dumps(findings_json(findings(collection(*trials.records, lost)))))
    assert data["n_errors"] == 1
    assert data["agent_or_model"]["effects"]["basis"]["n_trials"] == 180
    assert data["skills"] == {"refused": "no task names its skills"}
    assert set(data["entries"][0]["plus_minus"]) == {"rerun", "tasks", "total"}


def test_probes_of_the_tasks_are_ranked_only_where_nothing_else_ran() -> None:
    probes = [
        record(f"t{i}", who == "oracle", agent=who, model="")
        for who in ("oracle", "nop", "ladder:boot", "variant:tin")
        for i in range(3)
    ]
    agents = [record(f"t{i}", i > 0, agent=who, model="m") for who in "ab" for i in range(3)]
    alone, both = Study("t", collection(*probes)), Study("t", collection(*probes, *agents))
    assert set(alone.ranked) == {"oracle", "nop", "ladder:boot", "variant:tin"}
    assert both.ranked == ("a m", "b m")
    assert set(both.entries) == {*both.ranked, *alone.ranked}
    assert findings(both.collection).summary.n_trials == len(agents)
    assert (
        findings(both.collection)
        .mixtures[-1]
        .startswith("12 trials by probes of the tasks are in no figure")
    )
    assert (
        overview.make(both, lambda path, text: None)
        .lede[0]
        .startswith("2 agents and models and 4 probes tried 3 tasks 18 times")
    )
    # The oracle resolves all three tasks, the agents all but the first.
    for name, said in (("t0", "0 of 2"), ("t1", "2 of 2")):
        lede = task.make(both, name, lambda path, text: None).lede[0]
        assert lede.startswith(f"{said} agents and models resolved it at least once; {said} trials")


def test_the_half_widths_of_a_site_are_those_of_a_report() -> None:
    """An interval that is cut at 0 has a half width of its own, and it is not that of the ±."""
    study = Study("t", collection(*(record(f"t{i}", i < 2) for i in range(20) for _ in range(3))))
    assert study.summary is not None
    rate = study.summary.entries[0].rate
    assert rate is not None
    half = rate.plus_minus
    assert half.total > rate.total.half_width
    twins = [to_json(overview.make(study, lambda path, text: None))]
    twins += [to_json(agent_page.make(study, "a m", lambda path, text: None))]
    (row,) = json.loads(twins[0])["sections"]["tiers"][0]["rows"]
    assert (row["total_half"], row["rerun_half"]) == pytest.approx((half.total, half.rerun))
    assert f"{half.total}" in twins[1]


def test_the_page_of_skills_tells_a_horizon_or_why_there_is_none() -> None:
    def said(rows: list[Record]) -> list[object]:
        page = skills_page.make(Study("t", collection(*rows)), lambda path, text: None)
        twin = json.loads(to_json(page))
        found = twin["sections"]["horizon"]
        assert isinstance(found, list)
        return found

    def made(minutes: list[float], agent: str) -> list[Record]:
        generator = np.random.default_rng(3)
        return [
            record(f"t{i}", bool(generator.random() < 1 / (1 + long / 60)), agent=agent,
                   expert_minutes=long)
            for i, long in enumerate(minutes)
            for _ in range(8)
        ]  # fmt: skip

    lengths = [float(5 * 2 ** (i / 3)) for i in range(24)]
    table, refused = said([*made(lengths, "a"), *made([30.0] * 24, "b")])
    assert isinstance(table, dict) and isinstance(refused, dict)
    (row,) = table["rows"]
    low, high = row["interval"]
    assert row["who"] == "a m" and low < row["horizon"] < high and low < 3600 < high
    assert refused["text"][0].startswith("No horizon for b m: the tasks differ less than fourfold")
    (none,) = said([record(f"t{i}", agent=who) for who in "ab" for i in range(3)])
    assert none == {"text": ["No horizon can be told: no task states how long an expert needs."]}
