"""Estimates as JSON's own types: what `--json` and the pages' twins hold."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct


def dumped(value: Any) -> Any:
    """Dataclasses, structs, arrays, enums and paths made plain, recursively.

    A number that is none is null. Keys that are tuples are joined by " / ".
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: dumped(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Struct):
        return {name: dumped(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, np.ndarray):
        return dumped(value.tolist())
    if isinstance(value, np.generic):
        return dumped(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict | Counter):
        return {_key(key): dumped(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [dumped(item) for item in value]
    return value


def _key(key: Any) -> str:
    return " / ".join(map(str, key)) if isinstance(key, tuple) else str(key)
