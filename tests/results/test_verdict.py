"""The verdict rules of docs/results.md."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pytest

from benchflow.results.jobs.verdict import (
    NO_REWARD_LEFT,
    PROVIDER_FAULTS,
    decide,
    is_resolved,
    reward,
)
from benchflow.results.model import Verdict


@pytest.mark.parametrize(
    ("rewards", "exception", "verdict", "cause"),
    [
        ({"reward": 1.0}, "", Verdict.RESOLVED, ""),
        ({"reward": 0.99}, "", Verdict.FAILED, ""),
        ({"reward": 0.0}, "AgentTimeoutError", Verdict.FAILED, "AgentTimeoutError"),
        ({"reward": 1.0}, "AgentTimeoutError", Verdict.RESOLVED, "AgentTimeoutError"),
        ({"reward": 0.0}, "NonZeroAgentExitCodeError", Verdict.FAILED, "NonZeroAgentExitCodeError"),
        ({"reward": 0.0}, "AgentSafetyRefusalError", Verdict.FAILED, "AgentSafetyRefusalError"),
        ({"reward": 0.0}, "ApiRateLimitError", Verdict.ERROR, "ApiRateLimitError"),
        ({"reward": 1.0}, "ApiRateLimitError", Verdict.RESOLVED, "ApiRateLimitError"),
        ({"reward": 0.0}, "InfrastructureError", Verdict.ERROR, "InfrastructureError"),
        ({"reward": 0.0}, "MissingTool", Verdict.ERROR, "MissingTool"),
        (None, "EnvironmentStartTimeoutError", Verdict.ERROR, "EnvironmentStartTimeoutError"),
        (None, "RewardFileNotFoundError", Verdict.ERROR, "RewardFileNotFoundError"),
        (None, "AgentTimeoutError", Verdict.ERROR, "AgentTimeoutError"),
        (None, "", Verdict.ERROR, "NoReward"),
        ({}, "", Verdict.ERROR, "NoReward"),
    ],
)
def test_a_verdict_follows_from_rewards_and_the_class_of_the_exception(
    rewards: dict[str, float] | None, exception: str, verdict: Verdict, cause: str
) -> None:
    assert decide(rewards, exception) == (verdict, cause)


def test_ours_are_resolved_by_their_own_word_and_not_by_the_share_of_milestones() -> None:
    nearly = {"reward": 1.0, "resolved": 0, "milestone.boots": 1}
    assert not is_resolved(nearly)
    assert is_resolved({**nearly, "resolved": 1})


def test_a_plain_task_that_happens_to_have_a_key_called_resolved_is_judged_by_its_reward() -> None:
    assert not is_resolved({"reward": 0.0, "resolved": 1})


def test_a_plain_task_with_other_names_is_resolved_when_all_are_full() -> None:
    assert is_resolved({"style": 1, "speed": 1})
    assert not is_resolved({"style": 1, "speed": 0.5})
    assert reward({"style": 1, "speed": 0.5}) == 0.75


def test_every_provider_fault_is_an_exception_of_harbors() -> None:
    """A class that Harbor renames must not silently become a failure of the agent."""
    import harbor.agents.installed as installed

    known = set()
    for name in ("base", "vibe"):
        module = import_module(f"harbor.agents.installed.{name}")
        known |= {n for n, kind in inspect.getmembers(module, inspect.isclass)}
    assert {m.name for m in pkgutil.iter_modules(installed.__path__)} >= {"base", "vibe"}
    assert known >= PROVIDER_FAULTS


def test_every_api_error_of_harbors_is_judged_on_purpose() -> None:
    """A new class under ApiError is a decision to take, not to inherit."""
    from harbor.agents.installed import base

    ours = {"OutputTokenExceededError", "ContextWindowExceededError", "AgentSafetyRefusalError"}
    classes = {
        name
        for name, kind in inspect.getmembers(base, inspect.isclass)
        if issubclass(kind, base.ApiError)
    }
    assert classes - ours <= PROVIDER_FAULTS


def test_work_that_we_spoiled_on_the_way_does_not_count_against_the_agent() -> None:
    assert decide({"reward": 0}, "", "OSError") == (Verdict.ERROR, "OSError")
    assert decide({"reward": 0}, "AgentTimeoutError", "OSError") == (Verdict.ERROR, "OSError")
    assert decide({"reward": 1}, "", "OSError") == (Verdict.RESOLVED, "")


@pytest.mark.parametrize("exception", sorted(NO_REWARD_LEFT))
def test_a_verifier_that_the_agent_shares_is_the_agents_to_break(exception: str) -> None:
    assert decide(None, exception, shared=True) == (Verdict.FAILED, exception)
    assert decide(None, exception) == (Verdict.ERROR, exception)
    assert decide(None, exception, "InfrastructureError", shared=True)[0] is Verdict.ERROR
    assert decide(None, "EnvironmentStartTimeoutError", shared=True)[0] is Verdict.ERROR
    assert decide(None, "", shared=True) == (Verdict.ERROR, "NoReward")
