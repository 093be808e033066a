"""`benchflow verify`: a file made by anyone is judged, whatever it is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import ours
import pytest
from plain import BENCHFLOW, benchflow, hear
from test_stop import processes, until

from benchflow.results.jobs.trials import read_verification
from benchflow.results.model import Phases, Verdict
from benchflow.run.verify.verification import VerifyRequest, read_again
from benchflow.tasks import load

pytestmark = pytest.mark.needs("sandbox")

UNSANDBOXED = ("--sandbox", "none")
BOOTS = """
from benchflow.boot import milestone

@milestone("boots", proves=["R1", "R2", "R3"])
def test_boots(machines, deliverable):
    machines.create("main", kernel=deliverable(), firmware="direct").boot()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ours.words(tmp_path)
    (tmp_path / "good").write_text("one two three\n")
    (tmp_path / "half").write_text("one\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "status", "statuses"),
    [
        ("good", 0, ["passed", "passed", "passed"]),
        ("half", 1, ["passed", "failed", "not reached"]),
    ],
)
def test_the_ladder_is_printed_and_the_exit_status_is_the_verdict(
    folder: Path, file: str, status: int, statuses: list[str]
) -> None:
    done = benchflow("verify", "test/words", file, *UNSANDBOXED, cwd=folder, status=status)
    assert "unsandboxed" in done.stderr
    for name, reached in zip(("one", "two", "three"), statuses, strict=True):
        assert f"{name}: {reached}" in done.stdout
    if status:
        assert "test_two [R2]" in done.stdout
    assert "evidence in verified/test-words__" in done.stdout


@pytest.mark.parametrize("place", [(), UNSANDBOXED])
@pytest.mark.parametrize(("asked", "status"), [(("one",), 0), (("one", "two"), 1), (("three",), 1)])
def test_of_some_milestones_there_is_no_verdict_and_no_reward(
    folder: Path, asked: tuple[str, ...], status: int, place: tuple[str, ...]
) -> None:
    named = [option for name in asked for option in ("--milestone", name)]
    call = ("verify", "test/words", "half", "--logs", "seen", *named, *place)
    done = benchflow(*call, cwd=folder, status=status)
    assert f"partial: {', '.join(asked)} alone; no verdict and no reward" in done.stdout
    assert not any(word in done.stdout for word in ("resolved", "reward 0", "reward 1"))
    assert not (folder / "seen" / "verifier" / "reward.json").exists()
    assert read_again(VerifyRequest(load(folder / "test" / "words"), {}, folder / "seen")) is None
    trial = read_verification(folder / "seen", "test/words", "", 0, Phases())
    assert (trial.verdict, trial.reward) == (Verdict.ERROR, None), "and nobody takes it for one"


def test_some_milestones_as_json_and_by_a_name_that_is_not_there(folder: Path) -> None:
    call = ("verify", "test/words", "half", *UNSANDBOXED, "--milestone")
    told = json.loads(benchflow(*call, "one", "--json", cwd=folder).stdout)
    assert set(told) == {"schema", "notes", "partial"}
    assert (told["partial"]["asked"], told["partial"]["cause"]) == (["one"], "")
    refused = benchflow(*call, "won", "--logs", "none", cwd=folder, status=2)
    assert "test/words has no milestone 'won'" in refused.stderr
    assert not (folder / "none").exists()


@pytest.mark.parametrize("kind", ["link", "directory", "pipe", "device", "empty", "huge"])
def test_what_is_no_honest_file_fails_and_harms_nothing(folder: Path, kind: str) -> None:
    """Each ends with a verdict of the verifier's, not with an error of ours."""
    file = folder / "hostile"
    match kind:
        case "link":
            file.symlink_to("/etc/passwd")
        case "directory":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
        case "device":
            file = Path("/dev/zero")
        case "empty":
            file.touch()
        case "huge":
            with file.open("wb") as stream:
                stream.truncate(1 << 40)
    done = benchflow("verify", "test/words", str(file), *UNSANDBOXED, cwd=folder, status=1)
    assert "failed, reward 0.000" in done.stdout
    assert "Traceback" not in done.stderr


