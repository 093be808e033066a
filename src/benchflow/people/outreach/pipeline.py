"""How far each person came, from the sheet and from what happened to their links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec
from msgspec import Struct

from benchflow.people.answers import MOST_BYTES, Envelope
from benchflow.people.outreach.sheet import GROUPS, Person, Sheet
from benchflow.people.store import LinkState, Store

#: What is aimed at: people who were sent a message, and replies.
TARGET_ASKED = 50
TARGET_REPLIES = 10


class State(StrEnum):
    """In order. `asked`: there is a message with a link; `sent`: its sender says so."""

    LISTED = "listed"
    ASKED = "asked"
    SENT = "sent"
    OPENED = "opened"
    ANSWERED = "answered"
    THANKED = "thanked"
    DECLINED = "declined"


_ORDER = [state for state in State if state is not State.DECLINED]


@dataclass(frozen=True)
class Progress:
    """One person: `since` is the day of `state`, "" where it is not known; `hours` as given."""

    person: Person
    state: State
    since: str
    hours: float

    def reached(self, state: State) -> bool:
        """Whether they came to `state` or further; who declined may have been sent a message."""
        if self.state is State.DECLINED:
            return state is State.DECLINED or (state is State.SENT and "sent" in self.person.days)
        return state in _ORDER and _ORDER.index(self.state) >= _ORDER.index(state)


class _Seconds(Struct):
    """Of a body of answers, what says how long it took and whether it is one."""

    link: str = ""
    seconds: int = 0
    rehearsal: bool = False


def progress(sheet: Sheet, store: Store | None) -> list[Progress]:
    """Everybody in the sheet, in its order. Answers that were a rehearsal are none."""
    links = store.links() if store else []
    spent, rehearsed = _spent(store) if store else ({}, set())
    return [
        _of(one, [link for link in links if link.label == one.id], spent, rehearsed)
        for one in sheet.people
    ]


def _of(
    one: Person, links: Sequence[LinkState], spent: dict[str, int], rehearsed: set[str]
) -> Progress:
    answered = [each for each in links if each.answered and each.hash not in rehearsed]
    days = {state: str(day) for state, day in one.days.items()}
    known = [
        (State.DECLINED, days.get("declined", "")),
        (State.THANKED, days.get("thanked", "")),
        (State.ANSWERED, days.get("answered", "") or _first(each.answered for each in answered)),
        (State.OPENED, _first(each.opened for each in links)),
        (State.SENT, days.get("sent", "")),
        (State.ASKED, _first(each.made for each in links)),
    ]
    state, since = next((entry for entry in known if entry[1]), (State.LISTED, ""))
    hours = one.hours + sum(spent.get(each.hash, 0) for each in answered) / 3600
    return Progress(one, state, since, hours)


def _first(times: Iterable[str | None]) -> str:
    return min((time[:10] for time in times if time), default="")


def _spent(store: Store) -> tuple[dict[str, int], set[str]]:
    """Seconds by the hash of a link, and the links whose answers were made to test the page."""
    spent: dict[str, int] = {}
    rehearsed: set[str] = set()
    for data in store.envelopes(MOST_BYTES):
        try:
            body = msgspec.json.decode(msgspec.json.decode(data, type=Envelope).body, type=_Seconds)
        except (ValueError, RecursionError):
            continue  # the reader of answers says what is wrong with it
        if body.rehearsal:
            rehearsed.add(body.link)
        else:
            spent[body.link] = body.seconds
    return spent, rehearsed


@dataclass(frozen=True)
class Figures:
    """Counts of people: who came to each state or further, and hours as answers and sheet say."""

    listed: int
    asked: int
    sent: int
    opened: int
    answered: int
    thanked: int
    declined: int
    hours: float

    @property
    def target(self) -> str:
        """Where this stands against what is aimed at, as one line."""
        met = self.sent >= TARGET_ASKED and self.answered >= TARGET_REPLIES
        return (
            f"target: {TARGET_ASKED} asked, {TARGET_REPLIES} replies; so far {self.sent} asked, "
            f"{self.answered} replied{' (reached)' if met else ''}"
        )


def figures(found: Iterable[Progress]) -> Figures:
    """Over everybody who is given."""
    people = list(found)

    def count(state: State) -> int:
        return sum(one.reached(state) for one in people)

    return Figures(
        listed=len(people),
        asked=count(State.ASKED),
        sent=count(State.SENT),
        opened=count(State.OPENED),
        answered=count(State.ANSWERED),
        thanked=count(State.THANKED),
        declined=count(State.DECLINED),
        hours=round(sum(one.hours for one in people), 2),
    )


def by_group(found: Sequence[Progress]) -> dict[str, Figures]:
    """The same for each group that has people."""
    of = {group: [one for one in found if one.person.group == group] for group in GROUPS}
    return {group: figures(some) for group, some in of.items() if some}
