"""What tokens cost: LiteLLM's table of prices, read from its package without importing it.

Importing LiteLLM takes seconds and some 150 MB (docs/models.md has figures), and its arithmetic for
the four protocols needs nothing but the table. `tests/gateway/test_prices.py` holds the arithmetic
here against LiteLLM's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchflow.errors import InfrastructureError
from benchflow.model_apis.usage import Usage

_TABLE = "model_prices_and_context_window_backup.json"
#: Dollars are kept to a billionth, so that sums are exact however often they are taken.
GRAIN = Decimal("1e-9")
_TIER = re.compile(r"_above_(\d+)k_tokens$")


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per token. `tiers`: (prompt tokens beyond which it holds, price) from low to high;
    such a price then holds for all tokens of the call."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    cache_write_1h: Decimal
    reasoning: Decimal
    tiers: tuple[tuple[int, Price], ...] = ()

    def of(self, usage: Usage) -> Decimal:
        """Dollars for one call, to a billionth."""
        price = self
        for beyond, dearer in self.tiers:
            if usage.prompt > beyond:
                price = dearer
        plain_write = usage.cache_write - usage.cache_write_1h
        dollars = (
            price.input * usage.input
            + price.cache_read * usage.cache_read
            + price.cache_write * plain_write
            + price.cache_write_1h * usage.cache_write_1h
            + price.output * (usage.output - usage.reasoning)
            + price.reasoning * usage.reasoning
        )
        return dollars.quantize(GRAIN)


def price_of(entry: Mapping[str, Any]) -> Price | None:
    """The price in an entry of the table (or of a user's own, with the same keys); None where it
    has none for input and output."""
    tiers = sorted({int(found[1]) for key in entry if (found := _TIER.search(key))})
    base = _flat(entry, "")
    if base is None:
        return None
    dearer = [(n * 1000, _flat(entry, f"_above_{n}k_tokens", base)) for n in tiers]
    return Price(
        base.input,
        base.output,
        base.cache_read,
        base.cache_write,
        base.cache_write_1h,
        base.reasoning,
        tuple((n, price) for n, price in dearer if price is not None),
    )


def _flat(entry: Mapping[str, Any], suffix: str, below: Price | None = None) -> Price | None:
    def get(name: str, default: Decimal | None) -> Decimal | None:
        value = entry.get(name + suffix)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return default
        return Decimal(str(value))

    into = get("input_cost_per_token", below.input if below else None)
    out = get("output_cost_per_token", below.output if below else None)
    if into is None or out is None:
        return None
    read = get("cache_read_input_token_cost", below.cache_read if below else into)
    write = get("cache_creation_input_token_cost", below.cache_write if below else into)
    assert read is not None and write is not None
    hour = get(
        "cache_creation_input_token_cost_above_1hr", below.cache_write_1h if below else write
    )
    thought = get("output_cost_per_reasoning_token", out)
    assert hour is not None and thought is not None
    return Price(into, out, read, write, hour, thought)


@cache
def table() -> dict[str, dict[str, Any]]:
    """LiteLLM's table: model name -> facts. Raises InfrastructureError where it is missing."""
    spec = find_spec("litellm")
    folders = spec.submodule_search_locations if spec else None
    path = Path(folders[0]) / _TABLE if folders else Path("litellm") / _TABLE
    try:
        found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InfrastructureError(
            f"{path}: the table of prices cannot be read ({error})", hint="uv sync"
        ) from error
    return found


def facts(provider: str, model: str) -> dict[str, Any] | None:
    """What the table knows of a model: prices, limits, `supports_function_calling`."""
    for name in (f"{provider}/{model}", model):
        entry = table().get(name)
        if entry is not None and (name != model or _is_of(entry, provider)):
            return entry
    return None


def _is_of(entry: Mapping[str, Any], provider: str) -> bool:
    listed = str(entry.get("litellm_provider", ""))
    return listed == provider or listed.startswith((f"{provider}_", f"{provider}-", "text-"))
