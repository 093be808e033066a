"""An agent that plays commands from a file: for demonstrations, tests and replays.

The file is text, one command a line; blank lines and lines that start with `#` are skipped. A file
that ends in `.jsonl` holds one object a line instead: `{"run": "…", "timeout": seconds}`, for
commands of several lines. Each command runs in a new shell; a failing one does not stop the play.
What each command printed is kept in `agent/scripted.jsonl`, and as a trajectory in ATIF in
`agent/trajectory.json`.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, override

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.trial.result import AgentInfo

from benchflow import __version__
from benchflow.agents.atif import TrajectoryWriter
from benchflow.errors import UsageError

LOG = "scripted.jsonl"
_KEPT_CHARACTERS = 20_000


@dataclass(frozen=True)
class Command:
    """One thing to run; `timeout` in seconds, None for no limit but the trial's."""

    run: str
    timeout: int | None = None


def read_script(path: Path) -> list[Command]:
    """The commands in `path`. Raises UsageError naming the line that is wrong."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as text ({error})") from error
    if path.suffix == ".jsonl":
        return [_command(path, n, line) for n, line in enumerate(lines, 1) if line.strip()]
    return [Command(line) for line in lines if line.strip() and not line.startswith("#")]


def _command(path: Path, number: int, line: str) -> Command:
    hint = 'each line is like {"run": "make", "timeout": 60}'
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{number}: not JSON: {error}", hint=hint) from error
    known = isinstance(value, dict) and isinstance(value.get("run"), str)
    if not known or set(value) - {"run", "timeout"}:
        raise UsageError(f"{path}:{number}: not a command", hint=hint)
    timeout = value.get("timeout")
    if timeout is not None and (not isinstance(timeout, int) or timeout <= 0):
        raise UsageError(f"{path}:{number}: timeout is not a number of seconds", hint=hint)
    return Command(value["run"], timeout)


class ScriptedAgent(BaseAgent):
    """Plays the commands of `script` in order, then ends."""

    def __init__(self, logs_dir: Path, script: str, **kwargs: Any) -> None:
        super().__init__(logs_dir=logs_dir, **kwargs)
        self._commands = read_script(Path(script))
        self._label = f"scripted:{Path(script).stem}"

    @staticmethod
    @override
    def name() -> str:
        return "scripted"

    @override
    def version(self) -> str:
        return __version__

    @override
    def to_agent_info(self) -> AgentInfo:
        return AgentInfo(name=self._label, version=self.version())

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        trajectory = TrajectoryWriter(self.logs_dir, self._label, self.version())
        trajectory.instruction(instruction)
        with (self.logs_dir / LOG).open("a", encoding="utf-8") as log:
            for command in self._commands:
                started = time.monotonic()
                try:
                    # Not the environment's own timeout: each sandbox raises another exception.
                    result = await asyncio.wait_for(
                        environment.exec(command.run), timeout=command.timeout
                    )
                    outcome: dict[str, Any] = {
                        "status": result.return_code,
                        "stdout": (result.stdout or "")[-_KEPT_CHARACTERS:],
                        "stderr": (result.stderr or "")[-_KEPT_CHARACTERS:],
                    }
                except TimeoutError:
                    outcome = {"status": None, "timed_out": True}
                outcome["seconds"] = round(time.monotonic() - started, 3)
                log.write(json.dumps({"run": command.run, **outcome}) + "\n")
                log.flush()
                trajectory.command(command.run, _shown(outcome))


def _shown(outcome: dict[str, Any]) -> str:
    text = f"{outcome.get('stdout', '')}{outcome.get('stderr', '')}"
    if outcome["status"] is None:
        return f"{text}[timed out]"
    return f"{text}[exit status {outcome['status']}]" if outcome["status"] else text
