"""The messages of an Inspect sample as steps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benchflow.base.text import printable
from benchflow.results.json_values import count, mapping, number, seconds_between, sequence, word
from benchflow.results.readers.atif_steps import MAX_TEXT
from benchflow.results.records import Call, Step

_ATTACHMENT = "attachment://"


def steps(sample: Mapping[str, Any]) -> Iterator[Step]:
    """One step a message; a tool's answer stands in the step that called it.

    Times, tokens and dollars are those of the model event that made the message.
    """
    attachments = mapping(sample.get("attachments"))
    messages = [mapping(message) for message in sequence(sample.get("messages"))]
    answers = {
        message["tool_call_id"]: _text(message.get("content"), attachments)
        for message in messages
        if message.get("role") == "tool" and isinstance(message.get("tool_call_id"), str)
    }
    events = _events(sample)
    n = 0
    for message in messages:
        if message.get("role") == "tool":
            continue
        n += 1
        event = events.get(str(message.get("id")), {})
        used = mapping(mapping(event.get("output")).get("usage"))
        yield Step(
            n=n,
            role={"assistant": "agent"}.get(str(message.get("role")), word(message.get("role"))),
            text=_text(message.get("content"), attachments),
            reasoning=_reasoning(message.get("content")),
            calls=tuple(_calls(message, answers)),
            at=seconds_between(sample.get("started_at"), event.get("timestamp")),
            model=word(message.get("model"), 80),
            input_tokens=_input(used),
            output_tokens=count(used.get("output_tokens")),
            cost_usd=number(used.get("total_cost")),
        )


def _events(sample: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for event in map(mapping, sequence(sample.get("events"))):
        if event.get("event") == "model":
            for choice in map(mapping, sequence(mapping(event.get("output")).get("choices"))):
                found[str(mapping(choice.get("message")).get("id"))] = event
    return found


def _input(used: Mapping[str, Any]) -> int | None:
    keys = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    known = [n for key in keys if (n := count(used.get(key))) is not None]
    return sum(known) if known else None


def _calls(message: Mapping[str, Any], answers: Mapping[str, str]) -> Iterator[Call]:
    for call in map(mapping, sequence(message.get("tool_calls"))):
        arguments = json.dumps(call.get("arguments"), ensure_ascii=False)
        yield Call(
            word(call.get("function"), 80),
            printable(arguments, MAX_TEXT),
            answers.get(str(call.get("id")), ""),
        )


def _text(content: Any, attachments: Mapping[str, Any]) -> str:
    if isinstance(content, str):
        if content.startswith(_ATTACHMENT):
            content = str(attachments.get(content.removeprefix(_ATTACHMENT), content))
        return printable(content, MAX_TEXT)
    parts = [mapping(part) for part in sequence(content)]
    shown = [
        _text(part["text"], attachments)
        if isinstance(part.get("text"), str)
        else f"[{word(part.get('type'), 20)}]"
        for part in parts
        if part.get("type") != "reasoning"
    ]
    return printable("\n".join(shown), MAX_TEXT)


def _reasoning(content: Any) -> str:
    parts = [mapping(part) for part in sequence(content)]
    return printable(
        "\n".join(str(p.get("reasoning") or "") for p in parts if p.get("type") == "reasoning"),
        MAX_TEXT,
    )
