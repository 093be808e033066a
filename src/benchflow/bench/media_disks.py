"""Disks of the bench's own: blank, foreign, or with files on them, as a customer's stick has.

For a disk that a guest is only to read, `boot.Disk.of_files` is shorter. These are files on which
a guest may write, which it may take for somebody else's, or which a demand wants in a certain form.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from benchflow.boot import Image, VerifierBroken
from benchflow.boot.inspect.bounded_run import run_tool

_MIB = 1 << 20


def our_tool(*command: str) -> bytes:
    """What a tool prints that works on a file of ours. What fails is the verifier's own fault."""
    done = run_tool(command, cpu_seconds=300)
    if done.status:
        raise VerifierBroken(f"{command[0]} failed", evidence=done.complaint)
    return done.stdout


def blank(path: Path, megabytes: int) -> Path:
    """A disk of zeros, which takes no room."""
    with path.open("wb") as file:
        file.truncate(megabytes << 20)
    return path


def serial() -> str:
    """A disk's serial number that nobody can know."""
    return secrets.token_hex(6).upper()


def ext_disk(
    path: Path,
    files: Mapping[str, bytes | None],
    *,
    label: str,
    kind: str = "ext4",
    megabytes: int = 16,
    owner: int = 0,
    modes: Mapping[str, int] | None = None,
) -> Path:
    """A whole disk with one ext2, ext3 or ext4: these files (None: a folder), and nothing else.

    `owner` owns everything but the root folder, which is root's; `modes` are of files by name.
    """
    tree = path.with_suffix(".tree")
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    for name, data in files.items():
        place = tree / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if data is None:
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes(data)
    for name, mode in (modes or {}).items():
        (tree / name).chmod(mode)
    path.unlink(missing_ok=True)
    words = ["-q", "-t", kind, "-L", label, "-E", "root_owner=0:0", "-d", str(tree)]
    our_tool("mke2fs", *words, str(path), f"{megabytes}M")
    _own(path, tree, owner, modes or {})
    shutil.rmtree(tree)
    return path


def _own(path: Path, tree: Path, owner: int, modes: Mapping[str, int]) -> None:
    """Set owners in the file system itself: the verifier may not run as root."""
    script = ""
    for place in sorted(tree.rglob("*")):
        name = place.relative_to(tree).as_posix()
        script += f"sif /{name} uid {owner}\nsif /{name} gid {owner}\n"
        if name in modes:
            script += f"sif /{name} mode 0{0o100000 | modes[name]:o}\n"
    done = run_tool(["debugfs", "-w", "-f", "-", str(path)], stdin=script.encode())
    if done.status:
        raise VerifierBroken("debugfs failed", evidence=done.complaint)


def fat_disk(path: Path, files: Mapping[str, bytes], *, label: str, megabytes: int = 16) -> Path:
    """A disk with an MBR and one partition from 1 MiB on: FAT, with these files at its top."""
    sectors = megabytes * 2048
    with path.open("wb") as file:
        file.truncate((megabytes + 1) << 20)
        file.seek(446)  # one entry: type 0e, from sector 2048 on
        entry = b"\0\0\0\0\x0e\0\0\0" + (2048).to_bytes(4, "little")
        file.write(entry + sectors.to_bytes(4, "little"))
        file.seek(510)
        file.write(b"\x55\xaa")
    place = f"{path}@@{_MIB}"
    geometry = ["-T", str(sectors), "-h", "16", "-s", "32"]
    our_tool("mformat", "-i", place, "-v", label, *geometry, "::")
    for name, data in files.items():
        source = path.with_suffix(".file")
        source.write_bytes(data)
        our_tool("mcopy", "-i", place, str(source), f"::{name}")
        source.unlink()
    return path


def owned_disk(path: Path, megabytes: int) -> Path:
    """Somebody else's disk: an ext4 of theirs, with something on it that nobody can know."""
    diary = secrets.token_bytes(1 << 16)
    return ext_disk(path, {"diary": diary}, label="owner", megabytes=megabytes)


def swap_disk(path: Path, megabytes: int = 16) -> Path:
    """Somebody else's swap space."""
    blank(path, megabytes)
    our_tool("mkswap", "-q", "-L", "swap", str(path))
    return path


def debugfs(path: Path, *requests: str) -> None:
    """Requests that write to a file system of ours (`symlink wall /etc`, `clri <2>`)."""
    for request in requests:
        our_tool("debugfs", "-w", "-R", request, str(path))


def fill(path: Path, name: str, megabytes: int) -> None:
    """Write a file of noise to a file system of ours, as far as there is room for it."""
    source = path.with_suffix(".filler")
    with source.open("wb") as file:
        for _ in range(megabytes):
            file.write(os.urandom(_MIB))
    run_tool(["debugfs", "-w", "-R", f"write {source} {name}", str(path)], cpu_seconds=300)
    source.unlink()


def files_on(path: Path, *, limit: int = _MIB) -> dict[str, bytes]:
    """What lies on a disk that `ext_disk` or `fat_disk` made and a guest has had since, by path.

    FAT knows no capitals, so its names are in small letters. Raises BadDeliverable.
    """
    disk = Image(path)
    is_fat = disk.bytes_at(1080, 2) != b"\x53\xef"
    files = disk.fat(disk.partition(1)) if is_fat else disk.ext4()
    return {
        entry.path.lstrip("/").lower() if is_fat else entry.path.lstrip("/"): data
        for entry, data in files.contents("/", limit=limit)
        if not entry.path.startswith("/lost+found")
    }
