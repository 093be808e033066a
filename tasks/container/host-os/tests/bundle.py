"""Bundles as the order fixes them, made with the delivered key from the delivered slot image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchflow.bench.slot_bundles import HEAD, MANIFEST, BundleForm, Release
from benchflow.bench.slot_bundles import Vendor as AnyVendor

FORM = BundleForm("HOST-BUNDLE-1", "/etc/host-release")


def manifest(version: int | str, digest: str, size: int) -> bytes:
    """The 1024 bytes that are signed."""
    return FORM.manifest(version, digest, size)


class Vendor(AnyVendor):
    """Makes versions of the delivered slot, whose size is `slot`."""

    def __init__(self, first: Path, pem: bytes, slot: int, scratch: Path) -> None:
        super().__init__(FORM, first, pem, slot, scratch)

    def version(
        self, path: Path, number: int, build: str, programs: Mapping[str, bytes] | None = None
    ) -> Release:
        """Write the bundle of a version: the first one with another number, and other programs."""
        files = {name: (content, 0o755) for name, content in (programs or {}).items()}
        return self.release(path, number, build, files)


__all__ = ["HEAD", "MANIFEST", "Release", "Vendor", "manifest"]
