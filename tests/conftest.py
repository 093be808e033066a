"""Slow tests run when their sources were changed (tests/touched.py), the others by turns: every run
takes its share of them, so that some runs cover all.

A share is one of twenty, or of what the marker says: `slow(every=10)`. Who shares with whom follows
from the names, and moves with every test that comes or goes; what is too heavy for that keeps a
turn of the twenty: `slow(at=15)`. The turn is the number of commits, so that consecutive commits
take consecutive shares and a run can be repeated. `--slow all` runs every slow test, `--slow none`
leaves them all out.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests import touched, warm_command

pytest_plugins = ["tests.needs", "tests.workers", "tests.long_runs"]  # in the order of imports

TURNS = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow",
        choices=["turn", "all", "none"],
        default="turn",
        help=f"slow tests: one share of {TURNS} (or as marked) by turns (default), all, or none",
    )


def pytest_configure() -> None:
    # A script's `&` has its programs ignore Ctrl-C, and so would all that they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure() -> None:
    warm_command.stop()


def current_turn() -> int:
    root = Path(__file__).parents[1]
    counted = subprocess.run(
        ["git", "-C", str(root), "rev-list", "--count", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return int(counted.stdout) if counted.returncode == 0 else 0


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    choice = config.getoption("--slow")
    named = [a for a in config.invocation_params.args if "::" in str(a)]
    if choice == "all" or named:
        return
    slow = sorted((item for item in items if item.get_closest_marker("slow")), key=_nodeid)
    chosen = _shares(slow, current_turn()) if choice == "turn" else []
    if choice == "turn":
        files = touched.changed(touched.base())
        chosen += [item for item in slow if touched.is_touched(item, files) and _is_due(item)]
    left_out = [item for item in slow if item not in chosen]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _shares(slow: list[pytest.Item], turn: int) -> list[pytest.Item]:
    kinds: dict[int, list[pytest.Item]] = {}
    placed: list[pytest.Item] = []
    for item in slow:
        marker = item.get_closest_marker("slow")
        assert marker is not None
        if "at" not in marker.kwargs:
            kinds.setdefault(marker.kwargs.get("every", TURNS), []).append(item)
        elif (turn - marker.kwargs["at"]) % TURNS == 0:
            placed.append(item)
    return placed + [item for every, kind in kinds.items() for item in kind[turn % every :: every]]


def _is_due(item: pytest.Item) -> bool:
    """Not so an oracle whose gate is recorded for the task as it is now: its author has run it."""
    if "oracles" not in getattr(item, "fixturenames", ()):
        return "at" not in item.get_closest_marker("slow").kwargs
    from benchflow.authoring.gate_record import due
    from benchflow.tasks import load, root

    assert isinstance(item, pytest.Function)
    return bool(due(load(root() / item.callspec.params["name"]), ["oracle"]))


def _nodeid(item: pytest.Item) -> str:
    return item.nodeid
