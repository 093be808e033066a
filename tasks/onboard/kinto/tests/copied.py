"""Copies of the project's modules on a machine, and whether they are as they were handed over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

PACKAGES = {"kinto": "kinto/", "kinto_emailer": "kinto-emailer/src/"}
#: So many of Kinto's modules in their places are a copy of it; fewer are something else.
A_COPY = 10


def modules(told: dict[str, Any], package: str) -> dict[str, str]:
    """A package's modules as they are named where it is installed, and their digests."""
    top = PACKAGES[package]
    return {
        name.removeprefix(top): digest
        for name, digest in told["sources"].items()
        if name.startswith(f"{top}{package}/") and name.endswith(".py")
    }


def changed(paths: Iterable[str], digest: Callable[[str], str], told: dict[str, Any]) -> str:
    """The first module of a copy of Kinto or its plug-in that is not as it was handed over."""
    seen = list(paths)
    for package in PACKAGES:
        wanted = modules(told, package)
        found = [
            (path, path.removesuffix(name), name)
            for path in seen
            for name in wanted
            if path.endswith(f"/{name}")
        ]
        sizes = Counter(top for _, top, _ in found)
        for path, top, name in found:
            if sizes[top] >= min(A_COPY, len(wanted)) and digest(path) != wanted[name]:
                return path
    return ""
