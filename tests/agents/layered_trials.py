"""Whole Harbor trials of real agent programs: sandbox, layer, scripted model, separate verifier."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, override
from urllib.parse import urlsplit

from harbor.models.agent.context import AgentContext
from harbor.models.task.config import EnvironmentConfig as TaskEnvironment
from harbor.models.task.config import NetworkMode, NetworkPolicy
from harbor.models.trajectories import Trajectory
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig
from harbor.models.trial.paths import TrialPaths
from harbor.models.trial.result import TrialResult
from harbor.trial.trial import Trial
from harbor.utils.import_path import import_class

from benchflow.agents.layers import AGENTS
from benchflow.gateway.doors.netns_listener import PORT, listen_inside
from benchflow.run.job.environment import TrialEnvironment
from benchflow.run.job.layers import ensure
from benchflow.scripted_model import Policy, ScriptedModel, of_commands

TEST = """#!/bin/sh
if [ "$(cat /app/out.txt 2>/dev/null)" = hello ]; then r=1; else r=0; fi
echo "{\\"reward\\": $r}" > /logs/verifier/reward.json
"""
COMMANDS = ["echo working; uname", "printf hello > /app/out.txt", "cat /app/out.txt"]
INSIDE = f"http://127.0.0.1:{PORT}"
KEY = "throw-away"


class DoorEnvironment(TrialEnvironment):
    """A trial's sandbox in which 127.0.0.1:4141 is the model at `model_url`."""

    def __init__(self, *args: Any, model_url: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._model = urlsplit(model_url)
        self._door: asyncio.Server | None = None

    @override
    async def start(self, force_build: bool) -> None:
        await super().start(force_build)
        if self._is_agents():
            listener = await asyncio.to_thread(listen_inside, self._running().init_pid, PORT)
            self._door = await asyncio.start_server(self._splice, sock=listener)

    @override
    async def stop(self, delete: bool) -> None:
        if self._door is not None:
            self._door.close()
        await super().stop(delete)

    async def _splice(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to = await asyncio.open_connection(self._model.hostname, self._model.port)
        async with asyncio.TaskGroup() as both:
            both.create_task(_copy(reader, to[1]))
            both.create_task(_copy(to[0], writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


@dataclass(frozen=True)
class Access:
    """How one agent is told of the model: model name, options, environment."""

    model: str
    env: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


OPENAI = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{INSIDE}/v1"}
ACCESS = {
    "claude-code": Access(
        "anthropic/scripted", {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": INSIDE}
    ),
    "codex": Access("openai/scripted", OPENAI),
    "gemini-cli": Access(
        "google/scripted", {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": INSIDE}
    ),
    "opencode": Access("openai/scripted", OPENAI),
    "mini-swe-agent": Access("openai/scripted", OPENAI),
    "terminus-2": Access("openai/scripted"),
}


@dataclass(frozen=True)
class Played:
    """A finished trial: Harbor's result, its folder, the model's own count."""

    result: TrialResult
    folder: Path
    totals: dict[str, Any]

    @property
    def trajectory(self) -> Trajectory:
        """The trajectory, validated by Harbor's own model of ATIF."""
        text = (self.folder / "agent" / "trajectory.json").read_text()
        return Trajectory.model_validate_json(text)


def play(agent: str, policy: Policy, task: Path, trials: Path, **options: Any) -> Played:
    """Run one trial of the real agent against a scripted model, in a sandbox without network."""
    layer = ensure(agent)
    access = ACCESS[agent]
    with ScriptedModel.start({"scripted": policy}) as model:
        if agent == "terminus-2":  # it thinks in this process
            options |= {
                "api_base": model.base_urls["openai"],
                "llm_kwargs": {"api_key": KEY},
            }
        config = TrialConfig(
            task=TaskConfig(path=task),
            trials_dir=trials,
            trial_name="trial",
            agent=AgentConfig(
                import_path=AGENTS[agent].wrapper,
                model_name=access.model,
                kwargs={"layer": layer.id, **access.options, **options},
                env=dict(access.env),
            ),
            environment=EnvironmentConfig(
                import_path=f"{__name__}:DoorEnvironment", kwargs={"model_url": model.url}
            ),
        )

        async def main() -> TrialResult:
            return await (await Trial.create(config)).run()

        result = asyncio.run(main())
        return Played(result, trials / "trial", model.totals())


def write_task(folder: Path) -> Path:
    """A task without network whose reward is 1 when /app/out.txt says hello.

    The agents' programs are what needs the memory: Gemini CLI takes 0.9 GB.
    """
    for name in ("environment", "tests"):
        (folder / name).mkdir(parents=True)
    (folder / "task.toml").write_text(
        'schema_version = "1.4"\nartifacts = ["/app/out.txt"]\n'
        '[task]\nname = "test/hello"\n[agent]\ntimeout_sec = 300\n'
        '[verifier]\ntimeout_sec = 120\nenvironment_mode = "separate"\n'
        '[environment]\ncpus = 1\nmemory_mb = 2048\nnetwork_mode = "no-network"\n'
    )
    (folder / "instruction.md").write_text("Say hello in /app/out.txt.\n")
    (folder / "environment/Dockerfile").write_text("FROM debian:bookworm\nWORKDIR /app\n")
    (folder / "tests/test.sh").write_text(TEST)
    (folder / "tests/Dockerfile").write_text("FROM debian:bookworm\nCOPY . /tests\n")
    return folder


async def break_and_go_on(agent_name: str, commands: list[str], folder: Path) -> str:
    """Cut an agent off while it runs the second command, let it go on; what /app/out then says."""
    task = write_task(folder / "task")
    layer, access = ensure(agent_name), ACCESS[agent_name]
    paths = TrialPaths(trial_dir=folder / "trial")
    paths.mkdir()
    paths.config_path.write_text(json.dumps({"agent": {"kwargs": {"layer": layer.id}}}))
    with ScriptedModel.start({"scripted": of_commands(commands)}) as model:
        environment = DoorEnvironment(
            environment_dir=task / "environment",
            environment_name="hello",
            session_id="trial__env",
            trial_paths=paths,
            task_env_config=TaskEnvironment(),
            mounts=[{"type": "bind", "source": str(paths.agent_dir), "target": "/logs/agent"}],
            network_policy=NetworkPolicy(network_mode=NetworkMode.NO_NETWORK),
            model_url=model.url,
        )
        agent = import_class(AGENTS[agent_name].wrapper, label="agent")(
            logs_dir=paths.agent_dir,
            model_name=access.model,
            layer=layer.id,
            extra_env=access.env,
        )
        await environment.start(force_build=False)
        try:
            await agent.setup(environment)
            with environment.scoped_exec_env(agent.extra_env):
                first = asyncio.create_task(agent.run("Begin.", environment, AgentContext()))
                while "second" not in (await environment.exec("cat /app/out")).stdout:
                    assert not first.done(), first
                    await asyncio.sleep(0.2)
                first.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await first
                await agent.resume("Go on.", environment, AgentContext())
            return (await environment.exec("cat /app/out")).stdout
        finally:
            await environment.stop(delete=True)
