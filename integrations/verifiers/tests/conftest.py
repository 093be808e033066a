"""What the tests need: `benchflow` of this checkout, or the command that BENCHFLOW names.

Those that run also need Docker, and a data set exported with images, BENCHFLOW_DATASET; those of
whole solutions run over the tasks in it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BENCHFLOW = os.environ.get("BENCHFLOW", str(ROOT / ".venv/bin/benchflow"))


def run(*command: str, timeout: float = 3600) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def unpushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tasks, exported without images."""
    folder = tmp_path_factory.mktemp("all") / "dataset"
    run(BENCHFLOW, "tasks", "export", str(folder))
    return folder


@pytest.fixture(scope="session")
def named(unpushed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tasks, with references to images that nobody has: loading pulls nothing."""
    folder = tmp_path_factory.mktemp("named") / "dataset"
    shutil.copytree(unpushed, folder)
    line = f'docker_image = "registry.invalid/it@sha256:{"0" * 64}"'
    for file in folder.glob("*/task.toml"):
        tables = r"^(\[environment\]|\[verifier\.environment\])$"
        file.write_text(re.sub(tables, rf"\1\n{line}", file.read_text(), flags=re.MULTILINE))
    return folder


@pytest.fixture(scope="session")
def engine() -> None:
    """Skips without a Docker daemon that answers."""
    if shutil.which("docker") is None:
        pytest.skip("needs docker (apt-get install docker.io)")
    asked = subprocess.run(["docker", "info"], capture_output=True, text=True)
    if asked.returncode:
        pytest.skip(f"needs a Docker daemon: {asked.stderr.strip()[-200:]}")


@pytest.fixture(scope="session")
def dataset(engine: None) -> Path:
    """A data set with repair/dead-server whose images a registry has, where the engine can push."""
    given = os.environ.get("BENCHFLOW_DATASET")
    if not given:
        pytest.skip("needs BENCHFLOW_DATASET, a data set that was exported with --images --push")
    return Path(given)


def exported() -> list[str]:
    """The folders of BENCHFLOW_DATASET; without it one that no data set has, so that what runs over
    them is skipped, with the reason."""
    given = os.environ.get("BENCHFLOW_DATASET")
    found = sorted(file.parent.name for file in Path(given).glob("*/task.toml")) if given else []
    return found or ["no-dataset"]


def build(tag: str, dockerfile: str, context: Path) -> None:
    (context / "Dockerfile").write_text(dockerfile)
    run("docker", "build", "--quiet", "--tag", tag, str(context))


def verifier_image(task: Path) -> str:
    found = re.search(
        r'^\[verifier\.environment\]$.*?^docker_image = "([^"]+)"$',
        (task / "task.toml").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert found
    return found[1]
