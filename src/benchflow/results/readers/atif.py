"""Agent trajectories in ATIF (Agent Trajectory Interchange Format, Harbor's RFC 0001, v1.0–v1.8).

Reads leniently what the format's own models would refuse, and says what was against the rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from benchflow.results.files import UnreadableRecord, read_bytes
from benchflow.results.model import Problem, Usage, Verdict
from benchflow.results.records import Call, Format, Record, Step
from benchflow.results.text import printable
from benchflow.results.values import (
    count,
    mapping,
    moment,
    number,
    seconds_from,
    sequence,
    to_json,
    word,
)

#: About 200,000 steps with their outputs; a larger file is refused, not read halfway.
MAX_BYTES = 256 << 20
MAX_TEXT = 100_000
#: How long a chain of continuations, and how deep a nest of subagents, is followed.
MAX_FILES, MAX_DEPTH = 100, 5
#: Calls by which agents declare their work finished: Terminus 2, SWE-agent and Inspect,
#: OpenHands, Cline, Goose and others.
DONE = frozenset({"mark_task_complete", "submit", "finish", "attempt_completion", "task_complete"})
#: What mini-swe-agent prints to hand in its work.
DONE_MARK = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


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


def is_trajectory(data: Any) -> bool:
    """Whether a JSON value says that it is an ATIF trajectory."""
    return str(mapping(data).get("schema_version", "")).startswith("ATIF-")


def read(path: Path) -> tuple[list[Record], list[Problem]]:
    """One trajectory alone: what an agent did, which nobody judged, so its verdict is `error`."""
    summary, problems = summarize((path,))
    if summary.steps is None:
        return [], problems
    record = Record(
        uid="",
        source=path,
        format=Format.ATIF,
        job="",
        trial=summary.session or word(f"{path.parent.name}/{path.stem}"),
        agent=summary.agent or "?",
        model=summary.model,
        agent_version=summary.agent_version,
        task="?",
        verdict=Verdict.ERROR,
        cause="NotJudged",
        cause_message="a trajectory alone: no verifier's result beside it",
        said_done=summary.said_done,
        steps=summary.steps,
        repeats=summary.repeats,
        usage=summary.usage,
        started_at=summary.started_at,
        folder=path.parent,
        trajectories=(path,),
    )
    return [record], problems


def summarize(paths: tuple[Path, ...]) -> tuple[Summary, list[Problem]]:
    """Sums of the trajectories of one trial, and what is wrong with them."""
    problems: list[Problem] = []
    documents: list[Mapping[str, Any]] = []
    usages: list[Usage] = []
    for path in paths:
        chain: list[Mapping[str, Any]] = []
        for place, document in _chain(path, problems):
            chain.append(document)
            problems += [Problem(place, fault) for fault in _faults(document)]
        documents += chain
        usages.append(_usage(chain))
    if not documents:
        return Summary(), problems
    agent = mapping(documents[0].get("agent"))
    steps = [step for each in documents for step in sequence(each.get("steps"))]
    own = [s for s in steps if mapping(s).get("source") == "agent" and not _is_copied(s)]
    return (
        Summary(
            steps=len(own),
            repeats=repeats(_asked(own)),
            said_done=_said_done(own),
            usage=add(usages),
            agent=word(agent.get("name"), 80),
            agent_version=word(agent.get("version"), 80),
            model=word(agent.get("model_name"), 80),
            started_at=next((t for s in steps if (t := word(mapping(s).get("timestamp"), 40))), ""),
            session=word(documents[0].get("session_id")),
        ),
        problems,
    )


def steps(paths: tuple[Path, ...]) -> Iterator[Step]:
    """The steps of one trial's trajectories in order; a delegated subagent's after its parent's."""
    n = 0
    for path in paths:
        for _, document in _chain(path, []):
            for step in _document_steps(document, n):
                n = step.n
                yield step


