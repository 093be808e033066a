"""Takes secrets out of whatever is written down."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_SHORTEST = 6
_TOKEN = re.compile(r"bf-[0-9a-f]{40}")
_KEY_NAMES = ("_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN", "_BEARER_TOKEN", "_API_TOKEN")
_KEYS_TOO = frozenset(
    {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN", "GITHUB_TOKEN"}
)


def is_key(name: str) -> bool:
    """Whether a variable of this name is one by which agents and LiteLLM find a key."""
    return name.endswith(_KEY_NAMES) or name in _KEYS_TOO


class Redactor:
    """Knows the secrets of one gateway: providers' keys and its own; trials' tokens
    are known by their form."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # The longest first: one key may be the beginning of another.
        self._secrets = sorted({s for s in secrets if len(s) >= _SHORTEST}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """`text` with each secret replaced."""
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        return _TOKEN.sub("[redacted]", text)

    def value(self, value: Any) -> Any:
        """The same for all strings in a JSON value, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        return value
