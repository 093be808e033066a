"""A verdict that was changed says so wherever it stands: the published results themselves."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from benchflow.results.adjudication import NAME
from benchflow.results.collect import collect
from benchflow.results.records import Collection, Record
from benchflow.site.markdown_json import to_markdown
from benchflow.site.pages import failures, trial, trials
from benchflow.site.study import Study
from benchflow.study.failures import label
from benchflow.study.statistics import over_claims

RESULTS = Path(__file__).parents[2] / "results"
CLEARED = "not-the-agent"


@cache
def published() -> Study:
    return Study("Published", collect([RESULTS], trajectories=False))


def nowhere(path: str, text: str) -> None:
    assert path and text


def page(job: str, name: str) -> str:
    study = published()
    (record,) = [r for r in study.records if (r.job, r.trial.partition("__")[0]) == (job, name)]
    made = trial.make(study.at, study.tried[record.who, record.task], record, nowhere)
    return " ".join(to_markdown(made).replace("\\", "").split())


def test_a_deliverable_that_was_altered_by_hand_is_never_shown_as_the_agents_alone() -> None:
    said = page("", "dead-server-1")
    assert (
        "all 14 milestones passed. This is the verdict after adjudication, and after its " in said
    )
    assert "The first verdict was failed, reward 0.71. It was the fault of the check" in said
    assert "altered by hand for it: that mode was changed" in said
    assert "padded with zeros" in page("", "appliance-1")


def test_both_versions_are_named_where_later_checks_judged() -> None:
    said = page("kernel-1", "own-kernel")
    assert "The first verdict was failed with 19 of 26 milestones, reward 0.65" in said
    assert "fault of the check and of the agent" in said
    assert (
        "22 of 26 milestones, by the checks of version 1.1.1, on the deliverable as it was" in said
    )
    assert "by the checks of version 1.1.2" in page("kernel-2", "own-kernel")


def test_what_was_never_disputed_says_nothing_of_it() -> None:
    for job, name in (("live-iso", "spin-live-iso"), ("", "oci-base-1")):
        assert "djudicat" not in page(job, name)


def test_a_failure_that_stands_says_whose_it_was() -> None:
    said = page("server-l5-2", "repair-server-v1-l5-2")
    assert (
        "fault of the generator" in said and "failed with 14 of 16 milestones, as at first" in said
    )
    assert "The verifier disagrees" not in said
    assert "fault of the agent" in page("derivative", "spin-derivative")


def test_the_list_of_trials_says_it_too() -> None:
    rows: dict[str, str] = {}
    trials.make(published(), rows.__setitem__)
    (text,) = rows.values()
    assert "adjudicated: fault of the check; first failed; altered by hand" in text
    assert "adjudicated: fault of the generator; first failed, 14 of 16" in text


def test_every_first_verdict_that_is_kept_beside_a_trial_is_told() -> None:
    kept = [*RESULTS.glob("*/*/*/first-verdict/milestones.json")]
    assert len(kept) == 8
    for path in kept:
        first = json.loads(path.read_text(encoding="utf-8"))
        told = json.loads((path.parents[1] / NAME).read_text(encoding="utf-8"))
        passed = sum(one["status"] == "passed" for one in first["milestones"])
        assert (told["first_passed"], told["first_reward"]) == (passed, first["reward"])
        assert first["resolved"] == (told["first"] == "resolved")


def test_the_version_that_judged_is_the_one_that_the_verifier_wrote_down() -> None:
    told = [*RESULTS.glob(f"*/*/*/{NAME}")]
    assert len(told) == 10
    for path in told:
        verifier = json.loads((path.parent / "verifier/milestones.json").read_text())["task"]
        (tried,) = json.loads((path.parents[1] / "benchflow.json").read_text())["tasks"]
        later = json.loads(path.read_text())["verified_version"]
        assert verifier["version"] == (later or tried["version"])
        assert later != tried["version"]


def test_claims_that_a_wrong_check_or_generator_denied_are_not_the_agents() -> None:
    found = over_claims(published().trials)
    (who,) = [who for who in found.claims if who.startswith("external")]
    wrong = found.claims[who].wrong
    assert wrong is not None and (wrong.n_trials, round(wrong.value, 3)) == (20, 0.2)
    assert found.cleared[who] == 3, (
        "locked-down and installer of the first set, and the drawn server"
    )
    said = to_markdown(failures.make(published(), nowhere))
    assert "3 failed trials are left out of all claims" in said
    cleared = [r.trial.partition("_")[0] for r in published().records if cause(r) == CLEARED]
    assert cleared == ["locked-down-1", "installer-1", "repair-server-v1-l5-2"]


def cause(record: Record) -> str:
    found = label(record)
    return found.cause if found else ""


@pytest.mark.parametrize(
    "text", ['{"first": "perhaps", "fault": ["check"]}', '{"first": "failed"}']
)
def test_what_cannot_be_read_is_a_problem_and_counts_for_nothing(tmp_path: Path, text: str) -> None:
    def read(name: str) -> Collection:
        source = RESULTS / "2026-11-fourth-attempts/server-l5-2"
        copy = tmp_path / name
        for path in source.rglob("*.json"):
            to = copy / path.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
        (found,) = copy.glob(f"*/{NAME}")
        found.write_text(text if name == "torn" else found.read_text())
        return collect([copy], trajectories=False)

    assert read("whole").records[0].adjudication is not None
    torn = read("torn")
    assert torn.records[0].adjudication is None
    assert any(one.path.name == NAME for one in torn.problems)
