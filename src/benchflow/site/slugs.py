"""Names in addresses: readable, safe on any file system, the same at every build."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

_LENGTH = 60


def slugs(names: Iterable[str]) -> dict[str, str]:
    """name → slug of `[a-z0-9-]`. Names that would share one get a piece of their hash each."""
    wanted = {name: _readable(name) for name in names}
    times = Counter(wanted.values())
    return {
        name: slug if slug and times[slug] == 1 else f"{slug or 'x'}-{_hash(name)}"
        for name, slug in wanted.items()
    }


def _readable(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LENGTH].rstrip("-")


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:6]
