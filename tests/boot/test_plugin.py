"""Checks run in file order, milestones follow from them, and nothing else decides a reward."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hostile import images as hostile
from verifier_runs import PYTHON, PYTHONS, Run, command, deliverable, run, write_task, zipapp

from benchflow.boot import memory
from benchflow.boot.errors import GuestError, GuestTimeout
from benchflow.boot.fault import fault
from benchflow.boot.runner import time_budget

HEADER = "from benchflow.boot import check, milestone, GuestError, VerifierBroken\n"


@pytest.fixture(scope="session")
def boot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return zipapp(tmp_path_factory.mktemp("boot"))


@pytest.fixture
def verify(boot: Path, tmp_path: Path):
    def go(
        checks: str,
        *,
        python: str = PYTHON,
        env: dict | None = None,
        asked: tuple[str, ...] = (),
        **manifest,
    ) -> Run:
        tests = write_task(tmp_path / "tests", HEADER + checks, **manifest)
        more = tuple(part for name in asked for part in ("--milestone", name))
        return run(boot, tests, tmp_path / "logs", python, env, more)

    return go


LADDER = """
@milestone("kernel", weight=1, proves=["R1"])
def test_kernel(): pass

@milestone("login", weight=2, requires=["kernel"], proves=["R2"])
def test_login(): pass

@check("login", proves=["R3"])
def test_hostname():
    assert "gw" == "localhost"

@check("login", proves=["R3"])
def test_after_a_failure(): pass

@milestone("net", weight=1, requires=["login"])
def test_net(): raise SystemError("must not be run")

@milestone("far", weight=1, requires=["net"])
def test_far(): raise SystemError("must not be run")

@milestone("disk", weight=5, requires=["kernel"])
def test_disk(): pass
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_a_ladder_is_climbed_as_far_as_it_goes(verify, python: str) -> None:
    done = verify(LADDER, python=python)
    assert done.status == 0, done.stderr
    assert done.milestones == {
        "kernel": "passed", "login": "failed", "net": "not reached",
        "far": "not reached", "disk": "passed",
    }  # fmt: skip
    assert done.reward == {
        "reward": 0.6, "resolved": 0, "milestone.kernel": 1, "milestone.login": 0,
        "milestone.net": 0, "milestone.far": 0, "milestone.disk": 1,
    }  # fmt: skip
    statuses = {name: check["status"] for name, check in done.checks.items()}
    assert statuses == {
        "test_kernel": "passed", "test_login": "passed", "test_hostname": "failed",
        "test_after_a_failure": "passed", "test_net": "not run", "test_far": "not run",
        "test_disk": "passed",
    }  # fmt: skip
    assert "assert 'gw' == 'localhost' (checks.py:11)" in done.checks["test_hostname"]["message"]
    assert done.broken is None


def test_the_log_ends_with_a_short_ladder(verify) -> None:
    done = verify(LADDER)
    lines = done.stdout.splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("✓ kernel  passed")
    assert lines[2] == "    test_hostname: assert 'gw' == 'localhost' (checks.py:11)"
    assert lines[-1].startswith("failed: 2/5 milestones, reward 0.600")
    assert done.stderr == ""


@pytest.mark.parametrize("python", PYTHONS)
def test_of_some_milestones_nothing_else_is_run_and_nothing_is_a_verdict(verify, python) -> None:
    assert verify(LADDER).reward is not None
    done = verify(LADDER, asked=("disk",), python=python)
    assert done.status == 0, done.stderr
    assert done.reward is None, "that of the run before is gone as well"
    assert done.json("partial.json") == {"schema": 1, "milestones": ["disk"]}
    told = done.json("milestones.json")
    assert (told["partial"], told["reward"], told["resolved"]) == (["disk"], None, None)
    assert {name for name, check in done.checks.items() if check["status"] != "not run"} == {
        "test_kernel", "test_disk"
    }  # fmt: skip
    assert done.checks["test_login"]["message"] == "left out: only disk had to be known"
    assert done.stdout.splitlines()[-1].startswith("partial: disk alone, so no verdict")
    assert done.progress[-1]["partial"] == ["disk"]


