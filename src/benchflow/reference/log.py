"""The log of measurements, `benchmarks/log/*.jsonl`: what was measured when, and under what.

One file a task (`repair-dead-server.jsonl`), and `benchmarks.jsonl` for the scripts in benchmarks/.
One object a line, appended and not changed later; what is wrong about an old one is said by a new
one. benchmarks/README.md tells the keys.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: What a record may be about.
KINDS = {
    "oracle": "the reference solution, from scratch, verified",
    "oracle's work": "the reference solution's own time, piece by piece",
    "verification": "one verification, milestone by milestone",
    "nop": "an agent that does nothing",
    "ladder": "the oracle stopped at each milestone",
    "variant": "an honest other solution",
    "variants": "several of them",
    "exploit": "one exploit: what it gains or loses, and what stops it",
    "exploits": "several or all of them",
    "common exploits": "the exploits that every task is tried with",
    "determinism": "one deliverable, verified several times",
    "gates": "gates that passed",
    "size": "what is built and delivered",
    "attempt": "somebody's attempt",
    "fault": "what was found wrong and corrected",
    "changed": "what a version changed",
    "tested": "what was tried besides",
    "due": "what has not been run",
    "observation": "what was seen on the way",
    "wanted": "what was done by hand for want of a part",
    "benchmark": "one of the scripts in benchmarks/",
}
_ALWAYS = {"version", "what", "date"}
_HOST = {"speed", "load", "beside", "cores", "kvm"}


class WrongRecord(ValueError):
    """A line that is no record; the message says where and why."""


@dataclass(frozen=True)
class Entry:
    """One line. `subject`: the task, or the script of benchmarks/.

    `host`: `speed` (times the reference's), `load` (average), `beside` (what else ran). A number
    or a pair [least, most]. `verifier`: the commit of the verifier's code, where it matters.
    """

    subject: str
    version: str
    what: str
    date: str
    host: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    verifier: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def conditions(self) -> str:
        """In words: “0.44 times the reference's speed, load 3 to 6, beside other gates”."""
        parts = []
        if "speed" in self.host:
            parts.append(f"{span(self.host['speed'])} times the reference's speed")
        if "load" in self.host:
            parts.append(f"load {span(self.host['load'])}")
        beside = self.host.get("beside", "")
        if beside == "nothing":
            parts.append("idle otherwise")
        elif beside:
            parts.append(f"beside {beside}")
        return ", ".join(parts)


def span(value: Any, unit: str = "") -> str:
    """3 → “3”, [3, 6] → “3 to 6”, with the unit behind it."""
    shown = " to ".join(f"{part:,}" for part in value) if isinstance(value, list) else f"{value:,}"
    return f"{shown} {unit}".rstrip()


def read(path: Path) -> list[Entry]:
    """All records of a file, in their order; none where there is no file. Raises WrongRecord."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_entry(line, f"{path.name}:{n}") for n, line in enumerate(lines, 1)]


def _entry(line: str, where: str) -> Entry:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise WrongRecord(f"{where}: no JSON: {error}") from error
    if not isinstance(data, dict) or not data.keys() >= _ALWAYS:
        raise WrongRecord(f"{where}: an object with {', '.join(sorted(_ALWAYS))} is wanted")
    subject = data.pop("task", "") or data.pop("script", "")
    host, note = data.pop("host", {}), data.pop("note", "")
    if not subject:
        raise WrongRecord(f"{where}: neither task nor script is named")
    if data["what"] not in KINDS:
        raise WrongRecord(f"{where}: what is {data['what']!r}: one of {', '.join(KINDS)}")
    if unknown := host.keys() - _HOST:
        raise WrongRecord(f"{where}: host has {', '.join(sorted(unknown))}")
    known = {key: data.pop(key) for key in ("version", "what", "date")}
    verifier = data.pop("verifier", "")
    for key, value in data.items():
        if not _is_plain(value):
            raise WrongRecord(f"{where}: {key} is {value!r}: a number, a pair, text or a table")
    return Entry(subject, **known, host=host, note=note, verifier=verifier, values=data)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) == 2 and all(type(part) in (int, float) for part in value)
    if isinstance(value, dict):
        return all(isinstance(part, int | float) for part in value.values())
    return isinstance(value, str | int | float | bool)
