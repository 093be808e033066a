"""From what a trial left behind to its verdict.

The rule, in order:
1. No rewards: `error`. The environment did not start, the verifier wrote no reward, the trial was
   cancelled, our own code failed: nobody judged the work, so nothing counts against the agent.
   But where the verifier ran in the agent's own sandbox (`shared`, as plain Harbor tasks may have
   it), and there left no reward that can be read, `failed`: an agent that could win by
   nothing else would only have to remove a folder.
2. The task is resolved: `resolved`, whatever else happened on the way.
3. The agent was cut short by infrastructure (the model's provider, our sandbox), or its work was
   spoiled on the way to the verifier (a full disk): `error`.
4. Otherwise `failed`. A budget that was used up ends the work, and counts. An agent's own timeout
   or non-zero exit is the agent's: it was verified.

Decided by exception class, never by an exception's text.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from benchflow import errors
from benchflow.results.model import Verdict

#: Harbor's exception classes for a model provider or network that failed under a working agent.
#: (Not here, because they are the agent's own: AgentTimeoutError, NonZeroAgentExitCodeError,
#: OutputTokenExceededError, ContextWindowExceededError, AgentSafetyRefusalError.)
PROVIDER_FAULTS = frozenset(
    {
        "AgentAuthenticationError",
        "ApiConnectionClosedError",
        "ApiConnectionError",
        "ApiError",
        "ApiInternalServerError",
        "ApiOverloadedError",
        "ApiProviderResourceNotFoundError",
        "ApiRateLimitError",
        "ApiResponseStalledError",
        "ApiUsageLimitError",
        "ModelNotFoundError",
        "NetworkConnectionError",
        "UnknownApiError",
    }
)

#: What is raised when a verifier was put where it works, or ran, and left no reward that can be
#: read: Harbor's classes, and ours for a reward that is no finite number.
NO_REWARD_LEFT = frozenset(
    {
        "AddTestsDirError",
        "DownloadVerifierDirError",
        "RewardFileEmptyError",
        "RewardFileNotFoundError",
        "UnusableReward",
        "VerifierOutputParseError",
    }
)
#: The cause of a trial without a reward of which nothing else is known; where its job verifies
#: nothing, that of each trial whose agent ended well.
NO_REWARD = "NoReward"
#: What is said of such a trial.
IN_THE_AGENTS_SANDBOX = (
    "the verifier works in the agent's sandbox, and found it so that it left no reward"
)

#: The cause of a trial that was under way when its job was stopped.
CANCELLED = "CancelledError"
#: The cause of a trial that a budget ended: it counts.
BUDGET_EXHAUSTED = "BudgetExhausted"

_INFRASTRUCTURE = frozenset(
    name
    for name, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.InfrastructureError)
)


def is_resolved(rewards: Mapping[str, float]) -> bool:
    """Ours say so with `resolved`; a plain Harbor task is resolved by a reward of at least 1.

    A plain task that names its rewards otherwise is resolved when each of them is at least 1.
    """
    if "resolved" in rewards and any(key.startswith("milestone.") for key in rewards):
        return rewards["resolved"] >= 1
    if "reward" in rewards:
        return rewards["reward"] >= 1
    return bool(rewards) and min(rewards.values()) >= 1


def reward(rewards: Mapping[str, float]) -> float | None:
    """The one number to show: `reward`, else the mean of what the verifier named."""
    if not rewards:
        return None
    return rewards.get("reward", sum(rewards.values()) / len(rewards))


def decide(
    rewards: Mapping[str, float] | None,
    exception: str,
    fault: str = "",
    *,
    spent: bool = False,
    shared: bool = False,
) -> tuple[Verdict, str]:
    """Verdict and cause, from the rewards and the class name of what was raised ("" for nothing).

    `fault` is the class name of what went wrong on our side without ending the trial. `spent`: the
    trial's budget was used up, which its agent may have taken for a fault of the provider's.
    `shared`: the verifier ran where the agent had. The cause of an `error` is never empty.
    """
    if not rewards and shared and not fault and exception in NO_REWARD_LEFT:
        return Verdict.FAILED, exception
    if not rewards:
        return Verdict.ERROR, exception or NO_REWARD
    if is_resolved(rewards):
        return Verdict.RESOLVED, exception
    if fault:
        return Verdict.ERROR, fault
    if spent:
        return Verdict.FAILED, BUDGET_EXHAUSTED
    if exception in PROVIDER_FAULTS or exception in _INFRASTRUCTURE:
        return Verdict.ERROR, exception
    return Verdict.FAILED, exception
