"""What lies on a machine beside what it was made from: copies of modules, new blocks of a disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchflow.bench.hidden_secrets import all_unpacked, holds, pieces

PACKAGES = {"kinto": "kinto/", "kinto_emailer": "kinto-emailer/src/"}
#: So many of Kinto's modules in their places are a copy of it; fewer are something else.
A_COPY = 10
PIECE, BLOCK = 4 << 20, 4096


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


def shown(old: Path, new: Path, target: Path, keys: dict[str, bytes]) -> str:
    """Which key is in the new blocks of a disk, and in which form; `target` is room for them."""
    try:
        return holds(all_unpacked(pieces(new_blocks(old, new, target))), keys)
    finally:
        target.unlink(missing_ok=True)


def new_blocks(old: Path, new: Path, target: Path) -> Path:
    """All blocks of a machine's disk that are not as they were delivered, one by one."""
    with old.open("rb") as before, new.open("rb") as after, target.open("wb") as out:
        while piece := after.read(PIECE):
            if piece == (was := before.read(PIECE)):
                continue
            for at in range(0, len(piece), BLOCK):
                block = piece[at : at + BLOCK]
                if block != was[at : at + BLOCK]:
                    out.write(block)
    return target
