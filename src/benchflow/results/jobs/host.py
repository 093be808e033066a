"""The machine of a trial: `<trial>/host.json`, and what its verifier measured there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchflow.results.json_values import amount, count, mapping, word
from benchflow.results.model import Host, Problem
from benchflow.results.safe_files import Absent, UnreadableRecord, read_object

NAME = "host.json"
_LARGEST = 1 << 16
_LINE = 120


def read(trial: Path, verifier: Mapping[str, Any]) -> tuple[Host, list[Problem]]:
    """The machine of the trial in a folder; `verifier`: `host` of its milestones.json."""
    problems: list[Problem] = []
    record: Mapping[str, Any] = {}
    try:
        record = read_object(f"{trial}/{NAME}", _LARGEST)
    except Absent:
        pass
    except UnreadableRecord as error:
        problems.append(Problem(trial / NAME, str(error)))
    if not record and not verifier:
        return Host(), problems
    before, after = mapping(record.get("before")), mapping(record.get("after"))
    flat = {
        **{key: record.get(key) for key in ("id", "cores", "cpu", "kernel", "steal")},
        "flags": _digest(record.get("flags")),
        **{key: verifier.get(key) for key in ("qemu", "accelerator", "speed")},
        "speed_before": before.get("speed"),
        "speed_after": after.get("speed"),
        "load_before": before.get("load"),
        "load_after": after.get("load"),
    }
    return of(flat), problems


def of(flat: Mapping[str, Any]) -> Host:
    """A Host of values that anybody may have written, under the names of its fields."""
    return Host(
        id=word(flat.get("id") or "", 40),
        cores=count(flat.get("cores")),
        cpu=word(flat.get("cpu") or "", _LINE),
        flags=word(flat.get("flags") or "", 40),
        kernel=word(flat.get("kernel") or "", _LINE),
        qemu=word(flat.get("qemu") or "", 40),
        accelerator=word(flat.get("accelerator") or "", 20),
        speed=amount(flat.get("speed")),
        speed_before=amount(flat.get("speed_before")),
        speed_after=amount(flat.get("speed_after")),
        load_before=amount(flat.get("load_before")),
        load_after=amount(flat.get("load_after")),
        steal=amount(flat.get("steal")),
    )


def _digest(flags: Any) -> str:
    """Eight digits for a set of flags, of which there are more than a hundred."""
    if not isinstance(flags, str) or not flags:
        return ""
    return hashlib.sha256(" ".join(sorted(flags.split())).encode()).hexdigest()[:8]
