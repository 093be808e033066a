"""A whole verification of a real guest: the ladder, the evidence, and nothing left behind."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from verifier_runs import command, deliverable, run, write_task, zipapp

from guests import debian_kernel

CHECKS = """
from benchflow.boot import check, kernel_release, milestone

@milestone("kernel", proves=["R1"])
def test_kernel_starts(machine, metric):
    machine.boot().expect_kernel()
    metric("boots", machine.boots)

@milestone("login", requires=["kernel"], proves=["R2"])
def test_root_can_log_in(machine):
    assert machine.login("root", "toor", timeout=60).run("id -u").stdout.strip() == "0"

@check("login", proves=["R3"])
def test_the_release_is_the_delivered_one(machine, deliverable):
    expected = kernel_release(deliverable().read_bytes())
    assert machine.shell.run("uname -r").stdout.strip() == expected

@milestone("other", proves=["R4"])
def test_a_wrong_password(machine):
    machine.power_cut()
    machine.boot().login("root", "wrong", timeout=30)

@milestone("hang", requires=["login"], proves=["R5"])
def test_hang(machine):
    machine.power_cut()
    machine.boot().expect("this never comes", timeout=HANG)
"""


@pytest.fixture
def tests(tmp_path: Path, login_initrd: Path):
    shutil.copy(debian_kernel(), tmp_path / "kernel")
    shutil.copy(login_initrd, tmp_path / "initrd")

    def write(hang: int) -> Path:
        return write_task(
            tmp_path / "tests",
            CHECKS.replace("HANG", str(hang)),
            firmware="direct",
            deliverables=[
                deliverable(tmp_path / "kernel", "kernel"),
                deliverable(tmp_path / "initrd", "initramfs"),
            ],
        )

    return write


def test_a_guest_is_booted_questioned_and_recorded(tests, tmp_path: Path) -> None:
    done = run(zipapp(tmp_path / "boot"), tests(1), tmp_path / "logs")
    assert done.status == 0, done.stderr
    assert done.milestones == {
        "kernel": "passed", "login": "passed", "other": "failed", "hang": "failed",
    }, done.stdout  # fmt: skip
    assert done.reward["metric.boots"] == 1
    host = done.json("milestones.json")["host"]
    assert host["accelerator"] in ("tcg", "kvm") and host["speed"] > 0
    events = [e["event"] for e in done.progress]
    assert events.count("calibrated") == 1
    assert [e["n"] for e in done.progress if e["event"] == "boot"] == [1, 2, 3]
    boots = done.json("main.qemu.json")["boots"]
    assert len(boots) == 3
    assert boots[0]["command"][0].endswith("qemu-system-x86_64")
    rows = [json.loads(row) for row in (done.logs / "main.console.cast").read_text().splitlines()]
    labels = [row[2] for row in rows[1:] if row[1] == "m"]
    for label in ("boot 1", "milestone kernel: passed", "milestone hang: failed"):
        assert label in labels
    assert "Linux version" in "".join(row[2] for row in rows[1:] if row[1] == "o")


@pytest.mark.slow
def test_an_interrupted_run_leaves_no_machine_behind(tests, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    process = subprocess.Popen(
        command(zipapp(tmp_path / "boot"), tests(300), logs), stderr=subprocess.DEVNULL
    )
    progress = logs / "progress.jsonl"
    while not (progress.exists() and '"n": 3' in progress.read_text()):
        time.sleep(0.1)
        assert process.poll() is None
    assert machines(tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 3
    assert not machines(tmp_path)
    assert not (logs / "reward.json").exists()
    assert json.loads((logs / "milestones.json").read_text())["milestones"][1]["status"] == "passed"


def machines(folder: Path) -> list[str]:
    """The QEMU processes that work on a file in `folder`."""
    found = []
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = cmdline.read_bytes()
        except OSError:
            continue
        if b"qemu-system" in text and str(folder).encode() in text:
            found.append(cmdline.parent.name)
    return found
