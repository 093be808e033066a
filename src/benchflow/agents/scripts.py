"""Agents that run a script of the task: the oracle up to a milestone, an exploit, a variant."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Any, override

from harbor.agents.base import BaseAgent
from harbor.agents.installed.base import NonZeroAgentExitCodeError
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.trial.result import AgentInfo

from benchflow import __version__
from benchflow.errors import UsageError

#: What a script left on stdout and stderr, below the trial's folder for the agent.
LOG = "script.txt"


class ScriptAgent(BaseAgent):
    """Uploads folders of the task into the sandbox and runs one script there.

    A script that exits with another status than 0 has ended its work: it is verified all the same.
    """

    @override
    def version(self) -> str:
        return __version__

    @override
    def to_agent_info(self) -> AgentInfo:
        return AgentInfo(name=self.label(), version=self.version())

    def label(self) -> str:
        """The name that tables show: which script of the task this agent runs."""
        raise NotImplementedError

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    async def play(
        self, environment: BaseEnvironment, script: PurePosixPath, env: dict[str, str]
    ) -> None:
        """Runs `script` in the sandbox, its output going to `LOG`.

        Raises NonZeroAgentExitCodeError when it does not exit with 0.
        """
        log = self.environment_logs_dir / LOG
        result = await environment.exec(
            command=f"bash {quote(str(script))} > {quote(str(log))} 2>&1",
            env={"DEBIAN_FRONTEND": "noninteractive", **env},
        )
        if not environment.capabilities.mounted:
            await environment.download_file(str(log), self.logs_dir / LOG)
        if result.return_code != 0:
            raise NonZeroAgentExitCodeError(f"{script} exited with status {result.return_code}")


def task_folder(environment: BaseEnvironment) -> Path:
    """The task folder that an agent's environment was made from."""
    return Path(environment.environment_dir).parent


class LadderAgent(ScriptAgent):
    """The oracle, told by STOP_AFTER to stop once it has reached one milestone.

    In a task of several steps, `stop_after` is `<step>/<milestone>`: the steps before run whole,
    those after do not run.
    """

    def __init__(self, logs_dir: Path, stop_after: str, **kwargs: Any) -> None:
        super().__init__(logs_dir=logs_dir, **kwargs)
        self._stop_step, _, self._stop_after = stop_after.rpartition("/")
        self._label = f"ladder:{stop_after}"
        self._runs = 0

    @staticmethod
    @override
    def name() -> str:
        return "ladder"

    @override
    def label(self) -> str:
        return self._label

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        from harbor.models.task.task import Task

        folder = task_folder(environment)
        steps = [step.name for step in Task(folder).config.steps or []]
        step = steps[self._runs] if steps else ""
        self._runs += 1
        env = {"STOP_AFTER": self._stop_after}
        if steps and self._stop_step in steps:
            here, stop = steps.index(step), steps.index(self._stop_step)
            if here > stop:
                return
            env = env if here == stop else {}
        solution = folder / "steps" / step / "solution" if step else folder / "solution"
        await environment.upload_dir(source_dir=solution, target_dir="/solution")
        await self.play(environment, PurePosixPath("/solution/solve.sh"), env)


class InTurnAgent(ScriptAgent):
    """Runs scripts in turn in one sandbox, and keeps the deliverables of each.

    For what builds for long and continues where it stopped. What was delivered after N lies in
    `rungs/N/` of the trial's folder, at the deliverable's own path (the agent's own folder is the
    sandbox's while it runs), as far as it was delivered; the trial itself ends like the last.
    """

    RUNGS = "rungs"

    async def keep(self, environment: BaseEnvironment, name: str) -> None:
        top = self.logs_dir.parent / self.RUNGS / name
        top.mkdir(parents=True)
        for path in await lying(environment, delivered(environment)):
            kept = top / path.lstrip("/")
            kept.parent.mkdir(parents=True, exist_ok=True)
            if await environment.is_dir(path):
                await environment.download_dir(path, kept)
            else:
                await environment.download_file(path, kept)


def delivered(environment: BaseEnvironment) -> list[str]:
    """The paths of the deliverables of the task that an agent's environment was made from."""
    from harbor.models.task.task import Task

    artifacts = Task(task_folder(environment)).config.artifacts
    return [str(getattr(artifact, "source", artifact)) for artifact in artifacts]


async def lying(environment: BaseEnvironment, paths: list[str]) -> list[str]:
    """Those of `paths` where something lies in the sandbox, be it a link that leads nowhere."""
    tests = (f"[ -e {p} ] || [ -h {p} ] && echo {p}" for p in map(quote, paths))
    return (await done(environment, "; ".join((*tests, "true")))).splitlines()


