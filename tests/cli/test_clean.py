"""`benchflow clean` in a home of its own: what is kept, what goes, and what holds it back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests import warm_command
from tests.run import ours

from benchflow.results.jobs.lock import hold

BENCHFLOW = str(Path(sys.executable).parent / "benchflow")


def benchflow(home: Path, *arguments: str, status: int = 0) -> str:
    own = {"BENCHFLOW_HOME": str(home), "BENCHFLOW_TASKS": str(home.parent / "t")}
    done = warm_command.run(arguments, env={**os.environ, **own})
    assert done.returncode == status, done.stderr
    return done.stdout if not status else done.stderr


def sizes(text: str) -> dict[str, int]:
    return {store["name"]: store["megabytes"] for store in json.loads(text)["stores"]}


@pytest.mark.needs("ids")
def test_evidence_goes_and_what_the_gates_said_stays(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ours.words(tmp_path / "t")
    benchflow(home, "check", "test/words", "--gate", "coverage")
    trial = home / "checks" / "test-words-0-oracle" / "trial"
    trial.mkdir(parents=True)
    (trial / "disk.img").write_bytes(b"x" * 3_000_000)
    assert sizes(benchflow(home, "clean", "--json"))["checks"] == 3
    assert "clean --evidence" in benchflow(home, "clean")
    (trial.parent / "benchflow.json").write_text("{}")
    with hold(trial.parent):
        assert "is being worked on" in benchflow(home, "clean", "--evidence", status=2)
    assert trial.exists()
    assert sizes(benchflow(home, "clean", "--evidence", "--json"))["checks"] == 0
    assert not trial.exists()
    assert "(known)" in benchflow(home, "check", "test/words", "--gate", "coverage")


@pytest.mark.needs("sandbox", "mirror")
@pytest.mark.slow
def test_images_go_but_not_under_a_sandbox(tmp_path: Path) -> None:
    home = tmp_path / "home"
    script = (
        "from benchflow.sandbox import Sandbox, debian\n"
        "with Sandbox.start(debian()) as box: print('up', flush=True); input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "BENCHFLOW_HOME": str(home)},
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "up\n"
        assert "sandboxes are in use" in benchflow(home, "clean", "--images", status=2)
        assert sizes(benchflow(home, "clean", "--json"))["images"] > 50
        process.communicate("\n", timeout=60)
    assert sizes(benchflow(home, "clean", "--images", "--json"))["images"] == 0
    assert not list(home.glob("images/*/*.json"))
