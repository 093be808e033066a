"""What a verification really calls is among what its key is made of: a guest is booted for it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.boot.verifier_runs import deliverable, write_task
from tests.guests import debian_kernel

from benchflow.authoring.meaning.key import SOURCES, reached

pytestmark = pytest.mark.needs("qemu", "guests")

CHECKS = """
import urllib.request

from benchflow.bench.guest import until
from benchflow.bench.http_files import HttpFiles
from benchflow.bench.lanes import Lane, Step
from benchflow.boot import milestone

@milestone("kernel", proves=["R1"])
def test_kernel_starts(machine, metric):
    machine.boot().expect_kernel()
    metric("boots", machine.boots)
    assert until(machine, lambda: machine.alive, 60, "life")
    with Lane({"served": Step(served)}, lambda: None) as lane:
        assert lane.result("served") == b"content"

def served():
    server = HttpFiles("127.0.0.1")
    server.put("a", b"content")
    try:
        with urllib.request.urlopen(f"{server.url}/a", timeout=60) as answer:
            return answer.read()
    finally:
        server.close()

@milestone("cut", requires=["kernel"], proves=["R2"])
def test_it_comes_back(machine):
    machine.power_cut()
    machine.boot().expect_kernel()
    machine.expect("this never comes", timeout=3)
"""
RUN = """
import json, sys, threading
seen = set()
def called(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & 1:  # a function; not the body of a class
        seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))
threading.setprofile(called)
sys.setprofile(called)
from benchflow.boot.__main__ import main
status = main(sys.argv[2:])
sys.setprofile(None)
threading.setprofile(None)
json.dump([status, sorted(seen)], open(sys.argv[1], "w"))
"""


def test_nothing_is_called_that_the_key_does_not_know(tmp_path: Path) -> None:
    shutil.copy(debian_kernel(), tmp_path / "kernel")
    tests = write_task(
        tmp_path / "tests",
        CHECKS,
        firmware="direct",
        deliverables=[deliverable(tmp_path / "kernel", "kernel")],
    )
    told = tmp_path / "told.json"
    arguments = ["verify", "--tests", str(tests), "--logs", str(tmp_path / "logs")]
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(told), *arguments], capture_output=True, check=False
    )
    assert told.is_file(), done.stderr[-2000:]
    status, seen = json.loads(told.read_text())
    assert status == 0, done.stderr[-2000:]
    known = {f"{module}:{name}" for module, name in reached(tests)}
    called = {name for file, qualified in seen if (name := named(file, qualified, tests))}
    assert called - known == set()
    for name in ("boot.machine.virtual_machine:Machine.power_cut", "bench.lanes:Lane.result"):
        assert f"benchflow.{name}" in called
    assert len(called) > 150, "nearly nothing was seen"


def named(file: str, qualified: str, tests: Path) -> str:
    """`module:Class.method` of a function that was called; "" for what is not ours."""
    path = Path(file)
    if path.is_relative_to(SOURCES):
        module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        module = module.removesuffix(".__init__")
    elif path.parent == tests:
        module = path.stem
    else:
        return ""
    name = qualified.partition(".<locals>")[0]
    return "" if name.startswith("<") else f"{module}:{name}"
