"""What the machines of a verification share, and who takes more than there is of it.

Disks are overlays that grow as a guest writes, and a QEMU takes memory for what its guest asks of
its devices. Each has bounds of its own, but together they could fill what the verifier has, which
would end it without a verdict. So a guard looks, and ends the machine whose guest has most: that is
the guest's doing, and its checks fail.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from benchflow.boot.errors import GuestOverrun
from benchflow.boot.memory import QEMU_MB

_PAUSE = 0.2  # s; at 1 GB/s, which no guest under TCG reaches, a guest writes 200 MB meanwhile
_SHARE = 20  # a scan of all files takes at most this part of the time
_MIB = 1 << 20
#: MiB between what machines may write and what the verifier has: for what a guest writes until the
#: guard has looked, and for what checks write that is in no folder of the guard's.
MARGIN_MB = 512
_MUCH = 64 * _MIB  # who has less on the disk is not at fault, whoever is


class Guarded(Protocol):
    """A running machine as the guard sees it."""

    name: str

    def files(self) -> Sequence[Path]:
        """The files that grow by what the guest does, and the copies of them."""

    def memory_held(self) -> int:
        """Bytes that its QEMU holds beside the guest's own memory."""

    def overrun(self, why: str) -> None:
        """End it: from now on every use of it raises GuestOverrun(why)."""


class Guard:
    """Looks after all machines that `begin` until they `end`; thread-safe.

    All files below `folder` together may take `disk` bytes; None is no bound.
    """

    def __init__(self, folder: Path | None = None, disk: int | None = None) -> None:
        self._folder = folder
        self.disk = disk
        self._machines: list[Guarded] = []
        self._lock = threading.Lock()
        self._looks = False
        self._others = 0  # bytes of files that are no running machine's, when last looked
        self._again = 0.0

    def begin(self, machine: Guarded) -> None:
        """A machine is switched on."""
        with self._lock:
            self._machines.append(machine)
            if not self._looks:
                self._looks = True
                threading.Thread(target=self._go, name="benchflow-boot-guard", daemon=True).start()

    def end(self, machine: Guarded) -> None:
        """It is switched off."""
        with self._lock:
            if machine in self._machines:
                self._machines.remove(machine)

    def room(self, name: str, size: int) -> None:
        """Raises GuestOverrun when a copy of what the guest `name` wrote has no room any more."""
        if self.disk is not None and self._stored() + size > self.disk:
            raise GuestOverrun(
                f"{name}: a copy of its disk takes up to {size // _MIB} MiB more than the "
                f"{self.disk // _MIB} MiB that all disks of this verification may take"
            )

    def _go(self) -> None:
        while True:
            with self._lock:
                machines = list(self._machines)
                if not machines:
                    self._looks = False
                    return
            for machine in machines:
                held = machine.memory_held()
                if held > QEMU_MB * _MIB:
                    self._over(machine, f"its QEMU holds {held // _MIB} MiB, of {QEMU_MB}")
            if self.disk is not None:
                self._look_at_disks(machines, self.disk)
            time.sleep(_PAUSE)

    def _look_at_disks(self, machines: list[Guarded], allowed: int) -> None:
        sizes = {machine: stored(machine.files()) for machine in machines}
        own = sum(sizes.values())
        if time.monotonic() >= self._again:
            began = time.monotonic()
            self._others = self._stored() - own
            self._again = time.monotonic() + _SHARE * (time.monotonic() - began)
        if self._others + own <= allowed:
            return
        most = max(machines, key=lambda machine: sizes[machine])
        if sizes[most] > _MUCH:
            self._over(
                most,
                f"its disks take {sizes[most] // _MIB} MiB, and all files of this verification "
                f"more than {allowed // _MIB}",
            )
            self._again = 0.0

    def _over(self, machine: Guarded, what: str) -> None:
        self.end(machine)
        machine.overrun(f"{machine.name} was ended, for its guest used up what is there: {what}")

    def _stored(self) -> int:
        if self._folder is None:
            return 0
        found = [Path(top, name) for top, _, names in os.walk(self._folder) for name in names]
        return stored(found)


def stored(files: Sequence[Path]) -> int:
    """Bytes that files take on the disk; what is not there takes none."""
    total = 0
    for file in files:
        try:
            total += file.lstat().st_blocks * 512
        except OSError:
            continue
    return total


def memory_of(pid: int) -> int:
    """Bytes of memory of its own that a process holds; 0 when it is gone (proc(5), RssAnon)."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = text.partition("RssAnon:")[2].split(None, 1)
    return int(found[0]) << 10 if found else 0