async def done(environment: BaseEnvironment, command: str) -> str:
    """What `command` printed. NonZeroAgentExitCodeError where it does not exit with 0: a script
    that ran before it has spoilt the sandbox."""
    result = await environment.exec(command)
    if result.return_code != 0:
        raise NonZeroAgentExitCodeError(f"{command} exited with status {result.return_code}")
    return result.stdout or ""


class ClimbAgent(InTurnAgent):
    """The oracle, run to each milestone in turn."""

    def __init__(self, logs_dir: Path, milestones: list[str], **kwargs: Any) -> None:
        super().__init__(logs_dir=logs_dir, **kwargs)
        self._milestones = milestones

    @staticmethod
    @override
    def name() -> str:
        return "climb"

    @override
    def label(self) -> str:
        return "ladder:*"

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        solution = task_folder(environment) / "solution"
        await environment.upload_dir(source_dir=solution, target_dir="/solution")
        for milestone in self._milestones:
            env = {"STOP_AFTER": milestone}
            await self.play(environment, PurePosixPath("/solution/solve.sh"), env)
            await self.keep(environment, milestone)


class ShippedAgent(ScriptAgent):
    """Runs one of the scripts that the task ships beside its solution, in place of it.

    A staged task holds none of them, so `sources` maps each staged folder to the task it came from.
    The script finds the task's own solution in /solution: it may start from honest work.
    """

    KIND = ""

    def __init__(self, logs_dir: Path, script: str, sources: dict[str, str], **kwargs: Any) -> None:
        super().__init__(logs_dir=logs_dir, **kwargs)
        self._script = script
        self._sources = sources

    @classmethod
    @override
    def name(cls) -> str:
        return cls.KIND

    @override
    def label(self) -> str:
        return f"{self.KIND}:{self._script}"

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        await _upload(environment, self._sources, self.KIND, [self._script])
        await self.play(environment, PurePosixPath(f"/{self.KIND}s/{self._script}.sh"), {})


class ExploitAgent(ShippedAgent):
    """One of the task's exploits; see ShippedAgent."""

    KIND = "exploit"

    def __init__(
        self, logs_dir: Path, exploit: str, sources: dict[str, str], **kwargs: Any
    ) -> None:
        super().__init__(logs_dir, exploit, sources, **kwargs)


class VariantAgent(ShippedAgent):
    """One of the task's variants, which are honest other solutions; see ShippedAgent."""

    KIND = "variant"

    def __init__(
        self, logs_dir: Path, variant: str, sources: dict[str, str], **kwargs: Any
    ) -> None:
        super().__init__(logs_dir, variant, sources, **kwargs)


class ShippedInTurnAgent(InTurnAgent):
    """The scripts of one kind that may share a sandbox, in turn; see ShippedAgent.

    What one of them has delivered is gone before the next begins, but for what lay there at first.
    """

    KIND = ""

    def __init__(
        self, logs_dir: Path, scripts: list[str], sources: dict[str, str], **kwargs: Any
    ) -> None:
        super().__init__(logs_dir=logs_dir, **kwargs)
        self._scripts = scripts
        self._sources = sources

    @classmethod
    @override
    def name(cls) -> str:
        return f"{cls.KIND}s"

    @override
    def label(self) -> str:
        return f"{self.KIND}:*"

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        await _upload(environment, self._sources, self.KIND, self._scripts)
        paths = delivered(environment)
        given = await lying(environment, paths)
        made = [quote(path) for path in paths if path not in given]
        for script in self._scripts:
            await done(environment, " ".join(("rm -rf --", *made)))
            await self.play(environment, PurePosixPath(f"/{self.KIND}s/{script}.sh"), {})
            await self.keep(environment, script)


class ExploitsAgent(ShippedInTurnAgent):
    """The exploits that may share a sandbox."""

    KIND = "exploit"

    def __init__(
        self, logs_dir: Path, exploits: list[str], sources: dict[str, str], **kwargs: Any
    ) -> None:
        super().__init__(logs_dir, exploits, sources, **kwargs)


class VariantsAgent(ShippedInTurnAgent):
    """The variants that may share a sandbox."""

    KIND = "variant"

    def __init__(
        self, logs_dir: Path, variants: list[str], sources: dict[str, str], **kwargs: Any
    ) -> None:
        super().__init__(logs_dir, variants, sources, **kwargs)


async def _upload(
    environment: BaseEnvironment, sources: dict[str, str], kind: str, names: list[str]
) -> None:
    """The folder of scripts goes to /exploits or /variants, the task's solution to /solution.
    UsageError."""
    staged = task_folder(environment)
    folder = Path(sources.get(str(staged), staged)) / f"{kind}s"
    for name in names:
        if not (folder / f"{name}.sh").is_file():
            raise UsageError(f"{folder.parent}: no {kind} {name!r}")
    await environment.upload_dir(source_dir=folder, target_dir=f"/{kind}s")
    if (staged / "solution").is_dir():
        await environment.upload_dir(source_dir=staged / "solution", target_dir="/solution")
