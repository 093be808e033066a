"""The disks that are in the PCs of our bench: the customer's, and those of the PCs' owners."""

from __future__ import annotations

import hashlib
import os
import secrets
import subprocess
from pathlib import Path
from typing import Any

from benchflow.boot import Image, VerifierBroken

LABEL = "EXPO-STATE"
_MIB = 1 << 20
#: `int 18h` where a disk with a partition table has its boot code: "no system here, take the next".
#: Such a disk has the signature of one that starts, and is the first that the BIOS tries: without
#: any code there it ends in zeros, and no medium in the drive is ever read.
NO_SYSTEM = b"\xcd\x18"
OWNER = 4711  # of the files of a disk that was written elsewhere


def run(*command: str, stdin: str = "") -> None:
    """A tool of ours on a file of ours; what fails is the verifier."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
    done = subprocess.run(
        command, capture_output=True, env=environment, check=False, timeout=300,
        input=stdin.encode(),
    )  # fmt: skip
    if done.returncode:
        raise VerifierBroken(f"{command[0]} failed", evidence=done.stderr.decode()[-1000:])


def ext4(path: Path, label: str, files: dict[str, bytes | None], megabytes: int = 16) -> Path:
    """A whole disk with these files (None: a folder), and nothing else; owned by OWNER."""
    tree = path.with_suffix(".tree")
    tree.mkdir()
    for name, data in files.items():
        place = tree / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if data is None:
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes(data)
    for place in tree.rglob("*"):
        os.chown(place, OWNER, OWNER, follow_symlinks=False)
        if place.name.startswith("suid-"):
            place.chmod(0o4755)
    run("mke2fs", "-q", "-t", "ext4", "-L", label, "-d", str(tree), str(path), f"{megabytes}M")
    run("rm", "-rf", str(tree))
    return path


def in_a_partition(path: Path, table: str) -> Path:
    """The file system becomes the second partition of a disk (`gpt` or `dos`) at its place."""
    system = path.with_suffix(".part")
    path.rename(system)
    start, sectors = 4096 + 8 * secrets.randbelow(256), system.stat().st_size // 512
    with path.open("wb") as disk:
        disk.truncate((start + sectors + 4096) * 512)
    layout = f"label: {table}\nstart=2048, size=2048\nstart={start}, size={sectors}\n"
    run("sfdisk", "-q", "--no-reread", "--no-tell-kernel", str(path), stdin=layout)
    run("dd", f"if={system}", f"of={path}", "bs=512", f"seek={start}", "conv=notrunc")
    with path.open("r+b") as disk:
        disk.write(NO_SYSTEM)
    system.unlink()
    return path


def files_of(disk: Path) -> Any:
    """The file system of a disk of ours, whether it is the whole of it or a partition."""
    image = Image(disk)
    with disk.open("rb") as file:
        file.seek(1024 + 56)
        whole = file.read(2) == b"\x53\xef"
    return image.ext4() if whole else image.ext4(image.partition(2))


def debugfs(path: Path, *requests: str) -> None:
    """Requests that write to a file system."""
    for request in requests:
        run("debugfs", "-w", "-R", request, str(path))


class Ours:
    """A disk of the customer's, full to the last block, with words of this run on it: the whole of
    it, or a partition in a `table` (drawn unless it is said)."""

    def __init__(self, path: Path, table: str | None = None) -> None:
        self.messages = [f"seed {secrets.token_hex(8)}" for _ in range(3)]
        self.venue = f"Venue {secrets.token_hex(4)}"
        self.foreign = {
            "persistence.conf": b"/ union\n/etc union\n/root union\n",
            "live-persistence.conf": b"/ union\n",
            "rw/etc/issue": b"somebody else's\n",
            "etc/shadow": b"root::19000:0:99999:7:::\n",
            "etc/systemd/system/multi-user.target.wants/evil.service": (
                b"[Service]\nExecStart=/bin/touch /run/evil\n"
            ),
            "autorun.sh": b"#!/bin/sh\ntouch /run/evil\n",
            "suid-shell": b"#!/bin/sh\nexec /bin/sh\n",
            "wall.old/messages": b"older\n",
        }
        lines = "".join(f"{line}\n" for line in self.messages)
        self.path = ext4(
            path,
            LABEL,
            {
                **self.foreign,
                "wall/messages": lines.encode(),
                "wall/venue": f"{self.venue}\n".encode(),
            },
        )
        filler = path.with_suffix(".filler")
        filler.write_bytes(os.urandom(_MIB))
        for name in ("one", "two", "three"):  # to the last block: the last write falls short
            size = {"one": 8, "two": 4, "three": 4}[name] * _MIB
            with filler.open("r+b") as file:
                file.truncate(size)
                for at in range(0, size, _MIB):
                    file.seek(at)
                    file.write(os.urandom(_MIB))
            fill(self.path, filler, f"wall/filler-{name}")
        filler.unlink()
        table = secrets.choice(("", "gpt", "dos")) if table is None else table
        if table:
            in_a_partition(self.path, table)

    def problems(self, disk: Path) -> list[str]:
        """What on the used disk is not as it should be, outside of `wall`."""
        files = files_of(disk)
        found = {
            entry.path.lstrip("/"): entry
            for entry in files.walk("/")
            if not (entry.path + "/").startswith(("/wall/", "/lost+found/"))
        }
        wanted = set(self.foreign) | {
            str(parent) for name in self.foreign for parent in Path(name).parents if parent.name
        }
        wrong = [f"{name} is new" for name in sorted(set(found) - wanted) if name]
        wrong += [f"{name} is gone" for name in sorted(wanted - set(found))]
        for name, data in self.foreign.items():
            if name in found and files.read(f"/{name}", 1 << 16) != data:
                wrong.append(f"{name} was changed")
            if name in found and found[name].uid != OWNER:
                wrong.append(f"{name} has another owner")
        return wrong


def fill(disk: Path, source: Path, name: str) -> None:
    """Write a file to a file system as far as there is room for it."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
    subprocess.run(
        ["debugfs", "-w", "-R", f"write {source} {name}", str(disk)],
        capture_output=True, env=environment, check=False, timeout=300,
    )  # fmt: skip


