"""The image, the kernel and the userland, as they lie on the disk."""

from __future__ import annotations

import json
import re
from pathlib import Path

import elf
from unit import LOADER, ORDER, RELEASE

from benchflow.boot import BadDeliverable, decompress

MIB = 1 << 20
DISTRIBUTION = set(json.loads((Path(__file__).parent / "distribution.json").read_text()))
ELF_64 = b"\x7fELF\x02\x01\x01"
#: What a linker leaves open and nobody has to define.
WEAK = {"", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__",
        "__cxa_finalize", "__deregister_frame_info", "__register_frame_info"}  # fmt: skip
MANAGERS = ("dpkg", "apt", "apt-get", "rpm", "apk", "opkg", "ipkg", "pacman", "yum", "dnf")
DATABASES = ("/var/lib/dpkg", "/var/lib/apt", "/lib/apk", "/etc/apk", "/var/lib/rpm", "/etc/apt")


def is_newer(block: bytes) -> bool:
    """Whether a superblock names something that ext2 and ext3 lack: ext4 mounts them all."""
    incompatible, read_only = (int.from_bytes(block[at : at + 4], "little") for at in (96, 100))
    return bool(incompatible & ~0x16 or read_only & ~0x7)


def the_image_is_small_and_partitioned(disk, deliverable, metric) -> None:
    metric("image_bytes", disk.size)
    assert disk.size <= 16 * MIB, f"the image has {disk.size} bytes; at most 16,777,216 [R1]"
    partitions = disk.partitions()
    assert partitions and all(p.table == "dos" for p in partitions), (
        f"partition tables {sorted({p.table for p in partitions})}, not an MBR [R1]"
    )


def there_are_two_ext4_file_systems(disk) -> None:
    systems = [
        p.number for p in disk.partitions()
        if disk.filesystem(p) == "ext4" and is_newer(disk.bytes_at(p.start + 1024, 1024))
    ]  # fmt: skip
    assert len(systems) >= 2, (
        f"ext4 is in the partitions {systems}: root and /data each have one [R4] [R5]"
    )


def the_boot_sector_holds_code(disk) -> None:
    assert disk.has_boot_signature(), "the first sector does not end with 55 AA [R2]"
    assert any(disk.boot_sector()[:440]), "the boot sector is empty [R2]"


def the_kernel_starts(unit) -> None:
    release = unit.boot().expect_kernel(timeout=60)
    assert release == RELEASE, f"a kernel {release!r} starts, not {RELEASE} [R6]"


def the_kernel_file_was_built_for_this_order(kernels) -> None:
    assert kernels, "no kernel is in the image that can be opened [R6]"
    for place, kernel in kernels.items():
        wanted = f"Linux version {RELEASE} (order@{ORDER}) "
        assert kernel.banner.startswith(wanted), (
            f"{place} says {kernel.banner[:120]!r}, not {wanted!r}; no other kernel is there [R6]"
        )
        assert "debian.org" not in kernel.banner, f"{place} is the distribution's [R9]"
    several = [place for place in kernels if not place.startswith("sector ")]
    assert len(several) <= 1, f"{several}: two boards and one kernel, and no other [R3] [R6]"


def the_kernel_file_holds_the_seal(kernels) -> None:
    for place, kernel in kernels.items():
        for name, wanted in (("SEAL", "y"), ("SEAL_ORDER", f'"{ORDER}"')):
            seen = kernel.config.get(name)
            assert seen == wanted, (
                f"{place}: CONFIG_{name}={seen}, not {wanted}: part of the kernel, configured "
                "with the order's number [R11]"
            )


def the_libc_is_the_one_that_was_ordered(rootfs, programs, libc) -> None:
    assert f"1.2.3-{ORDER}\0".encode() in rootfs.read(libc), (
        f"{libc} does not give its version as 1.2.3-{ORDER} [R7]"
    )
    missing = {"malloc", "fopen", "pthread_create", "getaddrinfo"} - programs[libc].defined
    assert not missing, f"{libc} is no C library: it lacks {sorted(missing)} [R7]"


def the_libc_offers_seal_quote_and_the_programs_use_it(programs, libc) -> None:
    assert "seal_quote" in programs[libc].defined, f"{libc} has no function seal_quote [R12]"
    users = {path for path, program in programs.items() if "seal_quote" in program.imported}
    for command in ("busybox", "ledgerd"):
        assert any(path.endswith(f"/{command}") for path in users), (
            f"no program {command} calls the C library's seal_quote (those that do: "
            f"{sorted(users)}) [R12]"
        )


