"""Where the tasks of a catalogue stand: which gates they passed, kept beside them in `gates.json`.

`benchflow check --record` writes it. An entry holds for what the gates depend on as it was
(`meaning`, part by part, of which `key` is made): once a part changes in meaning, the entry is
about something else and says nothing. What it says of gates that read the task's files as they
stand holds for those bytes (`task`), of the others for the order of the checks and what else no
part of the meaning says (`rest`, which older entries have not), of the task's own exploits and
variants for those scripts (`exploits`, `variants`), of the exploits common to all tasks for those
(`corpus`), and of any for the gains that were declared (`declared`).
"""

from __future__ import annotations

import datetime
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.authoring.check import GATES, remembered
from benchflow.authoring.gate import GateResult, Status
from benchflow.authoring.meaning.key import changed
from benchflow.authoring.trials import DECLARED, EXPLOITED, READ, VARIED, Trials, corpus_digest
from benchflow.base import atomic
from benchflow.errors import UsageError
from benchflow.run.live.progress import Silence
from benchflow.tasks import Task

#: Parts of a meaning that every task shares.
_VERIFIER = ("boot", "bench", "libraries", "packages")
SCHEMA = 2
_GOOD = (Status.PASSED, Status.NOT_APPLICABLE)


@dataclass(frozen=True)
class Standing:
    """Gates of one task that are recorded, by name.

    `changed`: the parts that have another meaning since; the record says nothing then.
    """

    gates: dict[str, GateResult]
    changed: tuple[str, ...] = ()

    @property
    def stale(self) -> bool:
        """Whether the record is about another task, or another verifier."""
        return bool(self.changed)

    def held(self, gate: str) -> GateResult | None:
        """What the record says of `gate`; None when it says nothing, or the record is stale."""
        return None if self.stale else self.gates.get(gate)

    @property
    def good(self) -> int:
        """How many gates passed or do not apply; 0 when the record is stale."""
        return 0 if self.stale else self._passed

    @property
    def _passed(self) -> int:
        return sum(result.status in _GOOD for result in self.gates.values())

    def __str__(self) -> str:
        if self.stale:
            own = [part for part in self.changed if not part.startswith(_VERIFIER)]
            lapsed = f"{self._passed} lapsed: " if self._passed else ""
            return f"0 of {len(GATES)} ({lapsed}{_some(own or self.changed)} changed)"
        failed = [name for name, result in self.gates.items() if result.status not in _GOOD]
        told = f"{self._passed} of {len(GATES)}"
        return told + (f", failed: {', '.join(failed)}" if failed else "")


def standing(task: Task) -> Standing | None:
    """What the catalogue's record says of `task`; None when it says nothing.

    Raises UsageError when the record is there and cannot be read.
    """
    entry = _read(_file(task)).get(task.name)
    if entry is None:
        return None
    try:
        trials = Trials(task, Silence())
        holding = _holding(entry, trials)
        gates = {name: GateResult.from_json(result) for name, result in holding.items()}
        return Standing(gates, tuple(changed(entry["meaning"], trials.parts)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(_file(task), task.name) from error


def dates(task: Task) -> dict[str, str]:
    """The day (ISO) on which each recorded gate was run, held or not; empty where none is."""
    gates = _read(_file(task)).get(task.name, {}).get("gates", {})
    return {name: str(result.get("recorded", ""))[:10] for name, result in gates.items()}


def due(task: Task, gates: Sequence[str]) -> tuple[str, ...]:
    """Those of `gates` that the record does not hold as passed (or not applicable) for `task`."""
    found = standing(task)
    if found is None or found.stale:
        return tuple(gates)
    held = {name for name, result in found.gates.items() if result.status in _GOOD}
    return tuple(gate for gate in gates if gate not in held)


def record(task: Task) -> Path:
    """Writes what is remembered of `task`'s gates into its catalogue's record; returns the file.

    Gates that were recorded for the same key stay where this machine remembers nothing of them, or
    an older run (`recorded` is when a gate was run, in UTC). Several processes may do it at once,
    for different tasks.
    Raises UsageError for a task that lies in no catalogue, or a record that cannot be read.
    """
    if task.path.parts[-2:] != tuple(task.name.split("/")):
        raise UsageError(
            f"{task.path} is not in a catalogue",
            hint="a catalogue's tasks lie in TOPIC/NAME, as their task.toml says",
        )
    path = _file(task)
    with _alone(path.parent):
        _record(task, path)
    return path


def _record(task: Task, path: Path) -> None:
    trials = Trials(task, Silence())
    entries = _read(path)
    before = entries.get(task.name, {})
    try:
        gates = _holding(before, trials) if before.get("meaning") == trials.parts else {}
    except (KeyError, TypeError, AttributeError) as error:
        raise _broken(path, task.name) from error
    carried = {"carried": before["carried"]} if gates and "carried" in before else {}
    for name, result in remembered(task).items():
        # Where evidence lies is a fact of one machine.
        told = {**result.to_json(), "evidence": "", "cached": False}
        known = {k: v for k, v in gates.get(name, {}).items() if k != "recorded"}
        ran = datetime.datetime.fromtimestamp(trials.memory(name).stat().st_mtime, datetime.UTC)
        moment = ran.isoformat(timespec="seconds")
        if told != known and moment >= gates.get(name, {}).get("recorded", ""):
            gates[name] = {**told, "recorded": moment}
    ordered = {name: gates[name] for name in GATES if name in gates}
    entries[task.name] = {
        "version": task.version,
        "key": trials.key,
        "meaning": dict(sorted(trials.parts.items())),
        "rest": trials.rest,
        "task": task.digest,
        "exploits": trials.scripts,
        "variants": trials.variants,
        "corpus": corpus_digest(),
        "declared": trials.declared,
        **carried,  # from the record of that commit, which was keyed by bytes
        "gates": ordered,
    }
    text = json.dumps({"schema": SCHEMA, "tasks": dict(sorted(entries.items()))}, indent=1)
    atomic.write(path, text + "\n")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Held by one process at a time."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _holding(entry: dict[str, Any], trials: Trials) -> dict[str, Any]:
    """The gates of an entry, without those on scripts or declared gains that are others today."""
    gone: set[str] = set()
    if entry.get("task") != trials.task.digest:
        gone |= READ
    if entry.get("rest", trials.rest) != trials.rest:
        gone |= {*GATES} - READ
    if entry.get("exploits") != trials.scripts:
        gone |= EXPLOITED
    if entry.get("variants", "") != trials.variants:
        gone |= VARIED
    if entry.get("corpus") != corpus_digest():
        gone.add("corpus")
    if entry.get("declared") != trials.declared:
        gone |= DECLARED
    return {name: result for name, result in entry["gates"].items() if name not in gone}


def _some(parts: Sequence[str]) -> str:
    """The first by name, and how many more (`benchflow tasks show` has all)."""
    return parts[0] + (f" and {len(parts) - 1} more" if len(parts) > 1 else "")


def _file(task: Task) -> Path:
    return task.path.parents[1] / "gates.json"


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        tasks = data["tasks"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _broken(path, "") from error
    if not isinstance(tasks, dict) or data.get("schema") != SCHEMA:
        raise _broken(path, "")
    return tasks


def _broken(path: Path, name: str) -> UsageError:
    where = f"{path}: {name}" if name else str(path)
    return UsageError(
        f"{where}: this record of gates cannot be read",
        hint="remove the file (or the task's entry), then: benchflow check TASK --record",
    )