def test_json_tells_the_same(folder: Path) -> None:
    done = benchflow(
        "verify",
        "test/words",
        "half",
        *UNSANDBOXED,
        "--json",
        "--logs",
        "kept",
        cwd=folder,
        status=1,
    )
    trial = json.loads(done.stdout)["trial"]
    assert (trial["verdict"], trial["n_passed"], trial["furthest"]) == ("failed", 1, "one")
    assert trial["phases"]["verifier"] > 0
    assert Path(trial["evidence"]["verifier/milestones.json"]).is_relative_to(folder / "kept")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["test/words", "absent"], "absent: no such file"),
        (["test/words"], "nothing to verify"),
        (["test/words", "-d", "/x=good"], "has no deliverable /x"),
        (["test/words", "good", "-d", "/app/out/words.txt=good"], "has 1 deliverables"),
        (["test/words", "good", "--step", "one"], "has no step 'one'"),
        (["no/such", "good"], "no task 'no/such'"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, arguments: list[str], message: str) -> None:
    done = benchflow("verify", *arguments, *UNSANDBOXED, cwd=folder, status=2)
    assert message in done.stderr


def test_a_deliverable_can_be_named_by_its_path(folder: Path) -> None:
    benchflow(
        "verify", "test/words", "-d", "/app/out/words.txt=good", *UNSANDBOXED, cwd=folder, status=0
    )


def test_a_missing_qemu_is_an_error_of_the_machine_and_not_of_the_file(
    tmp_path: Path,
) -> None:
    ours.words(tmp_path, checks=BOOTS)
    (tmp_path / "kernel").write_text("no kernel\n")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "bwrap").symlink_to("/usr/bin/bwrap")
    done = benchflow(
        "verify", "test/words", "kernel", *UNSANDBOXED, cwd=tmp_path, status=4, PATH=str(tools)
    )
    assert "error (QemuMissing" in done.stdout
    assert "failed" not in done.stdout.replace("not reached", "")


def test_checks_that_cannot_be_imported_are_an_error(tmp_path: Path) -> None:
    ours.words(tmp_path, checks="import no_such_module\n" + ours.CHECKS)
    (tmp_path / "good").write_text("one two three\n")
    done = benchflow("verify", "test/words", "good", *UNSANDBOXED, cwd=tmp_path, status=4)
    assert "error (" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_verifier_and_everything_under_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    mark = "86397.75"
    start = "def test_one(deliverable):\n"
    hang = f"    import subprocess\n    subprocess.run(['sleep', '{mark}'])\n"
    ours.words(tmp_path, checks=ours.CHECKS.replace(start, start + hang))
    (tmp_path / "good").write_text("one two three\n")
    with subprocess.Popen(
        [BENCHFLOW, "verify", "test/words", "good", *UNSANDBOXED],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear,
    ) as process:
        until(lambda: processes(mark) or process.poll() is not None)
        time.sleep(0.2)
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == 130
    until(lambda: not processes(mark), 20)


@pytest.mark.slow
def test_in_a_sandbox_the_verdict_is_the_same(folder: Path) -> None:
    """With the image that a run's verifier has; slow where that has to be built first."""
    (folder / "link").symlink_to("/etc/passwd")
    assert "resolved" in benchflow("verify", "test/words", "good", cwd=folder, status=0).stdout
    done = benchflow("verify", "test/words", "link", cwd=folder, status=1)
    assert "is a symbolic link" in done.stdout
    for record in (folder / "verified").glob("*/sandbox.json"):
        used = json.loads(record.read_text())["sandboxes"]["verifier"]["used"]
        assert used["cpu_seconds"] is None or used["cpu_seconds"] > 0
        break
    else:
        pytest.fail("nothing says what the verifier's sandbox used")
