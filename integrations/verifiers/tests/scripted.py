"""A harness without a model: it runs a task's own solution in the runtime, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from verifiers.v1.configs.harness import HarnessConfig
from verifiers.v1.harness import Harness
from verifiers.v1.runtimes import ProgramResult, Runtime
from verifiers.v1.tasksets.harbor.taskset import make_tar
from verifiers.v1.trace import Trace

__all__ = ["ScriptedHarness"]


class ScriptedConfig(HarnessConfig):
    play: Literal["oracle", "nop"] = "nop"
    stop_after: str = ""
    """The milestone that the solution is to end with; all without it."""
    before: str = ""
    """A command to run first."""
    after: str = ""
    """A command to run last."""


class ScriptedHarness(Harness[ScriptedConfig]):
    async def launch(
        self, ctx: Any, trace: Trace, runtime: Runtime, *more: Any, **named: Any
    ) -> ProgramResult:
        steps = [self.config.before]
        if self.config.play == "oracle":
            solution = Path(trace.task.data.task_dir) / "solution"
            await runtime.write("/tmp/solution.tgz", make_tar(solution))
            steps.append("mkdir -p /solution && tar -xzf /tmp/solution.tgz -C /solution")
            steps.append(f"STOP_AFTER={self.config.stop_after} bash /solution/solve.sh")
        steps.append(self.config.after)
        script = "\n".join(filter(None, steps))
        return await runtime.run(["bash", "-e", "-c", script], {})
