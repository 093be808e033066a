"""The metal of one machine: its files, its QEMU process, switching on and off."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchflow.boot.errors import (
    BadDeliverable,
    BootError,
    CheckMisuse,
    GuestExited,
    GuestTimeout,
    QemuFailed,
)
from benchflow.boot.machine import nics as networks
from benchflow.boot.machine import qmp as qmp
from benchflow.boot.machine.calibrate import Host
from benchflow.boot.machine.deadline import BACKSTOP, Shares
from benchflow.boot.machine.disks import Overlay, qemu_img
from benchflow.boot.machine.firmware import pflash
from benchflow.boot.machine.guard import Guard, memory_of, stored
from benchflow.boot.machine.guest import Watch
from benchflow.boot.machine.qemu_command import (
    VARIABLES_NODE,
    VMSTATE_NODE,
    Spec,
    Wiring,
    command,
    file_node,
)
from benchflow.boot.machine.qemu_process import Process, sockets
from benchflow.boot.machine.qmp import CommandRefused

WRITE_LIMIT = 16 << 30  # bytes that one overlay or snapshot file may reach
_PATIENCE = 10.0  # real seconds in which a QEMU that ends is seen to have ended
_numbers = itertools.count(1)


class Hardware:
    """Owns `scratch`/`name`.*; survives power cuts. `on_launch` hears of each QEMU command."""

    def __init__(
        self, name: str, spec: Spec, scratch: Path, host: Host, watch: Watch,
        guard: Guard, on_launch: Callable[[list[str]], None],
    ) -> None:  # fmt: skip
        self.name = name
        self.spec = spec
        self.command: list[str] = []
        self._scratch = scratch
        self._host = host
        self._watch = watch
        self._guard = guard
        self._on_launch = on_launch
        self._number = next(_numbers)
        self._process: Process | None = None
        self._variables: Path | None = None
        self._vmstate: Path | None = None
        self.overlays = [
            Overlay(disk, self.file(f"disk{index}.qcow2")) for index, disk in enumerate(spec.disks)
        ]

    def file(self, suffix: str) -> Path:
        """A file of this machine."""
        return self._scratch / f"{self.name}.{suffix}"

    @property
    def process(self) -> Process:
        """The running QEMU. Raises GuestExited when the machine is off, GuestOverrun for good."""
        self._watch.raise_if_overrun()
        if self._process is None or not self._watch.running:
            raise GuestExited(f"{self.name} is not running")
        return self._process

    def ask(self, name: str, **arguments: Any) -> Any:
        """A QMP command that QEMU cannot sensibly refuse; raises QemuFailed when it does.

        GuestExited when the guest switches itself off meanwhile: otherwise it could choose that
        moment and never be judged. GuestTimeout when QEMU works and does not answer: what it works
        at is the guest's wish. While the guest restarts QEMU refuses for a moment.
        """
        end = time.monotonic() + _PATIENCE
        process = self.process
        answer = _Answer(process)
        while True:
            try:
                return self.process.monitor.execute(name, answer.starved, **arguments)
            except (CommandRefused, QemuFailed) as error:
                refused = isinstance(error, CommandRefused)
                over = self._watch.over(f"answer to {name}", 0.2 if refused else _PATIENCE)
                if over is None and not refused and answer.worked_enough:
                    over = GuestTimeout(f"{self.name}: its guest keeps QEMU from answering {name}")
                if over is not None:
                    raise over from None  # chained to QemuFailed it would be the verifier's fault
                if not refused:
                    raise
                if time.monotonic() > end:
                    raise QemuFailed(f"QEMU refused {name}: {error}") from error

    def start(self, paused: bool = False) -> None:
        """Switch on. Raises BadDeliverable when the kernel cannot be loaded, else QemuFailed."""
        self._watch.raise_if_overrun()
        if self._launch():
            self._watch.started()
            self._guard.begin(self)
            if not paused:
                with contextlib.suppress(GuestExited):  # off again before QEMU has answered
                    self.ask("cont")
            return
        process = self._process
        assert process is not None
        process.wait(30)
        complaint = process.stderr
        self.stop()
        if self.spec.kernel is not None:
            # The same machine without the kernel: when that starts, the kernel was the reason.
            starts = self._launch(load_kernel=False)
            self.stop()
            if starts:
                raise BadDeliverable("QEMU cannot load the kernel", evidence=complaint)
        raise QemuFailed(f"{self.name}: QEMU did not start", evidence=complaint)

    def stop(self) -> None:
        """kill -9, when it runs."""
        self._guard.end(self)
        if self._process is not None:
            self._process.kill()
            self._process = None

    def copy(self, index: int, target: Path) -> Path:
        """A raw copy of a disk. Raises GuestOverrun where there is no room for what was written."""
        self._watch.raise_if_overrun()
        overlay = self.overlays[index]
        self._guard.room(self.name, stored([overlay.path, overlay.disk.path]))
        return overlay.flatten(target)

    def begin_icount(self) -> None:
        """From the next start on, QEMU counts the guest's instructions (its record mode)."""
        record = f"shift=0,rr=record,rrfile={self.file('record')}"
        self.spec = replace(self.spec, extra_args=(*self.spec.extra_args, "-icount", record))
        self._host = replace(self._host, accelerator="tcg,thread=single,tb-size=128")

    def icount(self) -> int:
        """The instructions counted up to now. Raises CheckMisuse when QEMU does not count."""
        if "-icount" not in self.spec.extra_args:
            raise CheckMisuse(f"{self.name}: call count_instructions() before boot()")
        return int(self.ask("query-replay")["icount"])

    def files(self) -> list[Path]:
        """All files of this machine."""
        return list(self._scratch.glob(f"{self.name}.*"))

    def memory_held(self) -> int:
        """Bytes that QEMU holds beside the guest's memory."""
        process = self._process
        guest = self.spec.memory_mb << 20
        return max(0, memory_of(process.pid) - guest) if process is not None else 0

    def overrun(self, why: str) -> None:
        """End the machine for good, and give back the room that its disks take."""
        process = self._process
        with self._watch.changed:
            self._watch.overrun = why
            self._watch.changed.notify_all()
        if process is not None:
            process.kill()
        for overlay in self.overlays:
            with contextlib.suppress(OSError):  # closed meanwhile
                os.truncate(overlay.path, 0)

    def reset(self) -> None:
        """Forget what the guest wrote to disks and UEFI variables."""
        for overlay in self.overlays:
            overlay.reset()
        self._variables = None

    def delete(self) -> None:
        """Remove the machine's files."""
        for path in self.files():
            path.unlink()

    def snapshot_nodes(self) -> list[str]:
        """The block nodes that a snapshot covers; the first also takes the memory."""
        nodes = [f"disk{index}" for index, disk in enumerate(self.spec.disks) if not disk.read_only]
        if self._variables is not None:
            nodes.append(VARIABLES_NODE)
        if nodes:
            return nodes
        if self._vmstate is None:
            path = self.file("vmstate.qcow2")
            qemu_img("create", "-q", "-f", "qcow2", str(path), "1M")
            self.ask("blockdev-add", **file_node(VMSTATE_NODE, path))
            self._vmstate = path
        return [VMSTATE_NODE]

    def _launch(self, load_kernel: bool = True) -> bool:
        with contextlib.ExitStack() as theirs:
            return self._connect(theirs, load_kernel)

    def _connect(self, theirs: contextlib.ExitStack, load_kernel: bool) -> bool:
        """Start QEMU on sockets whose far ends are closed here when it has them (or failed)."""
        serial, qmp = sockets(), sockets()
        cables = {
            index: networks.lan(nic.lan).attach()
            for index, nic in enumerate(self.spec.nics)
            if nic.lan is not None
        }
        for end in (serial[1], qmp[1], *cables.values()):
            theirs.enter_context(end)
        wiring = Wiring(
            serial_fd=serial[1].fileno(),
            qmp_fd=qmp[1].fileno(),
            accelerator=self._host.accelerator,
            overlays=self.overlays,
            variables=self._own_variables(),
            vmstate=self._vmstate,
            lan_fds={index: cable.fileno() for index, cable in cables.items()},
            number=self._number,
            load_kernel=load_kernel,
            sandbox=self._host.sandbox,
        )
        watch = self._watch
        try:
            argv = command(self.spec, wiring)
            if load_kernel:
                self.command = argv
                self._on_launch(argv)
            process = Process(
                argv,
                serial=serial,
                qmp=qmp,
                extra_fds=list(wiring.lan_fds.values()),
                file_size_limit=min(WRITE_LIMIT, self._guard.disk or WRITE_LIMIT),
                on_output=watch.console.feed,
                on_event=watch.on_event,
                on_exit=watch.on_exit,
            )
        except BootError:
            serial[0].close()
            qmp[0].close()
            raise
        watch.process = self._process = process
        watch.running = True
        watch.console.connect(process.write)
        return process.start()

    def _own_variables(self) -> Path | None:
        flash = pflash(self.spec.arch, self.spec.firmware)
        if flash is not None and self._variables is None:
            path = self.file("vars.qcow2")
            path.unlink(missing_ok=True)
            qemu_img("convert", "-q", "-f", "raw", "-O", "qcow2", str(flash[1]), str(path))
            self._variables = path
        return self._variables


class _Answer:
    """Whether a QEMU that does not answer lacks a processor, or does something else with it."""

    def __init__(self, process: Process) -> None:
        self._shares = Shares(process.pid, [process.pid, *process.processors])
        self._end = time.monotonic() + BACKSTOP * qmp.ANSWER_SECONDS
        self._waited = 0.0

    @property
    def worked_enough(self) -> bool:
        """It had enough processor time for any answer."""
        return self._shares.worked() >= qmp.ANSWER_SECONDS / 2

    def starved(self) -> bool:
        """It waited for its turn since this was asked last, and had too little in all."""
        before, self._waited = self._waited, self._shares.waited()
        waits = self._waited - before > qmp.ANSWER_SECONDS / 60
        return waits and not self.worked_enough and time.monotonic() < self._end


def check_off(watch: Watch) -> None:
    """Raises CheckMisuse when the machine runs."""
    if watch.running:
        raise CheckMisuse(f"{watch.name} is running; use reboot() or power_cut()")
