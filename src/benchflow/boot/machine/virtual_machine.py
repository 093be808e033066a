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
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from benchflow.boot.errors import CheckMisuse, GuestError
from benchflow.boot.machine import nics as networks
from benchflow.boot.machine import snapshots
from benchflow.boot.machine.calibrate import measure
from benchflow.boot.machine.console import Console, Found
from benchflow.boot.machine.deadline import Deadline
from benchflow.boot.machine.disks import Disk
from benchflow.boot.machine.guard import Guard
from benchflow.boot.machine.guest import Watch
from benchflow.boot.machine.instance import Hardware, check_off
from benchflow.boot.machine.nics import Nic
from benchflow.boot.machine.qemu_command import Spec
from benchflow.boot.machine.shell import Shell
from benchflow.boot.observer import Observer

BOOT_SECONDS = 300.0
KERNEL = re.compile(r"Linux version (\S+)\s")


class Machine:
    """See the module. Not safe for use from several threads at once.

    `arch`: x86_64, aarch64, riscv64. `firmware`: bios, uefi, uefi-secure, direct (needs `kernel`).
    `append` is the kernel's command line for direct boots; by default the serial console.
    `extra_args` go to QEMU as they are; `machine_type` and `cpu` replace the defaults. `rng`: a
    virtio entropy device. `vga`: a screen (default: PCs that boot by firmware have one). `guard`:
    of all machines of a verification, when there are several.
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
        guard: Guard | None = None,
    ) -> None:
        self.name = name
        self.spec = Spec(
            arch=arch, firmware=firmware, memory_mb=memory_mb, cpus=cpus, disks=tuple(disks),
            cdrom=cdrom, nics=tuple(nics), kernel=kernel, initrd=initrd, append=append,
            extra_args=tuple(extra_args), machine_type=machine_type, cpu=cpu, rng=rng, vga=vga,
        )  # fmt: skip
        self._observer = observer or Observer()
        self._own_scratch = scratch is None
        self._scratch = scratch or Path(tempfile.mkdtemp(prefix="benchflow-boot-"))
        self.host = measure(arch)
        self._observer.calibrated(
            speed=self.host.speed, accelerator=self.host.accelerator, qemu=self.host.qemu_version
        )
        self._watch = Watch(name, self.host.speed, self._booting, self._spoilt)
        self._watch.console.subscribe(lambda _, data: self._observer.output(name, data))
        self._hardware = Hardware(
            name, self.spec, self._scratch, self.host, self._watch, guard or Guard(),
            self._launching,
        )  # fmt: skip
        self._shell: Shell | None = None
        self._cursor = 0
        self._boots = 0
        self._flattened = 0
        self._snapshots: dict[str, str | None] = {}
        self._since = self._watch.deadline(1.0)

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
        """How often the machine started.

        A restart before anything was printed is the same boot, and so is one because the host was
        too busy for the guest's kernel (`watch.DEAD_TIMER`).
        """
        return self._boots

    @property
    def command(self) -> list[str]:
        """The exact QEMU command of the last start."""
        return self._hardware.command

    @property
    def versions(self) -> dict[str, Any]:
        """What the evidence says of the host's side."""
        return {
            "qemu": self.host.qemu_version,
            "accelerator": self.host.accelerator,
            "speed": self.host.speed,
        }

    @property
    def elapsed(self) -> float:
        """Reference seconds since the machine was switched on; 0.0 when it is off."""
        if not self.alive:
            return 0.0
        return self._since.used()

    # -- life -----------------------------------------------------------------------------------

    def boot(self, timeout: float = BOOT_SECONDS) -> Machine:
        """Switch the machine on, and wait until it prints something or `timeout` is over.

        A machine that prints nothing is not an error here: what is expected of it says so.
        Raises BadDeliverable when QEMU cannot load the kernel, QemuFailed when it cannot start.
        """
        self._start()
        return self

    def power_cut(self) -> None:
        """kill -9. The disks keep what the guest flushed; what it did not flush may be lost.

        Raises GuestExited when the machine is off already.
        """
        _ = self._hardware.process  # QEMU is not asked: a guest may keep it too busy to answer
        self._observer.note(self.name, "power cut")
        self._off()

    def shutdown(self, timeout: float = 120.0) -> bool:
        """Press the power button (ACPI) and wait; True when the guest then switched itself off.

        Otherwise the power is cut. Raises GuestExited when the machine is off already.
        """
        watch = self._watch
        self._hardware.ask("system_powerdown")
        self._observer.note(self.name, "ACPI power button pressed")
        try:
            watch.wait(lambda: True if not watch.running else None, timeout, "its power-off")
        except GuestError:
            self._off()
            return False
        return watch.powered_off

    def reboot(self, timeout: float = BOOT_SECONDS, command: str = "reboot") -> Machine:
        """Run `command` in the guest's shell and wait until the machine starts again."""
        watch = self._watch
        shell, resets = self.shell, watch.resets
        self._observer.note(self.name, f"asked the guest to restart: {command}")
        self._shell = None
        watch.excuse_resets()
        shell.leave(command)
        watch.wait(lambda: True if watch.resets > resets else None, timeout, "a restart")
        watch.excuse_resets()
        self._cursor = watch.boot_start
        return self

    def reset_disks(self) -> None:
        """Forget all that the guest wrote, UEFI variables too. Only when switched off."""
        if self.alive:
            raise CheckMisuse(f"{self.name}: cut the power before resetting the disks")
        self._hardware.reset()
        self._snapshots.clear()

    def close(self) -> None:
        """Switch off and delete the machine's files."""
        self._off()
        self._hardware.delete()
        if self._own_scratch and self._scratch.is_dir():
            self._scratch.rmdir()

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

        Only for what nobody could gain by printing: a guest can print anything. Text arrives in
        pieces, so end the pattern with something fixed (`\\d+\\n` rather than `\\d+`).
        """
        compiled = re.compile(pattern) if isinstance(pattern, str) else pattern
        found = self._find(compiled, self._cursor, timeout, repr(compiled.pattern))
        self._cursor = found.end
        return found.match

    def deadline(self, seconds: float) -> Deadline:
        """`seconds` of reference time from now, for what a check waits for outside the console."""
        return self._watch.deadline(seconds)

    def send(self, text: str) -> None:
        """Type on the serial console."""
        self._observer.typed(self.name, text)
        self.console.send(text)

    def login(self, user: str, password: str = "", timeout: float = BOOT_SECONDS) -> Shell:
        """Log in at the serial console's `login:`; a live session of the same user is reused."""
        if self._shell is not None and self._shell.user == user and self._shell.usable():
            return self._shell
        if self._shell is not None:
            if not self._shell.over:
                self._shell.close()
            self._shell = None
        shell = Shell(self._watch, self.send, user)
        shell.log_in(password, timeout)
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
        text = self._hardware.ask("human-monitor-command", command_line="info usernet")
        ports = networks.forwarded_ports(text)
        if guest_port not in ports:
            raise CheckMisuse(f"{self.name}: port {guest_port} is not in any Nic(forwards=…)")
        return "127.0.0.1", ports[guest_port]

    def flatten(self, disk: int | Disk = 0) -> Path:
        """A raw copy of a disk's present state, for offline inspection.

        A running machine is paused for it; the copy then has every write that the guest made up
        to now, but not what the guest still holds in its own memory. Raises GuestOverrun where all
        that guests wrote leaves no room for it.
        """
        index = disk if isinstance(disk, int) else self.spec.disks.index(disk)
        self._flattened += 1
        target = self._hardware.file(f"disk{index}.{self._flattened}.raw")
        if not self.alive:
            return self._hardware.copy(index, target)
        # A guest in a loop of restarts was left standing: QEMU refuses to let that one go on.
        runs = self._hardware.ask("query-status")["running"]
        self._hardware.ask("stop")  # QEMU completes and flushes what is under way
        try:
            return self._hardware.copy(index, target)
        finally:
            if runs:
                self._hardware.ask("cont")

    def count_instructions(self) -> None:
        """Have QEMU count what the guest executes, from the next start on; only when switched off.

        The guest then runs under TCG on one thread, and its clocks follow the count: the same
        input makes the same count, however fast or busy the host is.
        """
        check_off(self._watch)
        self._hardware.begin_icount()

    def instructions(self) -> int:
        """Instructions of this start, as QEMU counted them outside the guest; `wfi` waits for free.

        Raises CheckMisuse without `count_instructions`, GuestExited when the machine is off.
        """
        return self._hardware.icount()

    def screenshot(self, name: str = "screen") -> Path:
        """Save the screen as a PNG; returns its path. The machine needs a `vga`."""
        if not self.spec.has_vga:
            raise CheckMisuse(f"{self.name} has no screen; create it with vga=True")
        path = self._observer.screenshot_path(self.name, name)
        path = path or self._hardware.file(f"{name}.png")
        self._hardware.ask("screendump", filename=str(path), format="png")
        return path

    def snapshot(self, name: str) -> None:
        """Save the whole running machine (memory, disks, UEFI variables, the shell's session)."""
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise CheckMisuse(f"snapshot name {name!r}: lower-case letters, digits and hyphens")
        snapshots.save(self._watch, self._hardware, name)
        self._snapshots[name] = self._shell.user if self._shell is not None else None
        self._observer.note(self.name, f"snapshot {name} saved")

    def restore(self, name: str) -> Machine:
        """Go back to a snapshot, whether the machine runs or not; the session is resumed too.

        The guest's clocks go back with it. They would not in a QEMU that had run on: its time
        stamp counter is no part of a snapshot, and the guest would see all the time since pass at
        once (QEMU 7.2 under TCG, measured). So each restore has a QEMU of its own.
        """
        if name not in self._snapshots:
            raise CheckMisuse(f"{self.name} has no snapshot {name!r}")
        hardware, watch = self._hardware, self._watch
        self._off()
        self._start(paused=True)
        snapshots.load(watch, hardware, name)
        watch.boot_start = self._cursor = self.console.end
        hardware.ask("cont")
        self._observer.note(self.name, f"snapshot {name} restored")
        user = self._snapshots[name]
        self._shell = None
        if user is not None:
            shell = Shell(watch, self.send, user)
            shell.take(BOOT_SECONDS)
            self._shell = shell
        return self

    # -- inside ---------------------------------------------------------------------------------

    def _start(self, paused: bool = False) -> None:
        watch = self._watch
        check_off(watch)
        watch.begin()
        self._cursor = watch.boot_start
        self._shell = None
        self._hardware.start(paused)
        self._since = self._watch.deadline(1.0)

    def _launching(self, command: list[str]) -> None:
        self._observer.qemu(self.name, command, self.versions)
        self._booting()

    def _booting(self) -> None:
        self._boots += 1
        self._observer.boot(self.name, self._boots)

    def _spoilt(self) -> None:
        self._since = self._watch.deadline(1.0)
        self._observer.note(
            self.name, "started anew: the host was so busy that the guest's timer seemed dead"
        )

    def _off(self) -> None:
        self._shell = None
        self._hardware.stop()

    def _find(self, pattern: re.Pattern[str], start: int, timeout: float, what: str) -> Found:
        console, scanned = self.console, start

        def step() -> Found | None:
            nonlocal scanned
            found = console.search(pattern, start, scanned)
            scanned = console.end
            return found

        return self._watch.wait(step, timeout, what)


__all__ = ["BOOT_SECONDS", "Disk", "Machine", "Nic"]
