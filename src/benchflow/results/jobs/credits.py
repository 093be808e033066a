"""What `benchflow credit` found out about a trial: `<trial>/credit.json`, read back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchflow.results.json_values import count, mapping, number, sequence, word
from benchflow.results.safe_files import UnreadableRecord, read_object

NAME = "credit.json"
SCHEMA = 1


@dataclass(frozen=True)
class Credit:
    """`first_steps`: milestone → the step that it is credited to; `gained`: (step, reward) in
    order, None where steps are not known."""

    first_steps: dict[str, int]
    gained: tuple[tuple[int, float], ...] | None


def of_trial(folder: Path | None) -> Credit | None:
    """None for a trial that has none, or none that can be read."""
    if folder is None:
        return None
    try:
        record = read_object(folder / NAME)
    except UnreadableRecord:
        return None
    if record.get("schema") != SCHEMA:
        return None
    steps: dict[str, int] = {}
    for each in map(mapping, sequence(record.get("milestones"))):
        step = count(mapping(each.get("first_held")).get("step"))
        if step is not None:
            steps[word(each.get("id"))] = step
    listed = record.get("credited")
    if not isinstance(listed, list):
        return Credit(steps, None)
    gained = [
        (step, gain)
        for each in map(mapping, listed)
        if (step := count(each.get("step"))) is not None
        and (gain := number(each.get("reward_gained"))) is not None
    ]
    return Credit(steps, tuple(gained) if len(gained) == len(listed) else None)
