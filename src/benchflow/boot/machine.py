"""A virtual machine made for one verification: boot it, question it, cut its power, throw it away.

    with Machine("main", firmware="bios", disks=[Disk(path)]) as machine:
        machine.boot().expect_kernel()
        shell = machine.login("root", "toor")
        assert shell.run("uname -m").stdout.strip() == "x86_64"

Every timeout is in reference seconds (see `deadline`). Every wait ends at once with a GuestError
when the guest panics, switches itself off, or restarts without end.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from . import nics as networks
from .calibrate import Host, measure
from .console import Console, Found
from .disks import Disk, Overlay, qemu_img
from .errors import BadDeliverable, CheckMisuse, GuestError, GuestExited, QemuFailed
from .firmware import pflash
from .nics import Nic
from .observer import Observer
from .process import Process, sockets
from .qemu import Spec, Wiring, command
from .qmp import CommandRefused
from .shell import Shell
from .watch import Watch

BOOT_SECONDS = 300.0
KERNEL = re.compile(r"Linux version (\S+)")
WRITE_LIMIT = 16 << 30  # bytes that one overlay or snapshot file may reach


class Machine:
    """See the module. Not safe for use from several threads at once.

    `arch`: x86_64, aarch64, riscv64. `firmware`: bios, uefi, uefi-secure, direct (needs `kernel`).
    `append` is the kernel's command line for direct boots; by default the serial console.
    `extra_args` go to QEMU as they are; `machine_type` and `cpu` replace the defaults. `rng`: a
    virtio entropy device. `vga`: a screen (default: PCs that boot by firmware have one).
    """

    def __init__(
        self,
        name: str = "main",
        *,
        arch: str = "x86_64",
        firmware: str = "bios",
        memory_mb: int = 512,
        cpus: int = 1,
        disks: Sequence[Disk] = (),
        cdrom: Path | None = None,
        nics: Sequence[Nic] = (),
        kernel: Path | None = None,
        initrd: Path | None = None,
        append: str = "",
        extra_args: Sequence[str] = (),
        machine_type: str = "",
        cpu: str = "",
        rng: bool = True,
        vga: bool | None = None,
        scratch: Path | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.name = name
        self.spec = Spec(
            arch=arch,
            firmware=firmware,
            memory_mb=memory_mb,
            cpus=cpus,
            disks=tuple(disks),
            cdrom=cdrom,
            nics=tuple(nics),
            kernel=kernel,
            initrd=initrd,
            append=append,
            extra_args=tuple(extra_args),
            machine_type=machine_type,
            cpu=cpu,
            rng=rng,
            vga=vga,
        )
        self._observer = observer or Observer()
        self._own_work = scratch is None
        self._work = scratch or Path(tempfile.mkdtemp(prefix="benchflow-boot-"))
        self._work.mkdir(parents=True, exist_ok=True)
        self._overlays = [
            Overlay(disk, self._work / f"{name}.disk{index}.qcow2")
            for index, disk in enumerate(self.spec.disks)
        ]
        self._variables: Path | None = None
        self.host: Host = measure(arch)
        self._observer.calibrated(
            speed=self.host.speed, accelerator=self.host.accelerator, qemu=self.host.qemu_version
        )
        self._watch = Watch(name, self.host.speed, self._restarted)
        self._watch.console.subscribe(lambda _, data: self._observer.output(name, data))
        self._process: Process | None = None
        self._shell: Shell | None = None
        self._cursor = 0
        self._boots = 0
        self._flattened = 0
        self._started = 0.0
        self.command: list[str] = []

    # -- state ----------------------------------------------------------------------------------

    @property
    def console(self) -> Console:
        """The serial console, over all boots."""
        return self._watch.console

    @property
    def shell(self) -> Shell:
        """The shell of the last login. Raises CheckMisuse when nobody is logged in."""
        if self._shell is None:
            raise CheckMisuse(f"{self.name}: log in before using the shell")
        return self._shell

    @property
    def alive(self) -> bool:
        """Whether the machine is running."""
        return self._watch.running

    @property
    def boots(self) -> int:
        """How often the machine started, restarts of its own included."""
        return self._boots

    # -- life -----------------------------------------------------------------------------------

    def boot(self, timeout: float = BOOT_SECONDS) -> Machine:
        """Switch the machine on, and wait until it prints something or `timeout` is over.

        A machine that prints nothing is not an error here: what is expected of it says so.
        Raises BadDeliverable when QEMU cannot load the kernel, QemuFailed when it cannot start.
        """
        self._start()
        return self

    def power_cut(self) -> None:
        """kill -9. The disks keep what the guest flushed; what it did not flush may be lost."""
        self._need_process()
        self._observer.note(self.name, "power cut")
        self._stop()

    def shutdown(self, timeout: float = 120.0) -> bool:
        """Press the power button (ACPI) and wait; True when the guest then switched itself off.

        Otherwise the power is cut. Raises GuestExited when the machine is off already.
        """
        process = self._need_process()
        self._observer.note(self.name, "ACPI power button pressed")
        watch = self._watch
        self._ask(process, "system_powerdown")
        try:
            watch.wait(lambda: True if not watch.running else None, timeout, "its power-off")
        except GuestError:
            self._stop()
            return False
        return watch.powered_off

    def reboot(self, timeout: float = BOOT_SECONDS, command: str = "reboot") -> Machine:
        """Run `command` in the guest's shell and wait until the machine starts anew."""
        watch = self._watch
        resets = watch.resets = 0
        shell = self.shell
        self._observer.note(self.name, f"asked the guest to restart: {command}")
        self._shell = None
        shell.leave(command)
        watch.wait(lambda: True if watch.resets > resets else None, timeout, "a restart")
        watch.resets = 0
        self._cursor = watch.boot_start
        return self

    def reset_disks(self) -> None:
        """Forget all that the guest wrote, UEFI variables too. Only when switched off."""
        if self.alive:
            raise CheckMisuse(f"{self.name}: cut the power before resetting the disks")
        for overlay in self._overlays:
            overlay.reset()
        self._variables = None

    def close(self) -> None:
        """Switch off and delete the machine's files."""
        self._stop()
        for overlay in self._overlays:
            overlay.path.unlink(missing_ok=True)
        if self._own_work:
            shutil.rmtree(self._work, ignore_errors=True)

    def __enter__(self) -> Machine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- questions ------------------------------------------------------------------------------

    def expect_kernel(self, timeout: float = BOOT_SECONDS) -> str:
        """Wait until this boot's kernel says its version; returns it. Does not consume text."""
        return self._find(KERNEL, self._watch.boot_start, timeout, "a Linux kernel").match[1]

    def expect(self, pattern: str | re.Pattern[str], timeout: float = 60.0) -> re.Match[str]:
        """Wait for a regular expression on the console, after the last match; returns the match.

        Only for what nobody could gain by printing: a guest can print anything.
        """
        compiled = re.compile(pattern) if isinstance(pattern, str) else pattern
        found = self._find(compiled, self._cursor, timeout, repr(compiled.pattern))
        self._cursor = found.end
        return found.match

    def send(self, text: str) -> None:
        """Type on the serial console."""
        self._observer.typed(self.name, text)
        self.console.send(text)

    def login(self, user: str, password: str = "", timeout: float = BOOT_SECONDS) -> Shell:
        """Log in at the serial console's `login:`; a live session of the same user is reused."""
        if self._shell is not None and self._shell.user == user and self._shell.usable():
            return self._shell
        if self._shell is not None:
            self._shell.leave("exit")
            self._shell = None
        shell = Shell(self._watch, self.send, user)
        shell.log_in(password, max(self._cursor, self._watch.boot_start), timeout)
        self._shell = shell
        self._cursor = self.console.end
        return shell

    def attach(self, timeout: float = BOOT_SECONDS) -> Shell:
        """Take the shell that runs on the serial console without a login (rescue, installer)."""
        if self._shell is not None and not self._shell.user and self._shell.usable():
            return self._shell
        shell = Shell(self._watch, self.send, "")
        shell.take(timeout)
        self._shell = shell
        self._cursor = self.console.end
        return shell

    def forward(self, guest_port: int) -> tuple[str, int]:
        """(host, port) at which the verifier reaches a TCP port of the guest."""
        process = self._need_process()
        text = process.monitor.execute("human-monitor-command", command_line="info usernet")
        ports = networks.forwarded_ports(text)
        if guest_port not in ports:
            raise CheckMisuse(f"{self.name}: port {guest_port} is not in any Nic(forwards=…)")
        return "127.0.0.1", ports[guest_port]

    def flatten(self, disk: int | Disk = 0) -> Path:
        """A raw copy of a disk's present state, for offline inspection.

        While the machine runs the copy is what a power cut at this moment would leave.
        """
        index = disk if isinstance(disk, int) else self.spec.disks.index(disk)
        self._flattened += 1
        target = self._work / f"{self.name}.disk{index}.{self._flattened}.raw"
        return self._overlays[index].flatten(target)

    # -- inside ---------------------------------------------------------------------------------

    def _start(self, load_snapshot: str = "") -> None:
        if self.alive:
            raise CheckMisuse(f"{self.name} is running; use reboot() or power_cut()")
        watch = self._watch
        watch.resets, watch.powered_off, watch.boot_start = 0, False, watch.console.end
        self._cursor = watch.console.end
        self._shell = None
        if not self._launch(self.spec, load_snapshot):
            self._refused()
        self._started = time.monotonic()
        self._observer.boot(self.name, self._boots)

    def _launch(self, spec: Spec, load_snapshot: str = "") -> bool:
        serial, qmp = sockets(), sockets()
        cables = {
            index: networks.lan(nic.lan).attach()
            for index, nic in enumerate(spec.nics)
            if nic.lan is not None
        }
        wiring = Wiring(
            serial_fd=serial[1].fileno(),
            qmp_fd=qmp[1].fileno(),
            accelerator=self.host.accelerator,
            overlays=self._overlays,
            variables=self._own_variables(),
            lan_fds={index: cable.fileno() for index, cable in cables.items()},
            load_snapshot=load_snapshot,
            sandbox=self.host.sandbox,
        )
        watch = self._watch
        self.command = command(spec, wiring)
        self._observer.qemu(self.name, self.command, self.versions)
        self._boots += 1
        watch.running = True
        process = watch.process = self._process = Process(
            self.command,
            serial=serial,
            qmp=qmp,
            extra_fds=list(wiring.lan_fds.values()),
            file_size_limit=WRITE_LIMIT,
            on_output=watch.console.feed,
            on_event=watch.on_event,
            on_exit=watch.on_exit,
        )
        watch.console.connect(process.write)
        connected = process.start()
        for cable in cables.values():
            cable.close()
        return connected

    @property
    def versions(self) -> dict[str, Any]:
        """What the evidence says of the host's side."""
        return {
            "qemu": self.host.qemu_version,
            "accelerator": self.host.accelerator,
            "speed": self.host.speed,
        }

    def _refused(self) -> None:
        """QEMU ended before it greeted us: find out whether the delivered kernel is to blame."""
        process = self._process
        assert process is not None
        process.wait(30)
        complaint = process.stderr
        if self.spec.kernel is not None:
            # The same machine without the kernel: when that starts, the kernel was the reason.
            bare = Spec(
                **{**vars(self.spec), "kernel": None, "initrd": None, "append": "",
                   "firmware": "direct"}
            )  # fmt: skip
            starts = self._launch(bare)
            self._stop()
            if starts:
                raise BadDeliverable("QEMU cannot load the kernel", evidence=complaint)
        raise QemuFailed(f"{self.name}: QEMU did not start", evidence=complaint)

    def _own_variables(self) -> Path | None:
        flash = pflash(self.spec.arch, self.spec.firmware)
        if flash is not None and self._variables is None:
            path = self._work / f"{self.name}.vars.qcow2"
            path.unlink(missing_ok=True)
            qemu_img("convert", "-q", "-f", "raw", "-O", "qcow2", str(flash[1]), str(path))
            self._variables = path
        return self._variables

    def _restarted(self) -> None:
        self._boots += 1
        self._observer.boot(self.name, self._boots)

    def _find(self, pattern: re.Pattern[str], start: int, timeout: float, what: str) -> Found:
        console, scanned = self.console, start

        def step() -> Found | None:
            nonlocal scanned
            found = console.search(pattern, start, scanned)
            scanned = console.end
            return found

        return self._watch.wait(step, timeout, what)

    def _need_process(self) -> Process:
        if self._process is None or not self.alive:
            raise GuestExited(f"{self.name} is not running")
        return self._process

    def _ask(self, process: Process, name: str, **arguments: Any) -> Any:
        try:
            return process.monitor.execute(name, **arguments)
        except CommandRefused as error:
            raise QemuFailed(f"QEMU refused {name}: {error}") from error

    def _stop(self) -> None:
        self._shell = None
        if self._process is not None:
            self._process.kill()
            self._process = None


__all__ = ["BOOT_SECONDS", "Disk", "Machine", "Nic"]