def _chain(path: Path, problems: list[Problem]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    seen: set[Path] = set()
    while path not in seen and len(seen) < MAX_FILES:
        seen.add(path)
        try:
            document = _load(path)
        except UnreadableRecord as error:
            problems.append(Problem(path, str(error)))
            return
        yield path, document
        name = document.get("continued_trajectory_ref")
        if not isinstance(name, str) or not name:
            return
        if "/" in name or "\0" in name or name in (".", ".."):
            problems.append(Problem(path, f"goes on in {word(name)!r}: outside its folder"))
            return
        path = path.parent / name


def _load(path: Path) -> Mapping[str, Any]:
    data = read_bytes(path, MAX_BYTES)
    if not data:
        raise UnreadableRecord("is empty: cut off in the middle of a write")
    try:
        value = from_json(data)  # twice as quick as Python's own, and stricter
    except ValueError:
        value = _load_slowly(data)
    if not is_trajectory(value):
        raise UnreadableRecord("is no ATIF trajectory")
    return mapping(value)


def _load_slowly(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableRecord(f"is torn or no JSON ({type(error).__name__})") from error


def _faults(document: Mapping[str, Any]) -> list[str]:
    """The first offence of each kind against the format's own rules."""
    found: dict[str, str] = {}
    for place, step in enumerate(sequence(document.get("steps")), 1):
        if not isinstance(step, dict):
            found.setdefault("object", f"step {place} is no object")
            continue
        if step.get("step_id") != place:
            found.setdefault("id", f"step {place} has step_id {word(step.get('step_id'), 20)!r}")
        if step.get("source") not in ("system", "user", "agent"):
            found.setdefault("source", f"step {place} has source {word(step.get('source'), 20)!r}")
        if "observation" in step and not _results_are_of_calls(step):
            found.setdefault("call", f"step {place} has the result of a call that it lacks")
    if not sequence(document.get("steps")):
        found["none"] = "has no steps"
    return list(found.values())


def _results_are_of_calls(step: Mapping[str, Any]) -> bool:
    found = [mapping(call).get("tool_call_id") for call in sequence(step.get("tool_calls"))]
    calls = {name for name in found if isinstance(name, str)}
    for result in sequence(mapping(step["observation"]).get("results")):
        name = mapping(result).get("source_call_id")
        if name is not None and not (isinstance(name, str) and name in calls):
            return False
    return True


def _document_steps(
    document: Mapping[str, Any], n: int, subagent: str = "", depth: int = 0
) -> Iterator[Step]:
    default = word(mapping(document.get("agent")).get("model_name"), 80)
    raw = [step for step in sequence(document.get("steps")) if isinstance(step, dict)]
    first = moment(next((step["timestamp"] for step in raw if step.get("timestamp")), None))
    for step in raw:
        n += 1
        metrics = mapping(step.get("metrics"))
        is_agent = step.get("source") == "agent"
        now = moment(step.get("timestamp"))
        yield Step(
            n=n,
            role=word(step.get("source"), 20) or "?",
            text=_text(step.get("message")),
            reasoning=_text(step.get("reasoning_content")),
            calls=_calls(step) if "tool_calls" in step or "observation" in step else (),
            at=seconds_from(first, now),
            model=(word(step.get("model_name"), 80) or default) if is_agent else "",
            input_tokens=count(metrics.get("prompt_tokens")),
            output_tokens=count(metrics.get("completion_tokens")),
            cost_usd=number(metrics.get("cost_usd")),
            subagent=subagent,
            copied=_is_copied(step),
        )
    if depth < MAX_DEPTH:
        for place, child in enumerate(sequence(document.get("subagent_trajectories")), 1):
            name = word(mapping(child).get("trajectory_id"), 80) or f"{subagent}.{place}"
            for found in _document_steps(mapping(child), n, name, depth + 1):
                n = found.n
                yield found


def _calls(step: Mapping[str, Any]) -> tuple[Call, ...]:
    results: dict[str, str] = {}
    for result in sequence(mapping(step.get("observation")).get("results")):
        source = mapping(result).get("source_call_id")
        key, text = source if type(source) is str else "", _text(mapping(result).get("content"))
        results[key] = f"{results[key]}\n{text}" if key in results else text
    found = []
    for call in sequence(step.get("tool_calls")):
        get = mapping(call).get
        arguments = printable(to_json(get("arguments")), MAX_TEXT)
        result = results.pop(str(get("tool_call_id")), "")
        found.append(Call(word(get("function_name"), 80), arguments, result))
    if results:  # what no call of this step asked for is still shown
        found += [Call("", "", rest) for rest in results.values()]
    return tuple(found)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return printable(value, MAX_TEXT)
    if value is None:
        return ""
    parts = map(mapping, sequence(value))
    return printable(
        "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts), MAX_TEXT
    )


def _is_copied(step: Any) -> bool:
    return mapping(step).get("is_copied_context") is True


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


def _usage(chain: list[Mapping[str, Any]]) -> Usage:
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
            if mapping(step).get("metrics") and not _is_copied(step)
        ]
        summed = [value for m in metrics if (value := number(m.get(each))) is not None]
        return sum(summed) if summed else None

    return Usage(
        input_tokens=count(total("total_prompt_tokens", "prompt_tokens")),
        output_tokens=count(total("total_completion_tokens", "completion_tokens")),
        cost_usd=total("total_cost_usd", "cost_usd"),
    )


def add(usages: list[Usage]) -> Usage:
    """The sum; None where no part was recorded."""
    inputs = [u.input_tokens for u in usages if u.input_tokens is not None]
    outputs = [u.output_tokens for u in usages if u.output_tokens is not None]
    dollars = [u.cost_usd for u in usages if u.cost_usd is not None]
    return Usage(
        sum(inputs) if inputs else None,
        sum(outputs) if outputs else None,
        sum(dollars) if dollars else None,
    )
