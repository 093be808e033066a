"""What a quick test may not do: start QEMU, make a namespace, ask a mirror.

Programs are refused by name: a folder of stand-ins comes first in PATH. Each leaves a line that
says which test started it, and the run fails for it, whatever the test made of the refusal.
Namespaces and mounts are refused by the kernel, with EPERM, to this process and all its children.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pyseccomp

PROGRAMS = (
    "qemu-system-x86_64",
    "qemu-system-aarch64",
    "qemu-system-riscv64",
    "qemu-img",
    "buildah",
    "bwrap",
    "mmdebstrap",
    "debootstrap",
    "slirp4netns",
    "newuidmap",
    "newgidmap",
    "apt-get",
    "npm",
    "chromium",
    "chromium-browser",
)
_STAND_IN = """#!/bin/sh
printf '%s\\n' "${{PYTEST_CURRENT_TEST:-no test}} started {name}" >> "{record}"
echo "{name} is refused to a quick test: mark it with what it needs (tests/needs.py)" >&2
exit 126
"""
# linux/sched.h: NEWTIME is no flag of clone(2), but of clone3(2) and unshare(2).
_NAMESPACES = (
    0x00020000,  # CLONE_NEWNS
    0x02000000,  # CLONE_NEWCGROUP
    0x04000000,  # CLONE_NEWUTS
    0x08000000,  # CLONE_NEWIPC
    0x10000000,  # CLONE_NEWUSER
    0x20000000,  # CLONE_NEWPID
    0x40000000,  # CLONE_NEWNET
)


def refuse_programs(folder: Path, names: Iterable[str] = PROGRAMS) -> Path:
    """Put stand-ins first in PATH; returns the file with a line for each start of one."""
    folder.mkdir(parents=True)
    record = folder.with_suffix(".started")
    record.touch()
    for name in names:
        stand_in = folder / name
        stand_in.write_text(_STAND_IN.format(name=name, record=record))
        stand_in.chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    return record


def refuse_namespaces() -> None:
    """From now on this process and its children make no namespace, enter none, and mount nothing.

    Cannot be undone.
    """
    policy = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    eperm, enosys = pyseccomp.ERRNO(1), pyseccomp.ERRNO(38)
    for name in ("unshare", "setns", "mount", "fsopen", "open_tree", "move_mount"):
        policy.add_rule(eperm, name)
    for flag in _NAMESPACES:
        policy.add_rule(eperm, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    # Its flags are in memory, where a filter cannot look; the C library then takes clone.
    policy.add_rule(enosys, "clone3")
    policy.load()
