"""The providers' own clients, pointed at a server under test, behind one small interface."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchflow.model_apis.protocols import Protocol
from benchflow.model_apis.usage import Usage
from benchflow.model_apis.usage_forms import read

BASH = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
    "required": ["command", "description"],
}


@dataclass
class Reply:
    """What a client made of an answer."""

    text: str
    call_id: str = ""
    command: Any = None
    usage: Usage = field(default_factory=Usage)
    finish: str = ""
    raw: Any = None


class Talk:
    """One conversation with a model by one protocol, as an agent leads it."""

    protocol: Protocol

    def __init__(self, urls: dict[str, str], key: str, model: str, tool: str = "bash") -> None:
        self.urls, self.key, self.model, self.tool = urls, key, model, tool
        self.history: list[Any] = []

    def ask(self, text: str, *, stream: bool = False, tools: bool = True) -> Reply:
        raise NotImplementedError

    def result(self, reply: Reply, output: str) -> None:
        """Add the tool's output to the conversation."""
        raise NotImplementedError


class ChatTalk(Talk):
    protocol = Protocol.CHAT

    def ask(self, text: str = "", *, stream: bool = False, tools: bool = True) -> Reply:
        import openai

        if text:
            self.history.append({"role": "user", "content": text})
        function = {"name": self.tool, "parameters": BASH}
        options: dict[str, Any] = {"model": self.model, "messages": self.history}
        if tools:
            options["tools"] = [{"type": "function", "function": function}]
        with openai.OpenAI(
            base_url=self.urls["openai"], api_key=self.key, max_retries=0, timeout=120
        ) as client:
            if not stream:
                whole = client.chat.completions.create(**options)
                message = whole.choices[0].message
                self.history.append(message.model_dump(exclude_none=True))
                call = message.tool_calls[0] if message.tool_calls else None
                found = whole.usage.model_dump() if whole.usage else {}
                return Reply(
                    message.content or message.refusal or "",
                    call.id if call else "",
                    _load(call.function.arguments) if call else None,
                    read(self.protocol, found),
                    whole.choices[0].finish_reason,
                    whole,
                )
            reply, arguments, name = Reply(""), "", ""
            for chunk in client.chat.completions.create(
                **options, stream=True, stream_options={"include_usage": True}
            ):
                if chunk.usage:
                    reply.usage = read(self.protocol, chunk.usage.model_dump())
                for choice in chunk.choices:
                    reply.text += choice.delta.content or ""
                    reply.finish = choice.finish_reason or reply.finish
                    for call in choice.delta.tool_calls or []:
                        reply.call_id = call.id or reply.call_id
                        name = call.function.name or name
                        arguments += call.function.arguments or ""
        message = {"role": "assistant", "content": reply.text}
        if reply.call_id:
            reply.command = _load(arguments)
            function = {"name": name, "arguments": arguments}
            message["tool_calls"] = [
                {"id": reply.call_id, "type": "function", "function": function}
            ]
        self.history.append(message)
        return reply

    def result(self, reply: Reply, output: str) -> None:
        self.history.append({"role": "tool", "tool_call_id": reply.call_id, "content": output})


class ResponsesTalk(Talk):
    protocol = Protocol.RESPONSES

    def ask(self, text: str = "", *, stream: bool = False, tools: bool = True) -> Reply:
        import openai

        if text:
            self.history.append({"role": "user", "content": text})
        options: dict[str, Any] = {"model": self.model, "input": self.history}
        if tools:
            options["tools"] = [
                {"type": "function", "name": self.tool, "parameters": BASH, "strict": False}
            ]
        with openai.OpenAI(
            base_url=self.urls["openai"], api_key=self.key, max_retries=0, timeout=120
        ) as client:
            if stream:
                with client.responses.stream(**options) as events:
                    for _ in events:
                        pass
                    whole = events.get_final_response()
            else:
                whole = client.responses.create(**options)
        found = whole.usage.model_dump() if whole.usage else {}
        reply = Reply(whole.output_text, usage=read(self.protocol, found), raw=whole)
        reply.finish = whole.status or ""
        for item in whole.output:
            plain = item.model_dump(exclude_none=True)
            plain.pop("parsed_arguments", None)
            self.history.append(plain)
            if item.type == "function_call":
                reply.call_id, reply.command = item.call_id, _load(item.arguments)
        return reply

    def result(self, reply: Reply, output: str) -> None:
        item = {"type": "function_call_output", "call_id": reply.call_id, "output": output}
        self.history.append(item)


