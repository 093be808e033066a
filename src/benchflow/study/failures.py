"""Why trials failed: the phase that was reached × the proximate cause, from rules alone.

The rules below are tried from top to bottom and the first that holds names the cause; they read
class names, statuses, counts and whose fault a review put down, never free text. No language model
judges anything here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchflow.results.model import Verdict
from benchflow.results.records import Record

#: As many times the same call in a row, at the end of a trajectory, is called a loop.
LOOP = 5

PHASES = ("nothing", "under half", "half or more", "all but one", "all", "not judged")


@dataclass(frozen=True)
class Evidence:
    """What the rules see."""

    record: Record

    @property
    def finding(self) -> str:
        """Class name at the head of the first failed milestone's message, as it was written."""
        for milestone in self.record.milestones:
            if milestone.status == "failed":
                head = milestone.message.partition(":")[0].strip()
                return head if head.isidentifier() else ""
        return ""

    @property
    def raised(self) -> frozenset[str]:
        """What ended the run, in the source's word and in ours."""
        return frozenset({self.record.cause, self.record.failure_mode} - {""})


@dataclass(frozen=True)
class Rule:
    """One row of the table: `title` for people, `evidence` says what it reads."""

    id: str
    title: str
    evidence: str
    holds: Callable[[Evidence], bool]


@dataclass(frozen=True)
class Label:
    """Why one trial failed. `phase` is one of PHASES, `furthest` the last milestone that passed."""

    uid: str
    who: str
    task: str
    phase: str
    furthest: str
    cause: str


def _raised(*names: str) -> Callable[[Evidence], bool]:
    return lambda seen: not seen.raised.isdisjoint(names)


def _finding(*names: str) -> Callable[[Evidence], bool]:
    return lambda seen: seen.finding in names


def _cleared(seen: Evidence) -> bool:
    found = seen.record.adjudication
    return found is not None and found.clears_agent


