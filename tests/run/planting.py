"""An agent whose programs put a symlink in the way of what the harness writes about it."""

from __future__ import annotations

import os
from typing import Any, override

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

LINK = "ln -sfn $TARGET trajectory.json"


class Planting(BaseAgent):
    """Writes its trajectory after its run, as Harbor's own agents do."""

    @staticmethod
    @override
    def name() -> str:
        return "planting"

    @override
    def version(self) -> str:
        return "1"

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        again = f"cd /logs/agent; while :; do {LINK}; done"
        await environment.exec(
            f"cd /logs/agent && {LINK} && (setsid sh -c '{again}' >/dev/null 2>&1 &)",
            env={"TARGET": os.environ["PLANTING_TARGET"]},
        )

    @override
    def populate_context_post_run(self, context: AgentContext) -> Any:
        (self.logs_dir / "trajectory.json").write_text("{}")
