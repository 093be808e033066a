"""Guests that use up what all machines of a verification share are ended, and their checks fail."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from starting import Start
from verifier_runs import run, write_task, zipapp

from benchflow.boot.errors import GuestOverrun
from benchflow.boot.machine.disks import Disk
from benchflow.boot.machine.guard import Guard, memory_of, stored
from benchflow.boot.machine.virtual_machine import Machine
from benchflow.boot.memory import QEMU_MB
from guests import SHELL_INIT, build_initramfs, debian_kernel, modules

pytestmark = pytest.mark.needs("qemu", "guests")

MIB = 1 << 20
QUIET = "console=ttyS0 quiet"
FILL = """
echo filling; for d in /dev/vd?; do dd if=/dev/zero of=$d bs=1M oflag=direct & done
wait; echo filled; sleep 1000
"""


def fills(tmp_path: Path) -> Path:
    files = modules("virtio_pci", "virtio_blk")
    return build_initramfs(tmp_path / "fill.gz", FILL, files=files)


def test_who_fills_the_disks_of_all_is_ended_and_nobody_else(start: Start, tmp_path: Path) -> None:
    room = tmp_path / "machines"
    room.mkdir()
    guard = Guard(room, disk=300 * MIB)
    good = start(SHELL_INIT, guard=guard)
    shell = good.attach()
    disks = [Disk.empty(tmp_path / f"{name}.img", 1500) for name in "ab"]
    with Machine(
        "greedy", firmware="direct", kernel=debian_kernel(), initrd=fills(tmp_path),
        append=QUIET, disks=disks, memory_mb=256, scratch=room, guard=guard,
    ) as greedy:  # fmt: skip
        greedy.boot()
        with pytest.raises(GuestOverrun, match=r"greedy was ended.* its disks take \d+ MiB"):
            greedy.expect("filled\n", timeout=300)
        time.sleep(1)
        assert not greedy.alive
        assert stored(list(room.iterdir())) < MIB  # others have the room
        for use in (greedy.boot, greedy.flatten, greedy.power_cut, greedy.attach):
            with pytest.raises(GuestOverrun):
                use()
    assert shell.run("echo here").stdout == "here\n"


def test_a_copy_that_has_no_room_is_not_begun(start: Start, tmp_path: Path) -> None:
    disk = tmp_path / "full.img"
    disk.write_bytes(b"x" * (40 * MIB))
    machine = start(SHELL_INIT, disks=[Disk(disk)], guard=Guard(tmp_path, disk=200 * MIB))
    machine.attach()
    assert machine.flatten().stat().st_size == 40 * MIB
    (tmp_path / "others").write_bytes(b"x" * (100 * MIB))
    with pytest.raises(GuestOverrun, match="copy"):
        machine.flatten()
    assert machine.attach().run("echo runs on").stdout == "runs on\n"


def test_a_qemu_that_holds_more_than_its_guests_memory_is_ended(
    start: Start, shell_initrd: Path
) -> None:
    machine = start(shell_initrd)
    machine.attach()
    assert 64 * MIB < memory_of(machine._hardware.process.pid) < (256 + QEMU_MB // 2) * MIB
    held = f"memory-backend-ram,id=more,size={QEMU_MB + 256}M,prealloc=on"
    # It may hold that much before its processors run.
    with pytest.raises(GuestOverrun, match="QEMU holds"):
        start(shell_initrd, extra_args=["-object", held]).expect("what never comes", timeout=300)


CHECKS = """
from pathlib import Path
from benchflow.boot import Disk, check, milestone

@milestone("medium", weight=1)
def test_medium(deliverable): deliverable()

@milestone("spared", weight=3)
def test_disks_are_spared(machines, work):
    disks = [Disk.empty(work / f"{name}.img", 900) for name in "ab"]
    machine = machines.create("pc", firmware="direct", kernel=Path(KERNEL), initrd=Path(INITRD),
                              append="console=ttyS0 quiet", disks=disks)
    machine.boot().expect("filled", timeout=300)
    assert machine.flatten().stat().st_blocks == 0
"""


def test_a_guest_that_fills_every_disk_has_failed(tmp_path: Path) -> None:
    """What it writes, a third more than the verifier has, is never there."""
    medium = tmp_path / "medium"
    medium.write_bytes(b"x")
    checks = f"KERNEL, INITRD = {str(debian_kernel())!r}, {str(fills(tmp_path))!r}\n{CHECKS}"
    wanted = {"path": str(medium), "kind": "file", "max_mb": 1, "max_stored_mb": 1}
    tests = write_task(tmp_path / "tests", checks, storage_mb=1400, deliverables=[wanted])
    done = run(zipapp(tmp_path / "boot"), tests, tmp_path / "logs")
    assert done.status == 0, done.stderr
    assert done.reward is not None
    assert (done.reward["reward"], done.reward["resolved"]) == (0.25, 0)
    assert done.checks["test_disks_are_spared"]["status"] == "failed"
    assert "used up what is there" in done.checks["test_disks_are_spared"]["message"]
