"""Bundles as the order fixes them, made with the delivered key from the delivered slot image."""

from __future__ import annotations

import secrets
from pathlib import Path

from benchflow.bench.delivered_files import sha256_of
from benchflow.bench.slot_bundles import HEAD, MANIFEST, BundleForm, Release
from benchflow.bench.slot_bundles import Vendor as AnyVendor
from benchflow.boot import BadDeliverable, Image, Partition
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.ext4 import Ext4

SLOT = 32 << 20
SIGNATURE = HEAD - MANIFEST
WHOLE = HEAD + SLOT
BOARD = "varde-3"
FORM = BundleForm("UNIT-BUNDLE-1", "/etc/release", {"board": BOARD})


def manifest(version: int | str, digest: str, *, board: str = BOARD, size: int = SLOT) -> bytes:
    """The 1024 bytes that are signed."""
    return FORM.manifest(version, digest, size, board=board)


def digest_of(path: Path, start: int = 0, size: int = SLOT) -> str:
    """SHA-256 of `size` bytes of a file from `start`; of what there is when it ends before."""
    return sha256_of(path, start, size)


def holds_nothing(disk: Image, part: Partition) -> bool:
    """Whether there is no file system, or one without a file in it."""
    kind = disk.filesystem(part)
    if kind != "ext4":
        return not kind
    try:
        return all(one.kind == "directory" for one in disk.ext4(part).walk("/"))
    except BadDeliverable:
        return True


class Vendor(AnyVendor):
    def __init__(self, first: Path, pem: bytes, folder: Path) -> None:
        super().__init__(FORM, first, pem, SLOT, folder)

    def kernel(self) -> bytes:
        """The delivered /boot/vmlinuz."""
        return self.read("/boot/vmlinuz")

    def version(self, path: Path, number: int, build: str, **changes: bytes) -> Release:
        """Write the bundle of a version: the first one with another number, and other files.

        `health_NAME` is a script in /etc/health.d, `kernel` and `init` are what [R8] names. The
        line that says the version stands anywhere among others [R7].
        """
        said = [f"version={number}", f"build={build}", "min_version=1", "built_by=varde"]
        secrets.SystemRandom().shuffle(said)
        places = {"kernel": ("/boot/vmlinuz", 0o644), "init": ("/sbin/init", 0o755)}
        files = {FORM.release_file: ("".join(f"{line}\n" for line in said).encode(), 0o644)}
        for name, content in changes.items():
            script = (f"/etc/health.d/{name.removeprefix('health_')}", 0o755)
            place, mode = places.get(name, script)
            files[place] = (content, mode)
        return self.release(path, number, build, files)

    def without_init(self, path: Path, number: int, build: str) -> Release:
        """Write the bundle of a version that has no first process [R17]."""
        self.version(path, number, build)
        folder = Ext4(path, HEAD, scratch=self._scratch).stat("/sbin").path
        done = run_tool(["debugfs", "-w", "-R", f"rm {folder}/init", f"{path}?offset={HEAD}"])
        left = Ext4(path, HEAD, scratch=self._scratch).listdir(folder)
        if "init" in left:
            raise BadDeliverable(f"{folder}/init cannot be taken away: {done.complaint}")
        digest = digest_of(path, HEAD)
        text = self.manifest(number, digest)
        with path.open("r+b") as stream:
            stream.write(text + self.sign(text))
        return Release(number, build, path, digest)


__all__ = ["HEAD", "MANIFEST", "SIGNATURE", "SLOT", "WHOLE", "Release", "Vendor", "manifest"]
