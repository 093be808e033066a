"""OpenAI chat completions (API reference: "The chat completion object", "… chunk object")."""

from __future__ import annotations

from typing import Any

from benchflow.model_apis.protocols import Protocol
from benchflow.model_apis.usage import write
from benchflow.scripted_model.protocols_out.answer import CREATED, Answer, Event, split


def body(answer: Answer) -> dict[str, Any]:
    """The chat completion object."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    if answer.refused:
        message |= {"content": None, "refusal": answer.text}
    if answer.call:
        message["tool_calls"] = [
            {
                "id": answer.call.id,
                "type": "function",
                "function": {"name": answer.call.name, "arguments": answer.call.text},
            }
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
    whole = _frame(answer, "chat.completion", [choice])
    if answer.usage is not None:
        whole["usage"] = write(Protocol.CHAT, answer.usage)
    return whole


def events(answer: Answer, include_usage: bool) -> list[Event]:
    """The chunks, ended by `[DONE]`."""

    def chunk(delta: dict[str, Any], finish: str | None = None, *, piece: bool = False) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return Event(_frame(answer, "chat.completion.chunk", [choice]), piece=piece)

    found = [chunk({"role": "assistant", "content": "", "refusal": None})]
    key = "refusal" if answer.refused else "content"
    found += [chunk({key: part}, piece=True) for part in split(answer.text, answer.pieces)]
    if answer.call:
        head = {"name": answer.call.name, "arguments": ""}
        call = {"index": 0, "id": answer.call.id, "type": "function", "function": head}
        found.append(chunk({"tool_calls": [call]}))
        for part in split(answer.call.text, answer.pieces):
            call = {"index": 0, "function": {"arguments": part}}
            found.append(chunk({"tool_calls": [call]}, piece=True))
    found.append(chunk({}, _finish(answer)))
    if include_usage and answer.usage is not None:
        last = _frame(answer, "chat.completion.chunk", [])
        found.append(Event(last | {"usage": write(Protocol.CHAT, answer.usage)}))
    found.append(Event("[DONE]"))
    return found


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.call else "stop"


def _frame(answer: Answer, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.id}",
        "object": kind,
        "created": CREATED,
        "model": answer.model,
        "choices": choices,
    }
