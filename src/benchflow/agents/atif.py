"""Writes an ATIF trajectory for an agent that runs shell commands: ours, and anyone's own.

The file is replaced after every step, so that a killed trial keeps what was done. The folder may
be shown in a sandbox: nothing that stands in it is followed or opened, it is only replaced.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harbor.models.trajectories import (
    Agent,
    FinalMetrics,
    Metrics,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)

from benchflow.base import atomic

#: Where Harbor and our reports look for it, below the trial's folder for the agent.
NAME = "trajectory.json"


class TrajectoryWriter:
    """One trajectory in the making. `write` steps in the order in which they happen."""

    def __init__(self, folder: Path, agent: str, version: str, model: str | None = None) -> None:
        self._path = folder / NAME
        self._agent = Agent(name=agent, version=version, model_name=model)
        self._steps: list[Step] = []

    def instruction(self, text: str) -> None:
        """What the agent was asked to do."""
        self._add(Step(step_id=self._next, timestamp=_now(), source="user", message=text))

    def command(
        self,
        command: str,
        output: str,
        *,
        message: str = "",
        tokens: tuple[int, int] | None = None,
    ) -> None:
        """One command that the agent ran, and what came back.

        `tokens`: of the model's call that asked for it, in and out; None where no model was asked.
        """
        self._called(
            "bash",
            {"command": command},
            output,
            message=message,
            metrics=_metrics(tokens),
            asked=0 if tokens is None else 1,
        )

    def tool(self, name: str, arguments: dict[str, Any], output: str) -> None:
        """One call of any tool, and what came back; whether a model asked for it is not known."""
        self._called(name, arguments, output, message="", metrics=None, asked=None)

    def _called(
        self,
        name: str,
        arguments: dict[str, Any],
        output: str,
        *,
        message: str,
        metrics: Metrics | None,
        asked: int | None,
    ) -> None:
        call = ToolCall(tool_call_id=f"call-{self._next}", function_name=name, arguments=arguments)
        seen = ObservationResult(source_call_id=call.tool_call_id, content=output)
        self._add(
            Step(
                step_id=self._next,
                timestamp=_now(),
                source="agent",
                message=message,
                tool_calls=[call],
                observation=Observation(results=[seen]),
                metrics=metrics,
                llm_call_count=asked,
            )
        )

    def answer(self, message: str, tokens: tuple[int, int] | None = None) -> None:
        """The agent said something and ran nothing."""
        self._add(
            Step(
                step_id=self._next,
                timestamp=_now(),
                source="agent",
                message=message,
                metrics=_metrics(tokens),
                llm_call_count=0 if tokens is None else 1,
            )
        )

    def write(self) -> None:
        """Writes the file again as it was: what came from a sandbox may have replaced it."""
        if self._steps:
            self._write()

    @property
    def _next(self) -> int:
        return len(self._steps) + 1

    def _add(self, step: Step) -> None:
        self._steps.append(step)
        self._write()

    def _write(self) -> None:
        spent = [s.metrics for s in self._steps if s.metrics is not None]
        totals = FinalMetrics(total_steps=len(self._steps))
        if not any(s.source == "agent" and s.llm_call_count is None for s in self._steps):
            totals.total_prompt_tokens = sum(m.prompt_tokens or 0 for m in spent)
            totals.total_completion_tokens = sum(m.completion_tokens or 0 for m in spent)
        trajectory = Trajectory(agent=self._agent, steps=self._steps, final_metrics=totals)
        atomic.write(self._path, trajectory.model_dump_json(exclude_none=True, indent=1) + "\n")


def _metrics(tokens: tuple[int, int] | None) -> Metrics | None:
    return Metrics(prompt_tokens=tokens[0], completion_tokens=tokens[1]) if tokens else None


def _now() -> str:
    return datetime.now(UTC).isoformat()
