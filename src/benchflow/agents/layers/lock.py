"""The lock file: for each agent its version, and every package of its layer with a checksum.

    {"schema": 1, "agents": {"codex": {"version": "…",
       "npm": {…},                    package-lock.json, version 3, without addresses
       "pypi": [{"name": "…", "version": "…", "sha256": "…"}]}}}

benchflow ships one. `benchflow agents update` writes another to `<benchflow home>/agents/`, whose
agents then go before the shipped ones.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.base import atomic
from benchflow.base.home import home
from benchflow.errors import InfrastructureError

SCHEMA = 1
SHIPPED = Path(__file__).with_name("agents.lock.json")


@dataclass(frozen=True)
class Pin:
    """One wheel: the file whose SHA-256 is `sha256`, and no other."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True)
class AgentLock:
    """What one agent's layer is made of, to the byte. `npm` is a package-lock.json or None."""

    version: str
    npm: dict[str, Any] | None = None
    pypi: tuple[Pin, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The entry as the lock file has it."""
        found: dict[str, Any] = {"version": self.version}
        if self.npm is not None:
            found["npm"] = self.npm
        if self.pypi:
            found["pypi"] = [pin.__dict__ for pin in self.pypi]
        return found


def own_lock() -> Path:
    """Where `benchflow agents update` writes, unless told otherwise."""
    return home() / "agents" / "agents.lock.json"


def read_lock() -> dict[str, AgentLock]:
    """Every locked agent; those of this machine's own lock file go before the shipped ones."""
    locks = read_file(SHIPPED)
    if own_lock().exists():
        locks |= read_file(own_lock())
    return locks


def read_file(path: Path) -> dict[str, AgentLock]:
    """The agents that one lock file has. Raises InfrastructureError for one that is torn."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise ValueError(f"its schema is {data['schema']}, not {SCHEMA}")
        return {
            name: AgentLock(
                str(entry["version"]),
                entry.get("npm"),
                tuple(Pin(**pin) for pin in entry.get("pypi", ())),
            )
            for name, entry in data["agents"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InfrastructureError(
            f"{path}: not a lock file of agents ({error})",
            hint="remove it and run: benchflow agents update",
        ) from error


def write_file(path: Path, locks: dict[str, AgentLock]) -> None:
    """Replace the lock file at once."""
    agents = {name: locks[name].as_json() for name in sorted(locks)}
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(path, json.dumps({"schema": SCHEMA, "agents": agents}, indent=1) + "\n")
