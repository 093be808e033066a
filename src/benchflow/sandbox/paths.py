"""Where benchflow keeps its own state: `$BENCHFLOW_HOME`, else the user's cache directory."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """`$BENCHFLOW_HOME`, default `$XDG_CACHE_HOME/benchflow`, default `~/.cache/benchflow`."""
    explicit = os.environ.get("BENCHFLOW_HOME")
    if explicit:
        return Path(explicit).absolute()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache").absolute() / "benchflow"


def _private(*parts: str) -> Path:
    path = home().joinpath(*parts)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def sandboxes() -> Path:
    """One directory per living sandbox; closed to other users of the host."""
    return _private("sandboxes")


def images(id_map_name: str) -> Path:
    """Image records: what a Dockerfile and its context came to."""
    return _private("images", id_map_name)


def storage(id_map_name: str) -> Path:
    """The image builder's storage: the layers, unpacked, owned by the ids of this map."""
    return _private("buildah", id_map_name)
