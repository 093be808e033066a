"""How the orchestrator and a running gateway know each other; light enough for who only asks."""

from __future__ import annotations

import hmac

PREFIX = "/benchflow/"
HEADER = "X-Benchflow-Control"


def digest(secret: str, key: str) -> str:
    """What tells that two who know the gateway's secret have the same key, and does not tell it."""
    return hmac.new(secret.encode(), key.encode(), "sha256").hexdigest()
