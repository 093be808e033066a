"""Reads a verifier's ladder: `milestones.json`, or the rewards where it is missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchflow.base.text import one_line, printable
from benchflow.results.jobs.evidence import verifier_folders
from benchflow.results.json_values import mapping, name, number, sequence
from benchflow.results.model import Check, Milestone, Problem
from benchflow.results.safe_files import Absent, UnreadableRecord, read_object

STATUSES = ("passed", "failed", "not reached")
_LINE = 160


def read_ladder(
    verifier_dir: Path, rewards: Mapping[str, float], prefix: str = ""
) -> tuple[tuple[Milestone, ...], list[Problem]]:
    """The milestones in `verifier_dir`, ids prefixed; what was unreadable is named beside them."""
    milestones, _, problems = read_with_host(verifier_dir, rewards, prefix)
    return milestones, problems


def read_with_host(
    verifier_dir: Path, rewards: Mapping[str, float], prefix: str = ""
) -> tuple[tuple[Milestone, ...], Mapping[str, Any], list[Problem]]:
    """As `read_ladder`, and what the verifier says of its host; empty where it says nothing."""
    path = verifier_dir / "milestones.json"
    try:
        record = read_object(path)
    except Absent:
        return from_rewards(rewards, prefix), {}, []
    except UnreadableRecord as error:
        return from_rewards(rewards, prefix), {}, [Problem(path, str(error))]
    return parse(record, prefix), mapping(record.get("host")), []


def read_checks(trial: Path) -> dict[str, tuple[Check, ...]]:
    """Milestone → its checks, of the trial in a folder; nothing where they cannot be read."""
    return {
        milestone.id: milestone.checks
        for path, prefix in verifier_folders(trial)
        for milestone in read_ladder(path, {}, prefix)[0]
    }


def from_rewards(rewards: Mapping[str, float], prefix: str = "") -> tuple[Milestone, ...]:
    """Milestones as the flat rewards tell them: which passed, but neither checks nor reasons."""
    return tuple(
        Milestone(
            id=prefix + one_line(key.removeprefix("milestone."), 80),
            status="passed" if value >= 1 else "not reached",
        )
        for key, value in rewards.items()
        if key.startswith("milestone.")
    )


def parse(record: Mapping[str, Any], prefix: str = "") -> tuple[Milestone, ...]:
    """The milestones of a `milestones.json`. Text in it may come from a guest: it is cleaned."""
    return tuple(
        Milestone(
            id=prefix + name(item.get("id", "?"), 80),
            status=_status(item.get("status")),
            title=name(item.get("title") or "", _LINE),
            weight=number(item.get("weight")) or 0.0,
            requires=tuple([name(r, 80) for r in sequence(item.get("requires"))]),
            checks=tuple([_check(c) for c in sequence(item.get("checks")) if isinstance(c, dict)]),
        )
        for item in sequence(record.get("milestones"))
        if isinstance(item, dict)
    )


def _check(item: Mapping[str, Any]) -> Check:
    return Check(
        name=name(item.get("name", "?"), _LINE),
        status=name(item.get("status", "?"), 20),
        proves=tuple([name(p, 20) for p in sequence(item.get("proves"))]),
        seconds=number(item.get("seconds")),
        message=printable(str(item.get("message") or "")),
    )


def _status(value: Any) -> str:
    return value if value in STATUSES else "not reached"
