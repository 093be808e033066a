"""What an agent leaves in its box is its own affair: no error comes of it, and no box is needed.

The box is verifiers' own subprocess runtime; paths lie in a folder of the test.
"""

from __future__ import annotations

import asyncio
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from benchflow_verifiers import BenchflowTask
from test_load import load
from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes.subprocess import SubprocessConfig, SubprocessRuntime
from verifiers.v1.state import State
from verifiers.v1.tasksets.harbor.taskset import CollectHook, HarborArtifact
from verifiers.v1.trace import Trace

MB = 1024 * 1024


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "box" / "deliverables.tar.gz"


@pytest.fixture
def task(named: Path, archive: Path) -> BenchflowTask:
    [server] = load(named, tasks=["repair-dead-server"])
    folder = shlex.quote(str(archive.parent))
    hook = CollectHook(command=f"cd {folder} && echo packed > {archive.name}", timeout_sec=2)
    changed: dict[str, Any] = {
        "collect": [hook],
        "artifacts": [HarborArtifact(source=str(archive))],
        "artifact_max_bytes": MB,
    }
    return BenchflowTask(server.data.model_copy(update=changed), server.config)


def finalize(task: BenchflowTask) -> Trace:
    trace = Trace.model_construct(state=State(), metrics={})

    async def collected() -> None:
        box = SubprocessRuntime(SubprocessConfig())
        await box.start()
        try:
            await task.finalize(trace, box)
        finally:
            await box.stop()

    asyncio.run(collected())
    return trace


def test_what_the_hook_made_is_delivered(task: BenchflowTask, archive: Path) -> None:
    archive.parent.mkdir()
    trace = finalize(task)
    assert b"packed\n" in (trace.state.artifacts[str(archive)] or b"")


@pytest.mark.parametrize(
    "left",
    [
        "",
        "touch box",
        "mkdir -p box/deliverables.tar.gz/x",
        "mkdir box; mkfifo box/deliverables.tar.gz",
        "mkdir box; ln -s /dev/full box/deliverables.tar.gz",
        "mkdir box; head -c 3M /dev/urandom > box/big; ln box/big box/deliverables.tar.gz",
    ],
    ids=["no-folder", "file", "folder", "pipe", "device", "large"],
)
def test_what_cannot_be_collected_is_the_agents_failure(
    task: BenchflowTask, archive: Path, tmp_path: Path, left: str
) -> None:
    if "big" in left:
        task.data.collect[0] = CollectHook(command="true")
    subprocess.run(["sh", "-c", left], cwd=tmp_path, stderr=subprocess.DEVNULL, check=False)
    trace = finalize(task)
    assert trace.state.artifacts == {str(archive): None}
    assert trace.metrics == {"delivered_mb": 0.0}


@pytest.mark.parametrize("tool", ["tar", "head", "rm", "test"])
@pytest.mark.parametrize("how", ["exit 1", "exit 0", "echo what?; cat /dev/null"])
def test_tools_that_the_agent_replaced(
    task: BenchflowTask,
    archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    how: str,
) -> None:
    archive.parent.mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / tool).write_text(f"#!/bin/sh\n{how}\n")
    (tmp_path / "bin" / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    trace = finalize(task)
    assert set(trace.state.artifacts) == {str(archive)}


def test_a_box_that_is_gone_is_an_error(
    task: BenchflowTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # nothing runs there any more
    with pytest.raises(SandboxError, match="is gone"):
        finalize(task)
