"""Gemini generateContent (API reference: "GenerateContentResponse")."""

from __future__ import annotations

from typing import Any

from benchflow.model_apis.protocols import Protocol
from benchflow.model_apis.usage import write
from benchflow.scripted_model.protocols_out.answer import Answer, Event, split


def body(answer: Answer) -> dict[str, Any]:
    """The whole response."""
    parts = [{"text": answer.text}] if answer.text and not answer.refused else []
    return _frame(answer, [*parts, *_call(answer)], _finish(answer)) | _usage(answer)


def events(answer: Answer, include_usage: bool) -> list[Event]:
    """The responses that make up the stream; each is of the form of a whole one."""
    found: list[Event] = []
    if not answer.refused:
        for text in split(answer.text, answer.pieces):
            found.append(Event(_frame(answer, [{"text": text}], None), piece=True))
    last = _frame(answer, _call(answer), _finish(answer)) | _usage(answer)
    return [*found, Event(last)]


def _call(answer: Answer) -> list[dict[str, Any]]:
    if answer.call is None or answer.call.broken:
        return []
    call = {"id": answer.call.id, "name": answer.call.name, "args": answer.call.arguments}
    return [{"functionCall": call}]


def _finish(answer: Answer) -> str:
    if answer.refused:
        return "SAFETY"
    # The service checks calls itself: a broken one never leaves it, this reason does.
    return "MALFORMED_FUNCTION_CALL" if answer.call and answer.call.broken else "STOP"


def _usage(answer: Answer) -> dict[str, Any]:
    if answer.usage is None:
        return {}
    return {"usageMetadata": write(Protocol.GEMINI, answer.usage)}


def _frame(answer: Answer, parts: list[dict[str, Any]], finish: str | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "modelVersion": answer.model,
        "responseId": answer.id,
    }
