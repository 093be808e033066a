"""The steps in ATIF documents, as everything above reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchflow.results.records import Call, Step
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

MAX_TEXT = 100_000
#: How deep a nest of subagents is followed.
MAX_DEPTH = 5


def steps(documents: Iterable[Mapping[str, Any]]) -> Iterator[Step]:
    """The steps of these documents in order; a delegated subagent's after its parent's."""
    n = 0
    for document in documents:
        for step in _of(document, n):
            n = step.n
            yield step


def is_copied(step: Any) -> bool:
    """Whether a step repeats one of an earlier trajectory."""
    return mapping(step).get("is_copied_context") is True


def _of(document: Mapping[str, Any], n: int, subagent: str = "", depth: int = 0) -> Iterator[Step]:
    # There are millions of steps: what costs a call for each of them is written out.
    default = word(mapping(document.get("agent")).get("model_name"), 80)
    raw = [step for step in sequence(document.get("steps")) if isinstance(step, dict)]
    first = moment(next((step["timestamp"] for step in raw if step.get("timestamp")), None))
    for step in raw:
        n += 1
        get = step.get
        used = mapping(get("metrics")).get
        source, text, model = get("source"), get("message"), get("model_name")
        reasoning, calls, seen = get("reasoning_content"), get("tool_calls"), get("observation")
        yield Step(
            n,
            word(source, 20) or "?",
            printable(text, MAX_TEXT) if type(text) is str else _text(text),
            "" if reasoning is None else _text(reasoning),
            () if calls is None and seen is None else _calls(calls, seen),
            seconds_from(first, moment(get("timestamp"))),
            "" if source != "agent" else default if model is None else word(model, 80) or default,
            count(used("prompt_tokens")),
            count(used("completion_tokens")),
            number(used("cost_usd")),
            subagent,
            get("is_copied_context") is True,
        )
    if depth < MAX_DEPTH:
        for place, child in enumerate(sequence(document.get("subagent_trajectories")), 1):
            name = word(mapping(child).get("trajectory_id"), 80) or f"{subagent}.{place}"
            for found in _of(mapping(child), n, name, depth + 1):
                n = found.n
                yield found


def _calls(calls: Any, seen: Any) -> tuple[Call, ...]:
    asked, answers = sequence(calls), sequence(mapping(seen).get("results"))
    if len(asked) == 1 and len(answers) == 1:
        # As nearly all steps are: one call and its result.
        call, answer = mapping(asked[0]), mapping(answers[0])
        source = answer.get("source_call_id")
        if type(source) is str and source == call.get("tool_call_id"):
            return (_call(call, _text(answer.get("content"))),)
    results: dict[str, str] = {}
    for answer in map(mapping, answers):
        source, text = answer.get("source_call_id"), _text(answer.get("content"))
        key = source if type(source) is str else ""
        results[key] = f"{results[key]}\n{text}" if key in results else text
    found = [
        _call(call, results.pop(str(call.get("tool_call_id")), "")) for call in map(mapping, asked)
    ]
    if results:  # what no call of this step asked for is still shown
        found += [Call("", "", rest) for rest in results.values()]
    return tuple(found)


def _call(call: Mapping[str, Any], result: str) -> Call:
    arguments = printable(to_json(call.get("arguments")), MAX_TEXT)
    return Call(word(call.get("function_name"), 80), arguments, result)


def _text(value: Any) -> str:
    if type(value) is str:
        return printable(value, MAX_TEXT)
    if value is None:
        return ""
    parts = map(mapping, sequence(value))
    return printable(
        "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts), MAX_TEXT
    )
