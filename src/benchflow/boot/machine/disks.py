"""Disks: every delivered image is opened read-only, through a throw-away qcow2 overlay.

The format is named on both layers, so QEMU never guesses: a qcow2 header at the start of a raw
deliverable stays data. A qcow2 deliverable that refers to another file (backing file, external
data file) or is encrypted is refused before QEMU or qemu-img sees it.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchflow.boot.errors import BadDeliverable, CheckMisuse, NoSpace, ToolMissing, VerifierBroken

Bus = Literal["virtio", "ide", "sata", "scsi", "nvme", "usb"]
Format = Literal["raw", "qcow2"]
BUSES = ("virtio", "ide", "sata", "scsi", "nvme", "usb")
SECTOR = 512
_EXTERNAL_DATA = 1 << 2  # qcow2 incompatible feature bits: docs/interop/qcow2.txt
_KNOWN_FEATURES = 0b11011


@dataclass(frozen=True)
class Disk:
    """A disk of a machine. `path` is never written to, whatever the guest does."""

    path: Path
    bus: Bus = "virtio"
    format: Format = "raw"
    read_only: bool = False
    serial: str = ""

    def __post_init__(self) -> None:
        if self.bus not in BUSES:
            raise CheckMisuse(f"Disk(bus={self.bus!r}): one of {', '.join(BUSES)}")
        if self.format not in ("raw", "qcow2"):
            raise CheckMisuse(f"Disk(format={self.format!r}): raw or qcow2")

    @classmethod
    def empty(cls, path: Path, megabytes: int, bus: Bus = "virtio", serial: str = "") -> Disk:
        """A new blank disk (a sparse file at `path`)."""
        with path.open("wb") as file:
            file.truncate(megabytes << 20)
        return cls(path, bus=bus, serial=serial)

    @classmethod
    def of_files(
        cls, path: Path, files: Mapping[str, bytes], bus: Bus = "virtio", serial: str = ""
    ) -> Disk:
        """A read-only ext2 disk at `path` with the given executable files in its root.

        For a nonce that the guest must read, or a static program of ours that it must run.
        """
        if any(not name or "/" in name or name in (".", "..") for name in files):
            raise CheckMisuse("Disk.of_files: plain file names, without folders")
        with tempfile.TemporaryDirectory(prefix="benchflow-files-") as folder:
            for name, data in files.items():
                file = Path(folder) / name
                file.write_bytes(data)
                file.chmod(0o755)
            size = 2 + sum(len(data) // (1 << 19) + 1 for data in files.values())
            path.unlink(missing_ok=True)
            make = ["mke2fs", "-q", "-t", "ext2", "-E", "root_owner=0:0", "-d", folder]
            run_tool([*make, str(path), f"{size}M"])
        return cls(path, bus=bus, serial=serial, read_only=True)


def virtual_size(disk: Disk) -> int:
    """Bytes that the guest sees. Raises BadDeliverable for what is not such an image."""
    try:
        descriptor = os.open(disk.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise BadDeliverable(f"there is no disk image {disk.path}") from None
    except OSError as error:
        raise BadDeliverable(f"{disk.path} cannot be opened as an image: {error}") from error
    try:
        status = os.fstat(descriptor)
        header = os.pread(descriptor, 104, 0) if stat.S_ISREG(status.st_mode) else b""
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise BadDeliverable(f"{disk.path} is not a regular file")
    if status.st_size == 0:
        raise BadDeliverable(f"{disk.path} is empty")
    if disk.format == "qcow2":
        return _qcow2_size(disk.path, header)
    return -(-status.st_size // SECTOR) * SECTOR


def _qcow2_size(path: Path, header: bytes) -> int:
    if len(header) < 72 or header[:4] != b"QFI\xfb":
        raise BadDeliverable(f"{path} is not a qcow2 image")
    version, backing = struct.unpack_from(">IQ", header, 4)
    (size,) = struct.unpack_from(">Q", header, 24)
    (encryption,) = struct.unpack_from(">I", header, 32)
    features = struct.unpack_from(">Q", header, 72)[0] if version >= 3 and len(header) >= 80 else 0
    if version not in (2, 3):
        raise BadDeliverable(f"{path} is a qcow2 image of unknown version {version}")
    if backing:
        raise BadDeliverable(f"{path} refers to a backing file; deliver one flat image")
    if features & _EXTERNAL_DATA:
        raise BadDeliverable(f"{path} keeps its data in another file; deliver one flat image")
    if encryption or features & ~_KNOWN_FEATURES:
        raise BadDeliverable(f"{path} is encrypted or uses unknown qcow2 features")
    return int(size)


class Overlay:
    """The writable layer of one disk; lives as long as its machine or until `reset`."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self.disk = disk
        self.path = path
        self.size = virtual_size(disk)
        self.reset()

    def reset(self) -> None:
        """Forget everything that was written."""
        self.path.unlink(missing_ok=True)
        # -u: the size is known and the delivered file need not be opened by qemu-img.
        qemu_img(
            "create", "-q", "-u", "-f", "qcow2",
            "-F", self.disk.format, "-b", str(self.disk.path.absolute()),
            str(self.path), str(self.size),
        )  # fmt: skip

    def blockdev(self, node: str) -> dict[str, Any]:
        """The `-blockdev` description of both layers."""
        return {
            "driver": "qcow2",
            "node-name": node,
            "discard": "unmap",
            "file": {"driver": "file", "filename": str(self.path)},
            "backing": base_blockdev(self.disk),
        }

    def flatten(self, target: Path) -> Path:
        """Write a raw, sparse copy of the disk's present state to `target`; returns it."""
        target.unlink(missing_ok=True)
        # -U: the machine may hold the file; it is paused then.
        qemu_img("convert", "-q", "-U", "-f", "qcow2", "-O", "raw", str(self.path), str(target))
        return target


def base_blockdev(disk: Disk) -> dict[str, Any]:
    """The delivered file itself, read-only, with nothing behind it."""
    node: dict[str, Any] = {
        "driver": disk.format,
        "read-only": True,
        "file": {
            "driver": "file",
            "filename": str(disk.path.absolute()),
            "read-only": True,
        },
    }
    if disk.format == "qcow2":
        node["backing"] = None
    return node


def qemu_img(*arguments: str) -> str:
    """Run qemu-img and return its output. Every failure is ours: what it reads was vetted."""
    return run_tool(["qemu-img", *arguments])


def run_tool(command: list[str]) -> str:
    """Run a program that writes the file named by an argument; every failure is infrastructure."""
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin",
    }
    if shutil.which(command[0], path=environment["PATH"]) is None:
        raise ToolMissing(f"{command[0]} is not installed")
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, env=environment
    )
    if done.returncode:
        kind = NoSpace if "No space left" in done.stderr else VerifierBroken
        raise kind(f"{command[0]} failed", evidence=done.stderr[-2000:])
    return done.stdout
