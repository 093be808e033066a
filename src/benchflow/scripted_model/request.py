"""What the scripted model reads in a request, in any of the four protocols."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchflow.model_apis.protocols import Protocol
from benchflow.scripted_model.tools import Offered


@dataclass(slots=True)
class View:
    """A request as the player sees it.

    `told`: texts of system and user. `said`: for each earlier answer of the model its texts and the
    ids of its calls. `output`: the text that came back from the last call. `form`: the JSON schema
    that the answer has to fit, None for free text.
    """

    model: str = ""
    stream: bool = False
    tools: list[Offered] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    output: str = ""
    form: dict[str, Any] | None = None
    include_usage: bool = True


class BadRequest(ValueError):
    """The request is not of its protocol's form; the message says what is wrong."""


def read(protocol: Protocol, body: Any, *, model: str = "", stream: bool = False) -> View:
    """Reads a request's body. Raises BadRequest."""
    if not isinstance(body, dict):
        raise BadRequest("the body is not a JSON object")
    view = View(
        model=model or _text(body.get("model")), stream=stream or body.get("stream") is True
    )
    readers = {
        Protocol.CHAT: _chat,
        Protocol.RESPONSES: _responses,
        Protocol.MESSAGES: _messages,
        Protocol.GEMINI: _gemini,
    }
    readers[protocol](body, view)
    return view


def _chat(body: dict[str, Any], view: View) -> None:
    options = _object(body.get("stream_options"))
    view.include_usage = not view.stream or options.get("include_usage") is True
    for tool in _objects(body.get("tools")):
        function = _object(tool.get("function"))
        view.tools.append(Offered(_text(function.get("name")), _object(function.get("parameters"))))
    form = _object(body.get("response_format"))
    if form.get("type") == "json_object":
        view.form = {}
    elif form.get("type") == "json_schema":
        view.form = _object(_object(form.get("json_schema")).get("schema"))
    if not isinstance(body.get("messages"), list):
        raise BadRequest("messages: is missing or not a list")
    for message in _objects(body["messages"]):
        texts = list(_texts(message.get("content")))
        if message.get("role") == "assistant":
            ids = [_text(call.get("id")) for call in _objects(message.get("tool_calls"))]
            view.said.append("\n".join([*texts, *ids]))
        elif message.get("role") == "tool":
            view.output = "\n".join(texts)
        else:
            view.told += texts
            view.output = "\n".join(texts)


def _responses(body: dict[str, Any], view: View) -> None:
    for tool in _objects(body.get("tools")):
        kind = _text(tool.get("type"))
        for each in _objects(tool.get("tools")) if kind == "namespace" else [tool]:
            name = _text(each.get("name")) or _text(each.get("type"))
            kind = _text(each.get("type"))
            view.tools.append(Offered(name, _object(each.get("parameters")), kind))
    form = _object(_object(body.get("text")).get("format"))
    if form.get("type") in ("json_schema", "json_object"):
        view.form = _object(form.get("schema"))
    view.told.append(_text(body.get("instructions")))
    before = _text(body.get("previous_response_id"))
    if before:
        view.said.append(before)
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if not isinstance(items, list):
        raise BadRequest("input: is missing or neither a string nor a list")
    for item in _objects(items):
        kind = item.get("type", "message")
        if kind == "message":
            texts = list(_texts(item.get("content")))
            if item.get("role") == "assistant":
                view.said.append("\n".join(texts))
            else:
                view.told += texts
                view.output = "\n".join(texts)
        elif kind in ("function_call", "local_shell_call", "custom_tool_call"):
            view.said.append(_text(item.get("call_id")))
        elif isinstance(kind, str) and kind.endswith("_output"):
            view.output = "\n".join(_texts(item.get("output")))


def _messages(body: dict[str, Any], view: View) -> None:
    for tool in _objects(body.get("tools")):
        kind = _text(tool.get("type")) or "function"
        name = _text(tool.get("name"))
        view.tools.append(
            Offered(
                name, _object(tool.get("input_schema")), "function" if kind == "custom" else kind
            )
        )
    view.told += _texts(body.get("system"))
    form = _object(_object(body.get("output_config")).get("format")) or _object(
        body.get("output_format")
    )
    if form.get("type") == "json_schema":
        view.form = _object(form.get("schema"))
    if not isinstance(body.get("messages"), list):
        raise BadRequest("messages: is missing or not a list")
    for message in _objects(body["messages"]):
        content = message.get("content")
        blocks = _objects(content)
        if message.get("role") == "assistant":
            ids = [_text(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
            view.said.append("\n".join([*_texts(content), *ids]))
            continue
        results = [block for block in blocks if block.get("type") == "tool_result"]
        view.told += _texts(content)
        if results:
            view.output = "\n".join(
                text for block in results for text in _texts(block.get("content"))
            )
        else:
            view.output = "\n".join(_texts(content))


def _gemini(body: dict[str, Any], view: View) -> None:
    for group in _objects(body.get("tools")):
        for tool in _objects(_either(group, "functionDeclarations")):
            schema = _either(tool, "parametersJsonSchema") or tool.get("parameters")
            view.tools.append(Offered(_text(tool.get("name")), _object(schema)))
    config = _object(_either(body, "generationConfig"))
    if _either(config, "responseMimeType") == "application/json":
        schema = _either(config, "responseJsonSchema") or _either(config, "responseSchema")
        view.form = _object(schema)
    view.told += _texts(_object(_either(body, "systemInstruction")).get("parts"))
    if not isinstance(body.get("contents"), list):
        raise BadRequest("contents: is missing or not a list")
    for content in _objects(body["contents"]):
        parts = _objects(content.get("parts"))
        texts = [_text(part.get("text")) for part in parts if "text" in part]
        if content.get("role") == "model":
            calls = [_object(_either(part, "functionCall")) for part in parts]
            view.said.append("\n".join([*texts, *(_text(call.get("id")) for call in calls)]))
            continue
        answers = [_object(_either(part, "functionResponse")) for part in parts]
        results = [_dump(answer.get("response")) for answer in answers if answer]
        view.told += texts
        if results or texts:
            view.output = "\n".join(results or texts)


def _either(value: dict[str, Any], name: str) -> Any:
    """A field by its JSON name or its proto name: the service takes both (protobuf's "ProtoJSON
    format"), and clients send both."""
    snake = re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name)
    return value.get(name, value.get(snake))


def _texts(content: Any) -> Iterator[str]:
    """The texts in a content: a string, or a list of parts that have a `text`."""
    if isinstance(content, str):
        yield content
    for part in _objects(content):
        if isinstance(part.get("text"), str):
            yield part["text"]


def _dump(value: Any) -> str:
    """A tool's structured result as text in which line ends are line ends."""
    if isinstance(value, dict) and len(value) == 1:
        only = next(iter(value.values()))
        if isinstance(only, str):
            return only
    return json.dumps(value, ensure_ascii=False).replace("\\n", "\n")


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
