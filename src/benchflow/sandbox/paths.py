"""Where the sandboxes and their images are kept, below `benchflow.base.home`."""

from __future__ import annotations

from pathlib import Path

from benchflow.base.home import home


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
