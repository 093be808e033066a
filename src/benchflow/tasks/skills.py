"""The vocabulary of skills: what a task asks of those who solve it, in one word for each skill.

Results are compared by skill across tasks, so two tasks that need the same thing use the same word.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Word → what somebody with this skill can do. docs/authoring.md shows the same table.
SKILLS = {
    "bootloader": "make firmware find and start a kernel: MBR, GRUB, systemd-boot, an ESP",
    "branding": "make a system carry a product's name wherever it says its own",
    "containers": "build and run OCI images, and the namespaces and limits under them",
    "cross-compilation": "build for a machine other than the one that builds",
    "drivers": "write or repair what speaks to a device",
    "embedded": "live within a board's memory, storage and missing parts",
    "filesystems": "lay out, make, fix and grow partitions and file systems",
    "hardening": "take away what an attacker could use",
    "image-build": "compose a bootable image from packages or parts",
    "init": "start, supervise and stop what runs, with any init",
    "initramfs": "find and mount the root, and what has to happen before it",
    "kernel": "repair, patch or extend a kernel",
    "kernel-config": "choose what a kernel is built with",
    "libc": "build, port or replace a C library",
    "networking": "addresses, routes, name service, filters",
    "packaging": "build packages and repositories, and keep their database whole",
    "performance": "meet limits of time, memory or size",
    "porting": "make software run where it was not meant to",
    "recovery": "save a system and its data without making a new one",
    "reproducibility": "build the same bits twice",
    "security": "keys, permissions, who may do what",
    "signing": "sign, verify and refuse: secure boot, archives, updates",
    "systemd": "units, their order, their failures",
    "toolchain": "build and use compilers, linkers and binary tools",
}


def unknown(skills: Iterable[str]) -> list[str]:
    """A line for every word that is not in the vocabulary, with the nearest one that is."""
    lines = []
    for skill in skills:
        if skill not in SKILLS:
            close = difflib.get_close_matches(skill, SKILLS, n=1)
            hint = (
                f"did you mean {close[0]!r}?" if close else "docs/authoring.md has the vocabulary"
            )
            lines.append(f"skills: {skill!r} is not in the vocabulary; {hint}")
    return lines