class MessagesTalk(Talk):
    protocol = Protocol.MESSAGES

    def ask(self, text: str = "", *, stream: bool = False, tools: bool = True) -> Reply:
        import anthropic

        if text:
            self.history.append({"role": "user", "content": text})
        options: dict[str, Any] = {
            "model": self.model,
            "messages": self.history,
            "max_tokens": 1000,
        }
        if tools:
            options["tools"] = [{"name": self.tool, "input_schema": BASH}]
        with anthropic.Anthropic(
            base_url=self.urls["anthropic"], api_key=self.key, max_retries=0, timeout=120
        ) as client:
            if stream:
                with client.messages.stream(**options) as events:
                    whole = events.get_final_message()
            else:
                whole = client.messages.create(**options)
        reply = Reply("", usage=read(self.protocol, whole.usage.model_dump()), raw=whole)
        reply.finish = whole.stop_reason or ""
        for block in whole.content:
            if block.type == "text":
                reply.text += block.text
            if block.type == "tool_use":
                reply.call_id, reply.command = block.id, dict(block.input)
        content = [
            {"type": "text", "text": block.text}
            if block.type == "text"
            else {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
            for block in whole.content
        ]
        self.history.append({"role": "assistant", "content": content})
        return reply

    def result(self, reply: Reply, output: str) -> None:
        block = {"type": "tool_result", "tool_use_id": reply.call_id, "content": output}
        self.history.append({"role": "user", "content": [block]})


class GeminiTalk(Talk):
    protocol = Protocol.GEMINI

    def ask(self, text: str = "", *, stream: bool = False, tools: bool = True) -> Reply:
        from google import genai
        from google.genai import types

        if text:
            self.history.append({"role": "user", "parts": [{"text": text}]})
        config: dict[str, Any] = {}
        if tools:
            declared = {"name": self.tool, "parameters_json_schema": BASH}
            config["tools"] = [{"function_declarations": [declared]}]
            config["automatic_function_calling"] = {"disable": True}
        client = genai.Client(
            api_key=self.key,
            http_options=types.HttpOptions(base_url=self.urls["gemini"], timeout=120_000),
        )
        with contextlib.closing(client):
            ask = (
                client.models.generate_content_stream if stream else client.models.generate_content
            )
            given = ask(model=self.model, contents=self.history, config=config)
            reply, parts = Reply(""), []
            for chunk in given if stream else [given]:
                if chunk.usage_metadata:
                    found = chunk.usage_metadata.model_dump(by_alias=True, exclude_none=True)
                    reply.usage = read(self.protocol, found)
                for candidate in chunk.candidates or []:
                    reply.finish = candidate.finish_reason or reply.finish
                    for part in (candidate.content.parts if candidate.content else None) or []:
                        parts.append(part.model_dump(exclude_none=True))
                        reply.text += part.text or ""
                        if part.function_call:
                            reply.call_id = part.function_call.id or ""
                            reply.command = dict(part.function_call.args or {})
        self.history.append({"role": "model", "parts": parts})
        return reply

    def result(self, reply: Reply, output: str) -> None:
        answer = {"name": self.tool, "response": {"output": output}}
        self.history.append({"role": "user", "parts": [{"function_response": answer}]})


TALKS: dict[str, type[Talk]] = {
    "openai-chat": ChatTalk,
    "openai-responses": ResponsesTalk,
    "anthropic": MessagesTalk,
    "gemini": GeminiTalk,
}


def status_of(error: BaseException) -> int:
    """The HTTP status in any of the clients' errors; 0 when there is none."""
    return int(getattr(error, "status_code", None) or getattr(error, "code", None) or 0)


@contextmanager
def refused(status: int) -> Iterator[list[BaseException]]:
    """The block must end with a client's error of that status; it is put into the list."""
    caught: list[BaseException] = []
    try:
        yield caught
    except Exception as error:
        assert status_of(error) == status, f"{type(error).__name__}: {error}"
        caught.append(error)
    else:
        raise AssertionError(f"no error; expected status {status}")


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
