"""Failure labels: every rule fires on its evidence, in the order of the documented table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_up import ladder, record

from benchflow.results.collect import collect
from benchflow.study.failures import LOOP, PHASES, RULES, TITLES, label, labels, phase, rules_table

PAGE = Path(__file__).parents[2] / "docs" / "analysis.md"


def cause(**more: object) -> str:
    found = label(record("t", False, **more))  # type: ignore[arg-type]
    assert found is not None
    return found.cause


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ({"failure_mode": "parse_error"}, "unreadable-tests"),
        ({"failure_mode": "test_timeout", "ended_itself": True}, "tests-hung"),
        ({"cause": "ContextWindowExceededError"}, "out-of-context"),
        ({"cause": "AgentTimeoutError", "said_done": True}, "out-of-time"),
        ({"failure_mode": "agent_timeout"}, "out-of-time"),
        ({"failure_mode": "limit: token"}, "out-of-budget"),
        ({"cause": "AgentSafetyRefusalError"}, "refused"),
        ({"cause": "NonZeroAgentExitCodeError"}, "agent-crashed"),
        ({"ended_itself": False}, "cut-off"),
        ({"ended_itself": True, "steps": 1}, "did-nothing"),
        ({"said_done": True, "steps": 40}, "declared-done"),
        ({"ended_itself": True}, "ended-wrong"),
        ({}, "unknown"),
    ],
)
def test_how_the_run_ended_names_the_cause(evidence: dict[str, object], expected: str) -> None:
    assert cause(**evidence) == expected


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        ("BadDeliverable", "nothing-usable"),
        ("GuestPanic", "machine-died"),
        ("RebootLoop", "machine-died"),
        ("GuestTimeout", "machine-hung"),
        ("LoginFailed", "no-login"),
        ("CommandTimeout", "command-failed"),
        ("AssertionError", "declared-done"),
    ],
)
def test_what_the_verifier_found_names_it_where_the_run_ended_well(
    raised: str, expected: str
) -> None:
    milestones = ladder("passed", "failed", "not reached", message=f"{raised}: the guest says so")
    assert cause(milestones=milestones, said_done=True, ended_itself=True) == expected


def test_text_that_a_guest_wrote_names_nothing() -> None:
    """Only the class at the head of the message counts, never what follows or stands before."""
    milestones = ladder("failed", message="GuestPanic is what it printed, AgentTimeoutError: too")
    assert cause(milestones=milestones, ended_itself=True) == "ended-wrong"


def test_resolved_and_lost_trials_have_no_label() -> None:
    assert label(record(resolved=True)) is None
    assert label(record(resolved=None, cause="ApiError")) is None
    assert len(labels([record(resolved=True), record(), record(resolved=None)])) == 1


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((), "not judged"),
        (("failed", "not reached"), "nothing"),
        (("passed", "failed", "not reached"), "under half"),
        (("passed", "failed"), "half or more"),
        (("passed", "passed", "failed"), "all but one"),
        (("passed", "passed"), "all"),
    ],
)
def test_the_phase_is_how_far_it_got(statuses: tuple[str, ...], expected: str) -> None:
    assert phase(record(milestones=ladder(*statuses))) == expected
    assert expected in PHASES


def trajectory(path: Path, calls: list[str]) -> Path:
    path.write_text(
        json.dumps(
            {
                "schema_version": "ATIF-v1.6",
                "session_id": "s",
                "agent": {"name": "a", "version": "1"},
                "steps": [
                    {
                        "step_id": i,
                        "source": "agent",
                        "message": "",
                        "tool_calls": [
                            {
                                "tool_call_id": f"c{i}",
                                "function_name": "bash",
                                "arguments": {"command": command},
                            }
                        ],
                    }
                    for i, command in enumerate(calls, 1)
                ],
            }
        )
    )
    return path


def test_a_run_that_repeats_itself_to_the_end_is_a_loop(tmp_path: Path) -> None:
    def cut_off(calls: list[str]) -> str:
        path = trajectory(tmp_path / "trajectory.json", calls)
        (read,) = collect([path]).records
        one = record(cause="AgentTimeoutError", ended_itself=False, repeats=read.repeats)
        found = label(one)
        assert found is not None
        return found.cause

    assert cut_off(["ls", *["make"] * LOOP]) == "looped"
    assert cut_off(["ls", *["make"] * (LOOP - 1)]) == "out-of-time"
    assert cut_off([*["make"] * LOOP, "ls"]) == "out-of-time"


def test_the_documented_table_is_the_one_that_is_used() -> None:
    assert rules_table() in PAGE.read_text()
    assert len(TITLES) == len(RULES)