def test_what_was_asked_for_is_run_in_turn_until_it_cannot_pass(verify) -> None:
    done = verify(LADDER, asked=("disk", "far", "login"))
    assert done.milestones == {
        "kernel": "passed", "login": "failed", "net": "not reached",
        "far": "not reached", "disk": "passed",
    }  # fmt: skip
    began = [each["name"] for each in done.progress if each.get("status") == "running"]
    assert began == ["test_kernel", "test_login", "test_hostname", "test_disk"]
    assert done.json("partial.json")["milestones"] == ["login", "far", "disk"]


def test_each_is_run_before_what_only_a_later_one_requires(verify) -> None:
    done = verify(
        '@milestone("a")\ndef test_a(): pass\n@milestone("b")\ndef test_b(): pass\n'
        '@milestone("c", requires=["a"])\ndef test_c(): pass\n'
        '@milestone("d", requires=["b"])\ndef test_d(): pass\n',
        asked=("c", "d"),
    )
    began = [each["name"] for each in done.progress if each.get("status") == "running"]
    assert began == ["test_a", "test_c", "test_b", "test_d"]


def test_what_checks_share_lives_until_the_last_of_those_that_were_asked_for(verify) -> None:
    done = verify(
        "import pytest\nENDED = []\n"
        '@pytest.fixture(scope="session")\ndef shared():\n    yield 1\n    ENDED.append(1)\n'
        '@milestone("a")\ndef test_a(shared): pass\n'
        '@check("a")\ndef test_more(shared): assert not ENDED\n'
        '@milestone("z")\ndef test_z(shared): assert not ENDED\n',
        asked=("a", "z"),
    )
    assert done.milestones == {"a": "passed", "z": "passed"}


def test_a_milestone_that_is_not_there_is_a_mistake_of_who_asked(verify) -> None:
    done = verify(LADDER, asked=("kernal",))
    assert (done.status, done.reward) == (3, None)
    assert "there is no milestone 'kernal' (known: kernel, login" in done.broken["message"]
    assert not (done.logs / "partial.json").exists()


def test_a_part_that_breaks_says_nothing(verify) -> None:
    done = verify('@milestone("a")\ndef test_a(): raise VerifierBroken("x")\n', asked=("a",))
    assert (done.status, done.reward) == (3, None)
    assert done.broken is not None
    assert not (done.logs / "partial.json").exists()


def test_the_ladder_can_be_had_as_json(boot, tmp_path: Path) -> None:
    tests, logs = write_task(tmp_path / "tests", HEADER + LADDER), tmp_path / "logs"
    done = subprocess.run([*command(boot, tests, logs), "--json"], capture_output=True, check=True)
    printed, written = json.loads(done.stdout), json.loads((logs / "milestones.json").read_text())
    assert printed["milestones"] == written["milestones"]
    assert printed["reward"] == 0.6


