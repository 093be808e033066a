"""Several workers: who gets which tests, and in which order (pytest-xdist, `-n`).

A unit is a file, since tests of a file share machines, sandboxes and servers. What takes longest
comes first, so that no worker is left with it at the end; the groups of `GROUPS` are one unit, and
tests marked `alone` are the last, when all other workers have ended.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests import needs

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

#: Folders whose files share what takes longer to make than most of their tests run.
GROUPS = ("tests/analysis/", "tests/site/")
ALONE = "@alone"
#: Seconds that a test takes, about: the order of files follows from their sums.
_SECONDS = {"long": 1000.0, "slow": 60.0, "time": 10.0, "qemu": 8.0, "sandbox": 8.0, "browser": 3.0}
_OTHERS = 0.2
#: A worker needs this much at least (a site with a trajectory of 50,000 steps).
_GIB_A_WORKER = 2
_WAIT_SECONDS = 3600
_folder = pytest.StashKey[Path]()


def seconds(item: pytest.Item) -> float:
    """A guess that orders files."""
    names = [*needs.of(item), *(mark.name for mark in item.iter_markers())]
    if {"oracles", "fast"} & set(getattr(item, "fixturenames", ())):
        names.append("long")
    return max([_OTHERS, *(_SECONDS.get(name, 0) for name in names)])


def unit(nodeid: str, alone: frozenset[str] = frozenset()) -> str:
    """What is given to a worker as a whole; `alone`: the tests that no other may run beside."""
    if nodeid in alone:
        return ALONE
    file = nodeid.partition("::")[0]
    return next((group for group in GROUPS if file.startswith(group)), file)


def is_alone(item: pytest.Item) -> bool:
    return item.get_closest_marker("alone") is not None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Units by what they take; the longest test of a unit does not move within it."""
    alone = frozenset(item.nodeid for item in filter(is_alone, items))
    workerinput = getattr(config, "workerinput", None)
    if workerinput is None:
        return  # one process keeps the order of files
    # All that the controller is told of a test is its name.
    _listed(Path(workerinput["at_work"])).write_text("\n".join(sorted(alone)))
    units = {item.nodeid: unit(item.nodeid, alone) for item in items}
    sums: dict[str, float] = {}
    for item in items:
        sums[units[item.nodeid]] = sums.get(units[item.nodeid], 0.0) + seconds(item)
    items.sort(key=lambda item: (is_alone(item), -sums[units[item.nodeid]], units[item.nodeid]))


def _listed(folder: Path) -> Path:
    """Where workers, which all collect the same, write down which tests are alone."""
    return folder.with_suffix(".alone")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Half as many more as there are processors: a test waits half of its time, for machines that
    boot as for others' limits, and the quick ones for processes (157 s with three, 183 s with two).
    """
    processors = len(os.sched_getaffinity(0))
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return max(1, min(processors + (processors + 1) // 2, gib // _GIB_A_WORKER))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class ByUnit(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid, frozenset(_listed(config.stash[_folder]).read_text().split("\n")))

    config.option.loadscopereorder = False
    return ByUnit(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Tell a worker where the others that are at work can be seen."""
    if _folder not in node.config.stash:
        node.config.stash[_folder] = Path(tempfile.mkdtemp(prefix="benchflow-workers-"))
    folder = node.config.stash[_folder]
    node.workerinput["at_work"] = str(folder)
    (folder / node.gateway.id).touch()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController, error: object) -> None:
    (node.config.stash[_folder] / node.gateway.id).unlink(missing_ok=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    workerinput = getattr(item.config, "workerinput", None)
    if workerinput is None or not is_alone(item):
        return
    at_work = Path(workerinput["at_work"])
    end = time.monotonic() + _WAIT_SECONDS
    while [path.name for path in at_work.iterdir()] != [workerinput["workerid"]]:
        assert time.monotonic() < end, "another worker does not end"
        time.sleep(0.5)
