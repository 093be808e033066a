"""Values out of JSON that others wrote: the right type and a sane size, or "not recorded"."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from benchflow.base.text import one_line


class Twice(ValueError):
    """An object names one key twice and the values differ."""


_MAX_COUNT = 2**53
_encode = json.JSONEncoder(ensure_ascii=False).encode
_quoted = json.encoder.encode_basestring
_MAX_CACHED = 160


def parse(text: str | bytes) -> Any:
    """JSON of which no key says two things.

    Raises ValueError (Twice among them) and RecursionError. Python's `NaN` and `Infinity` are
    read, so that one such number does not hide the rest; `number` refuses them.
    """
    return json.loads(text, object_pairs_hook=_object_once)


def _object_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        for key, value in pairs:
            if found[key] != value:
                raise Twice(f"names {one_line(key, 40)!r} twice, with different values")
    return found


def number(value: Any) -> float | None:
    """A finite number that is no truth value, as a float."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if type(value) is not int:
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def amount(value: Any) -> float | None:
    """A finite number that is not below 0: seconds, dollars, tokens."""
    found = number(value)
    return found if found is not None and found >= 0 else None


def count(value: Any) -> int | None:
    """A whole number from 0 to 2^53, such as a number of tokens."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MAX_COUNT else None


def truth(value: Any) -> bool | None:
    """True or False and nothing that merely looks like it."""
    return value if isinstance(value, bool) else None


def mapping(value: Any) -> Mapping[str, Any]:
    """An object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """An array, else an empty one."""
    return value if isinstance(value, list) else []


def word(value: Any, limit: int = 120) -> str:
    """A name as one clean line; empty for null and for what is no scalar."""
    if type(value) is str and len(value) <= _MAX_CACHED:
        return _clean(value, limit)
    return one_line(str(value), limit) if isinstance(value, str | int | float) else ""


def name(value: Any, limit: int) -> str:
    """Any value as one clean line, what is no text as Python writes it."""
    if type(value) is str and len(value) <= _MAX_CACHED:
        return _clean(value, limit)
    return one_line(str(value), limit)


@lru_cache(maxsize=1 << 16)
def _clean(text: str, limit: int) -> str:
    # A hundred thousand trials name few agents, tasks, tools and milestones.
    return one_line(text, limit)


def words(value: Any, limit: int = 80) -> tuple[str, ...]:
    """The names in an array, at most 100."""
    return tuple(word(item, limit) for item in sequence(value)[:100] if word(item, limit))


def seconds_between(start: Any, end: Any) -> float | None:
    """Seconds from one ISO 8601 time to another; None where either is missing or unreadable."""
    return seconds_from(moment(start), moment(end))


def moment(value: Any) -> datetime | None:
    """An ISO 8601 time; None for what is none."""
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def seconds_from(start: datetime | None, end: datetime | None) -> float | None:
    """Seconds from one time to another; None where one is unknown, where one has a time zone and
    the other has not, and where they run backwards."""
    if start is None or end is None or (start.tzinfo is None) != (end.tzinfo is None):
        return None
    seconds = (end - start).total_seconds()
    return seconds if seconds >= 0 else None


def to_json(value: Any) -> str:
    """`value` as one line of JSON, characters as they are."""
    if type(value) is dict:
        try:  # text alone, as most tool calls ask for: ten times as quick as an encoder's start
            return "{" + ", ".join([f"{_quoted(k)}: {_quoted(v)}" for k, v in value.items()]) + "}"
        except TypeError:
            pass
    return _encode(value)
