"""The fast gates of every task run beside the other tests of the catalogue, its oracles above all.

On a new machine nearly all of their time, minutes, goes into images that are built one after the
other. So they begin with the first test of this folder, and who asks for them is its last.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.run.plain import BENCHFLOW, hear

HERE = Path(__file__).parent
FAST = ("check", "*/*", "--fast", "--gate", "offline", "--json")
#: Task → gate → result.
Gates = dict[str, dict[str, dict[str, Any]]]


def by_gate(output: str) -> Gates:
    tasks = json.loads(output)["tasks"]
    return {name: {result["gate"]: result for result in results} for name, results in tasks.items()}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = [place for place, item in enumerate(items) if item.path.parent == HERE]
    ordered = sorted((items[place] for place in places), key=_asks)
    for place, item in zip(places, ordered, strict=True):
        items[place] = item


def _asks(item: pytest.Item) -> bool:
    return "fast" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session", autouse=True)
def fast_gates(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Gates]]:
    """Waits for the fast gates, where any test of this run asks for them."""
    if not any(_asks(item) for item in request.session.items):
        yield dict
        return
    folder = tmp_path_factory.mktemp("fast")
    output, errors = folder / "output", folder / "errors"

    def wait() -> Gates:
        status = process.wait()
        assert status in (0, 1, 4), errors.read_text()[-4000:]
        return by_gate(output.read_text())

    with (
        output.open("w") as stdout,
        errors.open("w") as stderr,
        subprocess.Popen(
            [BENCHFLOW, *FAST], stdout=stdout, stderr=stderr, cwd=HERE.parents[1], preexec_fn=hear
        ) as process,
    ):
        yield wait
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
