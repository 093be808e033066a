"""A run tells nobody and asks nobody: no telemetry, nothing fetched at start-up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import plain
import pytest
from plain import BENCHFLOW


@pytest.mark.needs("sandbox")
def test_a_run_works_without_any_network(tmp_path: Path) -> None:
    plain.separate(tmp_path / "task")
    plain.benchflow("run", "task", "-a", "nop", cwd=tmp_path)  # the images may have to be built
    if os.geteuid() != 0:
        pytest.skip("taking the network away needs root, or the id maps go with it")
    done = subprocess.run(
        ["unshare", "--net", BENCHFLOW, "run", "task", "-a", "oracle"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1 trial: 1 resolved" in done.stdout


@pytest.mark.needs("sandbox")
def test_no_connection_leaves_the_machine(tmp_path: Path) -> None:
    """Every connect(2) of the run and of all that it starts, watched by strace."""
    plain.separate(tmp_path / "task")
    plain.benchflow("run", "task", "-a", "nop", cwd=tmp_path)
    trace = tmp_path / "trace"
    subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg", "-o", str(trace),
         BENCHFLOW, "run", "task", "-a", "nop"],
        cwd=tmp_path, capture_output=True, check=True,
        env={k: v for k, v in os.environ.items() if k != "HARBOR_TELEMETRY"},
    )  # fmt: skip
    text = trace.read_text()
    assert "AF_INET" not in text


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize("as_json", [True, False])
def test_what_libraries_print_is_not_on_our_standard_output(tmp_path: Path, as_json: bool) -> None:
    plain.separate(tmp_path / "task")
    done = subprocess.run(
        [BENCHFLOW, "run", "task", "-a", "chatty:Chatty", *(["--json"] if as_json else [])],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Provider List" not in done.stdout + done.stderr
    (log,) = tmp_path.glob("jobs/*/worker.log")
    assert "Provider List" in log.read_text()
    if as_json:
        assert json.loads(done.stdout)["jobs"][0]["trials"][0]["agent"] == "chatty"
    else:
        assert "hand-over" in done.stdout and "1 trial: 1 failed" in done.stdout


def test_harbors_telemetry_is_off_unless_the_user_turns_it_on() -> None:
    script = (
        "from benchflow.run.job.harbor_job import keep_quiet; keep_quiet();"
        "from harbor import telemetry; print(telemetry._telemetry_disabled())"
    )
    for given, disabled in ((None, "True"), ("on", "False")):
        env = {k: v for k, v in os.environ.items() if k != "HARBOR_TELEMETRY"}
        if given:
            env["HARBOR_TELEMETRY"] = given
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env
        )
        assert done.stdout.strip() == disabled
