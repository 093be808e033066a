"""The system calls that Python's os module does not have."""

# pathlib would cost every sandbox some milliseconds of its start
# ruff: noqa: PTH123

from __future__ import annotations

import ctypes
import os
import struct

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_NAME, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 1, 15, 24, 36
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91, "riscv64": 91}
_SYS_SECCOMP = {"x86_64": 317, "aarch64": 277, "riscv64": 277}
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_machine = os.uname().machine


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, argument: int = 0) -> None:
    _check(_libc.prctl(option, ctypes.c_ulong(argument), 0, 0, 0), f"prctl {option}")


def set_name(name: str) -> None:
    """Name this process in `ps` and for `pkill`, in its comm and in its command line."""
    buffer = ctypes.create_string_buffer(name.encode()[:15])
    _check(_libc.prctl(PR_SET_NAME, buffer, 0, 0, 0), "prctl PR_SET_NAME")
    fields = open("/proc/self/stat", "rb").read().rpartition(b")")[2].split()  # noqa: SIM115
    start, end = int(fields[45]), int(fields[46])
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, name.encode()[: end - start - 1], min(len(name), end - start - 1))


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()
    )
    _check(result, f"mount {kind or source} on {target}")


def unmount(target: str) -> None:
    _check(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    _check(_libc.syscall(_SYS_PIVOT_ROOT[_machine], new.encode(), old.encode()), "pivot_root")


def drop_capabilities(dropped: int) -> None:
    """Remove the capabilities in the bit set `dropped` for good, from this process on."""
    last = int(open("/proc/sys/kernel/cap_last_cap").read())  # noqa: SIM115
    keep = ((1 << (last + 1)) - 1) & ~dropped
    for number in range(last + 1):
        if dropped >> number & 1:
            prctl(PR_CAPBSET_DROP, number)
    low, high = keep & 0xFFFFFFFF, keep >> 32
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    data = struct.pack("6I", low, low, 0, high, high, 0)
    _check(_libc.syscall(_SYS_CAPSET[_machine], header, data), "capset")


def seccomp(program: bytes, flags: int = 0) -> int:
    """Install a classic BPF filter. Needs CAP_SYS_ADMIN in the user namespace instead of
    no_new_privs, so that sudo keeps working inside."""
    code = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    return _check(_libc.syscall(_SYS_SECCOMP[_machine], 1, flags, fprog), "seccomp")
