"""A staged task is self-contained, content-addressed and what Harbor itself accepts."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from benchflow.errors import TaskError, UsageError
from benchflow.tasks import export, load, stage
from benchflow.tasks.stage import verifier_dockerfile


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHFLOW_HOME", str(tmp_path / "home"))
    from benchflow.tasks.stage import boot_zipapp

    boot_zipapp.cache_clear()


def test_harbor_accepts_the_staged_folder(lamp: Path) -> None:
    from harbor.models.task.task import Task as HarborTask

    staged = stage(load(lamp)).folder
    config = HarborTask(staged).config
    assert config.verifier.environment is not None
    assert config.verifier.environment.network_mode.value == "no-network"
    assert config.verifier.environment_mode is not None
    assert config.verifier.environment_mode.value == "separate"
    assert config.artifacts == ["/app/lamp.img"]
    # The checks' own limit comes first, on a slow host too (verifier_sec below).
    assert config.verifier.timeout_sec == 4 * 300


def test_everything_the_verifier_needs_is_inside_and_nothing_that_it_must_not_have(
    lamp: Path,
) -> None:
    staged = stage(load(lamp)).folder
    names = {path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_file()}
    assert {"tests/boot.pyz", "tests/test.sh", "tests/Dockerfile", "tests/checks.py"} <= names
    assert not [name for name in names if name.startswith(("exploits", "hints"))]
    manifest = json.loads((staged / "tests" / "task.json").read_text())
    assert manifest["verifier_sec"] == 300
    assert manifest["deliverables"] == [
        {"path": "/app/lamp.img", "kind": "disk", "max_mb": 64, "max_stored_mb": 64}
    ]


def test_the_verifier_has_room_for_every_deliverable_that_is_allowed(lamp: Path) -> None:
    """Its disk filled to the end by a guest, a copy of it, and what checks write; or as is said."""

    def granted() -> tuple[int, int]:
        folder = stage(load(lamp)).folder
        given = tomllib.loads((folder / "task.toml").read_text())["verifier"]["environment"]
        known = json.loads((folder / "tests" / "task.json").read_text())["storage_mb"]
        assert known == given["storage_mb"]
        return given["storage_mb"], given["memory_mb"]

    text = (lamp / "task.toml").read_text()
    storage, memory = granted()
    assert storage == 8192 + 64 + 2 * 64
    assert memory == 1280 + 1024 + load(lamp).machine_memory_mb + 512
    (lamp / "task.toml").write_text(
        text.replace(
            "oracle_minutes", "verifier_storage_mb = 20000\nmachines_at_once = 2\noracle_minutes"
        )
    )
    assert granted() == (20000, memory + load(lamp).machine_memory_mb + 512)
    (lamp / "task.toml").write_text(
        text.replace("oracle_minutes", "verifier_storage_mb = 10\noracle_minutes")
    )
    with pytest.raises(TaskError, match="verifier_storage_mb"):
        load(lamp)


@pytest.mark.needs("/usr/bin/python3")
def test_the_staged_boot_runs_on_debian_12s_python(lamp: Path) -> None:
    staged = stage(load(lamp)).folder
    done = subprocess.run(
        ["/usr/bin/python3", str(staged / "tests" / "boot.pyz"), "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "verify" in done.stdout


def test_equal_tasks_are_staged_once_and_changed_ones_again(lamp: Path) -> None:
    first = stage(load(lamp)).folder
    assert stage(load(lamp)).folder == first
    (lamp / "instruction.md").write_text("A brighter lamp. [R1] Light. [R2] Warmth.\n")
    assert stage(load(lamp)).folder != first


def test_hints_are_added_up_to_the_level_asked_for(lamp: Path) -> None:
    task = load(lamp)
    text = (stage(task, hint=1).folder / "instruction.md").read_text()
    assert "electricity" in text
    assert "socket" not in text
    assert "socket" in (stage(task, hint=2).folder / "instruction.md").read_text()
    with pytest.raises(UsageError, match="2 hints"):
        stage(task, hint=3)


def test_a_result_is_found_by_the_folders_name(lamp: Path) -> None:
    staged = stage(load(lamp)).folder
    named = tomllib.loads((staged / "task.toml").read_text())["task"]["name"]
    assert (staged.name, named) == ("embedded-lamp", "benchflow/embedded-lamp")


def test_export_never_overwrites(lamp: Path, tmp_path: Path) -> None:
    task = load(lamp)
    (folder,) = export([task], tmp_path / "dataset")
    assert folder == tmp_path / "dataset" / "embedded-lamp"
    export([task], tmp_path / "dataset")
    (folder / "instruction.md").write_text("mine now\n")
    with pytest.raises(UsageError, match="not the same"):
        export([task], tmp_path / "dataset")
    assert (folder / "instruction.md").read_text() == "mine now\n"


def test_the_verifier_has_qemu_for_each_architecture_of_the_task(lamp: Path) -> None:
    before = verifier_dockerfile("riscv64", "direct")
    assert "qemu-system-misc" in before and "qemu-system-x86" not in before
    after = verifier_dockerfile("riscv64", "direct", ("x86_64",))
    assert "qemu-system-misc" in after and "qemu-system-x86" in after and "ovmf" not in after
    assert verifier_dockerfile("riscv64", "direct", ("riscv64",)) == before
    text = (lamp / "task.toml").read_text()
    (lamp / "task.toml").write_text(
        text.replace('arch = "x86_64"', 'arch = "x86_64"\nfurther_arches = ["riscv64"]')
    )
    staged = stage(load(lamp)).folder
    assert "qemu-system-misc" in (staged / "tests/Dockerfile").read_text()


def test_a_task_may_add_to_the_verifiers_image(lamp: Path) -> None:
    """In a layer below the checks: a changed check makes none of it again."""
    before = (stage(load(lamp)).folder / "tests/Dockerfile").read_text()
    assert "image/build.sh" not in before
    (lamp / "tests/image").mkdir()
    (lamp / "tests/image/build.sh").write_text("#!/bin/sh\ntouch /opt/made\n")
    after = (stage(load(lamp)).folder / "tests/Dockerfile").read_text()
    lines = after.splitlines()
    run = lines.index("RUN sh /tests/image/build.sh")
    assert lines[run - 1] == "COPY image /tests/image" and lines[run + 1] == "COPY . /tests"
    assert [line for line in lines if "image" not in line] == before.splitlines()
