"""A trial that waits: what its driver may do, and what becomes of it when the driver errs."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.external.lent import Lent, found, lend
from tests.run import plain
from tests.run.plain import benchflow

from benchflow.agents.external import wire
from benchflow.results.jobs.lock import is_held

__all__ = ["lend"]
Lend = Callable[..., Lent]


def test_a_driver_works_and_hands_in(lend: Lend) -> None:
    """From the instruction to the verdict, and all of it is in the trajectory."""
    lent = lend()
    mode = (lent.trial / wire.NAME).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert lent.drive("instruction").stdout.startswith(b"[R1] one [R2] two")
    assert lent.told("instruction")["instruction"].startswith("[R1] one [R2] two")
    done = lent.drive("run", "--", "echo out; echo err >&2; exit 7", status=7)
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")
    assert lent.drive("run", "printf", "%s|", "a b", "$HOME").stdout == b"a b|$HOME|"
    assert lent.drive("run", "--cwd", "/usr", "pwd").stdout == b"/usr\n"
    assert lent.told("run", "exit 3", status=3)["status"] == 3
    (lent.top / "words").write_text("one two three\n")
    lent.drive("run", "mkdir -p /app/out")
    lent.drive("put", "words", "/app/out/words.txt")
    lent.drive("get", "/app/out/words.txt", "back")
    assert (lent.top / "back").read_text() == "one two three\n"
    spent = lent.told("time")
    assert spent["limit"] == 600 and 0 < spent["worked"] < 600
    assert spent["left"] == pytest.approx(600 - spent["worked"], abs=0.3)
    assert b"left" in lent.drive("time").stdout
    lent.drive("run", "echo '{}' > /logs/agent/trajectory.json")
    assert lent.told("submit")["submitted"] is True
    (trial,) = lent.ended().trials
    assert (trial.agent, trial.verdict.value) == ("external:tester", "resolved")
    assert not (lent.trial / wire.NAME).exists()
    assert [tool for tool, _, _ in lent.steps()] == [
        *["bash"] * 5,
        *("put", "get", "bash", "submit"),
    ], "what was recorded stands, whatever the sandbox left"
    document = json.loads((lent.trial / "agent" / "trajectory.json").read_text())
    assert "total_prompt_tokens" not in document["final_metrics"], "nobody knows"
    assert lent.steps()[0][2] == "out\nerr\n[exit status 7]"
    told = lent.drive("submit", status=2).stderr.decode()
    assert "no trial in jobs waits for a driver" in told and "--agent external" in told
    name = f"{lent.job.name}/{lent.trial.name}"
    told = lent.drive(name, "submit", status=2).stderr.decode()
    assert f"{name} waits for no driver: it has ended" in told


def test_output_is_bounded_and_binary_is_as_it_was(lend: Lend) -> None:
    """A gigabyte costs nobody memory, and what is left out is counted exactly."""
    lent = lend()
    every = bytes(range(256))
    code = "printf '" + "".join(f"\\{n:03o}" for n in range(256)) + "'"
    assert lent.drive("run", code).stdout == every
    assert lent.drive("run", f"{code} >&2").stderr == every
    assert lent.told("run", code)["stdout_encoding"] == "base64"
    much = lent.drive("run", "--max-output", "1000", "head -c 1G /dev/zero | tr '\\0' x")
    head, middle, tail = much.stdout.split(b"\n")
    assert head + tail == b"x" * 1000
    missing = (1 << 30) - 1000
    assert middle == f"[benchflow: {missing} bytes are left out here]".encode()
    assert f"{missing} bytes of stdout left out" in much.stderr.decode()
    told = lent.told("run", "--max-output", "0", "echo much")
    assert told["left_out"] == {"stdout": 5, "stderr": 0}
    assert all(len(seen) < 50_000 for _, _, seen in lent.steps())


def test_a_command_that_never_ends_and_a_second_driver(lend: Lend) -> None:
    lent = lend()
    begun = time.monotonic()
    done = lent.drive("run", "--timeout", "10", "echo begun; sleep 1000", status=124)
    assert time.monotonic() - begun < 300
    assert done.stdout == b"begun\n" and b"timed out after 10 s" in done.stderr
    first = lent.begin("run", "--timeout", "0", "sleep 1000")
    end = time.monotonic() + 300
    while lent.drive("run", "true", status=None).returncode == 0:  # it was quicker than the first
        assert time.monotonic() < end, "the first never came"
    for words, status in (
        (("run", "true"), 125),
        (("submit",), 2),
        (("get", "/etc/hosts", "x"), 2),
    ):
        told = lent.drive(*words, status=status).stderr.decode()
        assert "another call is under way since" in told
        assert f"run `sleep 1000` of process {first.pid}" in told
    assert lent.told("time")["worked"] > 0, "who only looks is answered"
    first.kill()
    first.communicate()
    end = time.monotonic() + 300
    while lent.drive("run", "true", status=None).returncode:
        assert time.monotonic() < end, "the trial never noticed"
    assert lent.drive("run", "cat /proc/[0-9]*/cmdline").stdout.count(b"sleep\0001000") == 0
    assert ("bash", {"command": "sleep 1000"}, "[ended: its driver hung up]") in lent.steps()
    lent.drive("submit")
    assert lent.ended().trials[0].verdict.value == "failed"


def test_what_is_left_running_stays(lend: Lend) -> None:
    lent = lend()
    lent.drive("run", "(sleep 1; echo late > /tmp/late) >/dev/null 2>&1 &")
    end = time.monotonic() + 300
    while lent.drive("run", "cat /tmp/late", status=None).stdout != b"late\n":
        assert time.monotonic() < end


def test_the_time_is_the_trials(lend: Lend) -> None:
    """A driver that thinks for long is not held to stand still; at the limit its work is judged."""
    lent = lend("--stall-minutes", "0.02", seconds=45)
    lent.drive("run", "mkdir -p /app/out; echo one > /app/out/words.txt")
    slow = lent.begin("run", "--timeout", "0", "sleep 1000")
    (trial,) = lent.ended().trials
    _, said = slow.communicate(timeout=300)
    assert slow.returncode == 125
    assert b"the trial's time is over" in said
    assert (trial.verdict.value, trial.cause) == ("failed", "AgentTimeoutError")
    assert [m.id for m in trial.milestones if m.status == "passed"] == ["one"]
    assert lent.steps()[-1] == (
        "bash",
        {"command": "sleep 1000"},
        "[ended: the trial's time is over]",
    )


def test_several_that_wait_are_named(lend: Lend) -> None:
    lent = lend("-k", "2", "-n", "2", waiting=2)
    names = [f"{trial.parent.name}/{trial.name}" for trial in lent.trials]
    told = lent.drive("time", status=2).stderr.decode()
    assert all(name in told for name in names)
    assert lent.drive(lent.job.name, "time", status=2).stderr.decode().count(names[0]) == 2
    assert "no trial 'nothing/here'" in lent.drive("nothing/here", "time", status=2).stderr.decode()
    assert "No such command 'tiem'" in lent.drive("tiem", status=2).stderr.decode()
    lent.drive(names[0], "submit")
    end = time.monotonic() + 300
    while wire.is_waiting(lent.trials[0]):
        assert time.monotonic() < end
    told = lent.drive(names[0], "time", status=2).stderr.decode()
    assert "waits for no driver" in told or "waits for a driver yet" in told
    lent.drive(lent.trials[1].name, "time")
    lent.drive(str(lent.trials[1]), "submit")
    assert len(lent.ended().trials) == 2


def test_files_that_cannot_be_had_change_no_verdict(lend: Lend) -> None:
    lent = lend()
    lent.drive("run", "mkdir -p /app/out/d /app/empty; ln -s /etc/passwd /tmp/link; mkfifo /tmp/p")
    lent.drive("run", "echo a > /app/out/d/a; ln -s /etc /app/out/d/etc")
    for words, message in (
        (("get", "/nope", "x"), "/nope: no such file in the sandbox"),
        (("get", "/tmp/link", "x"), "neither a file nor a directory"),
        (("get", "/tmp/p", "x"), "neither a file nor a directory"),
        (("get", "etc/hosts", "x"), "a path in the sandbox is absolute"),
        (("get", "/etc/hosts", "no/such/folder"), "no such folder"),
        (("put", "run.toml", "hosts"), "a path in the sandbox is absolute"),
        (("put", "run.toml", "/dev/null/x"), "in the sandbox"),
        (("put", "/dev/null", "/tmp/null"), "neither file, directory nor symlink"),
    ):
        (lent.top / "run.toml").write_text("x")
        told = lent.drive(*words, status=2).stderr.decode()
        assert message in told, told
    lent.drive("get", "/app/out", "tree")
    assert (lent.top / "tree" / "d" / "a").read_text() == "a\n"
    assert (lent.top / "tree" / "d" / "etc").is_symlink()
    assert "exists" in lent.drive("get", "/app/out/d", "tree", status=2).stderr.decode()
    lent.drive("get", "/etc/hosts", "tree")
    assert (lent.top / "tree" / "hosts").is_file()
    assert not [path for path in lent.top.iterdir() if path.name.startswith(".benchflow-")]
    lent.drive("put", "tree/d", "/app/again")
    assert lent.drive("run", "readlink", "/app/again/etc").stdout == b"/etc\n"
    lent.drive("submit")
    (trial,) = lent.ended().trials
    assert (trial.verdict.value, trial.cause) == ("failed", "")


def test_garbage_on_the_channel_is_answered_and_nothing_is_lost(lend: Lend) -> None:
    lent = lend()

    def say(data: bytes) -> dict[str, dict[str, str]]:
        with wire.connect(lent.trial) as channel:
            channel.sendall(data)
            channel.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: channel.recv(1 << 16), b""))
        found = json.loads(answer)
        assert isinstance(found, dict)
        return found

    for data in (
        b"\xff\x00garbage\n",
        b"[1]\n",
        b'{"op": "rm"}\n',
        b'{"op": ["run"]}\n',
        b'{"op": "run"}\n',
        b'{"op": "run", "command": 7}\n',
        b'{"op": "run", "command": "true", "timeout": -1}\n',
        b'{"op": "run", "command": "true", "timeout": true}\n',
        b'{"op": "run", "command": "true", "most": 1e12}\n',
        b'{"op": "write", "target": "/tmp/x", "data": "%"}\n',
        b'{"op": "read", "source": "/etc/hosts", "offset": -1}\n',
        b'{"op": "put", "source": "relative", "target": "/tmp/x"}\n',
        b'{"op": "time"',
    ):
        assert say(data)["error"]["message"], data
    with wire.connect(lent.trial) as silent:
        assert lent.told("time")["left"] > 0
        assert silent.fileno() >= 0
    assert lent.drive("run", "echo still there").stdout == b"still there\n"


def test_a_sandbox_that_its_driver_fills_is_judged(lend: Lend) -> None:
    """What the driver does to its sandbox is the agent's doing, and the driver is told."""
    lent = lend()
    boxes = json.loads((lent.trial / "sandbox.json").read_text())["sandboxes"]
    if not all(box["enforced"]["memory"].startswith("enforced") for box in boxes.values()):
        pytest.skip("this machine enforces no limit of memory")
    lent.drive("run", "mkdir -p /app/out; echo one > /app/out/words.txt")
    fill = "mount -t tmpfs -o size=2G t /mnt && head -c 1G /dev/zero > /mnt/x"
    assert b"the sandbox is gone" in lent.drive("run", fill, status=125).stderr
    (trial,) = lent.ended().trials
    assert (trial.verdict.value, trial.cause) == ("failed", "AgentFilledMemory")
    assert [m.id for m in trial.milestones if m.status == "passed"] == ["one"]


