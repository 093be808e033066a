"""What a trial's row needs of its ATIF documents, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from benchflow.results.model import Usage
from benchflow.results.readers.atif_steps import is_copied
from benchflow.results.values import count, mapping, number, sequence, word

#: Calls by which agents declare their work finished: Terminus 2, SWE-agent and Inspect,
#: OpenHands, Cline, Goose and others.
DONE = frozenset({"mark_task_complete", "submit", "finish", "attempt_completion", "task_complete"})
#: What mini-swe-agent prints to hand in its work.
DONE_MARK = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_SOURCES = ("system", "user", "agent")

#: The documents of one trajectory file and of those that it goes on in.
Chain = Sequence[Mapping[str, Any]]


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
    agent = mapping(documents[0].get("agent"))
    steps = [step for each in documents for step in sequence(each.get("steps"))]
    own = [s for s in steps if mapping(s).get("source") == "agent" and not is_copied(s)]
    return Summary(
        steps=len(own),
        repeats=repeats(_asked(own)),
        said_done=_said_done(own),
        usage=_add([_usage(chain) for chain in chains]),
        agent=word(agent.get("name"), 80),
        agent_version=word(agent.get("version"), 80),
        model=word(agent.get("model_name"), 80),
        started_at=next((t for s in steps if (t := word(mapping(s).get("timestamp"), 40))), ""),
        session=word(documents[0].get("session_id")),
    )


def faults(document: Mapping[str, Any]) -> list[str]:
    """The first offence of each kind against the format's own rules."""
    found: dict[str, str] = {}
    for place, step in enumerate(sequence(document.get("steps")), 1):
        if not isinstance(step, dict):
            found.setdefault("object", f"step {place} is no object")
            continue
        get = step.get
        if get("step_id") != place:
            found.setdefault("id", f"step {place} has step_id {word(get('step_id'), 20)!r}")
        if get("source") not in _SOURCES:
            found.setdefault("source", f"step {place} has source {word(get('source'), 20)!r}")
        seen = get("observation")
        results = None if seen is None else sequence(mapping(seen).get("results"))
        if results and not _are_of(results, sequence(get("tool_calls"))):
            found.setdefault("call", f"step {place} has the result of a call that it lacks")
    if not sequence(document.get("steps")):
        found["none"] = "has no steps"
    return list(found.values())


def _are_of(results: list[Any], calls: list[Any]) -> bool:
    if len(results) == 1 and len(calls) == 1:
        # As nearly all steps are; there are millions.
        asked = mapping(calls[0]).get("tool_call_id")
        if type(asked) is str and asked == mapping(results[0]).get("source_call_id"):
            return True
    made = [call.get("tool_call_id") for call in calls if isinstance(call, dict)]
    names = {name for name in made if isinstance(name, str)}
    for result in results:
        name = result.get("source_call_id") if isinstance(result, dict) else None
        if name is not None and not (isinstance(name, str) and name in names):
            return False
    return True


def _said_done(own: list[Any]) -> bool | None:
    if not own:
        return None
    last = mapping(own[-1])
    calls = [mapping(call) for call in sequence(last.get("tool_calls"))]
    if not calls:
        return bool(last.get("message"))
    return any(
        call.get("function_name") in DONE or DONE_MARK in str(call.get("arguments"))
        for call in calls
    )


def _asked(own: list[Any]) -> Iterator[tuple[Any, Any]]:
    """The calls of an agent's own steps, the last one first."""
    for step in reversed(own):
        for call in map(mapping, reversed(sequence(mapping(step).get("tool_calls")))):
            yield call.get("function_name"), call.get("arguments")


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

    In a chain of continuations the totals go on counting, so the largest is the whole.
    """
    finals = [mapping(document.get("final_metrics")) for document in chain]

    def total(final: str, each: str) -> float | None:
        told = [value for f in finals if (value := number(f.get(final))) is not None]
        if told:
            return max(told)
        metrics = [
            mapping(step["metrics"])
            for document in chain
            for step in sequence(document.get("steps"))
            if mapping(step).get("metrics") and not is_copied(step)
        ]
        summed = [value for m in metrics if (value := number(m.get(each))) is not None]
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
