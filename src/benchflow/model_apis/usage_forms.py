"""Usage as providers and proxies write it, read into one normal form, or not at all.

The four protocols say how it should be. Those who speak them differ: xAI keeps reasoning tokens
outside of the completion's, DeepSeek and Anthropic have names of their own for cached ones, which
LiteLLM writes beside OpenAI's, some proxies keep cached tokens outside of the prompt, some write
numbers as text. Where a total is told, it says which of two readings is right. An answer whose two
main counts are not both known is uncounted: a wrong number would be taken for a measured one.
"""

from __future__ import annotations

from typing import Any

from benchflow.model_apis.protocols import Protocol
from benchflow.model_apis.usage import Usage, count

_PROMPT = ("prompt_tokens", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")
_PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")
#: Read from a cache: OpenAI, xAI · DeepSeek · Anthropic, LiteLLM · Moonshot.
_CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
#: Written to one: OpenRouter, OpenAI · LiteLLM · Anthropic, LiteLLM.
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
_REASONING = ("reasoning_tokens", "thinking_tokens")


def read(protocol: Protocol, found: dict[str, Any]) -> Usage | None:
    """The counts in a provider's usage object; None where its main counts are missing or none."""
    if protocol is Protocol.GEMINI:
        return _gemini(found)
    if protocol is Protocol.MESSAGES and "prompt_tokens" not in found:
        return _messages(found)
    return _openai(found)


def _openai(found: dict[str, Any]) -> Usage | None:
    into = [_object(found.get(name)) for name in _PROMPT_DETAILS] + [found]
    out = [_object(found.get(name)) for name in _OUTPUT_DETAILS] + [found]
    cached, written = _most(into, _CACHED), _most(into, _WRITTEN)
    reasoning = _most(out, _REASONING)
    prompt, output = _main(found, _PROMPT), _main(found, _OUTPUT)
    total = count(found.get("total_tokens"))
    if prompt is None and output is not None and total is not None and _is_absent(found, _PROMPT):
        prompt = max(total - output, 0)
    if output is None and _is_absent(found, _OUTPUT) and prompt is not None:
        output = max((total or 0) - prompt, 0)
    if prompt is None or output is None:
        return None
    beyond = max((total or 0) - prompt - output, 0)
    stored = cached + written
    if stored > prompt or (stored and beyond in (stored, stored + reasoning)):
        prompt += stored  # they were kept outside of it
        beyond = max(beyond - stored, 0)
    if reasoning > output or (reasoning and beyond == reasoning):
        output += reasoning
    elif beyond and not reasoning:
        output, reasoning = output + beyond, beyond  # thought, paid for, and named in the sum alone
    return Usage(
        input=prompt - stored,
        cache_read=cached,
        cache_write=written,
        cache_write_1h=min(_lasting(found), written),
        output=output,
        reasoning=reasoning,
    )


def _messages(found: dict[str, Any]) -> Usage | None:
    fresh, output = count(found.get("input_tokens")), count(found.get("output_tokens"))
    if fresh is None or output is None:
        return None
    made = _object(found.get("cache_creation"))
    parts = sum(count(value) or 0 for value in made.values())
    written = _most([found], _WRITTEN) or parts
    return Usage(
        input=fresh,
        cache_read=_most([_object(found.get("input_tokens_details")), found], _CACHED),
        cache_write=written,
        cache_write_1h=min(_lasting(found), written),
        output=output,
    )


def _gemini(found: dict[str, Any]) -> Usage | None:
    cached = count(found.get("cachedContentTokenCount")) or 0
    thoughts = count(found.get("thoughtsTokenCount")) or 0
    prompt = count(found.get("promptTokenCount"))
    shown = count(found.get("candidatesTokenCount", 0))  # left out where nothing was answered
    if prompt is None or shown is None:
        return None
    prompt += count(found.get("toolUsePromptTokenCount")) or 0
    total = count(found.get("totalTokenCount")) or 0
    if not thoughts:
        thoughts = max(total - prompt - shown, 0)
    return Usage(
        input=max(prompt - cached, 0),
        cache_read=cached,
        output=shown + thoughts,
        reasoning=thoughts,
    )


def _lasting(found: dict[str, Any]) -> int:
    return count(_object(found.get("cache_creation")).get("ephemeral_1h_input_tokens")) or 0


def _main(found: dict[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count(found[name]) for name in names if name in found), None)


def _is_absent(found: dict[str, Any], names: tuple[str, ...]) -> bool:
    return not any(name in found for name in names)


def _most(places: list[dict[str, Any]], names: tuple[str, ...]) -> int:
    """One count that may stand under several names, and under several at once."""
    return max(count(place.get(name)) or 0 for place in places for name in names)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def merged(before: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """What is known after another part of a stream has told something: running totals replace each
    other, and nothing, or a 0, replaces no count."""
    found = dict(before)
    for name, value in told.items():
        known = found.get(name)
        if isinstance(value, dict) and isinstance(known, dict):
            found[name] = merged(known, value)
        elif value is not None and not (count(value) == 0 and count(known)):
            found[name] = value
    return found