def test_everything_passed_is_resolved(verify) -> None:
    done = verify(
        '@milestone("a", weight=0.1)\ndef test_a(): pass\n'
        '@milestone("b", weight=0.7)\ndef test_b(): pass\n'
        '@milestone("c", weight=0.2)\ndef test_c(metric): metric("boot_seconds", 4.25)\n'
    )
    assert done.reward is not None
    assert done.reward["reward"] == 1.0
    assert done.reward["resolved"] == 1
    assert done.reward["metric.boot_seconds"] == 4.25


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ('raise GuestError("no login came", evidence="x")', "failed", "no login came"),
        ("assert 1 == 2", "failed", "assert 1 == 2"),
        ('{}["x"]', "crashed", "KeyError: 'x'"),
        ("import sys; sys.exit(0)", "crashed", "SystemExit: 0"),
        ("def f(): return f()\n    f()", "crashed", "RecursionError"),
        ('open("/nonexistent")', "crashed", "FileNotFoundError"),
        ('import pytest; pytest.skip("no time")', "failed", "skipped: no time"),
        ('import pytest; pytest.xfail("known")', "crashed", "known"),
        (
            'from benchflow.boot import CheckMisuse; raise CheckMisuse("log in first")',
            "crashed",
            "log in first",
        ),
        ('raise ConnectionResetError("guest hung up")', "crashed", "guest hung up"),
        ("raise KeyError(1 << 20000)", "crashed", "cannot be shown: ValueError"),
        ("bytes(1 << 44)", "crashed", "MemoryError"),
        pytest.param(
            *("held = b''\n    while True: held += bytes(1 << 26)", "crashed", "MemoryError"),
            marks=pytest.mark.needs("time"),
        ),
    ],
)
def test_whatever_a_check_raises_counts_against_the_agent(
    verify, body: str, status: str, message: str
) -> None:
    done = verify(f'@milestone("a")\ndef test_a():\n    {body}\n')
    assert done.status == 0, done.stderr
    assert done.reward == {"reward": 0.0, "resolved": 0, "milestone.a": 0}
    assert done.checks["test_a"]["status"] == status
    assert message in done.checks["test_a"]["message"]


@pytest.mark.parametrize("size", [3 << 30, 1 << 44])
def test_a_file_that_lies_about_its_size_is_a_failed_check(verify, tmp_path, size: int) -> None:
    """Also where a check reads it by itself; and the next check is judged as ever."""
    (tmp_path / "kit.tar").write_bytes(hostile.sparse_tar(size))
    done = verify(
        "import tarfile\n"
        '@milestone("kit")\ndef test_kit():\n'
        f"    with tarfile.open({str(tmp_path / 'kit.tar')!r}) as tar:\n"
        "        for member in tar: tar.extractfile(member).read()\n"
        '@milestone("b")\ndef test_b(): pass\n'
    )
    assert done.status == 0, done.stderr
    assert done.reward is not None
    assert done.reward["reward"] == 0.5
    assert done.checks["test_kit"]["status"] == "crashed"
    assert "MemoryError" in done.checks["test_kit"]["message"]


@pytest.mark.parametrize(
    ("limit", "held", "size"),
    [
        ("memory.max", "memory.stat", "anon"),
        ("memory/memory.limit_in_bytes", "memory/memory.stat", "total_rss"),
    ],
)
def test_memory_is_the_verifiers_to_lack_near_its_groups_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, held: str, size: str
) -> None:
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    (tmp_path / "memory").mkdir()
    (tmp_path / limit).write_text(f"{1 << 30}\n")
    for used, broken in ((1 << 29, False), (1020 << 20, True)):
        (tmp_path / held).write_text(f"cache {1 << 31}\n{size} {used}\n")
        for error in (MemoryError(), OSError(errno.ENOMEM, "cannot fork")):
            assert (fault(error) == "broken") is broken


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('raise VerifierBroken("no QEMU")', "VerifierBroken"),
        ("import errno; raise OSError(errno.ENOSPC, 'full')", "OSError"),
        ("import errno; raise OSError(errno.EMFILE, 'too many')", "OSError"),
        ("import no_such_module", "ModuleNotFoundError"),
        (
            'try: raise VerifierBroken("no QEMU")\n    except Exception: assert False',
            "VerifierBroken",
        ),
        (
            "import errno\n    try: raise OSError(errno.ENOSPC, 'full')\n"
            '    except OSError as e: raise GuestError("no file") from e',
            "OSError",
        ),
        ("raise KeyboardInterrupt", "Interrupted"),
        ('import pytest; pytest.exit("enough")', "Interrupted"),
    ],
)
def test_a_broken_verifier_writes_no_reward(verify, body: str, reason: str) -> None:
    done = verify(
        '@milestone("first")\ndef test_first(): pass\n'
        f'@milestone("a")\ndef test_a():\n    {body}\n'
        '@milestone("b")\ndef test_b(): raise SystemError("must not be run")\n'
    )
    assert done.status == 3
    assert done.reward is None
    assert done.broken is not None
    assert done.broken["reason"] == reason
    assert "the verifier broke" in done.stderr
    assert done.checks["test_first"]["status"] == "passed"
    assert done.checks["test_a"]["status"] == "not run"
    assert done.checks["test_b"]["status"] == "not run"
    assert done.progress[-1]["event"] == "done"
    assert done.progress[-1]["broken"] == reason
    assert done.json("milestones.json")["reward"] is None


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ("def f(:\n", "not valid Python"),
        ("", "no milestone"),
        ("def test_lonely(): pass\n", "belongs to no milestone"),
        ('@milestone("a")\ndef test_a(): pass\n1/0\n', "ZeroDivisionError"),
        ('@milestone("a")\ndef test_a(no_such_fixture): pass\n', "no_such_fixture"),
        ('@milestone("a", requires=["b"])\ndef test_a(): pass\n', "unknown milestone 'b'"),
        ('@milestone("a")\ndef test_a(): pass\ndel test_a\n', "not there any more"),
        (
            '@milestone("a")\ndef test_a(): pass\nexec("def test_b(): pass")\n',
            "belongs to no milestone",
        ),
        (
            '@milestone("a")\ndef test_a(metric): metric("Not Allowed", 1)\n',
            "metric name 'Not Allowed'",
        ),
        ('@milestone("a")\ndef test_a(deliverable): deliverable("/x")\n', "not declared"),
        ('@milestone("a")\ndef test_a(machine): pass\n', "no deliverable can be booted"),
    ],
)
def test_a_mistake_of_the_author_is_no_ones_verdict(verify, checks: str, said: str) -> None:
    done = verify(checks)
    assert done.status == 3
    assert done.reward is None
    assert said in done.broken["message"]


