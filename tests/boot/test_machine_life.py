"""A machine starts, restarts, loses power, remembers and is thrown away, as its words say."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from starting import Start

from benchflow.boot.errors import (
    BadDeliverable,
    CheckMisuse,
    GuestExited,
    GuestRebooted,
    QemuMissing,
    ShellBroken,
)
from benchflow.boot.fault import fault
from benchflow.boot.machine.disks import Disk
from benchflow.boot.machine.qemu_process import STDERR_MAX
from benchflow.boot.machine.qmp import Monitor
from benchflow.boot.machine.virtual_machine import Machine, Nic
from guests import SHELL_INIT, build_initramfs, debian_kernel, modules

pytestmark = pytest.mark.needs("qemu", "guests")

QUIET = "console=ttyS0 quiet"


def test_a_reboot_is_a_new_boot_of_the_same_machine(start: Start, shell_initrd: Path) -> None:
    machine = start(shell_initrd)
    first = machine.attach().run("cat /proc/sys/kernel/random/boot_id").stdout
    assert machine.boots == 1
    machine.reboot(command="reboot -f").expect_kernel()
    assert machine.boots == 2
    assert machine.attach().run("cat /proc/sys/kernel/random/boot_id").stdout != first


def test_the_two_streams_are_told_apart_where_nothing_can_be_written(
    start: Start, shell_initrd: Path
) -> None:
    shell = start(shell_initrd).attach()
    shell.run("mount -o remount,ro /", check=True)
    result = shell.run_apart("echo list; ls /none; : >/file", timeout=60)
    assert (result.stdout, result.status) == ("list\n", 1)
    assert re.fullmatch(r"ls: /none: No such .*\n.*/file: Read-only file system\n", result.stderr)


def test_a_restart_is_one_however_late_we_are(
    start: Start, shell_initrd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = start(shell_initrd)
    machine.attach()
    request = Monitor.request

    async def late(monitor: Monitor, command: str, **arguments: object) -> object:
        if command == "system_reset":
            await asyncio.sleep(0.3)  # the firmware has long begun when it is reset once more
        return await request(monitor, command, **arguments)

    monkeypatch.setattr(Monitor, "request", late)
    for boots in (2, 3):
        machine.reboot(command="reboot -f").expect_kernel()
        assert machine.boots == boots
        machine.attach().run("true", check=True)


def test_a_restart_during_a_command_is_no_answer(start: Start, shell_initrd: Path) -> None:
    machine = start(shell_initrd, append=QUIET)
    shell = machine.attach()
    with pytest.raises(GuestRebooted):
        shell.run("reboot -f; sleep 100", timeout=200)
    with pytest.raises(ShellBroken, match="restarted"):
        machine.reboot(command="reboot -f")  # nobody has logged in since
    machine.attach()
    machine.reboot(command="reboot -f").attach().run("true", check=True)
    assert machine.boots == 3


def test_a_power_cut_keeps_what_was_flushed(start: Start, tmp_path: Path) -> None:
    disk = Disk.empty(tmp_path / "data.img", 32)
    files = modules("virtio_pci", "virtio_blk")
    machine = start(SHELL_INIT, files=files, disks=[disk], append=QUIET)
    shell = machine.attach()
    shell.run("mke2fs -q /dev/vda && mount /dev/vda /mnt", check=True)
    shell.write_file("/mnt/kept", b"flushed\n")
    shell.run("sync", check=True)
    shell.write_file("/mnt/held", b"only in the guest's memory\n")
    machine.power_cut()
    assert not machine.alive
    with pytest.raises(GuestExited):
        machine.power_cut()
    shell = machine.boot().attach()
    shell.run("mount /dev/vda /mnt", check=True)
    assert shell.read_file("/mnt/kept") == b"flushed\n"
    assert b"flushed" in machine.flatten().read_bytes()
    machine.power_cut()
    machine.reset_disks()
    assert machine.flatten().read_bytes() == bytes(32 << 20)
    assert disk.path.read_bytes() == bytes(32 << 20)  # the deliverable itself is never written


def test_a_snapshot_brings_back_memory_disk_and_session(start: Start, tmp_path: Path) -> None:
    disk = Disk.empty(tmp_path / "data.img", 32)
    files = modules("virtio_pci", "virtio_blk")
    machine = start(SHELL_INIT, files=files, disks=[disk], append=QUIET)
    machine.attach().run("cd /tmp; echo then >/tmp/state; echo one >/dev/vda; sync", check=True)
    machine.snapshot("then")
    machine.shell.run("echo now >/tmp/state; echo two >/dev/vda; sync; sleep 5", check=True)
    uptime, began = up(machine), time.monotonic()
    machine.restore("then")
    # The guest's clock went back, too: by more than three of the five seconds, however long a busy
    # host took to bring it back and to ask.
    assert up(machine) - (time.monotonic() - began) < uptime - 3
    look = "cat /tmp/state; head -c 3 /dev/vda"
    assert machine.shell.run(look).stdout == "then\none"
    machine.power_cut()
    assert machine.restore("then").shell.run(look).stdout == "then\none"
    with pytest.raises(CheckMisuse, match="no snapshot"):
        machine.restore("never")


def up(machine: Machine) -> float:
    """Seconds since the guest's kernel started, by its own clock."""
    return float(machine.shell.run("cat /proc/uptime").stdout.split()[0])


