"""Where benchflow keeps what it can rebuild: images, layers, staged tasks, live sandboxes."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """`$BENCHFLOW_HOME`, else `$XDG_CACHE_HOME/benchflow`, else `~/.cache/benchflow`; created."""
    given = os.environ.get("BENCHFLOW_HOME")
    if given:
        path = Path(given)
    else:
        cache = os.environ.get("XDG_CACHE_HOME")
        path = (Path(cache) if cache else Path.home() / ".cache") / "benchflow"
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()