RULES = (
    Rule(
        "not-the-agent",
        "adjudicated: not the agent's fault",
        "`adjudication.json`: what failed was put on the check, the instruction, the generator or "
        "the verifier, and on the agent nothing",
        _cleared,
    ),
    Rule(
        "unreadable-tests",
        "the tests gave no readable result",
        "failure mode `parse_error`",
        _raised("parse_error"),
    ),
    Rule(
        "tests-hung",
        "the tests did not end in time",
        "failure mode `test_timeout`",
        _raised("test_timeout"),
    ),
    Rule(
        "looped",
        "repeated one call until it was stopped",
        f"trajectory: its last {LOOP} calls or more are one call with the same arguments, and the"
        " run did not end by itself",
        lambda seen: (seen.record.repeats or 0) >= LOOP and seen.record.ended_itself is not True,
    ),
    Rule(
        "out-of-context",
        "out of context or output",
        "`ContextWindowExceededError`, `ContextLengthExceededError`, `OutputTokenExceededError`, "
        "`OutputLengthExceededError`, `context_length_exceeded`, `output_length_exceeded`, "
        "`limit: context`",
        _raised(
            "ContextWindowExceededError",
            "ContextLengthExceededError",
            "OutputLengthExceededError",
            "OutputTokenExceededError",
            "context_length_exceeded",
            "output_length_exceeded",
            "limit: context",
        ),
    ),
    Rule(
        "out-of-time",
        "out of time",
        "`AgentTimeoutError`, `agent_timeout`, `limit: time`, `limit: working`",
        _raised("AgentTimeoutError", "agent_timeout", "limit: time", "limit: working"),
    ),
    Rule(
        "out-of-budget",
        "out of tokens, dollars or turns",
        "`limit: token`, `limit: cost`, `limit: message`, `limit: operator`",
        _raised("limit: token", "limit: cost", "limit: message", "limit: operator"),
    ),
    Rule(
        "refused",
        "refused the work",
        "`AgentSafetyRefusalError`",
        _raised("AgentSafetyRefusalError"),
    ),
    Rule(
        "agent-crashed",
        "the agent's program failed",
        "`NonZeroAgentExitCodeError`, `unknown_agent_error`, `fatal_llm_parse_error`, "
        "`agent_installation_failed`",
        _raised(
            "NonZeroAgentExitCodeError",
            "unknown_agent_error",
            "fatal_llm_parse_error",
            "agent_installation_failed",
        ),
    ),
    Rule(
        "cut-off",
        "cut off, it is not said by what",
        "the run did not end by itself",
        lambda seen: seen.record.ended_itself is False,
    ),
    Rule(
        "did-nothing",
        "ended after one step or none",
        "trajectory: at most one step by the agent",
        lambda seen: seen.record.steps is not None and seen.record.steps <= 1,
    ),
    Rule(
        "nothing-usable",
        "delivered nothing usable",
        "first failed check: `BadDeliverable`",
        _finding("BadDeliverable"),
    ),
    Rule(
        "machine-died",
        "the machine panicked, exited or restarted without end",
        "first failed check: `GuestPanic`, `GuestExited`, `GuestRebooted`, `RebootLoop`",
        _finding("GuestPanic", "GuestExited", "GuestRebooted", "RebootLoop"),
    ),
    Rule(
        "machine-hung",
        "the machine did not come up, or hung",
        "first failed check: `GuestTimeout`, `ConsoleFlood`",
        _finding("GuestTimeout", "ConsoleFlood"),
    ),
    Rule(
        "no-login",
        "nobody could log in or use the shell",
        "first failed check: `LoginFailed`, `ShellBroken`",
        _finding("LoginFailed", "ShellBroken"),
    ),
    Rule(
        "command-failed",
        "a command on the machine failed or hung",
        "first failed check: `CommandFailed`, `CommandTimeout`",
        _finding("CommandFailed", "CommandTimeout"),
    ),
    Rule(
        "declared-done",
        "declared done, and it was not",
        "the agent said that it was done",
        lambda seen: seen.record.said_done is True,
    ),
    Rule(
        "ended-wrong",
        "ended by itself, not resolved",
        "the run ended by itself; whether the agent called its work done was not recorded",
        lambda seen: seen.record.ended_itself is True,
    ),
    Rule("unknown", "unknown", "nothing of the above", lambda seen: True),
)

#: Causes of which one may doubt that the agent is at fault: the tests said nothing.
DOUBTED = frozenset({"unreadable-tests", "tests-hung"})
TITLES = {rule.id: rule.title for rule in RULES}


def label(record: Record) -> Label | None:
    """Phase and cause of a failed trial; None for one that was resolved or lost."""
    if record.verdict is not Verdict.FAILED:
        return None
    seen = Evidence(record)
    cause = next(rule.id for rule in RULES if rule.holds(seen))
    return Label(record.uid, record.who, record.task, phase(record), record.furthest, cause)


def labels(records: Iterable[Record]) -> tuple[Label, ...]:
    """The labels of all failed trials among `records`."""
    found = map(label, records)
    return tuple(one for one in found if one is not None)


def phase(record: Record) -> str:
    """How far it got, by the share of its milestones (milestones, or tests) that passed."""
    n, passed = len(record.milestones), record.n_passed
    if n == 0:
        return "not judged"
    if passed == 0:
        return "nothing"
    if passed == n:
        return "all"
    if passed == n - 1 and n > 2:
        return "all but one"
    return "half or more" if 2 * passed >= n else "under half"


def rules_table() -> str:
    """The rules in Markdown, in their order."""
    rows = [f"| {rule.id} | {rule.title} | {rule.evidence} |" for rule in RULES]
    return "\n".join(["| cause | in words | holds when |", "|---|---|---|", *rows])


def crossed(found: Iterable[Label]) -> Counter[tuple[str, str]]:
    """How many failures have each (phase, cause)."""
    return Counter((one.phase, one.cause) for one in found)