def test_a_machine_without_disks_has_snapshots_too(start: Start, shell_initrd: Path) -> None:
    machine = start(shell_initrd, append=QUIET)
    machine.attach().run("echo kept >/tmp/x", check=True)
    machine.snapshot("a")
    machine.power_cut()
    assert machine.restore("a").shell.run("cat /tmp/x").stdout == "kept\n"


POWER_BUTTON = """
for event in /dev/input/event*; do (head -c 1 $event >/dev/null; poweroff -f) & done
"""


def test_the_power_button_is_answered_or_not(start: Start, shell_initrd: Path) -> None:
    files = modules("evdev", "button")
    obedient = start(POWER_BUTTON + SHELL_INIT, files=files, append=QUIET)
    obedient.attach()
    assert obedient.shutdown(timeout=60)
    assert not obedient.alive
    deaf = start(shell_initrd, append=QUIET)
    deaf.attach()
    assert not deaf.shutdown(timeout=2)
    assert not deaf.alive


NETWORK = """
ip link set lo up; ip link set eth0 up; ip addr add {address}/24 dev eth0
echo hello from {address} >/tmp/index.html; httpd -h /tmp
"""


def test_a_forwarded_port_reaches_the_guest(start: Start) -> None:
    machine = start(
        NETWORK.format(address="10.0.2.15") + SHELL_INIT,
        files=modules("virtio_pci", "virtio_net"),
        nics=[Nic(forwards=[80])],
    )
    machine.attach()
    with socket.create_connection(machine.forward(80), timeout=60) as connection:
        connection.sendall(b"GET /index.html HTTP/1.0\r\n\r\n")
        answer = b""
        while data := connection.recv(4096):
            answer += data
    assert b"hello from 10.0.2.15" in answer
    with pytest.raises(CheckMisuse, match="port 22"):
        machine.forward(22)


def test_a_power_off_while_qemu_is_asked_is_the_guests(start: Start) -> None:
    """A guest that chooses its moment is still judged: GuestExited, and no verifier that broke."""
    for _ in range(2):
        machine = start("sleep 1; poweroff -f\n", append=QUIET, nics=[Nic(forwards=(80,))])
        end = time.monotonic() + 300
        with pytest.raises(GuestExited) as caught:
            while time.monotonic() < end:
                machine.forward(80)
        assert fault(caught.value) == "failed"


def test_a_restart_while_qemu_is_asked_is_waited_for(start: Start) -> None:
    machine = start("reboot -f\n", append=QUIET)
    end = time.monotonic() + 120
    while machine.boots < 3 and time.monotonic() < end:
        machine._hardware.ask("stop")
        machine._hardware.ask("cont")
    assert machine.boots >= 3


def test_a_lan_joins_machines_and_nobody_else(start: Start) -> None:
    files = modules("virtio_pci", "virtio_net")
    one, two, stranger = (
        start(NETWORK.format(address=address) + SHELL_INIT, files=files, nics=[Nic(lan=lan)])
        for address, lan in [("10.1.1.1", "home"), ("10.1.1.2", "home"), ("10.1.1.3", "away")]
    )
    for machine in (one, two, stranger):
        machine.attach()
    get = r"printf 'GET /index.html HTTP/1.0\r\n\r\n' | nc -w 9 {} 80"
    assert "hello from 10.1.1.2\n" in one.shell.run(get.format("10.1.1.2")).stdout
    assert "hello from 10.1.1.1\n" in two.shell.run(get.format("10.1.1.1")).stdout
    assert stranger.shell.run(get.format("10.1.1.1"), timeout=60).status != 0


def test_a_screenshot_is_a_png(start: Start, shell_initrd: Path) -> None:
    machine = start(shell_initrd, append=QUIET, vga=True)
    machine.attach()
    assert machine.screenshot("first").read_bytes().startswith(b"\x89PNG")
    bare = start(shell_initrd, append=QUIET)
    with pytest.raises(CheckMisuse, match="no screen"):
        bare.screenshot()


def test_what_qemu_complains_of_is_kept_by_its_end_alone(start: Start, shell_initrd: Path) -> None:
    machine = start(shell_initrd, extra_args=["-d", "in_asm"])
    machine.attach().run("true", check=True)
    process = machine._hardware.process
    assert len(process.stderr) > STDERR_MAX // 2, "QEMU did not write to its standard error"
    assert len(process.stderr) <= STDERR_MAX
    size = 0
    for fd in range(3, 1024):
        with contextlib.suppress(OSError):
            found = os.fstat(fd)
            size += found.st_size if stat.S_ISREG(found.st_mode) and not found.st_nlink else 0
    assert size < 1 << 20, "it grows on the disk"