@pytest.mark.parametrize("manifest", [None, "{", '{"schema": 2}', '{"schema": 1, "arch": "vax"}'])
def test_a_missing_or_wrong_manifest_is_no_verdict(boot, tmp_path, manifest: str | None) -> None:
    tests = write_task(tmp_path / "tests", HEADER + LADDER)
    (tests / "task.json").unlink()
    if manifest is not None:
        (tests / "task.json").write_text(manifest)
    done = run(boot, tests, tmp_path / "logs")
    assert done.status == 3
    assert done.reward is None
    assert "task.json" in done.broken["message"]


def test_a_missing_deliverable_fails_every_check_that_uses_it(verify, tmp_path: Path) -> None:
    done = verify(
        '@milestone("a")\ndef test_a(deliverable): deliverable()\n'
        '@check("a")\ndef test_b(machine): pass\n'
        '@check("a")\ndef test_c(image): image()\n'
        '@milestone("free")\ndef test_free(): pass\n',
        deliverables=[deliverable(tmp_path / "disk.img", "disk")],
    )
    assert done.status == 0, done.stderr
    assert done.milestones == {"a": "failed", "free": "passed"}
    for name in ("test_a", "test_b", "test_c"):
        assert done.checks[name]["status"] == "failed"
        assert "disk.img was not delivered" in done.checks[name]["message"]


def test_parametrized_checks_all_count(verify) -> None:
    done = verify(
        "import pytest\n"
        '@milestone("a")\n@pytest.mark.parametrize("n", [1, 2, 3])\n'
        "def test_a(n): assert n != 2\n"
        '@milestone("b")\ndef test_b(): pass\n'
    )
    assert {name: c["status"] for name, c in done.checks.items()} == {
        "test_a[1]": "passed", "test_a[2]": "failed", "test_a[3]": "passed", "test_b": "passed",
    }  # fmt: skip
    assert done.milestones["a"] == "failed"


