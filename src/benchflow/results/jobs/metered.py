"""What a trial used of its model, as the gateway counted it: `<trial>/model.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchflow.results.json_values import count, mapping, number, word
from benchflow.results.model import Usage
from benchflow.results.safe_files import UnreadableRecord, read_object

NAME = "model.json"


def totals(trial: Path) -> dict[str, Any]:
    """Tokens, dollars and turns of `trial` (docs/models.md); empty where nothing was metered."""
    try:
        return read_object(f"{trial}/{NAME}")
    except UnreadableRecord:
        return {}


def exhausted(found: Mapping[str, Any]) -> str:
    """The budget that ended a trial of these `totals`: "usd", "tokens", "turns", "minutes", or ""
    for none."""
    return word(found.get("budget_exhausted") or "", 40)


def usage(found: Mapping[str, Any]) -> Usage | None:
    """Tokens and dollars of these `totals`; None where nothing was metered.

    Input is all that was sent, cached or not. Dollars are None where an answer had no price.
    """
    tokens = mapping(found.get("usage"))
    if not tokens:
        return None
    sent = [count(tokens.get(key)) or 0 for key in ("input", "cache_read", "cache_write")]
    priced = count(found.get("unpriced_answers")) == 0
    return Usage(
        sum(sent), count(tokens.get("output")), number(found.get("usd")) if priced else None
    )
