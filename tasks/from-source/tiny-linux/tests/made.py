"""The image, the kernel and the userland, as they lie on the disk."""

from __future__ import annotations

import json
from pathlib import Path

import elf
from unit import LOADER, ORDER, RELEASE

MIB = 1 << 20
DISTRIBUTION = set(json.loads((Path(__file__).parent / "distribution.json").read_text()))


def the_image_is_small_and_partitioned(disk, deliverable, metric) -> None:
    assert disk.size <= 16 * MIB, f"{disk.size} bytes"
    metric("image_bytes", disk.size)
    partitions = disk.partitions()
    assert partitions and all(p.table == "dos" for p in partitions), "no MBR partition table"


def there_are_two_ext4_file_systems(disk) -> None:
    systems = [p for p in disk.partitions() if disk.filesystem(p) == "ext4"]
    assert len(systems) >= 2, "the root and the data file system are ext4, each in a partition"


def the_boot_sector_holds_code(disk) -> None:
    assert disk.has_boot_signature()
    assert any(disk.boot_sector()[:440]), "the boot sector is empty"


def the_kernel_starts(unit) -> None:
    assert unit.boot().expect_kernel(timeout=60) == RELEASE


def the_kernel_file_was_built_for_this_order(kernels) -> None:
    assert kernels, "no kernel file in the image"
    for path, kernel in kernels.items():
        assert kernel.banner.startswith(f"Linux version {RELEASE} (order@{ORDER}) "), path
        assert "debian.org" not in kernel.banner, path


def the_kernel_file_holds_the_seal(kernels) -> None:
    for path, kernel in kernels.items():
        assert b"seal1 " in kernel.image, (
            f"{path} does not hold the driver that answers seal1 … [R11]"
        )
        assert kernel.config.get("SEAL") == "y", path
        assert kernel.config.get("SEAL_ORDER") == f'"{ORDER}"', path


def the_libc_is_the_one_that_was_ordered(rootfs, programs, libc) -> None:
    assert f"1.2.3-{ORDER}\0".encode() in rootfs.read(libc)
    assert {"malloc", "fopen", "pthread_create", "getaddrinfo"} <= programs[libc].defined


def the_libc_offers_seal_quote_and_the_programs_use_it(programs, libc) -> None:
    assert "seal_quote" in programs[libc].defined
    users = {path for path, program in programs.items() if "seal_quote" in program.imported}
    for command in ("busybox", "ledgerd"):
        assert any(path.endswith(f"/{command}") for path in users), f"{command} does not"


def every_program_is_linked_to_that_libc_alone(programs, libc) -> None:
    own = programs[libc]
    names = {libc.rpartition("/")[2], own.soname, "libc.so"}
    for path, program in programs.items():
        if path == libc:
            continue
        assert program.dynamic, f"{path} is linked statically"
        assert program.interpreter == LOADER, f"{path} is not loaded by {LOADER}"
        assert program.needed and set(program.needed) <= names, f"{path}: {program.needed}"
        assert program.imported - own.defined <= {"", "_ITM_deregisterTMCloneTable",
            "_ITM_registerTMCloneTable", "__gmon_start__", "__cxa_finalize",
            "__deregister_frame_info", "__register_frame_info"}, path  # fmt: skip


def nothing_is_taken_from_the_distribution(rootfs, programs, kernels) -> None:
    for path, program in programs.items():
        assert not program.versioned, f"{path} was linked against another C library"
        assert program.build_id not in DISTRIBUTION, f"{path} is a file of the distribution"
    for path, kernel in kernels.items():
        own = elf.parse(kernel.image).build_id
        assert own not in DISTRIBUTION, f"{path} is the distribution's kernel"
    for entry, data in rootfs.contents("/", limit=16 * MIB):
        if elf.is_elf(data):
            assert b"BusyBox v1.35.0 (Debian" not in data, f"{entry.path}: the distribution's"
    for path in ("/var/lib/dpkg", "/lib/apk", "/var/lib/rpm", "/usr/bin/dpkg", "/usr/bin/apt"):
        assert not rootfs.exists(path), f"{path} belongs to a package manager"


def busybox_is_the_one_that_was_ordered(rootfs, programs) -> None:
    found = [path for path in programs if path.endswith("/busybox")]
    assert found, "there is no busybox"
    for path in found:
        assert f"1.35.0-{ORDER}".encode() in rootfs.read(path), path


def the_unit_carries_its_order(rootfs) -> None:
    assert rootfs.read("/etc/order", limit=1000).decode().strip() == ORDER
