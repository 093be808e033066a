"""Whatever an agent delivers, the trial is judged, the host stays whole, and nothing is gained.

One real job: a small task, the real sandbox, the real verifier, and one scripted agent for each
kind of deliverable.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lamp import TASK_TOML
from tests.needs import needs

BENCHFLOW = str(Path(sys.executable).parent / "benchflow")

CHECKS = """from benchflow.boot import check, milestone


@milestone("there", proves=["R1"])
def test_it_is_there(deliverable):
    assert deliverable().is_file()


@milestone("on", requires=["there"], proves=["R2"])
def test_it_is_on(deliverable):
    assert deliverable().read_text(errors="replace")[:10] == "light on"
"""

#: What the agent does, and the milestones that it thereby earns.
DELIVERED = {
    "honest": ("printf 'light on' > /app/lamp.img", {"there", "on"}),
    "nothing": ("true", set()),
    "empty": (": > /app/lamp.img", set()),
    "directory": ("mkdir -p /app/lamp.img; printf 'light on' > /app/lamp.img/lamp.img", set()),
    "link-to-host-file": ("ln -s /etc/passwd /app/lamp.img", set()),
    "link-to-own-file": ("printf 'light on' > /app/real; ln -s real /app/lamp.img", set()),
    "link-to-verifier": ("ln -s /tests/checks.py /app/lamp.img", set()),
    # Inside its own root a link is the agent's business: the content is what it says.
    "parent-is-a-link": (
        "rm -rf /app; mkdir /other; printf 'light on' > /other/lamp.img; ln -s /other /app",
        {"there", "on"},
    ),
    "terabyte": ("truncate -s 1T /app/lamp.img", set()),
    "too-large": ("truncate -s 65M /app/lamp.img", set()),
    "fifo": ("mkfifo /app/lamp.img", set()),
    "device": ("mknod /app/lamp.img c 1 5", set()),
    "socket": (
        "perl -MIO::Socket::UNIX -e "
        "'IO::Socket::UNIX->new(Local => \"/app/lamp.img\", Listen => 1)'",
        set(),
    ),
    "wrong": ("printf 'light off' > /app/lamp.img", {"there"}),
    "binary": ("head -c 4096 /dev/urandom > /app/lamp.img", {"there"}),
    "set-uid": (
        "cp /bin/sh /app/lamp.img; chmod 4755 /app/lamp.img",
        {"there"},
    ),
    "hard-link": ("ln /etc/passwd /app/lamp.img", {"there"}),
    "forged-rewards": (
        'for d in /logs/verifier /logs/agent /logs/artifacts /tests /; do mkdir -p "$d"; '
        'echo \'{"reward": 1, "resolved": 1, "milestone.on": 1}\' > "$d/reward.json"; '
        'echo 1 > "$d/reward.txt"; done; printf "light off" > /app/lamp.img',
        {"there"},
    ),
    "poisoned-python": (
        "printf '#!/bin/sh\\nexit 0\\n' > /usr/local/bin/python3; "
        "chmod 755 /usr/local/bin/python3; mkdir -p /tests; "
        "echo 'raise SystemExit(0)' > /tests/conftest.py; "
        "(setsid sleep 600 &) ; printf 'light off' > /app/lamp.img",
        {"there"},
    ),
}


@pytest.fixture(scope="module")
@needs("sandbox", "mirror")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, object]]]:
    top = tmp_path_factory.mktemp("hostile")
    task = top / "embedded" / "lamp"
    files = {
        "task.toml": TASK_TOML.split("[[metadata.benchflow.exploits]]")[0].replace(
            'kind = "disk"', 'kind = "file"'
        ),
        "instruction.md": "Build a lamp. [R1] It is there. [R2] It is on.\n",
        "environment/Dockerfile": "FROM debian:bookworm\nRUN mkdir /app\n",
        "solution/solve.sh": "#!/bin/sh\nprintf 'light on' > /app/lamp.img\n",
        "tests/checks.py": CHECKS,
    }
    for name, text in files.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)
    command = [BENCHFLOW, "run", str(task), "--json", "--jobs-dir", str(top / "jobs")]
    for name, (script, _) in DELIVERED.items():
        (top / f"{name}.txt").write_text(script + "\n")
        command += ["--agent", f"scripted:{top / name}.txt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=top)
    assert done.stdout, done.stderr[-3000:]
    (job,) = json.loads(done.stdout)["jobs"]
    yield {trial["agent"].partition(":")[2]: trial for trial in job["trials"]}


@pytest.mark.parametrize("name", DELIVERED)
def test_it_is_judged_and_earns_what_it_is(name: str, trials: dict[str, dict[str, object]]) -> None:
    trial = trials[name]
    earned = DELIVERED[name][1]
    passed = {m["id"] for m in trial["milestones"] if m["status"] == "passed"}  # type: ignore[attr-defined]
    assert trial["verdict"] == ("resolved" if earned == {"there", "on"} else "failed"), trial
    assert passed == earned, trial


def test_no_host_file_came_along(trials: dict[str, dict[str, object]]) -> None:
    host = Path("/etc/passwd").read_bytes()
    for name in ("link-to-host-file", "hard-link"):
        artifacts = Path(str(trials[name]["path"])) / "artifacts"
        for path in artifacts.rglob("*"):
            if path.is_file() and not path.is_symlink():
                assert path.read_bytes() != host


def test_no_set_uid_bit_came_out(trials: dict[str, dict[str, object]]) -> None:
    artifacts = Path(str(trials["set-uid"]["path"])) / "artifacts"
    files = [path for path in artifacts.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if path.stat().st_mode & 0o6000]
