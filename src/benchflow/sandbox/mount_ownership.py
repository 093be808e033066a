"""Directories of the caller's that a sandbox may write: lent while it lives, then given back."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchflow.errors import InfrastructureError
from benchflow.sandbox import userns
from benchflow.sandbox.idmap import IdMap
from benchflow.sandbox.model import Mount

_SPECIAL = ["!", "-type", "d", "!", "-type", "f", "!", "-type", "l", "-delete"]
_SET_ID = ["-type", "f", "-perm", "/6000", "-exec", "chmod", "ug-s", "{}", "+"]


def lend(id_map: IdMap, mounts: Sequence[Mount]) -> None:
    """Let the ids inside write. As root the tree becomes theirs; a plain user, who cannot give
    files away, opens its top directory to everybody for the time."""
    for host in _lent(mounts):
        if id_map.privileged:
            _run(["chown", "-RhP", f"{id_map.uid_base}:{id_map.gid_base}", str(host)], host)
        else:
            host.chmod(stat.S_IMODE(host.stat().st_mode) | 0o777)


def give_back(id_map: IdMap, mounts: Sequence[Mount]) -> None:
    """Return the directories: owned by the caller, without set-uid bits, and with nothing in
    them but files, directories and symlinks. Every process of the sandbox must be dead."""
    for host in _lent(mounts):
        if id_map.privileged:
            _run(["find", str(host), "-xdev", *_SPECIAL], host)
            _run(["chown", "-RhP", f"{os.getuid()}:{os.getgid()}", str(host)], host)
            _run(["find", str(host), "-xdev", *_SET_ID], host)
        else:
            _copy_back(id_map, host)


def _copy_back(id_map: IdMap, host: Path) -> None:
    """What the ids inside made becomes the caller's by being copied, since it cannot be given."""
    script = "find /mnt/lent -mindepth 1 ! -uid 65534 {} ; find /mnt/lent -mindepth 1 {}"
    readable = "! -type l -exec chmod a+rX,ug-s {} +"
    command = script.format(" ".join(_SPECIAL), f"! -uid 65534 {readable}")
    userns.check(["sh", "-c", command], id_map, what=f"taking {host} back", shown={"lent": host})
    for entry in sorted(host.iterdir()):
        if entry.lstat().st_uid == os.getuid():
            continue
        taken = entry.with_name(f".{entry.name}.taken")
        if entry.is_symlink() or not entry.is_dir():
            shutil.copy2(entry, taken, follow_symlinks=False)
        else:
            shutil.copytree(entry, taken, symlinks=True)
        userns.check(
            ["find", f"/mnt/lent/{entry.name}", "-delete"],
            id_map,
            what=f"taking {entry} back",
            shown={"lent": host},
        )
        taken.rename(entry)
    host.chmod(stat.S_IMODE(host.stat().st_mode) & ~0o022)


def _lent(mounts: Sequence[Mount]) -> list[Path]:
    return [mount.host.absolute() for mount in mounts if not mount.read_only]


def _run(command: list[str], host: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise InfrastructureError(
            f"cannot lend {host} or take it back: {done.stderr.strip()[-300:]}"
        )
