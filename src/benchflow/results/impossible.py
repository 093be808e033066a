"""What others wrote and cannot be: amounts below nothing, times that run backwards.

Such a value is read as "not recorded" (`benchflow.results.json_values`); here is what is said about
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchflow.base.text import one_line
from benchflow.results.json_values import amount, mapping, moment, sequence

#: Parts of a Harbor trial, each with its own start and end.
_HARBOR_PARTS = ("environment_setup", "agent_setup", "agent_execution", "verifier")
_HARBOR_AMOUNTS = ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd")


def amounts(data: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    """A sentence for each of `keys` that holds something else than an amount, or null."""
    for key in keys:
        value = data.get(key)
        if value is not None and amount(value) is None:
            yield f"{key} = {one_line(repr(value), 40)} is no amount: left out"


def spans(data: Mapping[str, Any], pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A sentence for each pair of keys whose second time lies before the first."""
    for first, last in pairs:
        if runs_backwards(data.get(first), data.get(last)):
            yield f"{last} lies before {first}: the time between them is left out"


def runs_backwards(start: Any, end: Any) -> bool:
    """Whether of two ISO 8601 times the second lies before the first."""
    began, ended = moment(start), moment(end)
    if began is None or ended is None or (began.tzinfo is None) != (ended.tzinfo is None):
        return False
    return ended < began


def in_harbor(record: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be in a Harbor trial's result, its steps among it."""
    yield from spans(record, [("started_at", "finished_at")])
    for part in [record, *map(mapping, sequence(record.get("step_results")))]:
        for name in _HARBOR_PARTS:
            for said in spans(mapping(part.get(name)), [("started_at", "finished_at")]):
                yield f"{name}: {said}"
        yield from amounts(mapping(part.get("agent_result")), _HARBOR_AMOUNTS)