def test_fixtures_of_the_task_and_their_failures(verify) -> None:
    done = verify(
        "import pytest\n"
        '@pytest.fixture(scope="session")\ndef server():\n'
        '    yield 1\n    raise GuestError("would not stop")\n'
        '@pytest.fixture(scope="session")\ndef dead(): raise GuestError("never came up")\n'
        '@pytest.fixture\ndef closing():\n    yield\n    raise ValueError("own teardown")\n'
        '@milestone("a")\ndef test_a(server): pass\n'
        '@milestone("b")\ndef test_b(dead): pass\n'
        '@check("b")\ndef test_c(dead): pass\n'
        '@milestone("d")\ndef test_d(closing): pass\n'
        '@milestone("e", requires=["b"])\ndef test_e(server): pass\n'
    )
    assert done.status == 0, done.stderr
    assert done.milestones == {
        "a": "passed", "b": "failed", "d": "failed", "e": "not reached",
    }  # fmt: skip
    assert "never came up" in done.checks["test_c"]["message"]
    assert done.checks["test_d"]["status"] == "crashed"
    assert [e["message"] for e in done.progress if e["event"] == "teardown"] == [
        "GuestError: would not stop"
    ]


def test_modules_and_data_beside_the_checks_can_be_used(boot, tmp_path: Path) -> None:
    tests = write_task(
        tmp_path / "tests",
        HEADER + "from helper import answer\n"
        '@milestone("a")\ndef test_a(from_conftest): assert answer() == from_conftest\n',
    )
    (tests / "helper.py").write_text("def answer(): return 42\n")
    (tests / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef from_conftest(): return 42\n"
    )
    done = run(boot, tests, tmp_path / "logs")
    assert done.reward == {"reward": 1.0, "resolved": 1, "milestone.a": 1}, done.stderr
    assert not list(tests.rglob("__pycache__"))


def test_nothing_outside_the_tests_folder_has_a_say(boot, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "lib").mkdir(parents=True)
    evil = "import os\nos._exit(0)\n"
    (outside / "conftest.py").write_text(evil)
    for name in ("evil", "argparse", "pytest", "json"):
        (outside / "lib" / f"{name}.py").write_text(evil)
    (outside / "pytest.ini").write_text("[pytest]\naddopts = --collect-only -p evil\n")
    tests = write_task(outside / "tests", HEADER + LADDER)
    env = {
        **os.environ,
        "PYTHONPATH": str(outside / "lib"),
        "PYTEST_ADDOPTS": "--collect-only -p evil",
        "PYTEST_PLUGINS": "evil",
        "PYTHONSTARTUP": str(outside / "conftest.py"),
    }
    done = run(boot, tests, tmp_path / "logs", env=env)
    assert done.status == 0, done.stderr
    assert done.reward["reward"] == 0.6