def test_a_job_that_dies_waits_no_more_and_begins_again(lend: Lend) -> None:
    lent = lend("--job-name", "dies")
    plain.kill_all(lent.process, lent.job)
    assert (lent.trial / wire.NAME).exists(), "what the dead left"
    assert "waits for a driver" in lent.drive("time", status=2).stderr.decode()
    resumed = lent.process = _resume(lent.top)
    try:
        lent.trials = found(resumed, lent.top, 1)
        assert lent.told("time")["worked"] < 300
        lent.drive("submit")
        assert len(lent.ended().trials) == 1
    finally:
        resumed.terminate()
        resumed.communicate()
    assert not is_held(lent.job)


def _resume(top: Path) -> plain.subprocess.Popen[str]:
    return plain.subprocess.Popen(
        [plain.BENCHFLOW, "resume", "dies"],
        stdout=plain.subprocess.PIPE,
        stderr=plain.subprocess.STDOUT,
        text=True,
        cwd=top,
        env=os.environ,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["-a", "external", "--sandbox", "docker"],
            "works in the sandboxes namespace and vm, not in docker",
        ),
        (["-a", "external:a b"], "external:a b is no name for who drives"),
    ],
)
def test_what_cannot_be_driven_is_said_before_anything_starts(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    plain.shared(tmp_path / "task")
    done = benchflow("run", "task", *arguments, cwd=tmp_path, status=2)
    assert message in done.stderr
    assert not (tmp_path / "jobs").exists()
