"""Bundles of both vendors' keys: the field's, made from its first bundle, and the later ones."""

from __future__ import annotations

import secrets
from pathlib import Path

from benchflow.bench.delivered_files import sha256_of
from benchflow.bench.slot_bundles import HEAD, MANIFEST, BundleForm, Release, Vendor

SLOT = 32 << 20
BOARD = "varde-3"
RECALL = 1000
FORM = BundleForm("UNIT-BUNDLE-1", "/etc/release", {"board": BOARD})


class FieldVendor(Vendor):
    """Who signs with the recalled key, from the slot image of the field's first bundle."""

    def __init__(self, first: Path, pem: bytes, folder: Path) -> None:
        super().__init__(FORM, first, pem, SLOT, folder)

    def version(self, path: Path, number: int, health: dict[str, bytes]) -> Release:
        return self.release(path, number, secrets.token_hex(8), scripts(health))


class NextVendor(Vendor):
    """Who signs with the delivered key, from the slot image of the delivered bundle."""

    def __init__(self, recall: Path, pem: bytes, folder: Path) -> None:
        super().__init__(FORM, recall, pem, SLOT, folder)
        self.release1 = Release(RECALL, "", recall, sha256_of(recall, HEAD, SLOT))

    def version(
        self,
        path: Path,
        number: int,
        health: dict[str, bytes],
        others: dict[str, tuple[bytes, int]] | None = None,
    ) -> Release:
        return self.release(path, number, secrets.token_hex(8), scripts(health) | (others or {}))


def scripts(health: dict[str, bytes]) -> dict[str, tuple[bytes, int]]:
    return {f"/etc/health.d/{name}": (text, 0o755) for name, text in health.items()}


__all__ = ["HEAD", "MANIFEST", "RECALL", "SLOT", "FieldVendor", "NextVendor", "Release"]
