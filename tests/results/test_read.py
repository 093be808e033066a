"""Any Harbor job folder is read; what cannot be read is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jobfolders import trial

from benchflow.cli import render
from benchflow.errors import UsageError
from benchflow.results import to_json
from benchflow.results.jobs.layout import find_jobs
from benchflow.results.jobs.trials import read_job
from benchflow.results.model import Verdict

LADDER = [
    {"id": "kernel", "title": "it starts", "weight": 1, "status": "passed", "checks": []},
    {
        "id": "login",
        "status": "failed",
        "checks": [
            {"name": "test_ok", "status": "passed", "proves": ["R1"], "seconds": 1.5},
            {"name": "test_in", "status": "failed", "proves": ["R2"], "message": "no prompt"},
        ],
    },
    {"id": "data", "status": "not reached", "requires": ["login"], "checks": []},
]


def test_a_trial_is_read_with_its_ladder_times_and_evidence(tmp_path: Path) -> None:
    folder = trial(
        tmp_path / "job",
        rewards={"reward": 0.3, "resolved": 0, "milestone.kernel": 1, "metric.boots": 3},
        milestones=LADDER,
    )
    (folder / "verifier" / "main.console.cast").write_text("{}")
    job = read_job(tmp_path / "job")
    (found,) = job.trials
    assert found.verdict is Verdict.FAILED
    assert (found.n_passed, len(found.milestones), found.furthest) == (1, 3, "kernel")
    failure = found.milestones[1].first_failure
    assert failure is not None
    assert (failure.name, failure.message) == ("test_in", "no prompt")
    assert found.metrics == {"boots": 3}
    assert (found.phases.agent, found.phases.hand_over, found.phases.total) == (30.0, 2.0, 90.0)
    assert "verifier/main.console.cast" in found.evidence
    assert job.problems == ()
    assert json.loads(json.dumps(to_json.jobs([job])))["jobs"][0]["counts"]["failed"] == 1


def test_torn_foreign_and_unfinished_folders_are_named_and_the_others_still_read(
    tmp_path: Path,
) -> None:
    job = tmp_path / "job"
    trial(job, "good", rewards={"reward": 1})
    for name, text in {
        "torn": (trial(job, "x", rewards={"reward": 1}) / "result.json").read_text()[:-40],
        "empty": "",
        "foreign": '{"hello": 1}',
        "list": "[1]",
        "binary": "\0\1",
    }.items():
        folder = trial(job, name)
        (folder / "result.json").write_text(text)
    unfinished = trial(job, "unfinished")
    (unfinished / "result.json").unlink()
    (job / "notes").mkdir()
    found = read_job(job)
    assert [t.name for t in found.trials] == ["good", "x"]
    assert found.unfinished == (unfinished,)
    named = {
        p.path.parent.name if p.path.is_file() else p.path.name: p.message for p in found.problems
    }
    assert set(named) == {"torn", "empty", "foreign", "list", "binary", "notes"}
    assert "cut off in the middle of a write" in named["torn"]
    assert "cut off in the middle of a write" in named["empty"]


def test_a_trial_that_nobody_judged_is_an_error_with_the_verifiers_own_reason(
    tmp_path: Path,
) -> None:
    folder = trial(tmp_path / "job", exception="RewardFileNotFoundError")
    (folder / "verifier" / "broken.json").write_text(
        json.dumps({"schema": 1, "reason": "QemuMissing", "message": "no qemu-system-x86_64"})
    )
    (found,) = read_job(tmp_path / "job").trials
    assert (found.verdict, found.cause) == (Verdict.ERROR, "QemuMissing")
    assert found.cause_message == "no qemu-system-x86_64"


def test_a_step_that_nobody_judged_makes_the_whole_trial_an_error(tmp_path: Path) -> None:
    steps = [
        {"step_name": "one", "verifier_result": {"rewards": {"reward": 1}}},
        {
            "step_name": "two",
            "verifier_result": None,
            "exception_info": {"exception_type": "VerifierTimeoutError"},
        },
    ]
    trial(tmp_path / "job", rewards={"reward": 1}, step_results=steps)
    (found,) = read_job(tmp_path / "job").trials
    assert (found.verdict, found.cause) == (Verdict.ERROR, "VerifierTimeoutError")


def test_the_ladders_of_steps_are_joined_under_the_names_of_the_steps(tmp_path: Path) -> None:
    steps = [
        {"step_name": name, "verifier_result": {"rewards": {"reward": 1, "milestone.a": 1}}}
        for name in ("one", "two")
    ]
    trial(tmp_path / "job", rewards={"reward": 1}, step_results=steps)
    (found,) = read_job(tmp_path / "job").trials
    assert [m.id for m in found.milestones] == ["one/a", "two/a"]


def test_what_a_guest_printed_cannot_reach_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202eevil\x9b31m\x00ok"
    ladder = [
        {"id": "a", "status": "failed", "title": evil,
         "checks": [{"name": evil, "status": "failed", "message": evil}]}
    ]  # fmt: skip
    trial(tmp_path / "job", rewards={"reward": 0}, milestones=ladder)
    (found,) = read_job(tmp_path / "job").trials
    text = json.dumps(to_json.trial(found), ensure_ascii=False)
    assert not set(text) & {"\x1b", "\x9b", "\u202e", "\x00", "\x07"}
    assert "evilok" in text


def test_no_name_of_a_file_or_budget_reaches_the_terminal_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    folder = trial(tmp_path / "job", exception="AgentTimeoutError")
    (folder / "model.json").write_text(json.dumps({"budget_exhausted": f"usd{evil}"}))
    (folder / "verifier" / f"{evil}console.cast").write_text("x")
    job = read_job(tmp_path / "job")
    assert any(evil in name for name in job.trials[0].evidence)
    render.print_job(job, details=True)
    said = capsys.readouterr().out
    assert "console.cast" in said
    assert not set(said) & {"\x1b", "\u202e", "\x07"}
    assert not set(job.trials[0].cause_message) & {"\x1b", "\u202e", "\x07"}


def test_a_link_in_place_of_a_record_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"milestones": [{"id": "secret", "status": "passed"}]}))
    folder = trial(tmp_path / "job", rewards={"reward": 0})
    (folder / "verifier" / "milestones.json").symlink_to(secret)
    job = read_job(tmp_path / "job")
    assert job.trials[0].milestones == ()
    assert "is not a regular file" in job.problems[0].message


def test_jobs_are_found_alone_and_in_a_folder_of_jobs(tmp_path: Path) -> None:
    trial(tmp_path / "jobs" / "b", rewards={"reward": 1})
    trial(tmp_path / "jobs" / "a", rewards={"reward": 1})
    (tmp_path / "jobs" / ".torn").mkdir()
    assert [p.name for p in find_jobs(tmp_path / "jobs")] == ["a", "b"]
    assert [p.name for p in find_jobs(tmp_path / "jobs" / "b")] == ["b"]
    with pytest.raises(UsageError, match="no job here"):
        find_jobs(tmp_path / "jobs" / ".torn")
