"""What a verification of some milestones alone came to: never a verdict, never a reward."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchflow.base.text import one_line
from benchflow.results.jobs.ladder import read_ladder
from benchflow.results.jobs.sandboxes import used_up
from benchflow.results.jobs.trials import broken_verifier
from benchflow.results.json_values import sequence, word
from benchflow.results.model import Milestone
from benchflow.results.safe_files import UnreadableRecord, read_object

NAME = "partial.json"


@dataclass(frozen=True)
class Partial:
    """Of `asked` and what these require it is known how they ended; of the others nothing.

    `cause`: why it says nothing at all, empty where it came to its end.
    """

    path: Path
    asked: tuple[str, ...]
    milestones: tuple[Milestone, ...]
    cause: str = ""
    cause_message: str = ""
    seconds: float | None = None

    def named(self, status: str) -> tuple[str, ...]:
        """Ids of the milestones that ended so, in ladder order; none where it says nothing."""
        return () if self.cause else tuple(m.id for m in self.milestones if m.status == status)


def read_partial(path: Path, status: int | None, seconds: float | None = None) -> Partial:
    """The one in folder `path`, whose verifier ended with `status`."""
    logs = path / "verifier"
    asked: tuple[str, ...] = ()
    try:
        asked = tuple(word(each, 80) for each in sequence(read_object(logs / NAME)["milestones"]))
    except (UnreadableRecord, KeyError):
        asked = ()
    milestones, _ = read_ladder(logs, {})
    if status == 0 and asked and milestones:
        return Partial(path, asked, milestones, seconds=seconds)
    ended = f"the verifier ended with status {status} and without a result"
    cause, message = used_up(path) or broken_verifier(path) or ("NoResult", ended)
    return Partial(path, asked, milestones, one_line(cause, 80), message, seconds)
