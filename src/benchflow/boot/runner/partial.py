"""Which checks a verification of some milestones alone runs."""

from __future__ import annotations

from collections.abc import Sequence

from benchflow.boot.milestones import ChecksError, MilestoneSpec


def in_order(specs: Sequence[MilestoneSpec], asked: Sequence[str]) -> tuple[str, ...]:
    """The milestones `asked`, in file order. Raises ChecksError for one that is not there."""
    known = [spec.id for spec in specs]
    for id in asked:
        if id not in known:
            raise ChecksError(f"there is no milestone {id!r}", fix=f"known: {', '.join(known)}")
    return tuple(id for id in known if id in asked)


def required(specs: Sequence[MilestoneSpec], id: str) -> list[str]:
    """`id` and all that it requires, and these in turn, in file order."""
    requires = {spec.id: spec.requires for spec in specs}
    found, open_ones = set(), [id]
    while open_ones:
        each = open_ones.pop()
        if each not in found:
            found.add(each)
            open_ones += requires[each]
    return [spec.id for spec in specs if spec.id in found]