def unclean(path: Path) -> Path:
    """Somebody else's file system, as a live system of theirs keeps its own; its journal is to be
    replayed, so that whoever mounts it, read-only too, writes on it."""
    junk = os.urandom(_MIB)
    ext4(
        path,
        "persistence",
        {
            "persistence.conf": b"/ union\n",
            "live/filesystem.squashfs": b"hsqs" + junk,
            "live/vmlinuz": junk[:4096],
            "sha256sum.txt": f"{'0' * 64}  ./live/filesystem.squashfs\n".encode(),
            ".disk/info": b"Somebody else's live system\n",
            "rw/etc/issue": b"somebody else's\n",
        },
    )
    debugfs(path, "feature needs_recovery")
    return path


def swap(path: Path) -> Path:
    """Somebody else's swap."""
    with path.open("wb") as file:
        file.truncate(16 * _MIB)
    run("mkswap", "-q", "-L", "swap", str(path))
    return path


def decoy(path: Path) -> Path:
    """An older medium that was copied to a disk: the same volume name, another content."""
    tree = path.with_suffix(".tree")
    (tree / "live").mkdir(parents=True)
    data = b"hsqs" + os.urandom(_MIB)
    (tree / "live/filesystem.squashfs").write_bytes(data)
    line = f"{hashlib.sha256(data).hexdigest()}  ./live/filesystem.squashfs\n"
    (tree / "sha256sum.txt").write_text(line)
    run("xorriso", "-report_about", "SORRY", "-as", "mkisofs", "-R", "-V", "EXPO_WALL_41",
        "-o", str(path), str(tree))  # fmt: skip
    run("rm", "-rf", str(tree))
    return path


def fat_alike(path: Path) -> Path:
    """Somebody else's: our label, and no ext4."""
    with path.open("wb") as file:
        file.truncate(16 * _MIB)
    run("mkfs.fat", "-n", LABEL, str(path))
    tree = path.with_suffix(".messages")
    tree.write_bytes(b"theirs\n")
    run("mmd", "-i", str(path), "::/wall")
    run("mcopy", "-i", str(path), str(tree), "::/wall/messages")
    tree.unlink()
    with path.open("r+b") as disk:
        disk.seek(62)  # where its first jump leads
        disk.write(NO_SYSTEM)
    return path


def not_mendable(path: Path) -> Path:
    """A disk of ours whose root folder is lost: e2fsck -p gives up, the label can be read."""
    ext4(path, LABEL, {"wall/messages": b"lost\n"})
    debugfs(path, "clri <2>", "set_super_value state 2")
    return path


def linked(path: Path) -> Path:
    """A disk with our label on which `wall` leads elsewhere."""
    ext4(path, LABEL, {"persistence.conf": b"/ union\n"})
    debugfs(path, "symlink wall /etc")
    return path


def bare(path: Path) -> Path:
    """A disk of ours that was never in a PC: no `wall` on it; a partition, among others."""
    ext4(path, LABEL, {"persistence.conf": b"/ union\n"})
    return in_a_partition(path, secrets.choice(("gpt", "dos")))


def digest(path: Path) -> str:
    """SHA-256 of a file of ours."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(4 << 20):
            total.update(chunk)
    return total.hexdigest()
