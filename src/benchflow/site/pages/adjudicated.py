"""What a review of a trial's verdict found, in words: on its page and in the list of trials."""

from __future__ import annotations

from benchflow.results.adjudication import Adjudication
from benchflow.results.model import Verdict
from benchflow.results.records import Record


def in_short(record: Record) -> str:
    """A few words for a list; empty where nobody reviewed the verdict."""
    found = record.adjudication
    if found is None:
        return ""
    said = f"adjudicated: fault of the {_named(found.fault)}; first {found.first}"
    if found.first_passed is not None and record.milestones:
        said += f", {found.first_passed} of {len(record.milestones)}"
    return said + ("; altered by hand" if found.altered else "")


def in_lede(record: Record) -> str:
    """What belongs behind the sentence that tells the outcome, so that it does not mislead."""
    found = record.adjudication
    if found is None or not _changed(record, found):
        return ""
    by_hand = ", and after its deliverable was altered by hand" if found.altered else ""
    return f" This is the verdict after adjudication{by_hand}: the first was {_first(found)}."


def paragraphs(record: Record) -> tuple[str, ...]:
    """The first verdict, why, what stands, and whether the deliverable was altered."""
    found = record.adjudication
    if found is None:
        return ()
    return (
        f"Adjudicated. The first verdict was {_first(found, len(record.milestones))}. It was the "
        f"fault of the {_named(found.fault)}: {found.why}",
        " ".join(part for part in (_stands(record, found), found.note) if part),
    )


def _stands(record: Record, found: Adjudication) -> str:
    n = len(record.milestones)
    got = f" with {record.n_passed} of {n} {record.milestone_kind}s" if n else ""
    by = f", by the checks of version {found.verified_version}" if found.verified_version else ""
    if not _changed(record, found):
        return f"What stands: {record.verdict}{got}, as at first."
    if found.altered:
        how = f". The deliverable was altered by hand for it: {found.altered}"
    else:
        how = ", on the deliverable as it was handed in, not altered"
    return f"What stands: {record.verdict}{got}{by}{how}."


def _changed(record: Record, found: Adjudication) -> bool:
    passed = record.n_passed if found.first_passed is None else found.first_passed
    return found.first is not record.verdict or passed != record.n_passed


def _first(found: Adjudication, milestones: int = 0) -> str:
    if found.first is Verdict.ERROR:
        return "error: it was not judged"
    said = str(found.first)
    if found.first_passed is not None and milestones:
        said += f" with {found.first_passed} of {milestones} milestones"
    return said if found.first_reward is None else f"{said}, reward {found.first_reward:.2f}"


def _named(faults: tuple[str, ...]) -> str:
    return " and of the ".join(faults)
