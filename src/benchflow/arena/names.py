"""Names of agents and models taken out of what they left: nobody votes for a name."""

from __future__ import annotations

import re
from collections.abc import Iterable

INSTEAD = "▒▒▒"
#: Makers and families of models and agents, as they call themselves in banners and commit messages.
_FAMILIES = (
    "aider", "amazon nova", "anthropic", "chatgpt", "claude", "cline", "codestral", "codex",
    "cohere", "copilot", "cursor", "deepseek", "devin", "devstral", "gemini", "gemma", "glm",
    "goose", "gpt", "granite", "grok", "kimi", "llama", "minimax", "mistral", "mixtral",
    "moonshot", "nemotron", "olmo", "openai", "opencode", "openhands", "opus", "phi", "qwen",
    "sonnet", "haiku", "smollm", "starcoder", "terminus", "xai", "zhipu",
)  # fmt: skip
#: What harnesses have their models say.
_SENTINELS = (
    "complete_task_and_submit_final_output",
    "mini_swe_agent_final_output",
    "task_complete",
)
#: Words of names that say nothing of whose they are, and stand in every console.
_COMMON = frozenset({
    "agent", "base", "chat", "code", "coder", "fast", "flash", "full", "high", "http", "https",
    "human", "instruct", "large", "lite", "local", "localhost", "mini", "model", "none", "open",
    "oracle", "preview", "small", "system", "test", "tools", "turbo", "user", "with",
})  # fmt: skip
_WORD = re.compile(r"[^a-z0-9]+")
_LEAST = 4


def pattern(names: Iterable[str]) -> re.Pattern[str]:
    """What `hidden` takes out: each of `names` (agents and models as jobs record them), what
    follows a slash in it, its words that could be whose it is, and the families known here."""
    found: set[str] = {*_FAMILIES, *_SENTINELS}
    for name in names:
        whole = name.strip().lower()
        for part in {whole, re.split(r"[/#]", whole)[-1]}:
            if len(part) > 1:
                found.add(part)
            words = [word for word in _WORD.split(part) if not word.isdigit()]
            found |= {word for word in words if len(word) >= _LEAST and word not in _COMMON}
    # Short ones only as words of their own: `phi` is in `graphics`.
    longest = sorted(found, key=lambda one: (-len(one), one))
    parts = [_loose(one) if len(one) > _LEAST else rf"(?<![a-z0-9]){_loose(one)}(?![a-z])"
             for one in longest]  # fmt: skip
    return re.compile("|".join(parts), re.IGNORECASE)


def hidden(text: str, names: re.Pattern[str]) -> str:
    """`text` with what `names` finds made unreadable."""
    return names.sub(INSTEAD, text)


def _loose(name: str) -> str:
    """`gpt-5 mini` is also found as `gpt_5.mini` and `gpt5mini`."""
    return r"[\W_]{0,2}".join(re.escape(word) for word in _WORD.split(name) if word) or re.escape(
        name
    )
