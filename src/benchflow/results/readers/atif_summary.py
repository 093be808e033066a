"""What a trial's row needs of its ATIF documents, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from benchflow.results.json_values import count, number, word
from benchflow.results.model import Usage
from benchflow.results.readers.atif_document import (
    SOURCES,
    Agent,
    Document,
    FinalMetrics,
    RawStep,
    Result,
    ToolCall,
)

#: Calls by which agents declare their work finished: Terminus 2, SWE-agent and Inspect,
#: OpenHands, Cline, Goose and others.
DONE = frozenset({"mark_task_complete", "submit", "finish", "attempt_completion", "task_complete"})
#: What mini-swe-agent prints to hand in its work.
DONE_MARK = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

#: The documents of one trajectory file and of those that it goes on in.
Chain = Sequence[Document]


@dataclass(frozen=True)
class Summary:
    """What a trial's row needs of its trajectory. None: not told by it."""

    steps: int | None = None
    repeats: int | None = None
    said_done: bool | None = None
    usage: Usage = field(default_factory=Usage)
    agent: str = ""
    agent_version: str = ""
    model: str = ""
    started_at: str = ""
    session: str = ""


def summarize(chains: Sequence[Chain]) -> Summary:
    """Sums of the trajectories of one trial."""
    documents = [document for chain in chains for document in chain]
    if not documents:
        return Summary()
    agent = documents[0].agent or Agent()
    steps = [step for each in documents for step in each.steps or () if step is not None]
    own = [step for step in steps if step.source == "agent" and not _is_copied(step)]
    return Summary(
        steps=len(own),
        repeats=repeats(_asked(own)),
        said_done=_said_done(own),
        usage=_add([_usage(chain) for chain in chains]),
        agent=word(agent.name, 80),
        agent_version=word(agent.version, 80),
        model=word(agent.model_name, 80),
        started_at=next((t for s in steps if (t := word(s.timestamp, 40))), ""),
        session=word(documents[0].session_id),
    )


def faults(document: Document) -> list[str]:
    """The first offence of each kind against the format's own rules."""
    found: dict[str, str] = {}
    for place, step in enumerate(document.steps or (), 1):
        if step is None:
            found.setdefault("object", f"step {place} is no object")
            continue
        if step.step_id != place:
            found.setdefault("id", f"step {place} has step_id {word(step.step_id, 20)!r}")
        if step.source not in SOURCES:
            found.setdefault("source", f"step {place} has source {word(step.source, 20)!r}")
        if step.observation and not _are_of(step.results, step.tool_calls or []):
            found.setdefault("call", f"step {place} has the result of a call that it lacks")
    if not document.steps:
        found["none"] = "has no steps"
    return list(found.values())


def _is_copied(step: RawStep) -> bool:
    """Whether it repeats one of an earlier trajectory."""
    return step.is_copied_context is True


def _are_of(results: list[Result], calls: list[ToolCall]) -> bool:
    if len(results) == 1 and len(calls) == 1:
        # As nearly all steps are; there are millions.
        asked = calls[0].tool_call_id
        if type(asked) is str and asked == results[0].source_call_id:
            return True
    made = {call.tool_call_id for call in calls if isinstance(call.tool_call_id, str)}
    for result in results:
        name = result.source_call_id
        if name is not None and not (isinstance(name, str) and name in made):
            return False
    return True


def _said_done(own: list[RawStep]) -> bool | None:
    if not own:
        return None
    calls = own[-1].tool_calls
    if not calls:
        return bool(own[-1].message)
    return any(
        word(call.function_name) in DONE or DONE_MARK in str(call.arguments) for call in calls
    )


def _asked(own: list[RawStep]) -> Iterator[tuple[Any, Any]]:
    """The calls of an agent's own steps, the last one first."""
    for step in reversed(own):
        for call in reversed(step.tool_calls or ()):
            yield call.function_name, call.arguments


def repeats(calls: Iterator[tuple[Any, Any]]) -> int:
    """How often the first of `calls` (tool, arguments) stands in a row; 0 where there is none."""
    last = next(calls, None)
    if last is None:
        return 0
    try:
        return 1 + sum(1 for _ in takewhile(lambda call: call == last, calls))
    except RecursionError:  # arguments nested deeper than any that were meant
        return 1


def _usage(chain: Chain) -> Usage:
    """The final metrics, which include subagents; where they are missing, the steps' sums.

    In a chain of continuations the totals count on, so the largest is the whole.
    """
    finals = [document.final_metrics or FinalMetrics() for document in chain]

    def total(final: str, each: str) -> float | None:
        told = [value for f in finals if (value := number(getattr(f, final))) is not None]
        if told:
            return max(told)
        metrics = [
            step.metrics
            for document in chain
            for step in document.steps or ()
            if step and step.metrics and not _is_copied(step)
        ]
        summed = [value for m in metrics if (value := number(getattr(m, each))) is not None]
        return sum(summed) if summed else None

    return Usage(
        input_tokens=count(total("total_prompt_tokens", "prompt_tokens")),
        output_tokens=count(total("total_completion_tokens", "completion_tokens")),
        cost_usd=total("total_cost_usd", "cost_usd"),
    )


def _add(usages: list[Usage]) -> Usage:
    """The sum; None where no part was recorded."""
    inputs = [u.input_tokens for u in usages if u.input_tokens is not None]
    outputs = [u.output_tokens for u in usages if u.output_tokens is not None]
    dollars = [u.cost_usd for u in usages if u.cost_usd is not None]
    return Usage(
        sum(inputs) if inputs else None,
        sum(outputs) if outputs else None,
        sum(dollars) if dollars else None,
    )
