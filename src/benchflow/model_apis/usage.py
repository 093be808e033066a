"""Token counts: one normal form, and how each protocol writes it (`forms` reads)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from benchflow.model_apis.protocols import Protocol


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
        return cls(**{name: count(value) or 0 for name, value in counts.items()})


#: More than any model reads or writes: what is above is no count.
_MOST = 2**53


def count(value: Any) -> int | None:
    """A number of tokens as providers and proxies write it, as text too; None for what is none
    (nan, a negative, a truth value). Never raises: the answer is not ours."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:20])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= _MOST:  # nan is nowhere
        return None
    return int(value)


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
