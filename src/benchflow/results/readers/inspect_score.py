"""From an Inspect sample's scores to a verdict of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchflow.base.text import one_line
from benchflow.results.json_values import mapping, number, word
from benchflow.results.model import Verdict
from benchflow.results.records import Milestone

#: `inspect_ai.scorer.value_to_float`: correct, partial, incorrect, no answer.
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


@dataclass(frozen=True)
class Judged:
    """Verdict, its cause where it is an error, and each scorer's part as a test."""

    verdict: Verdict
    reward: float | None = None
    cause: str = ""
    message: str = ""
    milestones: tuple[Milestone, ...] = ()


def judge(sample: Mapping[str, Any], scorer: str = "", *, invalid: bool = False) -> Judged:
    """Resolved when the headline scorer (else the first) gives full marks in every value.

    An error: the sample broke, was declared invalid, has no score, or its score has no full marks
    that we know of (a number outside 0…1).
    """
    error = sample.get("error")
    if error:
        text = mapping(error).get("message") or error
        return Judged(Verdict.ERROR, cause="SampleError", message=one_line(str(text), 400))
    if invalid:
        return Judged(Verdict.ERROR, cause="Invalidated")
    scores = mapping(sample.get("scores"))
    if not scores:
        return Judged(Verdict.ERROR, cause="NoScore")
    chosen = scorer if scorer in scores else next(iter(scores))
    values = _values(mapping(scores[chosen]).get("value"))
    if not values or None in values.values():
        text = one_line(f"{chosen}: {mapping(scores[chosen]).get('value')!r}", 200)
        return Judged(Verdict.ERROR, cause="UnusableScore", message=text)
    known = [value for value in values.values() if value is not None]
    verdict = Verdict.RESOLVED if min(known) >= 1 else Verdict.FAILED
    return Judged(verdict, sum(known) / len(known), milestones=_milestones(chosen, scores, values))


def _values(value: Any) -> dict[str, float | None]:
    if isinstance(value, dict):
        return {word(key): _mark(part) for key, part in value.items()}
    if isinstance(value, list):
        return {str(place): _mark(part) for place, part in enumerate(value, 1)}
    return {"": _mark(value)}


def _mark(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        return _LETTERS.get(value)
    found = number(value)
    return found if found is not None and 0 <= found <= 1 else None


def _milestones(
    scorer: str, scores: Mapping[str, Any], values: Mapping[str, float | None]
) -> tuple[Milestone, ...]:
    message = word(mapping(scores[scorer]).get("explanation"), 400)
    return tuple(
        Milestone(
            id=one_line(f"{scorer}/{part}" if part else scorer, 160),
            status="passed" if value is not None and value >= 1 else "failed",
            message="" if value is not None and value >= 1 else message,
        )
        for part, value in values.items()
    )