def every_program_is_linked_to_that_libc_alone(rootfs, programs, libc) -> None:
    own, itself = programs[libc], rootfs.read(libc)
    names = {libc.rpartition("/")[2], own.soname, "libc.so"}
    for path, program in programs.items():
        if path == libc or (not program.interpreter and rootfs.read(path) == itself):
            continue  # the library may lie there under a second name
        assert program.dynamic, f"{path} is linked statically [R8]"
        assert program.interpreter == LOADER, (
            f"{path} is loaded by {program.interpreter or 'nothing'}, not by {LOADER} [R8]"
        )
        assert program.needed and set(program.needed) <= names, (
            f"{path} needs {program.needed}: that C library and no other library [R8]"
        )
        foreign = program.imported - own.defined - WEAK
        assert not foreign, f"{path} asks for what {libc} does not have: {sorted(foreign)[:5]} [R8]"


def nothing_is_taken_from_the_distribution(files, programs, kernels) -> None:
    for path, program in programs.items():
        assert not program.versioned, f"{path} was linked against another C library [R9]"
        assert program.build_id not in DISTRIBUTION, f"{path} is a file of the distribution [R9]"
    for place, kernel in kernels.items():
        own = elf.parse(kernel.image).build_id
        assert own not in DISTRIBUTION, f"{place} is the distribution's kernel [R9]"
    narrow = [entry.path for entry, data in files if elf.is_narrow(data)]
    able = [place for place, kernel in kernels.items() if "IA32_EMULATION" in kernel.config]
    assert not (narrow and able), (
        f"{able} runs 32-bit programs, and {narrow[:3]} could be such: every program is linked "
        "to the C library [R8]"
    )


def no_program_is_hidden(disk, rootfs, trees, every) -> None:
    """`every` lists the files of a file system. Programs are files of the root, and not packed.

    The boot loader's own are of 32 bits; those of 64 bits are looked for on all of the disk.
    """
    raw, rest = disk.path.read_bytes(), 0
    fats = []
    for part in sorted(disk.partitions(), key=lambda part: part.start):
        kind = disk.filesystem(part)
        if kind == "ext4":
            assert ELF_64 not in raw[rest : part.start], f"a program before {part.number} [R4] [R9]"
            rest = max(rest, part.start + part.size)
        elif kind == "fat":
            fats.append(disk.fat(part))
    assert ELF_64 not in raw[rest:], "a program outside of the ext4 file systems [R4] [R9]"
    for tree in [*trees, *fats]:
        for entry, data in every(tree):
            assert tree is rootfs or not data.startswith(ELF_64), (
                f"{entry.path} is a program outside of the root file system: the whole userland "
                "lies there [R4], and none was compiled by the distribution [R9]"
            )
            if elf.is_elf(data) or data[0x202:0x206] == b"HdrS":
                continue
            try:
                inside = decompress(data, 256 * MIB)
            except BadDeliverable:
                inside = data
            assert ELF_64 not in inside, (
                f"{entry.path} has a program inside: the whole userland lies in the root file "
                "system [R4], and every program there is linked to its C library [R8]"
            )


def there_is_no_package_manager(rootfs) -> None:
    names = {entry.path.rpartition("/")[2]: entry.path for entry in rootfs.walk("/")
             if entry.kind in ("file", "symlink")}  # fmt: skip
    found = [names[name] for name in MANAGERS if name in names]
    found += [path for path in DATABASES if rootfs.exists(path)]
    assert not found, f"{found}: no package manager and no trace of one [R9]"


def busybox_is_the_one_that_was_ordered(files) -> None:
    seen = {}
    for entry, data in files:
        if elf.is_elf(data):
            for match in re.finditer(rb"BusyBox v([!-~]{3,60}) \(", data):
                seen[match[1].decode()] = entry.path
    assert set(seen) == {f"1.35.0-{ORDER}"}, (
        f"BusyBox gives its version as {seen}, not as 1.35.0-{ORDER} [R8]"
    )


def the_unit_carries_its_order(rootfs) -> None:
    text = rootfs.read("/etc/order", limit=1000).decode().strip()
    assert text == ORDER, f"/etc/order holds {text!r}, not {ORDER} [R10]"
