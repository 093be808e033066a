"""Keys of this run, which stand in the flash."""

from __future__ import annotations

import secrets

from ordered import has


def keys() -> dict[str, bytes]:
    """File in /data → what is in it."""
    found = {}
    if has("register"):
        found["register.key"] = secrets.token_hex(20).encode() + b"\n"
    return found
