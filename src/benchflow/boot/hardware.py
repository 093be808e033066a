"""The metal of one machine: its files, its QEMU process, switching on and off."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import nics as networks
from .calibrate import Host
from .disks import Overlay, qemu_img
from .errors import BadDeliverable, BootError, CheckMisuse, GuestExited, QemuFailed
from .firmware import pflash
from .process import Process, sockets
from .qemu import VARIABLES_NODE, VMSTATE_NODE, Spec, Wiring, command, file_node
from .qmp import CommandRefused
from .watch import Watch

WRITE_LIMIT = 16 << 30  # bytes that one overlay or snapshot file may reach
_PATIENCE = 10.0  # real seconds in which a QEMU that ends is seen to have ended
_numbers = itertools.count(1)


class Hardware:
    """Owns `scratch`/`name`.*; survives power cuts. `on_launch` hears of each QEMU command."""

    def __init__(
        self, name: str, spec: Spec, scratch: Path, host: Host, watch: Watch,
        on_launch: Callable[[list[str]], None],
    ) -> None:  # fmt: skip
        self.name = name
        self.spec = spec
        self.command: list[str] = []
        self._scratch = scratch
        self._host = host
        self._watch = watch
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
        """The running QEMU. Raises GuestExited when the machine is off."""
        if self._process is None or not self._watch.running:
            raise GuestExited(f"{self.name} is not running")
        return self._process

    def ask(self, name: str, **arguments: Any) -> Any:
        """A QMP command that QEMU cannot sensibly refuse; raises QemuFailed when it does.

        GuestExited when the guest switches itself off meanwhile: otherwise it could choose that
        moment and never be judged. While it restarts QEMU refuses for a moment.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                return self.process.monitor.execute(name, **arguments)
            except (CommandRefused, QemuFailed) as error:
                refused = isinstance(error, CommandRefused)
                over = self._watch.over(f"answer to {name}", 0.2 if refused else _PATIENCE)
                if over is not None:
                    raise over from None  # chained to QemuFailed it would be the verifier's fault
                if not refused:
                    raise
                if time.monotonic() > end:
                    raise QemuFailed(f"QEMU refused {name}: {error}") from error

    def start(self, paused: bool = False) -> None:
        """Switch on. Raises BadDeliverable when the kernel cannot be loaded, else QemuFailed."""
        if self._launch(paused):
            return
        process = self._process
        assert process is not None
        process.wait(30)
        complaint = process.stderr
        self.stop()
        if self.spec.kernel is not None:
            # The same machine without the kernel: when that starts, the kernel was the reason.
            starts = self._launch(paused=True, load_kernel=False)
            self.stop()
            if starts:
                raise BadDeliverable("QEMU cannot load the kernel", evidence=complaint)
        raise QemuFailed(f"{self.name}: QEMU did not start", evidence=complaint)

    def stop(self) -> None:
        """kill -9, when it runs."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def reset(self) -> None:
        """Forget what the guest wrote to disks and UEFI variables."""
        for overlay in self.overlays:
            overlay.reset()
        self._variables = None

    def delete(self) -> None:
        """Remove the machine's files."""
        for path in self._scratch.glob(f"{self.name}.*"):
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

    def _launch(self, paused: bool, load_kernel: bool = True) -> bool:
        with contextlib.ExitStack() as theirs:
            return self._connect(theirs, paused, load_kernel)

    def _connect(self, theirs: contextlib.ExitStack, paused: bool, load_kernel: bool) -> bool:
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
            paused=paused,
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
                file_size_limit=WRITE_LIMIT,
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


def check_off(watch: Watch) -> None:
    """Raises CheckMisuse when the machine runs."""
    if watch.running:
        raise CheckMisuse(f"{watch.name} is running; use reboot() or power_cut()")
