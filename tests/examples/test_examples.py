"""Each file in examples/ does what its first lines say, as it stands there."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests import warm_command

from benchflow.results.synthetic import Design, write_job

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def benchflow(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return warm_command.run(arguments, cwd=cwd, env={**os.environ, **variables})


def trials(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stdout + done.stderr
    return [trial for job in json.loads(done.stdout)["jobs"] for trial in job["trials"]]


@pytest.fixture
def endpoint() -> Iterator[str]:
    """The example's endpoint, running; its address."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with subprocess.Popen([sys.executable, str(EXAMPLES / "endpoint.py"), str(port)]) as process:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
        process.terminate()


@pytest.mark.needs("sandbox")
def test_the_agent_solves_the_task_with_the_endpoint(endpoint: str, tmp_path: Path) -> None:
    model = f"{endpoint}#mine"
    (trial,) = trials(
        benchflow(
            *("run", str(EXAMPLES / "hello"), "--agent", "forty:Forty", "--model", model, "--json"),
            cwd=tmp_path,
            PYTHONPATH=str(EXAMPLES),
        )
    )
    assert trial["verdict"] == "resolved"
    counted = json.loads((Path(trial["path"]) / "model.json").read_text())
    assert (counted["turns"], counted["uncounted_answers"]) == (2, 0)
    (trajectory,) = tmp_path.glob("jobs/*/*/agent/trajectory.json")
    assert "echo hello > /app/hello.txt" in trajectory.read_text()


@pytest.mark.slow()
@pytest.mark.needs("mirror")
def test_both_small_models_answer(tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    with (
        said.open("wb") as file,
        subprocess.Popen(
            [sys.executable, str(EXAMPLES / "small-models" / "serve.py")], stdout=file
        ) as process,
    ):
        try:
            end = time.monotonic() + 900
            while len(found := re.findall(r"(http://\S+)/v1#(\S+)\n", said.read_text())) < 2:
                assert process.poll() is None and time.monotonic() < end, said.read_text()
                time.sleep(0.5)
            for address, name in found:
                messages = [{"role": "user", "content": "List the files."}]
                question = {"model": name, "max_tokens": 4, "messages": messages}
                request = urllib.request.Request(
                    f"{address}/v1/chat/completions",
                    json.dumps(question).encode(),
                    {"content-type": "application/json"},
                )
                with urllib.request.urlopen(request, timeout=300) as answer:
                    assert json.load(answer)["usage"]["completion_tokens"] > 0
        finally:
            process.terminate()


@pytest.mark.needs("time")  # a command of its own, with all that a sweep imports
def test_the_sweep_of_small_models_plans_what_serve_serves(tmp_path: Path) -> None:
    source = (EXAMPLES / "small-models" / "serve.py").read_text()
    served = set(re.findall(r'Model\("([a-z0-9.-]+)", (\d{4}),', source))
    jobs = ("--jobs-dir", str(tmp_path))
    plan = benchflow("sweep", "examples/small-models/sweep.toml", "--plan", *jobs, cwd=ROOT)
    assert plan.returncode == 0, plan.stdout + plan.stderr
    assert "0 of 18 trials finished" in plan.stdout
    planned = set(re.findall(r"http://127.0.0.1:(\d+)/v1#([a-z0-9.-]+)", plan.stdout))
    assert {(name, port) for port, name in planned} == served and len(served) == 2


@pytest.mark.needs("sandbox")
def test_the_sweep_runs_what_it_plans_and_nothing_twice(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    plan = benchflow("sweep", "examples/sweep.toml", "--plan", cwd=tmp_path)
    assert plan.returncode == 0 and "0 of 4 trials finished" in plan.stdout, plan.stdout
    done = benchflow("sweep", "examples/sweep.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    again = benchflow("sweep", "examples/sweep.toml", "--plan", cwd=tmp_path)
    assert "4 of 4 trials finished" in again.stdout
    found = json.loads(benchflow("results", "jobs/hello-1", "--json", cwd=tmp_path).stdout)
    verdicts = sorted((t["agent"], t["verdict"]) for t in found["jobs"][0]["trials"])
    assert verdicts == [("nop", "failed")] * 2 + [("oracle", "resolved")] * 2


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `benchflow export` has written `table`."""
    folder = tmp_path_factory.mktemp("exported")
    write_job(folder / "jobs", Design(agents=2, tasks=3, attempts=2, steps=3))
    done = benchflow("export", "jobs", "-o", "table", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_statement_reads_the_export(table: Path) -> None:
    text = (EXAMPLES / "read_export.sql").read_text()
    with duckdb.connect(str(table / "table" / "index.duckdb"), read_only=True) as db:
        found = [
            db.execute(statement.query).fetchall() for statement in db.extract_statements(text)
        ]
    by_agent, furthest, problems, meanings = found
    assert sum(row[3] + row[4] for row in by_agent) == 12
    assert sum(row[2] for row in furthest) == sum(row[3] - row[2] for row in by_agent)
    assert problems == []
    assert len(meanings) == 2


def test_the_notebook_runs_from_its_first_cell_to_its_last(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = json.loads((EXAMPLES / "read_export.ipynb").read_text())
    assert notebook["nbformat"] == 4
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] for cell in cells)
    monkeypatch.chdir(table)
    names: dict[str, Any] = {}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for cell in cells:
            exec("".join(cell["source"]), names)
    assert names["task"]
    names["db"].close()
    assert "resolved" in said.getvalue() or "no pandas here" in said.getvalue()


def test_the_pages_show_the_agent_as_it_stands_here() -> None:
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "agents.md").read_text(), re.DOTALL)
    agent = (EXAMPLES / "forty.py").read_text()
    assert agent in shown
    assert len([line for line in agent.splitlines() if line.strip()]) <= 40
