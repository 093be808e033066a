"""OpenAI responses (API reference: "The response object", "Streaming events")."""

from __future__ import annotations

from typing import Any

from benchflow.model_apis.protocols import Protocol
from benchflow.model_apis.usage import write
from benchflow.scripted_model.protocols_out.answer import CREATED, Answer, Event, split


def body(answer: Answer) -> dict[str, Any]:
    """The response object."""
    return _response(answer, "completed", _items(answer))


def events(answer: Answer, include_usage: bool) -> list[Event]:
    """The events from `response.created` to `response.completed`."""
    found: list[Event] = []

    def emit(kind: str, data: dict[str, Any], *, piece: bool = False) -> None:
        whole = {"type": kind, "sequence_number": len(found), **data}
        found.append(Event(whole, name=kind, piece=piece))

    begun = _response(answer, "in_progress", [])
    emit("response.created", {"response": begun})
    emit("response.in_progress", {"response": begun})
    for index, item in enumerate(_items(answer)):
        place = {"output_index": index}
        where = place | {"item_id": item["id"]}
        empty = item | {"status": "in_progress"}
        if item["type"] == "message":
            part = item["content"][0]
            kind = part["type"]
            key = "refusal" if kind == "refusal" else "text"
            at = where | {"content_index": 0} | ({} if key == "refusal" else {"logprobs": []})
            plain = where | {"content_index": 0}
            emit("response.output_item.added", place | {"item": empty | {"content": []}})
            emit("response.content_part.added", plain | {"part": part | {key: ""}})
            for text in split(answer.text, answer.pieces):
                emit(f"response.{kind}.delta", at | {"delta": text}, piece=True)
            emit(f"response.{kind}.done", at | {key: part[key]})
            emit("response.content_part.done", plain | {"part": part})
        elif item["type"] == "function_call":
            whole = item["arguments"]
            emit("response.output_item.added", place | {"item": empty | {"arguments": ""}})
            for text in split(whole, answer.pieces):
                emit("response.function_call_arguments.delta", where | {"delta": text}, piece=True)
            ended = where | {"name": item["name"], "arguments": whole}
            emit("response.function_call_arguments.done", ended)
        else:
            emit("response.output_item.added", place | {"item": empty})
        emit("response.output_item.done", place | {"item": item})
    emit("response.completed", {"response": body(answer)})
    return found


def failed(answer: Answer, code: str, message: str) -> list[Event]:
    """A stream that ends in `response.failed`: how a model says that it cannot continue."""
    begun = _response(answer, "in_progress", [])
    error = {"code": code, "message": message}
    ended = _response(answer, "failed", []) | {"error": error}
    return [
        Event({"type": kind, "sequence_number": n, "response": response}, name=kind)
        for n, (kind, response) in enumerate(
            [("response.created", begun), ("response.failed", ended)]
        )
    ]


def _items(answer: Answer) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.text:
        part: dict[str, Any] = {"type": "output_text", "text": answer.text, "annotations": []}
        if answer.refused:
            part = {"type": "refusal", "refusal": answer.text}
        items.append(
            {
                "id": f"msg_{answer.id}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    call = answer.call
    if call is None:
        return items
    frame = {"id": f"fc_{answer.id}", "call_id": call.id, "status": "completed"}
    if call.kind == "local_shell":
        action = {"type": "exec", "env": {}, **call.arguments}
        return [*items, {"type": "local_shell_call", **frame, "action": action}]
    return [
        *items,
        {"type": "function_call", **frame, "name": call.name, "arguments": call.text},
    ]


def _response(answer: Answer, status: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    usage = write(Protocol.RESPONSES, answer.usage) if answer.usage is not None else None
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": answer.model,
        "output": items,
        "parallel_tool_calls": False,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": usage if status == "completed" else None,
    }
