"""What a trial used of its model, as the gateway counted it: `<trial>/model.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchflow.results.files import UnreadableRecord, read_object

NAME = "model.json"


def totals(trial: Path) -> dict[str, Any]:
    """Tokens, dollars and turns of `trial` (docs/models.md); empty where nothing was metered."""
    try:
        return read_object(trial / NAME)
    except UnreadableRecord:
        return {}


def exhausted(trial: Path) -> str:
    """The budget that ended `trial`: "usd", "tokens", "turns", "minutes", or "" for none."""
    return str(totals(trial).get("budget_exhausted") or "")
