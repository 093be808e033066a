"""What the environments' images take on this disk: each by itself, and all of them together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from timing import headline, row

from benchflow import sandbox
from benchflow.authoring.size import MIB, stored
from benchflow.tasks import catalogue

LIMIT_MB = 6 * 1024


def on_disk(layers: Iterable[Path]) -> float:
    """MiB of all files and folders; what has several names counts once."""
    blocks = {}
    for layer in layers:
        for folder, _, names in os.walk(layer):
            for path in (Path(folder), *(Path(folder, name) for name in names)):
                status = path.lstat()
                blocks[status.st_dev, status.st_ino] = status.st_blocks
    return sum(blocks.values()) * 512 / MIB


def main() -> None:
    headline("images of the environments; each is built first unless it is there already")
    images = {task: sandbox.build(task.path / "environment").layers for task in catalogue()}
    for task, layers in images.items():
        size = f"{stored(layers) / MIB:,.0f} MiB"
        row(f"{task.name}, {len(layers)} layers", size, f"≤ {task.image_mb:,} MiB")
    used = [layer for layers in images.values() for layer in layers]
    alone = {layer: on_disk([layer]) for layer in used}
    row("every image with layers of its own", f"{sum(alone[layer] for layer in used):,.0f} MiB")
    row(f"each of the {len(alone)} layers once", f"{sum(alone.values()):,.0f} MiB")
    together = f"{on_disk(alone):,.0f} MiB"
    row("each file once, which is what they take together", together, f"≤ {LIMIT_MB:,} MiB")


if __name__ == "__main__":
    main()
