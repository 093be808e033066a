"""What the checks share: what was delivered, taken apart, and the unit."""

from __future__ import annotations

import pytest

# Their comparisons explain themselves, as those of checks.py do.
pytest.register_assert_rewrite("made", "closed", "serving", "lasting")

import elf  # noqa: E402
import vmlinux  # noqa: E402
from unit import LOADER, Lan, board_a  # noqa: E402

MIB = 1 << 20


@pytest.fixture(scope="session")
def disk(image):
    return image()


@pytest.fixture(scope="session")
def lan():
    return Lan.draw()


@pytest.fixture(scope="session")
def unit(machines, deliverable, lan):
    return board_a(machines, "unit", deliverable(), lan)


@pytest.fixture(scope="session")
def rootfs(disk):
    """The ext4 file system that holds the userland."""
    for partition in disk.partitions():
        if disk.filesystem(partition) == "ext4":
            tree = disk.ext4(partition)
            if tree.exists("/etc"):
                return tree
    raise AssertionError("no ext4 partition holds a root file system")


@pytest.fixture(scope="session")
def programs(rootfs):
    """Every ELF file of the root file system, by path; not the boot loader's own modules."""
    found = {}
    for entry, data in rootfs.contents("/", limit=16 * MIB):
        if elf.is_elf(data) and not (entry.path.startswith("/boot/") and elf.is_narrow(data)):
            found[entry.path] = elf.parse(data)
    return found


@pytest.fixture(scope="session")
def libc(rootfs, programs):
    """The path of the C library."""
    path = rootfs.stat(LOADER).path
    assert path in programs, f"{LOADER} is not a library"
    return path


@pytest.fixture(scope="session")
def kernels(disk):
    """Every kernel file in the image, by path."""
    found = {}
    for partition in disk.partitions():
        kind = disk.filesystem(partition)
        if kind in ("fat", "ext4"):
            tree = disk.fat(partition) if kind == "fat" else disk.ext4(partition)
            for entry, data in tree.contents("/", limit=16 * MIB):
                if vmlinux.is_kernel(data):
                    found[f"{partition.number}:{entry.path}"] = vmlinux.unpack(data)
    return found


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}