def test_the_reward_of_an_earlier_run_does_not_survive(verify, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("reward.json", "reward.txt"):
        (logs / name).write_text('{"reward": 1.0}')
    done = verify('@milestone("a")\ndef test_a(): raise VerifierBroken("x")\n')
    assert done.status == 3
    assert done.reward is None
    assert not (logs / "reward.txt").exists()


SLOW = """
import time, pathlib
@milestone("a")
def test_a(): pass
@milestone("b")
def test_b(): time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_reward(boot, tmp_path: Path, number: int) -> None:
    tests, logs = write_task(tmp_path / "tests", HEADER + SLOW), tmp_path / "logs"
    process = subprocess.Popen(
        command(boot, tests, logs), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    progress = logs / "progress.jsonl"
    while not (progress.exists() and '"test_b"' in progress.read_text()):
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(number)
    status = process.wait(timeout=20)
    assert not (logs / "reward.json").exists()
    assert status == (-9 if number == signal.SIGKILL else 3)
    lines = [json.loads(line) for line in progress.read_text().splitlines()]
    assert {"id": "a", "status": "passed"}.items() <= lines[2].items()
    if number != signal.SIGKILL:
        assert json.loads((logs / "broken.json").read_text())["reason"] == "Interrupted"
        assert lines[-1]["broken"] == "Interrupted"


def test_a_log_folder_that_cannot_be_written_is_no_verdict(boot, tmp_path: Path) -> None:
    tests = write_task(tmp_path / "tests", HEADER + LADDER)
    done = run(boot, tests, Path("/proc/benchflow-logs"))
    assert done.status == 3
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize("name", ["progress.jsonl", ".milestones.json", ".reward.json"])
def test_a_full_disk_is_no_verdict(boot, tmp_path: Path, name: str) -> None:
    tests, logs = write_task(tmp_path / "tests", HEADER + LADDER), tmp_path / "logs"
    logs.mkdir()
    if name.startswith("."):
        # The temporary file's name holds the process id, which the shell hands on.
        link = f'ln -s /dev/full "{logs}/{name}.$$"; exec "$@"'
    else:
        link = f'ln -s /dev/full "{logs}/{name}"; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", link, "sh", *command(boot, tests, logs)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
    assert not (logs / "reward.json").exists()
    broken = json.loads((logs / "broken.json").read_text())
    assert "No space left on device" in broken["message"]


def test_comparing_what_a_hostile_guest_prints_ends_at_once(verify) -> None:
    done = verify(
        '@milestone("a")\ndef test_a():\n'
        '    left = "\\n".join(str(i) + "x" * 60 for i in range(60000))\n'
        '    right = "\\n".join(str(i) + "y" * 61 for i in range(60000))\n'
        "    assert left == right\n"
        '@check("a")\ndef test_b():\n    assert "\\x1b]0;own3d\\x07ok" == "ok", "\\x1b[2Jgone"\n'
        '@check("a")\ndef test_c():\n    raise GuestError("\\x1b]0;x\\x07" + "A" * 10_000_000)\n'
    )
    assert done.status == 0
    assert done.checks["test_a"]["seconds"] < 20
    for check in done.checks.values():
        assert "\x1b" not in check["message"] and len(check["message"]) < 3000
    assert done.checks["test_b"]["message"].startswith("gone")
    assert "\x1b" not in done.stdout + done.stderr
    assert len(done.stdout) < 2000


@pytest.mark.needs("time")
@pytest.mark.parametrize("python", PYTHONS)
def test_a_guest_that_stalls_fails_and_is_no_error(verify, python: str) -> None:
    start = time.monotonic()
    done = verify(
        "import time\nimport pytest\n"
        "def stall():\n    for _ in range(1000): time.sleep(0.2)\n"
        "@pytest.fixture\ndef never(): stall()\n"
        '@milestone("a")\ndef test_a(): pass\n'
        '@milestone("b")\ndef test_b(never): pass\n'
        '@milestone("c")\ndef test_c(): stall()\n'
        '@check("c")\ndef test_d(): pass\n',
        verifier_sec=4,
        python=python,
    )
    assert time.monotonic() - start < 30
    assert done.status == 0, done.stderr
    assert done.milestones == {"a": "passed", "b": "failed", "c": "failed"}
    assert "the machine stalls" in done.checks["test_b"]["message"]
    assert done.checks["test_c"]["seconds"] < 1
    assert done.checks["test_d"]["status"] == "failed"


@pytest.mark.needs("qemu")
@pytest.mark.parametrize("python", PYTHONS)
def test_selfcheck_names_tools_and_versions(boot: Path, python: str) -> None:
    done = subprocess.run(
        [python, str(boot), "selfcheck"], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["python"].startswith("3.")
    assert "debugfs 1." in found["tools"]["debugfs"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('metric("boot_seconds", float("nan"))', "not a finite number"),
        (
            'import io; machines._machines["main"] = io.StringIO(); machines.create("main")',
            "exists already",
        ),
    ],
)
def test_what_a_guest_can_bring_a_check_to_is_a_verdict(verify, body: str, said: str) -> None:
    done = verify(f'@milestone("a")\ndef test_a(machines, metric):\n    {body}\n')
    assert done.status == 0, done.stderr
    assert done.reward["reward"] == 0
    assert said in done.checks["test_a"]["message"]


def test_a_check_that_takes_the_alarm_for_a_failure_of_the_guest_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_budget, "_AGAIN", 0.2)
    with pytest.raises(GuestTimeout, match="stalls"), time_budget.Budget(0, 0.2).check(1.0):
        with contextlib.suppress(GuestError):
            time.sleep(10)
        time.sleep(10)
