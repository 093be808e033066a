"""The fixtures that checks use: machines, deliverables, images, metrics."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchflow.boot.errors import CheckMisuse
from benchflow.boot.inspect.deliverable import validate
from benchflow.boot.machine.guard import Guard
from benchflow.boot.milestones import ChecksError, Ladder
from benchflow.boot.runner.evidence import Evidence
from benchflow.boot.runner.manifest import Manifest

if TYPE_CHECKING:
    from benchflow.boot.inspect.image import Image
    from benchflow.boot.machine.virtual_machine import Machine

_METRIC = re.compile(r"[a-z][a-z0-9_-]{0,40}\Z")
_MACHINE = re.compile(r"[a-z][a-z0-9-]{0,30}\Z")
_DISK_KINDS = ("disk", "iso")


class Machines:
    """Creates machines and closes them all at the end of the run."""

    def __init__(
        self, manifest: Manifest, evidence: Evidence, scratch: Path, guarded: Path
    ) -> None:
        self._manifest = manifest
        self._evidence = evidence
        self._scratch = scratch
        self._machines: dict[str, Machine] = {}
        self._guard = Guard(guarded, manifest.machines_may_write)

    def create(self, name: str, **spec: Any) -> Machine:
        """A machine that is switched off. Omitted: the task's arch, firmware and memory."""
        from benchflow.boot.machine.virtual_machine import Machine

        if not _MACHINE.match(name):
            raise ChecksError(f"machine {name!r} is no name", fix="like main, router, client-2")
        if name in self._machines:
            # Not ChecksError: a guest that fails its first check can bring the next one here.
            raise CheckMisuse(f"machine {name!r} exists already; keep it in a fixture")
        spec.setdefault("arch", self._manifest.arch)
        spec.setdefault("firmware", self._manifest.firmware)
        spec.setdefault("memory_mb", self._manifest.memory_mb)
        scratch = self._scratch / name
        scratch.mkdir(parents=True)
        machine = Machine(
            name=name, observer=self._evidence, scratch=scratch, guard=self._guard, **spec
        )
        self._machines[name] = machine
        return machine

    def close(self) -> None:
        """Stop every machine that was created, also when stopping one of them fails."""
        with ExitStack() as stack:
            for machine in self._machines.values():
                stack.callback(machine.close)


class Fixtures:
    """The fixtures as methods, so that they share the run without globals."""

    ladder: Ladder

    def __init__(self, manifest: Manifest, evidence: Evidence) -> None:
        self.manifest = manifest
        self.evidence = evidence

    @pytest.fixture(scope="session")
    def work(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A scratch folder of this run; removed at its end."""
        return tmp_path_factory.mktemp("work")

    @pytest.fixture(scope="session")
    def deliverable(self) -> Callable[..., Path]:
        """`deliverable(path=None) -> Path`: the validated deliverable (the first by default)."""
        return lambda path=None: validate(self.manifest.deliverable(path))

    @pytest.fixture(scope="session")
    def image(self, work: Path) -> Callable[..., Image]:
        """`image(path=None) -> Image`: offline inspection of a deliverable."""
        from benchflow.boot.inspect.image import Image

        return lambda path=None: Image(validate(self.manifest.deliverable(path)), scratch=work)

    @pytest.fixture(scope="session")
    def machines(
        self, work: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> Generator[Machines, None, None]:
        """Creates machines: `machines.create(name, **spec)`."""
        guarded = tmp_path_factory.getbasetemp()
        machines = Machines(self.manifest, self.evidence, work / "machines", guarded)
        yield machines
        machines.close()

    @pytest.fixture(scope="session")
    def machine(self, machines: Machines, deliverable: Callable[..., Path]) -> Machine:
        """The first disk or ISO (or kernel) of the task, in the machine that the task states."""
        from benchflow.boot.machine.virtual_machine import Disk

        paths = {d.kind: d.path for d in reversed(self.manifest.deliverables)}
        bootable = [d for d in self.manifest.deliverables if d.kind in _DISK_KINDS]
        if bootable and bootable[0].kind == "disk":
            return machines.create("main", disks=[Disk(deliverable(bootable[0].path))])
        if bootable:
            return machines.create("main", cdrom=deliverable(bootable[0].path))
        if "kernel" in paths:
            spec = {"kernel": deliverable(paths["kernel"])}
            if "initramfs" in paths:
                spec["initrd"] = deliverable(paths["initramfs"])
            return machines.create("main", **spec)
        raise ChecksError(
            "no deliverable can be booted", fix="write a fixture `machine` in checks.py"
        )

    @pytest.fixture(scope="session")
    def metric(self) -> Callable[[str, float], None]:
        """`metric(name, value)`: a number for `metric.<name>` of the reward file."""

        def record(name: str, value: float) -> None:
            if not _METRIC.match(name):
                raise ChecksError(f"metric name {name!r} is not allowed", fix="like boot_seconds")
            if isinstance(value, bool) or not math.isfinite(value):
                # Not ChecksError: the value may be a guest's answer, which may be "nan".
                raise CheckMisuse(f"metric {name!r} is {value!r}, not a finite number")
            self.ladder.metrics[name] = value

        return record

    @pytest.fixture(scope="session")
    def nonce(self) -> Callable[[], str]:
        """`nonce()`: a fresh string of 32 hexadecimal digits for every call."""
        return lambda: secrets.token_hex(16)
