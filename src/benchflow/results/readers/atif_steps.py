"""The steps in ATIF documents, as everything above reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from benchflow.base.text import printable
from benchflow.results.json_values import (
    count,
    mapping,
    moment,
    number,
    seconds_from,
    sequence,
    to_json,
    word,
)
from benchflow.results.readers.atif_document import (
    MAX_DEPTH,
    SOURCES,
    Agent,
    Document,
    Metrics,
    RawStep,
    ToolCall,
)
from benchflow.results.records import Call, Step

MAX_TEXT = 100_000
_NO_METRICS = Metrics()


def numbered(chain: Iterable[Document]) -> Iterator[tuple[int, RawStep]]:
    """The steps of one conversation, each with its place from 1: a continuation's are counted on
    from those of the document before. What it copies of that one is counted and left out."""
    place = 0
    for document in chain:
        for step in document.steps or ():
            place += 1
            if step is not None and step.is_copied_context is not True:
                yield place, step


def steps(documents: Iterable[Document]) -> Iterator[Step]:
    """The steps of these documents in order; a delegated subagent's after its parent's."""
    n = 0
    for document in documents:
        for step in _of(document, n):
            n = step.n
            yield step


def _of(document: Document, n: int, subagent: str = "", depth: int = 0) -> Iterator[Step]:
    # There are millions of steps: what costs a call for each of them is written out.
    default = word((document.agent or Agent()).model_name, 80)
    raw = [step for step in document.steps or () if step is not None]
    first = moment(next((step.timestamp for step in raw if step.timestamp), None))
    for step in raw:
        n += 1
        used = step.metrics or _NO_METRICS
        source, text, model = step.source, step.message, step.model_name
        asks = step.tool_calls or step.observation
        yield Step(
            n,
            source if source in SOURCES else word(source, 20) or "?",
            printable(text, MAX_TEXT) if type(text) is str else _text(text),
            "" if step.reasoning_content is None else _text(step.reasoning_content),
            _calls(step) if asks else (),
            seconds_from(first, moment(step.timestamp)),
            "" if source != "agent" else default if model is None else word(model, 80) or default,
            count(used.prompt_tokens),
            count(used.completion_tokens),
            number(used.cost_usd),
            subagent,
            step.is_copied_context is True,
        )
    if depth < MAX_DEPTH:
        for place, child in enumerate(document.subagent_trajectories or (), 1):
            name = word(child.trajectory_id, 80) or f"{subagent}.{place}"
            for found in _of(child, n, name, depth + 1):
                n = found.n
                yield found


def _calls(step: RawStep) -> tuple[Call, ...]:
    asked, answers = step.tool_calls or [], step.results
    if len(asked) == 1 and len(answers) == 1:
        # As nearly all steps are: one call and its result.
        source = answers[0].source_call_id
        if type(source) is str and source == asked[0].tool_call_id:
            return (_call(asked[0], _text(answers[0].content)),)
    results: dict[str, str] = {}
    for answer in answers:
        source, text = answer.source_call_id, _text(answer.content)
        key = source if type(source) is str else ""
        results[key] = f"{results[key]}\n{text}" if key in results else text
    found = [_call(call, results.pop(str(call.tool_call_id), "")) for call in asked]
    if results:  # what no call of this step asked for is still shown
        found += [Call("", "", rest) for rest in results.values()]
    return tuple(found)


def _call(call: ToolCall, result: str) -> Call:
    arguments = printable(to_json(call.arguments), MAX_TEXT)
    return Call(word(call.function_name, 80), arguments, result)


def _text(value: Any) -> str:
    if type(value) is str:
        return printable(value, MAX_TEXT)
    if value is None:
        return ""
    parts = map(mapping, sequence(value))
    return printable(
        "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts), MAX_TEXT
    )
