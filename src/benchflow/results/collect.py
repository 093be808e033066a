"""Finished work from anywhere, read into records: the way into `results` for everything above."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchflow.results.readers import read_all, read_steps
from benchflow.results.readers.detect import How
from benchflow.results.records import Collection, Keeper, Record, Step
from benchflow.results.versions import settled


def collect(
    paths: list[Path],
    *,
    trajectories: bool = True,
    workers: int = 1,
    keeper: Keeper | None = None,
    assume_version: bool = False,
) -> Collection:
    """Reads each path, whatever it is: docs/results.md lists the formats.

    A trial that stands in two sources counts once; where the two differ, the first counts and a
    problem says so. `trajectories=False` does not open trajectories: quicker, and `steps`,
    `repeats` and `said_done` stay None. Raises UsageError for a path that no reader knows.

    `workers`: processes that read large jobs. With more than one, a program that calls this needs
    the guard `if __name__ == "__main__"`, because each process imports the program again.

    `keeper`: is shown trials in job folders, the only ones that come in such numbers. What it
    gave for one stands in the record's `kept`.

    `assume_version`: trials that do not say which version of a task they tried count as trials of
    the one that others name (`benchflow.results.versions.settled`); else a problem says so.
    """
    return settled(read_all(paths, How(trajectories, workers, keeper)), assume=assume_version)


def steps(record: Record) -> Iterator[Step]:
    """The steps of a trial, read when asked; nothing where none were recorded.

    A torn or foreign trajectory gives the steps that could be read; `collect` has named it among
    its problems.
    """
    return read_steps(record)
