"""The catalogue's own gates: the fast ones for every task, all of them for tasks that changed.

Slow tests run by turns of twenty (tests/conftest.py), so "changed" looks back over twenty commits:
a change meets its full gates within twenty runs. They are given ten minutes, so that all tests
together stay below 45 on a host of less than half the reference's speed; gates that passed are
remembered, and what is left is named and has to be run by hand (CONTRIBUTING.md).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import TURNS, current_turn
from tests.long_runs import Gates, by_gate
from tests.run.plain import BENCHFLOW, hear

from benchflow.authoring.gate_record import standing
from benchflow.authoring.trials import JOBS
from benchflow.tasks import load, names, root

ROOT = Path(__file__).parents[2]
FULL_SECONDS = 10 * 60
#: What a gate may have taken when it was recorded, to be repeated in every run of the tests.
RETRY_SECONDS = 60


def check(*arguments: str, timeout: float) -> Gates:
    """All gates; when time is over, what is remembered by then."""
    command = [BENCHFLOW, "check", *arguments, "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT, preexec_fn=hear
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.communicate()
            return {name: remembered(name) for name in arguments}
    return by_gate(output)


def remembered(name: str) -> dict[str, Any]:
    shown = subprocess.run(
        [BENCHFLOW, "review", name, "--json"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    gates: dict[str, Any] = json.loads(shown.stdout)["gates"]
    return gates


def touched() -> list[str]:
    """Tasks with a change in as many commits as slow tests have turns, or in this checkout.

    Skips the test where git cannot tell: a copy without a repository, or too short a history.
    """
    base = os.environ.get("BENCHFLOW_CI_BASE", f"HEAD~{TURNS}")
    changed = ""
    for command in (
        ["diff", "--name-only", base, "--"],
        ["ls-files", "--others", "--exclude-standard"],
    ):
        done = subprocess.run(
            ["git", "-C", str(ROOT), *command], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"git cannot say which tasks changed since {base}: {done.stderr.strip()}")
        changed += done.stdout
    lines = changed.splitlines()
    return [name for name in names() if any(line.startswith(f"tasks/{name}/") for line in lines)]


def weak(results: dict[str, Any]) -> dict[str, list[str]]:
    return {
        gate: result["findings"] or [result["summary"]]
        for gate, result in results.items()
        if result and result["status"] in ("failed", "error")
    }


@pytest.mark.parametrize("name", names())
def test_the_fast_gates_hold(name: str, fast: Gates) -> None:
    assert set(fast[name]) >= {"schema", "coverage", "leaks", "nop", "offline"}
    assert weak(fast[name]) == {}


def test_the_record_is_of_tasks_that_exist_and_of_gates_that_hold() -> None:
    recorded = json.loads((ROOT / "tasks" / "gates.json").read_text())["tasks"]
    assert set(recorded) <= set(names())
    statuses = {result["status"] for task in recorded.values() for result in task["gates"].values()}
    assert statuses <= {"passed", "not applicable"}


def retried(turn: int) -> tuple[str, str] | None:
    """Task and gate whose turn it is, of the recorded ones that are cheap enough to be repeated.

    Only what holds today: the record of a task that has changed says nothing that could be tried.
    """
    cheap = []
    for name in names():
        found = standing(load(root() / name))
        held = {} if found is None or found.stale else found.gates
        cheap += [
            (name, gate)
            for gate, result in held.items()
            if gate in JOBS and result.status == "passed" and result.seconds <= RETRY_SECONDS
        ]
    return cheap[turn % len(cheap)] if cheap else None


@pytest.mark.needs("sandbox")
def test_a_recorded_gate_passes_again() -> None:
    """A record is trusted because it is tried again, another gate with each commit."""
    chosen = retried(current_turn())
    if chosen is None:
        pytest.skip("no gate is recorded for what the tasks are now")
    name, gate = chosen
    done = subprocess.run(
        [BENCHFLOW, "check", name, "--gate", gate, "--again", "--json"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode in (0, 1, 4), done.stderr
    assert weak(by_gate(done.stdout)[name]) == {}, f"{name} {gate}"


@pytest.mark.slow(at=15)  # by itself, and beside one oracle at most
def test_every_gate_holds_for_what_changed(fast: Gates) -> None:
    """After the fast ones, whose trials of the same tasks it would meet under way."""
    tasks = touched()
    if not tasks:
        pytest.skip(f"no task changed in {TURNS} commits")
    results = check(*tasks, timeout=FULL_SECONDS)
    # Variants come to one task after another: one that has none yet is told, and not failed.
    without = [name for name in tasks if not load(root() / name).variants]
    for name in without:
        results[name].pop("variants", None)
    assert {name: weak(gates) for name, gates in results.items()} == {key: {} for key in results}
    left = [
        f"{n}: {', '.join(g for g, r in gates.items() if not r)}" for n, gates in results.items()
    ]
    if any(not result for gates in results.values() for result in gates.values()):
        pytest.skip(f"time is over; run these by hand: {'; '.join(left)}")
    if without:
        pytest.skip(f"these have no variants yet: {', '.join(without)}")
