"""What a trial asks of a node, as Ray counts it."""

from __future__ import annotations

import platform
from collections.abc import Collection
from dataclasses import dataclass

from benchflow.run.job.plan import DEFAULT_TRIAL_MEMORY_MB
from benchflow.tasks import Task
from benchflow.tasks.stage import verifier_resources

#: A custom resource of which a trial takes next to nothing: it says where, not how much.
_WHERE = 0.001
DISK = "disk"


@dataclass(frozen=True)
class Demand:
    """Processors, bytes of memory, and custom resources of a node."""

    cpus: float
    memory: int
    custom: tuple[tuple[str, float], ...] = ()

    def fits(self, offered: dict[str, float]) -> bool:
        """Whether a node that has nothing else to do could take the trial."""
        asked = {"CPU": self.cpus, "memory": float(self.memory), **dict(self.custom)}
        return all(offered.get(name, 0.0) >= amount for name, amount in asked.items())

    def __str__(self) -> str:
        more = "".join(f", {name} {amount:g}" for name, amount in self.custom)
        return f"{self.cpus:g} processors, {self.memory >> 20:,} MiB of memory{more}"


def demand(task: Task, offered: Collection[str]) -> Demand:
    """What a trial of `task` asks for. Custom resources are asked for where a node of the cluster
    names them (`offered`): `disk` in MiB, `arch-MACHINE`, and each of the task's needs by name."""
    verifier = verifier_resources(task) if task.is_benchflow else None
    memory_mb = max(
        task.resources.memory_mb or DEFAULT_TRIAL_MEMORY_MB, verifier.memory_mb if verifier else 0
    )
    disk_mb = task.resources.storage_mb + (verifier.storage_mb if verifier else 0)
    custom = {DISK: float(disk_mb)} if disk_mb else {}
    for name in (f"arch-{platform.machine()}", *task.needs):
        custom[name] = _WHERE
    return Demand(
        cpus=max(1, task.resources.cpus),
        memory=memory_mb << 20,
        custom=tuple((name, amount) for name, amount in custom.items() if name in offered),
    )
