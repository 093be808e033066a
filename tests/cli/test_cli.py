"""What a person meets: help that teaches, errors that say what to do, and no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHFLOW = Path(sys.executable).parent / "benchflow"


def benchflow(
    *arguments: str, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BENCHFLOW), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        # As after activation: the hints then say `benchflow` (test_as_typed.py).
        env={**os.environ, "PATH": f"{BENCHFLOW.parent}:{os.environ['PATH']}", **env},
    )


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "benchflow.cli.app", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    heavy = {"harbor", "pydantic", "rich", "pytest", "asyncio", "pexpect", "litellm"}
    assert not heavy & imported
    assert "benchflow" in imported


def test_the_reference_is_what_the_commands_say() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchflow.cli.reference"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (ROOT / "docs" / "cli.md").read_text(), (
        "make it again: python -m benchflow.reference"
    )


@pytest.mark.parametrize("verb", ["doctor", "tasks", "run", "verify", "results", "resume"])
def test_every_verb_teaches_by_example_and_speaks_json(verb: str) -> None:
    text = benchflow(verb, "--help").stdout
    assert "Example" in text
    assert f"benchflow {verb}" in text
    assert "--json" in text


@pytest.mark.parametrize(
    ("arguments", "status", "message", "hint"),
    [
        (["rnu"], 2, "no command 'rnu'", "see benchflow --help"),
        (["run"], 2, "Missing argument", "see benchflow run --help"),
        (["run", "no/such"], 2, "no task 'no/such'", ""),
        (["run", ".", "-k", "0"], 2, "-k", "see benchflow run --help"),
        (["results", "no-such-job"], 2, "no job 'no-such-job'", ""),
        (["resume", "no-such-job"], 2, "no job 'no-such-job'", ""),
        (["tasks", "show", "/etc"], 2, "/etc: no task here", ""),
    ],
)
def test_an_error_is_a_sentence_and_a_hint(
    arguments: list[str], status: int, message: str, hint: str, tmp_path: Path
) -> None:
    done = benchflow(*arguments, cwd=tmp_path)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    first, *rest = done.stderr.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert any(line.startswith("hint: ") for line in rest)
    assert hint in done.stderr


@pytest.mark.parametrize("verb", ["drive", "arena", "rate"])
def test_a_verb_alone_is_answered_by_its_help(verb: str, tmp_path: Path) -> None:
    done = benchflow(verb, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"Usage: benchflow {verb} ")
    assert "error:" not in done.stderr and "hint:" not in done.stderr and done.stdout == ""


def test_an_error_is_json_where_json_was_asked_for(tmp_path: Path) -> None:
    done = benchflow("results", "nothing", "--json", cwd=tmp_path)
    fault = json.loads(done.stdout)["error"]
    assert (fault["kind"], fault["exit_status"], done.returncode) == ("UsageError", 2, 2)


def test_the_traceback_is_there_for_whoever_asks(tmp_path: Path) -> None:
    assert "Traceback" in benchflow("results", "nothing", BENCHFLOW_DEBUG="1").stderr


def test_a_bug_of_ours_says_so_and_where_it_is_written(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from benchflow.cli import app\n"
        "app.VERBS['explode'] = 'x'\n"
        "sys.exit(app.run(['explode']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "BENCHFLOW_HOME": str(tmp_path)},
    )
    assert done.returncode == 70
    assert "this is a bug of benchflow: ModuleNotFoundError" in done.stderr
    assert "Traceback" not in done.stderr
    (log,) = (tmp_path / "crashes").iterdir()
    assert str(log) in done.stderr
    assert "Traceback" in log.read_text()


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = subprocess.run(
        f"{BENCHFLOW} run --help | true; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


@pytest.mark.needs("sandbox")
def test_ctrl_c_is_quiet() -> None:
    with subprocess.Popen(
        [str(BENCHFLOW), "doctor"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.strip() == ""


def test_doctor_says_what_is_missing_and_how_to_get_it(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("unshare", "mount", "sh", "touch", "true", "newuidmap", "newgidmap"):
        (tools / name).symlink_to(Path("/usr/bin") / name)
    done = benchflow("doctor", "--quick", "--json", PATH=str(tools))
    found = json.loads(done.stdout)
    checks = {check["name"]: check for check in found["checks"]}
    assert done.returncode == 4
    assert found["fit"] is False
    for name, package in {"bwrap": "bubblewrap", "qemu x86_64": "qemu-system-x86"}.items():
        assert checks[name]["state"] == "missing"
        assert checks[name]["hint"] == f"apt-get install {package}"
    assert checks["python"]["state"] == "ok"


@pytest.mark.needs("apt-get")
def test_doctor_finds_a_mirror_that_does_not_answer(tmp_path: Path) -> None:
    sources = tmp_path / "sources.list"
    sources.write_text("deb [trusted=yes] http://127.0.0.1:9/debian bookworm main\n")
    config = tmp_path / "apt.conf"
    config.write_text(
        f'Dir::Etc::sourcelist "{sources}"; Dir::Etc::sourceparts "{tmp_path}/none";\n'
    )
    script = (
        "from benchflow.run.doctor.host import mirror;"
        "print(mirror(verbose=False)); print(mirror(verbose=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "APT_CONFIG": str(config)},
    )
    terse, verbose = done.stdout.splitlines()
    assert "BROKEN" in terse
    assert "127.0.0.1" not in terse
    assert "127.0.0.1" in verbose
