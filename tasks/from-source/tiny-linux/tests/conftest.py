"""Machines, files, order of events.

Machines: `unit` is board A and lives through all checks, its disk kept from start to start; board B
and a unit whose network offers no name are made near the end. Files: one image. It is read first as
it was delivered (`disk`, `rootfs`, `programs`, `kernels`); the unit is started, entered, asked and
tormented; it goes down three times in order, loses its power three times and crashes once; last of
all its disk is compared with what was delivered.
"""

from __future__ import annotations

import hashlib
import re

import pytest

# Their comparisons explain themselves, as those of checks.py do.
pytest.register_assert_rewrite("made", "closed", "accounts", "serving", "watched", "lasting")

import elf  # noqa: E402
import vmlinux  # noqa: E402
from unit import LOADER, Lan, board_a, board_b  # noqa: E402

from benchflow.boot import BadDeliverable  # noqa: E402

MIB = 1 << 20
#: No Linux is smaller; a boot loader's own files that begin like one (memdisk, lnxboot) are.
SMALLEST_KERNEL = 256 << 10


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
def board(machines, deliverable):
    """The second board, and the network that it is on."""
    lan = Lan.draw()
    return board_b(machines, "board-b", deliverable(), lan), lan


@pytest.fixture(scope="session")
def numbered(disk):
    """Every ext4 file system of the image, by the number of its partition."""
    return {p.number: disk.ext4(p) for p in disk.partitions() if disk.filesystem(p) == "ext4"}


@pytest.fixture(scope="session")
def trees(numbered):
    """Every ext4 file system of the image."""
    return list(numbered.values())


@pytest.fixture(scope="session")
def root_number(numbered):
    """The partition that holds the userland."""
    for path in (LOADER, "/etc"):
        for number, tree in numbered.items():
            if tree.exists(path):
                return number
    raise AssertionError("no ext4 partition holds a root file system [R4]")


@pytest.fixture(scope="session")
def rootfs(numbered, root_number):
    """The ext4 file system that holds the userland."""
    return numbered[root_number]


def contents(tree):
    """Every regular file of a file system once, whatever its names: (entry, bytes)."""
    seen, total, many = {0}, 0, 0
    for entry in tree.walk("/"):
        # FAT has no keys, and no two names for a file.
        if entry.kind != "file" or (entry.key and entry.key in seen):
            continue
        seen.add(entry.key)
        total, many = total + entry.size, many + 1
        if total > 64 * MIB or many > 5000:
            raise BadDeliverable("the files of a file system are more than its disk can hold")
        yield entry, tree.read(entry.path, 16 * MIB)


@pytest.fixture(scope="session")
def every():
    """How all files of a file system are read."""
    return contents


@pytest.fixture(scope="session")
def files(rootfs):
    """Every regular file of the root file system once: (entry, bytes)."""
    return list(contents(rootfs))


@pytest.fixture(scope="session")
def programs(rootfs, files):
    """Every 64-bit ELF file of the root file system, by one of its paths: of the hard links of
    BusyBox the one that is called so."""
    names = {}
    for entry in rootfs.walk("/"):
        if entry.kind == "file" and entry.path.endswith("/busybox"):
            names[entry.key] = entry.path
    return {
        names.get(entry.key, entry.path): elf.parse(data)
        for entry, data in files
        if elf.is_elf(data) and not elf.is_narrow(data)
    }


@pytest.fixture(scope="session")
def inodes(rootfs, programs):
    """The inodes of all programs."""
    return {rootfs.stat(path).key: path for path in programs}


@pytest.fixture(scope="session")
def libc(rootfs, programs):
    """The path of the C library, as `programs` knows it."""
    key = rootfs.stat(LOADER).key
    found = [path for path in programs if rootfs.stat(path).key == key]
    assert found, f"{LOADER} is not a library [R7]"
    return found[0]


@pytest.fixture(scope="session")
def kernels(disk):
    """Every kernel in the image, by path or by sector, each once."""
    found, seen = {}, set()

    def found_one(place, data, *, is_file):
        try:
            kernel = vmlinux.unpack(data)
        except vmlinux.BadKernel as error:
            # Somewhere on the disk these may be leavings of a file system; a file is what it is.
            assert not is_file, f"{place}: {error} [R6]"
            return
        digest = hashlib.sha256(kernel.image).digest()
        if digest not in seen:
            seen.add(digest)
            found[place] = kernel

    for partition in disk.partitions():
        kind = disk.filesystem(partition)
        if kind in ("fat", "ext4"):
            tree = disk.fat(partition) if kind == "fat" else disk.ext4(partition)
            for entry in tree.walk("/"):
                if entry.kind == "file" and SMALLEST_KERNEL < entry.size <= 16 * MIB:
                    data = tree.read(entry.path, 16 * MIB)
                    if vmlinux.is_kernel(data):
                        found_one(f"{partition.number}:{entry.path}", data, is_file=True)
    raw = disk.path.read_bytes()
    starts = [match.start() - 0x202 for match in re.finditer(rb"HdrS", raw)]
    starts = [start for start in starts if start >= 0 and start % 512 == 0]
    assert len(starts) <= 64, f"{len(starts)} sectors look like the start of a kernel [R6]"
    for start in starts:
        found_one(f"sector {start // 512}", raw[start:], is_file=False)
    return found


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}
