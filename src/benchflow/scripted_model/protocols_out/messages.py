"""Anthropic messages (API reference: "Messages", "Streaming messages")."""

from __future__ import annotations

from typing import Any

from benchflow.model_apis.protocols import Protocol
from benchflow.model_apis.usage import write
from benchflow.scripted_model.protocols_out.answer import Answer, Event, split


def body(answer: Answer) -> dict[str, Any]:
    """The message object."""
    content: list[dict[str, Any]] = []
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    if answer.call:
        # Input is an object here and cannot be cut off; a broken one lacks what it needs.
        arguments = {} if answer.call.broken else answer.call.arguments
        content.append(_tool_use(answer) | {"input": arguments})
    usage = write(Protocol.MESSAGES, answer.usage) if answer.usage is not None else {}
    return _message(answer) | {"content": content, "stop_reason": _stop(answer), "usage": usage}


def events(answer: Answer, include_usage: bool) -> list[Event]:
    """The events from `message_start` to `message_stop`."""
    found: list[Event] = []

    def emit(kind: str, *, piece: bool = False, **data: Any) -> None:
        found.append(Event({"type": kind, **data}, name=kind, piece=piece))

    usage = write(Protocol.MESSAGES, answer.usage) if answer.usage is not None else {}
    begun = usage | {"output_tokens": min(1, usage["output_tokens"])} if usage else {}
    emit("message_start", message=_message(answer) | {"usage": begun})
    index = 0
    if answer.text:
        emit("content_block_start", index=index, content_block={"type": "text", "text": ""})
        emit("ping")
        for text in split(answer.text, answer.pieces):
            delta = {"type": "text_delta", "text": text}
            emit("content_block_delta", piece=True, index=index, delta=delta)
        emit("content_block_stop", index=index)
        index += 1
    if answer.call:
        emit("content_block_start", index=index, content_block=_tool_use(answer))
        for text in split(answer.call.text, answer.pieces):
            delta = {"type": "input_json_delta", "partial_json": text}
            emit("content_block_delta", piece=True, index=index, delta=delta)
        emit("content_block_stop", index=index)
    stop = {"stop_reason": _stop(answer), "stop_sequence": None}
    if usage:
        emit("message_delta", delta=stop, usage={"output_tokens": usage["output_tokens"]})
    else:
        emit("message_delta", delta=stop)
    emit("message_stop")
    return found


def _tool_use(answer: Answer) -> dict[str, Any]:
    assert answer.call is not None
    return {"type": "tool_use", "id": answer.call.id, "name": answer.call.name, "input": {}}


def _stop(answer: Answer) -> str:
    if answer.refused:
        return "refusal"
    return "tool_use" if answer.call else "end_turn"


def _message(answer: Answer) -> dict[str, Any]:
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
