"""Snapshots of a whole machine: memory, devices, disks and UEFI variables, inside their qcow2."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from .errors import CheckMisuse, NoSpace, QemuFailed
from .process import Process
from .qmp import CommandRefused
from .watch import Watch

JOB_SECONDS = 600.0
ENDING = 10.0  # real seconds in which a QEMU that ends is seen to have ended
_numbers = itertools.count(1)


def save(watch: Watch, process: Process, name: str, nodes: Sequence[str]) -> None:
    """Save the running machine under `name`; the memory goes into the first of `nodes`."""
    _job(watch, process, "snapshot-save", name, nodes)


def load(watch: Watch, process: Process, name: str, nodes: Sequence[str]) -> None:
    """Bring the machine back to the snapshot `name`; it then runs or stays stopped, as before."""
    _job(watch, process, "snapshot-load", name, nodes)


def _job(watch: Watch, process: Process, command: str, tag: str, nodes: Sequence[str]) -> None:
    job = f"job{next(_numbers)}"
    try:
        process.monitor.execute(command, job_id=job, tag=tag, vmstate=nodes[0], devices=list(nodes))
        watch.wait(
            lambda: True if watch.jobs.get(job) == "concluded" else None, JOB_SECONDS, command
        )
        jobs = process.monitor.execute("query-jobs")
        process.monitor.execute("job-dismiss", id=job)
    except (CommandRefused, QemuFailed) as error:
        over = watch.over(command, ENDING)
        raise over or QemuFailed(f"QEMU did not do {command}: {error}") from error
    complaint = next((entry.get("error", "") for entry in jobs if entry["id"] == job), "")
    if "No space left" in complaint:
        raise NoSpace(f"{command} {tag!r}: {complaint}")
    if complaint:
        # In practice: a device that QEMU cannot save, such as nvme. The author chose the devices.
        raise CheckMisuse(f"{watch.name}: {command} {tag!r} failed: {complaint}")
