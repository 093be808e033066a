"""What a quick test may not do: start QEMU, make a namespace, ask a mirror, start a program that
not every machine has without saying so.

Programs are refused by name: a folder of stand-ins comes first in PATH. Each leaves a line that
says which test started it, and the run fails for it, whatever the test made of the refusal.
Namespaces and mounts are refused by the kernel, with EPERM, to this process and all its children.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import pyseccomp
from tests import debian_packages

#: Never for a quick test.
REFUSED = frozenset({
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
    "chromium",
    "chromium-browser",
})  # fmt: skip
#: Fails as without a network, and nobody is blamed: a site is then built without its player.
_OFFLINE = "npm"
#: Every Debian has the one; a job notes its commit by the other, where there is one.
_UNDECLARED = frozenset({"gzip", "git"})
_DECLARED = frozenset(
    name for each in debian_packages.PACKAGES for name in debian_packages.programs(each)
)
_STAND_IN = """#!/bin/sh
name=${{0##*/}}
printf '%s\\n' "${{PYTEST_CURRENT_TEST:-no test}} started $name" >> "{record}"
echo "$name is refused to a quick test: mark it with what it needs (tests/needs.py)" >&2
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


class Programs:
    """Stand-ins for the installed programs that a quick test may not start, first in PATH."""

    def __init__(self, folder: Path) -> None:
        """`folder` is made."""
        self._folder = folder / "refused"
        self._folder.mkdir(parents=True)
        self._record = folder / "started"
        self._record.touch()
        self._script = folder / "stand-in"
        self._script.write_text(_STAND_IN.format(record=self._record))
        self._script.chmod(0o755)
        self._known = frozenset(
            name for name in (REFUSED | _DECLARED) - _UNDECLARED if debian_packages.program(name)
        )
        self._standing: set[str] = set()
        if debian_packages.program(_OFFLINE):
            (self._folder / _OFFLINE).symlink_to("/bin/false")
        os.environ["PATH"] = f"{self._folder}:{os.environ['PATH']}"
        self.allow(())

    def allow(self, names: Collection[str]) -> None:
        """From now on `names` may be started, and no others."""
        wanted = self._known - (frozenset(names) - REFUSED)
        for name in self._standing - wanted:
            (self._folder / name).unlink()
        for name in wanted - self._standing:
            (self._folder / name).symlink_to(self._script)
        self._standing = set(wanted)

    def started(self) -> str:
        """What was started all the same since the last call, a line each."""
        found = self._record.read_text()
        if found:
            self._record.write_text("")
        return found


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
