"""What takes longest: the oracles whose turn it is, and the fast gates of every task.

On a new machine they build all images. Each is one command, started by the first test that asks for
it; who asks comes first of all, and keeps a worker waiting (tests/workers.py).
"""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.needs import needs
from tests.run.plain import BENCHFLOW, hear

ROOT = Path(__file__).parents[1]
FAST = ("check", "*/*", "--fast", "--gate", "offline", "--json")
#: Task → gate → result.
type Gates = dict[str, dict[str, dict[str, Any]]]


def by_gate(output: str) -> Gates:
    tasks = json.loads(output)["tasks"]
    return {name: {result["gate"]: result for result in results} for name, results in tasks.items()}


def _said(folder: Path, *arguments: str) -> str:
    """What a command printed; an interrupted run interrupts it too."""
    errors = folder / "errors"
    with errors.open("w") as stderr:
        command = [BENCHFLOW, *arguments]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=ROOT, preexec_fn=hear
        ) as process:
            try:
                output, _ = process.communicate()
            except BaseException:
                process.send_signal(signal.SIGINT)
                raise
    assert process.returncode in (0, 1, 4), errors.read_text()[-4000:]
    return output


@pytest.fixture(scope="session")
@needs("sandbox", "mirror")
def oracles(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Task → the trial of its oracle, of all tasks that are this run's turn."""
    chosen = [
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "oracles" in item.fixturenames
    ]
    folder = tmp_path_factory.mktemp("oracles")
    options = ("--agent", "oracle", "-n", "1", "--jobs-dir", str(folder / "jobs"), "--json")
    (job,) = json.loads(_said(folder, "run", *chosen, *options))["jobs"]
    return {trial["task"]: trial for trial in job["trials"]}


@pytest.fixture(scope="session")
@needs("sandbox", "mirror")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Gates:
    """Task → its fast gates."""
    return by_gate(_said(tmp_path_factory.mktemp("gates"), *FAST))
