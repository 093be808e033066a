"""Infrastructure that fails gives `error`, never `failed`, and loses nothing that is finished."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import plain
import pytest
from plain import BENCHFLOW, benchflow, run_json

from benchflow.results.jobs.faults import add_fault, first_fault

pytestmark = pytest.mark.needs("sandbox")

#: Delivers more than the small disk holds.
BIG = "#!/bin/bash\nhead -c 8M /dev/urandom > /app/out.txt\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder of jobs with room for 4 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(jobs)], check=True)
    yield jobs
    subprocess.run(["umount", str(jobs)], check=True)


def test_a_disk_that_is_full_in_the_middle_of_a_trial(small_disk: Path) -> None:
    """The finished trial stays; with room made, the job goes on and only the rest is run."""
    folder = small_disk.parent
    plain.separate(folder / "first")
    plain.separate(folder / "second", solve=BIG)
    done = benchflow("run", "first", "second", "-n", "1", "--job-name", "j", cwd=folder, status=4)
    assert "error: no space left to write" in done.stderr
    assert "benchflow resume j" in done.stderr
    assert "Traceback" not in done.stderr
    state = run_json("results", "j", cwd=folder)
    assert state["counts"] == {"resolved": 1, "failed": 0, "error": 0}
    (finished,) = state["trials"]
    kept = (Path(finished["path"]) / "result.json").stat()
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    state = run_json("resume", "j", cwd=folder)
    assert state["counts"] == {"resolved": 1, "failed": 1, "error": 0}
    assert (Path(finished["path"]) / "result.json").stat() == kept


def test_a_hand_over_that_we_spoil_is_an_error_of_ours(tmp_path: Path) -> None:
    """Where the artifact should go, the host has a directory that cannot be replaced by a file:
    the trial runs on, the verifier finds nothing, and the agent is not blamed."""
    plain.separate(tmp_path / "task")
    wrapper = tmp_path / "spoiled.py"
    wrapper.write_text(
        "import errno\n"
        "from benchflow.sandbox.namespace import Sandbox\n"
        "from benchflow.run.job.environment import TrialEnvironment\n"
        "class Full(Sandbox):\n"
        "    def get(self, inside_path, host_path):\n"
        "        if inside_path.startswith('/logs'):\n"
        "            return super().get(inside_path, host_path)\n"
        "        raise OSError(errno.ENOSPC, 'No space left on device', str(host_path))\n"
        "class Spoiled(TrialEnvironment):\n"
        "    async def start(self, force_build):\n"
        "        await super().start(force_build)\n"
        "        self._box.__class__ = Full\n"
    )
    job = run_json(
        "run", "task", "--sandbox", "spoiled:Spoiled", cwd=tmp_path, status=4,
        PYTHONPATH=str(tmp_path),
    )  # fmt: skip
    (trial,) = job["trials"]
    assert (trial["verdict"], trial["cause"]) == ("error", "OSError")
    assert "hand-over of /app/out.txt" in trial["cause_message"]


def test_what_has_no_room_in_the_verifier_is_judged_as_what_it_is(tmp_path: Path) -> None:
    """Too large a deliverable would have the verifier killed, and its agent judged by nobody."""
    test = "#!/bin/bash\nstat -c '%s %b' /app/out.txt\n" + plain.TEST.split("\n", 1)[1]
    plain.separate(tmp_path / "task", solve=BIG.replace("8M", "100M"), test=test)
    path = tmp_path / "task" / "task.toml"
    path.write_text(
        path.read_text().replace(
            "[verifier.environment]\n", "[verifier.environment]\nstorage_mb = 64\n"
        )
    )
    job = run_json("run", "task", cwd=tmp_path)
    (trial,) = job["trials"]
    assert (trial["verdict"], trial["reward"]) == ("failed", 0.0)
    said = (Path(trial["path"]) / "verifier" / "test-stdout.txt").read_text()
    assert said.startswith(f"{100 << 20} 0\n")


def test_nothing_delivered_is_the_agents_own_failure(tmp_path: Path) -> None:
    plain.separate(tmp_path / "task", solve="#!/bin/bash\ntrue\n")
    job = run_json("run", "task", cwd=tmp_path)
    assert job["counts"] == {"resolved": 0, "failed": 1, "error": 0}


def test_a_mirror_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    """Without a network, and with an empty cache: the base image would have to be fetched."""
    if os.geteuid() != 0:
        pytest.skip("taking the network away needs root, or the id maps go with it")
    plain.separate(tmp_path / "task")
    done = subprocess.run(
        ["unshare", "--net", BENCHFLOW, "run", "task", "--json"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "BENCHFLOW_HOME": str(tmp_path / "home")},
    )  # fmt: skip
    assert done.returncode == 4
    (job,) = json.loads(done.stdout)["jobs"]
    (trial,) = job["trials"]
    assert (trial["verdict"], trial["cause"]) == ("error", "InfrastructureError")
    assert "mirror" in trial["cause_message"]


def test_faults_are_kept_in_order_and_cleaned(tmp_path: Path) -> None:
    assert first_fault(tmp_path) is None
    add_fault(tmp_path, "hand-over of /a", OSError("full\x1b[2J"))
    add_fault(tmp_path, "hand-over of /b", OSError("too"))
    assert first_fault(tmp_path) == ("OSError", "hand-over of /a: full")
