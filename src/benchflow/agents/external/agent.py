"""The agent that waits: the work is done by somebody who drives the trial from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any, override

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.trial.result import AgentInfo

from benchflow import __version__
from benchflow.agents.atif import TrajectoryWriter
from benchflow.agents.external.clock import Clock, limit_seconds
from benchflow.agents.external.service import Lent, Service
from benchflow.errors import UsageError


class ExternalAgent(BaseAgent):
    """Lends its trial to a driver, and ends when the work is handed in.

    `external`: who drives, for tables; "" for nobody named. Needs the namespace sandbox.
    """

    def __init__(self, logs_dir: Path, external: str = "", **kwargs: Any) -> None:
        super().__init__(logs_dir=logs_dir, **kwargs)
        self._label = f"external:{external}" if external else "external"
        self._trajectory = TrajectoryWriter(self.logs_dir, self._label, self.version())
        self._runs = 0

    @staticmethod
    @override
    def name() -> str:
        return "external"

    @override
    def version(self) -> str:
        return __version__

    @override
    def to_agent_info(self) -> AgentInfo:
        return AgentInfo(name=self._label, version=self.version())

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """Raises UsageError for a sandbox that cannot be lent."""
        if not isinstance(environment, Lent):
            raise UsageError(
                "this sandbox cannot be driven from outside", hint="use --sandbox namespace"
            )
        environment.wait_for_driver()

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        assert isinstance(environment, Lent)
        trial, task = environment.trial_paths.trial_dir, Path(environment.environment_dir).parent
        clock = Clock(limit_seconds(trial, task, self._runs))
        self._runs += 1
        self._trajectory.instruction(instruction)
        await Service(environment, instruction, clock, self._trajectory).serve(trial)

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        """What was recorded here stands, whatever the sandbox left under the same name."""
        self._trajectory.write()
