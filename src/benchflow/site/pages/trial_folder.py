"""What a trial's page takes from the trial's own folder: checks, consoles, steps, sandboxes, boots.

A large site looks into each folder once, when its trials are read (`Own.packed`): by the time that
pages are made, a system may have to fetch those folders from its disk again.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from benchflow.results import collect, recording
from benchflow.results.jobs.ladder import read_checks
from benchflow.results.model import Check
from benchflow.results.records import Record, Step
from benchflow.site import trajectory_chunks as trajectory
from benchflow.site.page_model import Block, Console, Proof, Trajectory
from benchflow.site.pages.common import Put
from benchflow.site.pages.machines import boots, resources
from benchflow.site.urls import steps_of, trial_file

#: What is larger is left in its folder: rows of all trials are held in memory together.
_MAX_PACKED = 64 << 10


class Own(Struct, frozen=True):
    """Blocks of one trial's page, and what proves each milestone."""

    proofs: dict[str, tuple[Proof, ...]]
    consoles: tuple[Console, ...]
    trajectory: tuple[Trajectory, ...]
    resources: tuple[Block, ...]
    boots: tuple[Block, ...]

    def packed(self) -> bytes | None:
        """For `unpacked`, in another process; None where that would be too much to keep."""
        data = pickle.dumps(self, pickle.HIGHEST_PROTOCOL)
        return data if len(data) <= _MAX_PACKED else None


def unpacked(data: bytes) -> Own:
    """What `Own.packed` made; never of anything that came from elsewhere."""
    found = pickle.loads(data)
    assert isinstance(found, Own)
    return found


def own_of(record: Record, put: Put) -> Own:
    """What the folder of `record` holds; recordings and steps are `put` beside the page."""
    # What cannot be read was named among the problems when the record was made.
    checks = read_checks(record.folder) if record.milestones and record.folder else {}
    return taken(record, checks, collect.steps(record) if record.trajectories else (), put)


def taken(
    record: Record,
    checks: Mapping[str, tuple[Check, ...]],
    steps: Iterable[Step],
    put: Put,
) -> Own:
    """The same of a trial whose checks and steps were read already."""
    return Own(
        {milestone: tuple([_proof(check) for check in some]) for milestone, some in checks.items()},
        tuple(_consoles(record, put)),
        _trajectory(record, steps, put),
        resources(record),
        tuple(boots(record)),
    )


def _proof(check: Check) -> Proof:
    return Proof(check.name, check.status, check.proves, check.seconds, check.message)


def _consoles(record: Record, put: Put) -> Iterator[Console]:
    casts = sorted(name for name in record.evidence if name.endswith(".cast"))
    for number_, name in enumerate(casts):
        found = recording.read(record.evidence[name])
        if found is None:
            continue
        machine = name.removeprefix("verifier/").removesuffix(".console.cast")
        stem = trial_file(record.uid, f"console-{number_}")
        put(f"{stem}.js", recording.script(f"{stem}.js", found))
        put(f"{stem}.txt", recording.plain(found))
        yield Console(
            key=str(number_),
            machine=machine,
            data=f"{stem}.js",
            text=f"{stem}.txt",
            seconds=found.seconds,
            n_lines=len(found.lines),
            truncated=found.truncated,
            markers=found.markers,
        )


def _trajectory(record: Record, steps: Iterable[Step], put: Put) -> tuple[Trajectory, ...]:
    name = steps_of(record.uid)
    n_steps = 0
    for file, script, length in trajectory.scripts(name, steps):
        put(file, script)
        n_steps += length
    return (Trajectory("steps", n_steps, trajectory.CHUNK, name),) if n_steps else ()
