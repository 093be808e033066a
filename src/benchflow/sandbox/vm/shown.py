"""Folders of the host's that a machine shows read-only: each becomes a disk of its own."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchflow.base.home import home
from benchflow.errors import InfrastructureError
from benchflow.sandbox.model import Mount
from benchflow.sandbox.trial_files import stored

_ENTRY = 4096 + 256
_OWN = 32 << 20


@contextmanager
def disks(mounts: Sequence[Mount]) -> Iterator[list[Path]]:
    """Such disks, to be copied into the room while this lasts."""
    with tempfile.TemporaryDirectory(prefix="shown-", dir=_scratch()) as name:
        made = [Path(name) / str(number) for number in range(len(mounts))]
        for mount, disk in zip(mounts, made, strict=True):
            _make(mount.host, disk)
        yield made


def _scratch() -> Path:
    path = home() / "machines"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def _make(source: Path, disk: Path) -> None:
    if not source.is_dir():
        raise InfrastructureError(f"{source}: a machine is shown folders, and this is none")
    entries = sum(1 for _ in source.rglob("*"))
    size = int(stored(source)[1] * 1.05) + entries * _ENTRY + _OWN
    command = ["/usr/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-O", "^has_journal"]
    command += ["-N", str(entries + 1024), "-E", "root_owner=0:0", "-d", str(source)]
    done = subprocess.run(
        [*command, str(disk), f"{size >> 10}k"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InfrastructureError(f"a disk of {source} was not made: {done.stderr.strip()[-400:]}")
