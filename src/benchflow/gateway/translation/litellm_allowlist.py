"""What an agent may say to LiteLLM: what the four public APIs define of a question, and no more.

LiteLLM takes a call as keyword arguments. Some of its own say where the call goes and with which
key (`base_url`, `fallbacks`, `callbacks` …), and some tools make it call others itself (an advisor,
an MCP server): from this host, which sees more than a sandbox, and with keys that are none of the
trial's. So what is not known here is dropped; a translation drops what the other side does not know
anyway.
"""

from __future__ import annotations

import json
from typing import Any

from benchflow.model_apis.protocols import Protocol

_FIELDS = {
    Protocol.CHAT: {
        "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
        "max_completion_tokens", "max_tokens", "messages", "modalities", "n",
        "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key",
        "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop",
        "temperature", "thinking", "tool_choice", "tools", "top_logprobs", "top_p", "user",
        "verbosity", "web_search_options",
    },
    Protocol.RESPONSES: {
        "include", "input", "instructions", "max_output_tokens", "max_tool_calls",
        "parallel_tool_calls", "prompt_cache_key", "reasoning", "safety_identifier",
        "service_tier", "store", "temperature", "text", "tool_choice", "tools", "top_logprobs",
        "top_p", "truncation", "user",
    },
    Protocol.MESSAGES: {
        "max_tokens", "messages", "output_config", "output_format", "stop_sequences", "system",
        "temperature", "thinking", "tool_choice", "tools", "top_k", "top_p",
    },
    Protocol.GEMINI: {
        "contents", "generationConfig", "generation_config", "safetySettings", "safety_settings",
        "systemInstruction", "system_instruction", "toolConfig", "tool_config", "tools",
    },
}  # fmt: skip
_NEEDED = {
    Protocol.CHAT: ("messages",),
    Protocol.RESPONSES: ("input",),
    Protocol.MESSAGES: ("messages", "max_tokens"),
    Protocol.GEMINI: ("contents",),
}
#: Tools that the agent runs itself, and searches of the provider's. Anthropic's carry a date.
_TOOLS = (
    "function", "custom", "bash", "text_editor", "memory", "shell", "local_shell", "apply_patch",
    "web_search", "namespace",
)  # fmt: skip
_GEMINI_TOOLS = {"functionDeclarations", "function_declarations", "googleSearch", "google_search"}


def translatable(protocol: Protocol, body: dict[str, Any]) -> dict[str, Any]:
    """What of an agent's question is handed to LiteLLM. Raises ValueError where it is none."""
    missing = [name for name in _NEEDED[protocol] if body.get(name) is None]
    if missing:
        raise ValueError(f"the request has no {missing[0]}")
    kept = {name: value for name, value in body.items() if name in _FIELDS[protocol]}
    if "tools" in kept:
        given = kept.pop("tools")
        tools = [_tool(protocol, tool) for tool in given] if isinstance(given, list) else []
        if any(tools):
            kept["tools"] = [tool for tool in tools if tool]
    # Halves of surrogate pairs, which have no UTF-8: agents cut strings in the middle of an emoji.
    found: dict[str, Any] = json.loads(
        json.dumps(kept, ensure_ascii=False).encode("utf-8", "replace")
    )
    return found


def _tool(protocol: Protocol, tool: Any) -> dict[str, Any]:
    """A tool as it is passed on; empty where it is not."""
    if not isinstance(tool, dict):
        return {}
    if protocol is Protocol.GEMINI:
        return {name: value for name, value in tool.items() if name in _GEMINI_TOOLS}
    kind = tool.get("type", "custom")
    known = isinstance(kind, str) and any(
        kind == each or kind.startswith(f"{each}_") for each in _TOOLS
    )
    if known and kind == "namespace":
        given = tool.get("tools")
        inner = [_tool(protocol, each) for each in given] if isinstance(given, list) else []
        return tool | {"tools": [each for each in inner if each]}
    return tool if known else {}
