"""What would stop a sweep at its start, found without starting anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from benchflow.errors import BenchflowError
from benchflow.run import fitness
from benchflow.run.job.engine import RAY
from benchflow.run.sweep.sweeps import Sweep, missing


def obstacles(sweep: Sweep, engine: str = "") -> list[BenchflowError]:
    """One for each of: the machine, the jobs (a key that is not set, a price that is not known),
    the cluster of `engine` (`run.job.engine.name`). Empty where nothing is left to run."""
    if sweep.n_finished >= sweep.n_planned:
        return []
    return list(_found(sweep, engine))


def _found(sweep: Sweep, engine: str) -> Iterator[BenchflowError]:
    tasks = [cell.planned.task for cell in sweep.cells]
    checks: list[Callable[[], object]] = [
        lambda: fitness.refuse([*dict.fromkeys(tasks)], sweep.file.sandbox),
        lambda: list(missing(sweep, engine)),
    ]
    if engine:
        checks.append(lambda: _connect(engine.removeprefix(f"{RAY}:")))
    for check in checks:
        try:
            check()
        except BenchflowError as error:
            yield error


def _connect(address: str) -> None:
    from benchflow.run.ray_engine.cluster import Cluster

    with ThreadPoolExecutor(1) as beside:  # see Cluster: not of the main thread
        beside.submit(lambda: Cluster(address).close()).result()
