"""What an expert answers about tasks. Bounds are generous: they keep out nonsense, not opinions."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from benchflow.people.answers import Body, Name, Text

MOST_TASKS = 5
#: What people are told that it takes: raters needed 15 to 20 minutes a task, so the longer of both.
MINUTES_A_TASK = 20
MINUTES_A_PAIR = 10
#: Answer → what stands beside it on the page. Worst or least first where there is an order.
WORK = {
    "never": "I have never done such work",
    "once": "I have done it a few times",
    "sometimes": "I do it several times a year",
    "daily": "It is my daily or weekly work",
}
SIGN = {
    "no": "No: work that passes could be wrong in ways that matter",
    "large-doubts": "Only after looking at it myself for long",
    "small-doubts": "After a short look",
    "yes": "Yes, as it stands",
}
PAY = {
    "no": "No",
    "little": "Only if it cost next to nothing",
    "part": "A part of what those hours cost",
    "full": "As much as those hours cost",
}
DOUBT = {"unclear": "unclear", "unfair": "unfair"}
TRIED = {
    "resolved": "it was judged resolved",
    "failed": "it was judged failed",
    "stopped": "I stopped before handing in",
}
#: Whose answers count as an expert's.
EXPERT = ("sometimes", "daily")

_Hours = Annotated[float, Meta(ge=0.01, le=10_000)]


class Hours(Struct, frozen=True, forbid_unknown_fields=True):
    """Hours of one's own work: one time in ten it takes less than `low`, as often less as more
    than `likely`, one time in ten more than `high`. Raises ValueError when they are not ordered."""

    low: _Hours
    likely: _Hours
    high: _Hours

    def __post_init__(self) -> None:
        if not self.low <= self.likely <= self.high:
            raise ValueError("hours are not ordered: low ≤ likely ≤ high")


class Doubt(Struct, frozen=True, forbid_unknown_fields=True):
    """A demand of the instruction or of the proof that the rater finds unfair or unclear."""

    demand: Annotated[str, Meta(min_length=1, max_length=80)]
    what: Literal["unfair", "unclear"]
    why: Text = ""


class Try(Struct, frozen=True, forbid_unknown_fields=True):
    """A timed try, by the rater's own word."""

    minutes: Annotated[float, Meta(ge=0, le=100_000)]
    outcome: Literal["resolved", "failed", "stopped"]


class TaskAnswers(Struct, frozen=True, forbid_unknown_fields=True):
    """About one task. `hours` None: cannot say. `exploit`: how to pass without the work."""

    task: Name
    digest: Name
    work: Literal["never", "once", "sometimes", "daily"]
    hours: Hours | None
    sign: Literal["no", "large-doubts", "small-doubts", "yes"]
    pay: Literal["no", "little", "part", "full"]
    doubts: Annotated[tuple[Doubt, ...], Meta(max_length=12)] = ()
    exploit: Text = ""
    tried: Try | None = None

    @property
    def is_experts(self) -> bool:
        """Whether the rater does such work, by their own word."""
        return self.work in EXPERT


class Pair(Struct, frozen=True, forbid_unknown_fields=True):
    """Which of two tasks is harder, by name; "" for “cannot say”."""

    a: Name
    b: Name
    harder: Name

    def __post_init__(self) -> None:
        if self.a == self.b or self.harder not in ("", self.a, self.b):
            raise ValueError("a pair is of two tasks, one of which may be the harder")


class Rating(Body, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="rating"):
    """One rater's answers to one pack. Tasks that were skipped are not in it."""

    tasks: Annotated[tuple[TaskAnswers, ...], Meta(min_length=1, max_length=MOST_TASKS)]
    pairs: Annotated[tuple[Pair, ...], Meta(max_length=10)] = ()
    comment: Text = ""
