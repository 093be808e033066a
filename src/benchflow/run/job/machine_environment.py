"""A machine as `benchflow run --sandbox vm` uses it: the agent's place; never the verifier's."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, override

from harbor.agents.installed.base import NonZeroAgentExitCodeError

from benchflow.errors import InfrastructureError
from benchflow.gateway.doors.netns_listener import PORT
from benchflow.run.job.environment import TrialEnvironment
from benchflow.sandbox import build
from benchflow.sandbox.vm import accelerator, base_disk, room_image
from benchflow.sandbox.vm.environment import MachineEnvironment
from benchflow.sandbox.vm.machine import Machine, MachineLost
from benchflow.tasks import Staged


class AgentLostMachine(NonZeroAgentExitCodeError):
    """The machine had come up, and does not any more, twice in a row: the agent has broken it. Its
    failure; what is on the machine's disk is verified."""


class MachineTrialEnvironment(TrialEnvironment, MachineEnvironment):
    """See the module. Constructor arguments are those of `TrialEnvironment`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stall_seconds = 0.0  # a machine that does nothing is at work all the same: it ticks

    @override
    def _open_door(self) -> bool:
        is_open = super()._open_door()
        box = self._running()
        if is_open and isinstance(box, Machine):
            box.forward(PORT)
        return is_open

    @override
    def _agents_fault(self, error: InfrastructureError) -> Exception | None:
        if isinstance(error, MachineLost):
            return AgentLostMachine(error.message)
        return super()._agents_fault(error)


def provide(tasks: Sequence[Staged]) -> None:
    """Make what machines for these tasks need and what is missing of it, which takes minutes, and
    say on stderr what a machine costs here. Raises InfrastructureError, TaskError."""

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    room = room_image.room(say)
    for planned in tasks:
        recipe = Path(planned.folder) / "environment" / "Dockerfile"
        if recipe.is_file() and not recipe.with_name("docker-compose.yaml").is_file():
            image = build(recipe.parent, on_progress=say)
            base_disk.base_disk(image, room, planned.task.resources.storage_mb or None, say)
    if accelerator.usable(room) == "tcg":
        say(f"note: {accelerator.COST}")
