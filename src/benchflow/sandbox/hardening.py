"""What root inside a sandbox may not ask of the kernel.

Being root of its own user namespace it has no power over the host; what is dropped here is attack
surface that distro work has no use for. mount, unshare, clone, chroot, ptrace and the rest stay.
"""

from __future__ import annotations

import os
from functools import cache

from benchflow.errors import MissingTool

# Numbers from linux/capability.h.
DROPPED_CAPABILITIES = {
    "sys_module": 16,
    "sys_rawio": 17,
    "sys_pacct": 20,
    "sys_boot": 22,
    "sys_time": 25,
    "mac_override": 32,
    "mac_admin": 33,
    "syslog": 34,
    "wake_alarm": 35,
    "block_suspend": 36,
    "perfmon": 38,
    "bpf": 39,
    "checkpoint_restore": 40,
}
DENIED_CALLS = (
    "acct",
    "add_key",
    "bpf",
    "delete_module",
    "finit_module",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "move_pages",
    "nfsservctl",
    "open_by_handle_at",
    "perf_event_open",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "settimeofday",
    "swapoff",
    "swapon",
    "syslog",
    "userfaultfd",
    "vm86",
    "vm86old",
)

# Stands in for mknod where the kernel gives us no seccomp listener: dynamically linked tools that
# run the program work with it, cp and tar do not.
MKNOD = """#!/bin/sh
# Device nodes cannot be made in a user namespace; the sandbox's own are shown instead.
mode=
while getopts m:Z option; do case $option in m) mode=$OPTARG ;; *) ;; esac; done
shift $((OPTIND - 1))
case "$2 $3 $4" in
    'c 1 3') node=null ;; 'c 1 5') node=zero ;; 'c 1 7') node=full ;;
    'c 1 8') node=random ;; 'c 1 9') node=urandom ;; 'c 5 0') node=tty ;; 'c 5 2') node=ptmx ;;
    *) exec /usr/bin/mknod ${mode:+-m "$mode"} "$@" ;;
esac
set -eC
: > "$1"
exec mount --bind "/dev/$node" "$1"
"""


def capability_bits() -> int:
    """The dropped capabilities as a bit set."""
    return sum(1 << number for number in DROPPED_CAPABILITIES.values())


@cache
def seccomp_program() -> bytes:
    """The filter as classic BPF: the denied calls answer EPERM, all others pass."""
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise MissingTool(
            f"libseccomp cannot be loaded: {error}", hint="apt-get install libseccomp2"
        ) from error
    policy = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    if os.uname().machine == "x86_64":
        policy.add_arch(pyseccomp.Arch.X86)
    for name in DENIED_CALLS:
        # A call that this kernel or architecture does not know needs no rule.
        if pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) != -1:
            policy.add_rule(pyseccomp.ERRNO(1), name)
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "wb") as writer:
        policy.export_bpf(writer)
        writer.close()
        return reader.read()
