"""Which trials of a job can be credited, and why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import UsageError
from benchflow.results.jobs.layout import layout
from benchflow.results.model import Verdict
from benchflow.run.checkpoints import store
from benchflow.run.checkpoints.crediting import Tried, find


@dataclass(frozen=True)
class Chosen:
    """Trials to credit; `left_out` counts the others by the reason."""

    trials: tuple[Tried, ...]
    left_out: dict[str, int]


def choose(folder: Path, *, is_named: bool) -> Chosen:
    """The trial in `folder` where it `is_named`, else those of the job there. Raises UsageError
    where none can be credited, or a task has changed since."""
    if is_named:
        return Chosen((find(folder),), {})
    here = layout(folder)
    left_out: dict[str, int] = {}
    trials: list[Tried] = []

    def leave_out(why: str, number: int = 1) -> None:
        if number:
            left_out[why] = left_out.get(why, 0) + number

    leave_out("not finished", len(here.unfinished))
    for path in here.finished:
        if not store.read(path):
            leave_out("without checkpoints")
            continue
        tried = find(path)
        if tried.trial.verdict is Verdict.ERROR:
            leave_out("without a verdict")
        else:
            trials.append(tried)
    if not trials:
        why = ", ".join(f"{number} {reason}" for reason, number in left_out.items())
        raise UsageError(
            f"{folder}: no trial here can be credited" + (f": {why}" if why else ""),
            hint="keep checkpoints: benchflow run TASK --agent AGENT --checkpoints 10",
        )
    return Chosen(tuple(trials), left_out)
