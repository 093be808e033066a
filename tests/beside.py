"""What takes longest runs beside the other tests: the oracles whose turn it is, then, one after the
other, the fast gates of every task, which on a new machine build all images.

It begins with the first test of a run in which anybody asks for it, and who asks comes last.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.run.plain import BENCHFLOW, hear

ROOT = Path(__file__).parents[1]
FAST = ("check", "*/*", "--fast", "--gate", "offline", "--json")
#: Task → gate → result.
type Gates = dict[str, dict[str, dict[str, Any]]]


def by_gate(output: str) -> Gates:
    tasks = json.loads(output)["tasks"]
    return {name: {result["gate"]: result for result in results} for name, results in tasks.items()}


@dataclass
class Beside:
    """Commands that run one after another, and what they said."""

    folder: Path
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    running: subprocess.Popen[bytes] | None = None
    is_over: bool = False
    said: dict[str, Future[str]] = field(default_factory=dict)

    def add(self, name: str, *arguments: str) -> None:
        self.said[name] = self.pool.submit(self._run, name, arguments)

    def _run(self, name: str, arguments: tuple[str, ...]) -> str:
        output, errors = self.folder / f"{name}.out", self.folder / f"{name}.err"
        with output.open("w") as stdout, errors.open("w") as stderr:
            self.running = subprocess.Popen(
                [BENCHFLOW, *arguments], stdout=stdout, stderr=stderr, cwd=ROOT, preexec_fn=hear
            )
            if self.is_over:
                self.running.send_signal(signal.SIGINT)
            status = self.running.wait()
        assert status in (0, 1, 4), errors.read_text()[-4000:]
        return output.read_text()

    def stop(self) -> None:
        self.is_over = True
        if self.running is not None and self.running.poll() is None:
            self.running.send_signal(signal.SIGINT)
        self.pool.shutdown(cancel_futures=True)


def _asks(item: pytest.Item) -> bool:
    return not {"fast", "oracles"}.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_asks)


@pytest.fixture(scope="session", autouse=True)
def beside(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Beside]:
    """What is asked for in this run, under way."""
    found = Beside(tmp_path_factory.mktemp("beside"))
    asking = [item for item in request.session.items if _asks(item)]
    chosen = [
        item.callspec.params["name"]
        for item in asking
        if isinstance(item, pytest.Function) and "oracles" in item.fixturenames
    ]
    if chosen:
        jobs = str(found.folder / "jobs")
        options = ("--agent", "oracle", "-n", "1", "--jobs-dir", jobs, "--json")
        found.add("oracles", "run", *chosen, *options)
    if len(asking) > len(chosen):
        found.add("fast", *FAST)
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="session")
def oracles(beside: Beside) -> dict[str, Any]:
    """Task → the trial of its oracle, of all tasks that are this run's turn."""
    (job,) = json.loads(beside.said["oracles"].result())["jobs"]
    return {trial["task"]: trial for trial in job["trials"]}


@pytest.fixture(scope="session")
def fast(beside: Beside) -> Gates:
    """Task → its fast gates."""
    return by_gate(beside.said["fast"].result())
