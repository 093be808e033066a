"""Real Harbor trials in the namespace sandbox, on tasks small enough to read."""

from __future__ import annotations

import asyncio
from pathlib import Path

from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig
from harbor.models.trial.result import TrialResult
from harbor.trial.trial import Trial

ENVIRONMENT = "benchflow.sandbox.environment:NamespaceEnvironment"
TEST = """#!/bin/sh
if [ "$(cat /app/out.txt 2>/dev/null)" = hello ]; then r=1; else r=0; fi
echo "{\\"reward\\": $r}" > /logs/verifier/reward.json
"""


def write_task(folder: Path, *, solve: str, mode: str = "separate", steps: str = "") -> Path:
    """A task whose oracle is `solve` and whose reward is 1 when /app/out.txt says hello."""
    for name in ("environment", "tests", "solution"):
        (folder / name).mkdir(parents=True)
    (folder / "task.toml").write_text(
        'schema_version = "1.4"\nartifacts = ["/app/out.txt"]\n'
        '[task]\nname = "test/small"\n[agent]\ntimeout_sec = 120\n'
        f'[verifier]\ntimeout_sec = 120\nenvironment_mode = "{mode}"\n'
        '[environment]\ncpus = 1\nmemory_mb = 512\nnetwork_mode = "no-network"\n' + steps
    )
    (folder / "instruction.md").write_text("Say hello.\n")
    (folder / "environment/Dockerfile").write_text("FROM debian:bookworm\nWORKDIR /app\n")
    (folder / "tests/test.sh").write_text(TEST)
    if mode == "separate":
        (folder / "tests/Dockerfile").write_text("FROM debian:bookworm\nCOPY . /tests\n")
    (folder / "solution/solve.sh").write_text(f"#!/bin/sh\n{solve}\n")
    return folder


def run(task: Path, trials: Path, agent: str = "oracle") -> TrialResult:
    """Run one trial to its end."""
    config = TrialConfig(
        task=TaskConfig(path=task),
        trials_dir=trials,
        trial_name="trial",
        agent=AgentConfig(name=agent),
        environment=EnvironmentConfig(import_path=ENVIRONMENT),
    )

    async def main() -> TrialResult:
        return await (await Trial.create(config)).run()

    return asyncio.run(main())