def test_a_kernel_that_is_none_is_the_deliverables_fault(tmp_path: Path) -> None:
    fake = tmp_path / "vmlinuz"
    fake.write_bytes(b"no kernel" * 1000)
    with Machine(firmware="direct", kernel=fake) as machine, pytest.raises(BadDeliverable):
        machine.boot()


def test_missing_qemu_is_infrastructure(
    start: Start, shell_initrd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(QemuMissing, match="qemu-system-x86"):
        start(shell_initrd)


def test_misuse_is_told_before_anything_starts(tmp_path: Path) -> None:
    kernel = debian_kernel()
    for spec in (
        {"firmware": "direct"},
        {"firmware": "bios", "kernel": kernel},
        {"arch": "riscv64", "firmware": "bios"},
        {"arch": "m68k"},
        {"memory_mb": 1},
    ):
        with pytest.raises(CheckMisuse):
            Machine(**spec)  # type: ignore[arg-type]


def test_nothing_is_left_behind(start: Start, shell_initrd: Path, tmp_path: Path) -> None:
    machine = start(shell_initrd, append=QUIET, disks=[Disk.empty(tmp_path / "a.img", 1)])
    machine.attach()
    assert [line for line in commands() if str(shell_initrd) in line]
    machine.close()
    assert not [line for line in commands() if str(shell_initrd) in line]
    assert not list(tmp_path.glob("m0.*"))


ORPHAN = """
import os, sys
from pathlib import Path
from benchflow.boot.machine.virtual_machine import Machine
machine = Machine(firmware="direct", kernel=Path(sys.argv[1]), initrd=Path(sys.argv[2]))
machine.boot()
os.kill(os.getpid(), 9)
"""


def test_a_killed_verifier_takes_its_machines_along(login_initrd: Path) -> None:
    arguments = [sys.executable, "-c", ORPHAN, str(debian_kernel()), str(login_initrd)]
    assert subprocess.run(arguments).returncode == -9
    deadline = time.monotonic() + 30
    while [line for line in commands() if line.startswith("/") and str(login_initrd) in line]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def commands() -> list[str]:
    """The command lines of all QEMU processes."""
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(process.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in lines if "qemu-system" in line]


FULL = """
import sys
from pathlib import Path
from benchflow.boot.machine.disks import Disk
from benchflow.boot.errors import NoSpace
from benchflow.boot.machine.virtual_machine import Machine
kernel, initrd, scratch = map(Path, sys.argv[1:])
disk = Disk.empty(scratch / "disk.img", 256)
spec = {"kernel": kernel, "initrd": initrd, "disks": [disk], "append": "console=ttyS0 quiet"}
with Machine(firmware="direct", memory_mb=256, scratch=scratch, **spec) as machine:
    shell = machine.boot().attach()
    try:
        shell.run("dd if=/dev/zero of=/dev/vda bs=1M count=200 conv=fsync", timeout=600)
    except NoSpace:
        print("the verifier says so")
"""


def test_a_full_disk_of_the_verifier_is_infrastructure(tmp_path: Path, built: Path) -> None:
    initrd = build_initramfs(
        built / "disk.gz", SHELL_INIT, files=modules("virtio_pci", "virtio_blk")
    )
    script = f'mount -t tmpfs -o size=32m none {tmp_path} && exec "$@"'
    arguments = [sys.executable, "-c", FULL, str(debian_kernel()), str(initrd), str(tmp_path)]
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script, "sh", *arguments], capture_output=True, text=True
    )
    assert done.stdout == "the verifier says so\n", done.stderr


#: Prints K and switches its board off: lui, addi, sb to the serial port; lui, lui, addi, sw to the
#: board's switch; j to itself. It is through within a millisecond.
OFF_AT_ONCE = "b7020010 1303b004 23806200 b7021000 37530000 13035355 23a06200 6f000000"


@pytest.mark.needs("qemu-system-riscv64")
def test_a_guest_that_is_off_at_once_is_seen_to_be_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However late QEMU is greeted: what happens before that is told nobody."""
    connect = Monitor.connect

    async def late(monitor: Monitor, sock: socket.socket) -> None:
        await asyncio.sleep(2)
        await connect(monitor, sock)

    monkeypatch.setattr(Monitor, "connect", late)
    kernel = tmp_path / "off"
    kernel.write_bytes(bytes.fromhex(OFF_AT_ONCE))
    with Machine(
        "off", arch="riscv64", firmware="direct", kernel=kernel, memory_mb=64, rng=False,
        extra_args=["-bios", "none"], scratch=tmp_path,
    ) as machine:  # fmt: skip
        machine.boot().expect("K", timeout=20)
        end = time.monotonic() + 20
        while machine.alive and time.monotonic() < end:
            time.sleep(0.05)
        assert not machine.alive
