"""Who made a task and who reviewed it, with what each did: two closed lists of roles.

Each role is one of the Contributor Role Taxonomy (CRediT, ANSI/NISO Z39.104) seen on a task; the
contributors' page and CITATION.cff are made of them. No verdict reads any of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchflow.base.text import one_line


@dataclass(frozen=True)
class Role:
    """`credit`: CRediT's term; `means`: what who has it did for a task."""

    credit: str
    means: str


AUTHOR_ROLES = {
    "idea": Role("Conceptualization", "what the customer wants, and why it takes hours"),
    "instruction": Role("Writing – original draft", "the instruction and its hints"),
    "environment": Role("Resources", "what the agent is given: image, sources, disks"),
    "oracle": Role("Software", "the reference solution or one of its variants"),
    "checks": Role("Methodology", "the checks that prove each demand"),
    "exploits": Role("Validation", "incorrect submissions that have to gain nothing"),
    "generator": Role("Software", "the generator that draws the task from a seed"),
}
REVIEWER_ROLES = {
    "reading": Role("Writing – review & editing", "read all of it, and said what is unclear"),
    "attempt": Role("Investigation", "tried it blind, from the instruction alone"),
    "attack": Role("Validation", "tried to be judged better than the work is"),
    "timing": Role("Investigation", "was timed as the expert of `expert_minutes`"),
    "rating": Role("Investigation", "rated it: hours, fairness, whether the verdict holds"),
    "gates": Role("Validation", "ran its gates on a machine of their own"),
}


@dataclass(frozen=True)
class Contribution:
    """What one person or organisation did for one task; `did` is empty where nobody wrote it down.

    `orcid`: their ORCID iD, "" where they gave none.
    """

    name: str
    is_author: bool
    did: tuple[str, ...] = ()
    orcid: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.did)})" if self.did else self.name


def contributions(authors: Iterable[str], told: Iterable[Contribution]) -> tuple[Contribution, ...]:
    """Authors first, in their order, each with what is told of them; then the reviewers."""
    entries = list(told)
    of_authors = {each.name: each for each in entries if each.is_author}
    first = [of_authors.get(name, Contribution(name, is_author=True)) for name in authors]
    return (*first, *(each for each in entries if not each.is_author))


def credited(found: Iterable[Contribution], *, of_authors: bool) -> str:
    """Authors, or reviewers, each with what they did, as one line; "" where there are none."""
    return ", ".join(one_line(str(each), 200) for each in found if each.is_author is of_authors)


def contradictions(
    authors: Iterable[str], told: Iterable[Contribution]
) -> Iterator[tuple[str, str, str]]:
    """(table, what is wrong, what fixes it) where the entries and the authors do not agree."""
    known, seen = set(authors), set()
    for each in told:
        table = "authors" if each.is_author else "reviewers"
        if each.is_author and each.name not in known:
            yield table, f"{each.name!r} is not in [task] authors", "name them there too"
        if not each.is_author and each.name in known:
            yield table, f"{each.name!r} is an author", "a review is by somebody else"
        if (each.name, each.is_author) in seen:
            yield table, f"{each.name!r} is there twice", "make one entry of the two"
        if each.orcid and not orcid_holds(each.orcid):
            yield (
                table,
                f"{each.orcid} is no ORCID iD",
                "its last digit does not follow: look again",
            )
        seen.add((each.name, each.is_author))


def orcid_holds(text: str) -> bool:
    """Whether it is four groups of four whose last digit is that of ISO 7064 (mod 11-2)."""
    if not re.fullmatch(r"(\d{4}-){3}\d{3}[\dX]", text):
        return False
    digits = text.replace("-", "")
    total = 0
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == digits[-1]
