"""Loading an exported folder: no engine, no image."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from benchflow_verifiers import BenchflowConfig, BenchflowTask, BenchflowTaskset
from verifiers.v1.utils.loaders import environment_class, taskset_class

MB = 1024 * 1024


def load(folder: Path, **config: Any) -> list[BenchflowTask]:
    return list(BenchflowTaskset(BenchflowConfig(dataset=str(folder), **config)))


def test_verifiers_finds_the_classes_by_the_name_of_the_package() -> None:
    assert taskset_class("benchflow-verifiers") is BenchflowTaskset
    assert environment_class("benchflow-verifiers").__name__ == "BenchflowEnv"


def test_all_sixteen_tasks_load_with_their_own_limits(named: Path) -> None:
    tasks = load(named)
    told = {file.parent.name: tomllib.loads(file.read_text()) for file in named.glob("*/task.toml")}
    assert len(tasks) == len(told) == 16
    for task in tasks:
        own = told[Path(task.data.task_dir).name]
        assert task.data.timeout.agent == own["agent"]["timeout_sec"] >= 7200
        assert task.data.timeout.scoring == own["verifier"]["timeout_sec"] >= 3600
        assert task.data.verifier is not None and task.data.verifier.network_allow == []
        assert task.data.image and task.data.verifier_image
    assert len({task.key for task in tasks}) == 16


def test_the_artifact_limit_is_raised_where_a_task_needs_it_and_that_is_said(
    named: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        [server] = load(named, tasks=["repair-dead-server"])
    assert server.data.artifact_max_bytes >= 800 * MB
    assert "more than the limit of 32 MiB" in caplog.text
    [server] = load(named, tasks=["repair-dead-server"], artifact_max_bytes=4096 * MB)
    assert server.data.artifact_max_bytes == 4096 * MB


def test_timeouts_can_be_stretched(named: Path) -> None:
    [task] = load(named, tasks=["repair-dead-server"], timeout_multiplier=2.0)
    assert task.data.timeout.agent == 14400


def test_tasks_without_pinned_images_are_refused(unpushed: Path) -> None:
    with pytest.raises(ValueError, match="--images"):
        load(unpushed, tasks=["repair-dead-server"])


@pytest.mark.parametrize("folder", ["", "/nonexistent"])
def test_a_folder_without_tasks_is_refused(folder: str) -> None:
    with pytest.raises(ValueError, match="tasks export"):
        list(BenchflowTaskset(BenchflowConfig(dataset=folder)))
