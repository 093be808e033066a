"""A small valid task folder that tests may break: import `lamp` and `edit` as fixtures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Edit = Callable[[str, str, str], Path]

TASK_TOML = """schema_version = "1.4"
[task]
name = "benchflow/lamp"
version = "1.0.0"
description = "A lamp that lights up when it boots"
authors = [{ name = "A. Author" }]
[agent]
timeout_sec = 600
[verifier]
timeout_sec = 300
[environment]
memory_mb = 1024
network_mode = "no-network"
[metadata.benchflow]
topic = "embedded"
name = "lamp"
skills = ["init"]
arch = "x86_64"
firmware = "bios"
expert_minutes = 30
expert_minutes_basis = "estimated"
oracle_minutes = 1
[[metadata.benchflow.deliverables]]
path = "/app/lamp.img"
kind = "disk"
max_mb = 64
[[metadata.benchflow.exploits]]
script = "painted"
allowed = ["lit"]
why = "a painted lamp looks lit from afar"
"""

CHECKS = """from benchflow.boot import check, milestone


@milestone("lit", weight=1, proves=["R1"], title="it lights up")
def test_lit(machine):
    machine.boot()


@milestone("warm", weight=2, requires=["lit"], proves=["R2"])
def test_warm(machine):
    assert machine.alive


@check("warm", proves=["R1"])
def test_still_lit(machine):
    assert machine.alive
"""


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    """A small valid task folder that a test may break."""
    folder = tmp_path / "embedded" / "lamp"
    files = {
        "task.toml": TASK_TOML,
        "instruction.md": "Build a lamp. [R1] It lights up. [R2] It gets warm.\n",
        "environment/Dockerfile": "FROM debian:bookworm\n",
        "solution/solve.sh": "#!/bin/sh\n",
        "tests/checks.py": CHECKS,
        "hints/1.md": "Think of electricity.\n",
        "hints/2.md": "Find a socket.\n",
        "exploits/painted.sh": "#!/bin/sh\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def edit(lamp: Path) -> Edit:
    """`edit(file, old, new)` changes one place of the task; returns the task's folder."""

    def change(name: str, old: str, new: str) -> Path:
        path = lamp / name
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        path.write_text(text.replace(old, new))
        return lamp

    return change
