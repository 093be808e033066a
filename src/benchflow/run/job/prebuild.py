"""The verifiers' images are built while the agents work, so that no trial waits for one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.errors import BenchflowError

if TYPE_CHECKING:
    from harbor.models.job.config import JobConfig


def prepare(config: JobConfig) -> None:
    """Starts to build what a job in a sandbox of ours will need; returns at once.

    An image that cannot be built is told by the trial that needs it, which tries again.
    """
    from benchflow.run.job.plan import OURS

    if config.environment.import_path not in OURS.values():
        return
    contexts = [
        recipe.parent
        for task in config.tasks
        if task.path is not None
        for recipe in sorted(Path(task.path).glob("**/tests/Dockerfile"))
    ]
    if contexts:
        # A daemon: a job that ends sooner, or is interrupted, does not wait for an image.
        threading.Thread(target=_build, args=(contexts,), daemon=True).start()


def _build(contexts: list[Path]) -> None:
    from benchflow import sandbox

    for context in contexts:
        try:
            sandbox.build(context)
        except (BenchflowError, OSError):
            continue
