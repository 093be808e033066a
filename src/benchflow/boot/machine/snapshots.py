"""Snapshots of a whole machine: memory, devices, disks and UEFI variables, inside their qcow2."""

from __future__ import annotations

import itertools

from benchflow.boot.errors import CheckMisuse, NoSpace
from benchflow.boot.machine.guest import Watch
from benchflow.boot.machine.instance import Hardware

JOB_SECONDS = 600.0
_numbers = itertools.count(1)


def save(watch: Watch, hardware: Hardware, name: str) -> None:
    """Save the running machine under `name`; the memory goes into the first of its nodes."""
    _job(watch, hardware, "snapshot-save", name)


def load(watch: Watch, hardware: Hardware, name: str) -> None:
    """Bring the machine back to the snapshot `name`; it then runs or stays stopped, as before."""
    _job(watch, hardware, "snapshot-load", name)


def _job(watch: Watch, hardware: Hardware, command: str, tag: str) -> None:
    job = f"job{next(_numbers)}"
    nodes = hardware.snapshot_nodes()
    hardware.ask(command, job_id=job, tag=tag, vmstate=nodes[0], devices=nodes)
    watch.wait(lambda: True if watch.jobs.get(job) == "concluded" else None, JOB_SECONDS, command)
    jobs = hardware.ask("query-jobs")
    hardware.ask("job-dismiss", id=job)
    complaint = next((entry.get("error", "") for entry in jobs if entry["id"] == job), "")
    if "No space left" in complaint:
        raise NoSpace(f"{command} {tag!r}: {complaint}")
    if complaint:
        # In practice: a device that QEMU cannot save, such as nvme. The author chose the devices.
        raise CheckMisuse(f"{watch.name}: {command} {tag!r} failed: {complaint}")
