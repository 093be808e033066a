"""Re-resolves agents: newest versions, all packages with their checksums."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchflow.agents.layers import lock as locks
from benchflow.agents.layers import npm, pypi
from benchflow.agents.layers.catalogue import AgentSpec
from benchflow.agents.layers.lock import AgentLock, Pin


def resolve(spec: AgentSpec) -> AgentLock:
    """A new lock of the agent, at its newest version.

    Raises InfrastructureError when a registry does not answer.
    """
    with tempfile.TemporaryDirectory(prefix="benchflow-") as work:
        wheels: tuple[Pin, ...] = ()
        newest = ""
        if spec.pypi is not None:
            newest, wheels = pypi.lock(spec.pypi, Path(work) / "pypi")
        packages = None
        if spec.npm is not None:
            newest = npm.newest(spec.npm)
            packages = npm.lock(spec.npm, newest, Path(work) / "npm")
        return AgentLock(spec.fixed_version or newest, packages, wheels)


def update(specs: Sequence[AgentSpec], path: Path) -> dict[str, tuple[str, str]]:
    """Write new locks of the agents to `path`; the others in it stay.

    Returns for each agent the version before and now.
    """
    known = locks.read_file(path) if path.exists() else {}
    before = {**locks.read_lock(), **known}
    changed = {}
    for spec in specs:
        known[spec.name] = resolve(spec)
        old = before.get(spec.name)
        changed[spec.name] = (old.version if old else "", known[spec.name].version)
        locks.write_file(path, known)
    return changed
