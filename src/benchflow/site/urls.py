"""Where everything lies in a site: paths from its root, the same at every build."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchflow.site.slugs import slugs


@dataclass(frozen=True)
class Addresses:
    """Slugs by name; made of names alone, so that it can be handed to other processes."""

    tasks: dict[str, str]
    entries: dict[str, str]

    @classmethod
    def of(cls, tasks: Iterable[str], entries: Iterable[str]) -> Addresses:
        """Addresses for these tasks, and agents and models."""
        return cls(slugs(tasks), slugs(entries))

    def task(self, task: str) -> str:
        """A task's page."""
        return f"tasks/{self.tasks[task]}.html"

    def entry(self, who: str) -> str:
        """An agent and model's page."""
        return f"agents/{self.entries[who]}.html"

    def pair(self, a: str, b: str) -> str:
        """The comparison of `a` with `b`, in this order."""
        return f"comparisons/{self.entries[a]}--{self.entries[b]}.html"

    def row(self, who: str) -> str:
        """The name of an entry's row within a page."""
        return f"row-{self.entries[who]}"

    def cell(self, who: str, task: str) -> str:
        """The trials of one entry at one task: a row of the task's page."""
        return f"{self.task(task)}#{self.row(who)}"


def trial_page(uid: str) -> str:
    """A trial's page; two digits of folder keep folders small."""
    return f"trials/{uid[:2]}/{uid}.html"


def steps_of(uid: str) -> str:
    """What a trial's agent did; `{}` stands for the number of the piece."""
    return trial_file(uid, "steps-{}.js")


def trial_file(uid: str, name: str) -> str:
    """What a trial's page loads when asked: beside the page, because folders cost more."""
    return f"trials/{uid[:2]}/{uid}.{name}"
