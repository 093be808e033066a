"""What deploy/ ships is what Kubernetes, a shell and Slurm accept."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.house.test_house import ROOT

DEPLOY = ROOT / "deploy"


def manifest() -> dict[str, Any]:
    (found,) = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    return dict(found)


@pytest.mark.parametrize("version", ["1.28", "1.31", "1.33"])
def test_the_job_is_as_the_schema_of_kubernetes_has_it(version: str) -> None:
    import kubernetes_validate

    kubernetes_validate.validate(manifest(), version, strict=True)
    wrong = manifest()
    wrong["spec"]["completionMod"] = wrong["spec"].pop("completionMode")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, version, strict=True)


def test_parts_are_as_many_as_pods() -> None:
    spec = manifest()["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert f'/{spec["completions"]}"' in container["args"][0]
    # The index begins at 0: what the shell of a pod makes of it are the parts 1 to N.
    said = container["args"][0].replace("exec /benchflow/.venv/bin/benchflow", "echo")
    for index in (0, 7):
        done = subprocess.run(
            ["sh", "-c", said], env={"JOB_COMPLETION_INDEX": str(index)}, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        assert f"--shard {index + 1}/8 --jobs-dir /results/{index + 1}" in done.stdout


@pytest.mark.parametrize("script", sorted(DEPLOY.glob("*.sh")), ids=lambda path: path.name)
def test_scripts_are_of_a_shell(script: Path) -> None:
    subprocess.run(["sh", "-n", str(script)], check=True)
    done = subprocess.run(["sh", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode != 0  # without arguments nothing is run
    assert "Traceback" not in done.stderr
