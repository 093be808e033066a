"""Token counts: one normal form, and how each protocol writes them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from benchflow.gateway.protocols import Protocol


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. The kinds of input are disjoint; `reasoning` is a part of `output`,
    `cache_write_1h` a part of `cache_write`.

    Providers disagree on what "input" holds: OpenAI and Gemini count what came from a cache into
    it, Anthropic does not. Here it never does.
    """

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        """All tokens, in and out."""
        return self.input + self.cache_read + self.cache_write + self.output

    @property
    def prompt(self) -> int:
        """All tokens that went in."""
        return self.input + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Usage)))

    def as_dict(self) -> dict[str, int]:
        """Name to count; zeros are left out, `input` and `output` never."""
        counts = {f.name: getattr(self, f.name) for f in fields(Usage)}
        return {k: v for k, v in counts.items() if v or k in ("input", "output")}

    @classmethod
    def from_dict(cls, counts: dict[str, Any]) -> Self:
        """The reverse of `as_dict`. Unknown names are refused with TypeError."""
        return cls(**{name: _count(value) for name, value in counts.items()})


def write(protocol: Protocol, usage: Usage) -> dict[str, Any]:
    """`usage` in the form of `protocol`'s answers."""
    if protocol is Protocol.CHAT:
        return {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.output,
            "total_tokens": usage.total,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        }
    if protocol is Protocol.RESPONSES:
        return {
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cache_read},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.total,
        }
    if protocol is Protocol.MESSAGES:
        return {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": usage.cache_write - usage.cache_write_1h,
                "ephemeral_1h_input_tokens": usage.cache_write_1h,
            },
            "output_tokens": usage.output,
        }
    return {
        "promptTokenCount": usage.prompt,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.total,
    }


def read(protocol: Protocol, found: dict[str, Any]) -> Usage:
    """The counts in a provider's usage object; what is missing or no number counts as 0."""
    if protocol is Protocol.MESSAGES:
        write_1h = _count(_object(found.get("cache_creation")).get("ephemeral_1h_input_tokens"))
        return Usage(
            input=_count(found.get("input_tokens")),
            cache_read=_count(found.get("cache_read_input_tokens")),
            cache_write=_count(found.get("cache_creation_input_tokens")),
            cache_write_1h=write_1h,
            output=_count(found.get("output_tokens")),
        )
    if protocol is Protocol.GEMINI:
        cached = _count(found.get("cachedContentTokenCount"))
        thoughts = _count(found.get("thoughtsTokenCount"))
        prompt = _count(found.get("promptTokenCount"))
        prompt += _count(found.get("toolUsePromptTokenCount"))
        return Usage(
            input=max(prompt - cached, 0),
            cache_read=cached,
            output=_count(found.get("candidatesTokenCount")) + thoughts,
            reasoning=thoughts,
        )
    chat = protocol is Protocol.CHAT
    prompt = _count(found.get("prompt_tokens" if chat else "input_tokens"))
    into = _object(found.get("prompt_tokens_details" if chat else "input_tokens_details"))
    out = _object(found.get("completion_tokens_details" if chat else "output_tokens_details"))
    cached = _count(into.get("cached_tokens"))
    written = _count(into.get("cache_write_tokens"))
    return Usage(
        input=max(prompt - cached - written, 0),
        cache_read=cached,
        cache_write=written,
        output=_count(found.get("completion_tokens" if chat else "output_tokens")),
        reasoning=_count(out.get("reasoning_tokens")),
    )


def _count(value: Any) -> int:
    # A provider's answer is not ours: a bool, a negative or a string is no count.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return max(int(value), 0)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
