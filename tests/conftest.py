"""Slow tests run when their sources were changed (tests/touched.py), the others by turns: every run
takes its share of them, so that some runs cover all.

A share is one of twenty, or of what the marker says: `slow(every=24)`. Who shares with whom follows
from the names, and moves with every test that comes or goes; what is too heavy for that keeps a
turn of the twenty: `slow(at=15)`. The turn is the number of commits, so that consecutive commits
take consecutive shares and a run can be repeated. `--slow all` runs every slow test, `--slow none`
leaves them all out.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests import touched, warm_command

pytest_plugins = ["tests.needs", "tests.workers", "tests.long_runs"]  # in the order of imports

TURNS = 20
#: More slow tests than these, or more than one oracle, would take hours: a change that touches so
#: many is looked at by turns, and the run says how many wait.
MOST_TOUCHED = 8
_waiting = pytest.StashKey[int]()

# How long an example takes to draw or to try says how busy the host is.
settings.register_profile("any host", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any host")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow",
        choices=["turn", "touched", "all", "none"],
        default="turn",
        help=f"slow tests: one share of {TURNS} (or as marked) by turns and what a small change "
        "touches (default), all that it touches, all, or none",
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
    slow = sorted((item for item in items if item.get_closest_marker("slow")), key=_nodeid)
    if choice == "all" or named or not slow:
        return
    chosen = _shares(slow, current_turn()) if choice in ("turn", "touched") else []
    if chosen or choice == "touched":
        files = touched.changed(touched.base())
        more = [item for item in slow if touched.is_touched(item, files) and _is_due(item)]
        more = [item for item in more if item not in chosen]
        oracles = sum("oracles" in getattr(item, "fixturenames", ()) for item in more)
        if choice == "turn" and (len(more) > MOST_TOUCHED or oracles > 1):
            config.stash[_waiting] = len(more)
            more = []
        chosen += more
    left_out = [item for item in slow if item not in chosen]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:  # one of several workers, each of which collects all
        output["waiting"] = session.config.stash.get(_waiting, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    told = getattr(node, "workeroutput", None) or {}
    node.config.stash[_waiting] = told.get("waiting", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if n := terminalreporter.config.stash.get(_waiting, 0):
        terminalreporter.line(f"{n} slow tests that the change touches wait for their turn")
        terminalreporter.line("all of them now: scripts/test --slow touched")


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
