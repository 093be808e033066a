"""A v1 Taskset over a folder that `benchflow tasks export FOLDER --images …` wrote.

The folder is a Harbor data set whose two images per task are pinned by digest, so HarborTaskset's
reading of task.toml is used as it is. What differs: the folder is local, each task's own limits of
time and of artifact size hold, and nothing but a verifier that finished gives a reward.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field
from verifiers.v1.errors import SandboxError, TaskError
from verifiers.v1.runtimes import Runtime
from verifiers.v1.taskset import Taskset
from verifiers.v1.tasksets.harbor.taskset import (
    HarborArtifact,
    HarborConfig,
    HarborData,
    HarborTask,
    HarborTaskset,
    parse_task,
    resolve_env,
)
from verifiers.v1.trace import Trace
from verifiers.v1.utils.artifacts import MAX_ARTIFACT_BYTES, collect

logger = logging.getLogger(__name__)
_MB = 1024 * 1024
#: What collecting raises for tools that fail, that say something else, or whose archive is none.
_FROM_THE_BOX = (SandboxError, RuntimeError, ValueError, OverflowError, OSError, tarfile.TarError)
#: By which an archive may exceed what the task lets an agent deliver, and what is around it.
_SLACK_MB = 20


class BenchflowConfig(HarborConfig):
    dataset: str = Field("", validate_default=False)
    """The folder that was exported."""
    ignore_timeouts: bool = False
    """The tasks' own limits hold, hours each; `timeout_multiplier` stretches them."""
    require_image: bool = True
    artifact_max_bytes: int = Field(MAX_ARTIFACT_BYTES, gt=0)
    """Raised for each task that may deliver more than this."""


class BenchflowTask(HarborTask):
    @property
    def key(self) -> str:
        """NAME@VERSION+DIGEST: the same on every machine, another when the task changes."""
        return self.data.id or super().key

    async def finalize(
        self, trace: Trace, runtime: Runtime, sidecars: dict[str, Runtime] | None = None
    ) -> None:
        """Collect the deliverables, as the one archive that the task's own hook makes of them.

        Everything in the box may be the agent's by now, tools and all: whatever goes wrong there,
        or is larger than the task allows, is its failure, and the verifier finds nothing. Raises
        SandboxError where the box itself is gone. Nothing else travels, `/logs/artifacts` neither.
        """
        for artifact in self.data.artifacts:
            trace.state.artifacts[artifact.source] = await self._collected(artifact, runtime)
        carried = sum(len(data or b"") for data in trace.state.artifacts.values())
        trace.record_metric("delivered_mb", round(carried / _MB, 1))

    async def _collected(self, artifact: HarborArtifact, runtime: Runtime) -> bytes | None:
        try:
            for hook in self.data.collect:
                command = runtime.run(["sh", "-c", hook.command], {})
                await asyncio.wait_for(command, hook.timeout_sec)
            found = await collect(
                runtime, [artifact], max_bytes=self.data.artifact_max_bytes, sweep=False
            )
            return _one_file(artifact.source, found[artifact.source])
        except _FROM_THE_BOX as error:
            said = f"{type(error).__name__}: {error}"[:300]
            if not await runtime.alive():
                raise SandboxError(f"the agent's box is gone: {said}") from error
            logger.warning("%s: nothing was delivered: %s", self.data.name, said)
            return None

    async def run_verifier(self, runtime: Runtime, trace: Trace) -> float | dict[str, float]:
        """`reward`; `resolved`, each `milestone.*` and each `metric.*` go to the trace's metrics.

        Raises TaskError when the verifier broke, with what it says of that, whatever it left.
        """
        env = resolve_env(self.data.verifier_env)
        result = await runtime.run(["sh", "/tests/test.sh"], env)
        if result.exit_code:
            said = (result.stderr or result.stdout).strip()[-500:]
            why = await self._why(runtime) or said
            raise TaskError(f"the verifier broke (exit status {result.exit_code}): {why}")
        scores = await self.read_reward_json(runtime)
        if scores is None or not {"reward", "resolved"} <= scores.keys():
            raise TaskError("the verifier finished without a reward and a verdict")
        trace.record_metrics({name: value for name, value in scores.items() if name != "reward"})
        return {"reward": scores["reward"]}

    async def _why(self, runtime: Runtime) -> str:
        try:
            told = json.loads(await runtime.read("/logs/verifier/broken.json", max_bytes=_MB))
            return str(told)[:500]
        except (SandboxError, OSError, ValueError):
            return ""


def _one_file(path: str, archive: bytes | None) -> bytes | None:
    """`archive`, where it holds the file `path` and nothing more. Raises ValueError otherwise."""
    if archive is not None:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            member, *more = tar.getmembers()
        if more or member.name != path.lstrip("/") or not member.isreg() or member.issparse():
            raise ValueError(f"{path} is not one file")
    return archive


class BenchflowTaskset(HarborTaskset, Taskset[BenchflowTask, BenchflowConfig]):
    def load(self) -> Iterator[BenchflowTask]:
        """One task a folder, sorted. ValueError when there is none or one has no pinned images."""
        root = Path(self.config.dataset).expanduser()
        wanted = self.config.tasks
        files = sorted(root.rglob("task.toml")) if self.config.dataset else []
        folders = [file.parent for file in files if wanted is None or file.parent.name in wanted]
        if not folders:
            raise ValueError(
                f"no tasks in {self.config.dataset or 'no folder'}: write them with `benchflow "
                "tasks export FOLDER --images …`, and pass --env.taskset.dataset FOLDER"
            )
        for index, folder in enumerate(folders):
            yield BenchflowTask(self._data(folder, index), self.config.task)

    def _data(self, folder: Path, index: int) -> HarborData:
        told = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
        for place in (told["environment"], told["verifier"].get("environment", {})):
            if "@sha256:" not in place.get("docker_image", ""):
                raise ValueError(f"{folder}: an image is not pinned; export it with --images")
        ours: dict[str, Any] = told["metadata"]["benchflow"]
        needed = (sum(it["max_stored_mb"] for it in ours["deliverables"]) + _SLACK_MB) * _MB
        if needed > self.config.artifact_max_bytes:
            logger.info(
                "%s: may deliver %d MiB, more than the limit of %d MiB, which is raised for it",
                folder.name, needed // _MB, self.config.artifact_max_bytes // _MB,
            )  # fmt: skip
        return parse_task(folder, index, self.config).model_copy(
            update={
                "id": f"{told['task']['name']}@{told['task']['version']}+{ours['digest'][:16]}",
                "artifact_max_bytes": max(needed, self.config.artifact_max_bytes),
            }
        )
