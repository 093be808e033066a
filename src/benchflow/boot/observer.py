"""The seam between machines and evidence: what a `Machine` tells while it works.

`Machine(..., observer=…)` calls these; `evidence.Evidence` is the one that writes the files of
docs/checks.md, `Observer` itself (the base class) listens to nothing, for use outside a verifier.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Observer:
    """Hears everything and keeps nothing. Every method may be called from any thread."""

    def calibrated(self, *, speed: float, accelerator: str, qemu: str) -> None:
        """The host was measured: `speed` (1.0 = reference host, 0.5 = half as fast)."""

    def boot(self, machine: str, n: int) -> None:
        """Machine `machine` is started (or starts again) for the n-th time, from 1."""

    def output(self, machine: str, data: bytes) -> None:
        """Raw bytes that the guest printed on its serial console, in order."""

    def typed(self, machine: str, text: str) -> None:
        """What the verifier typed on the serial console."""

    def note(self, machine: str, text: str) -> None:
        """A line for the reader of the evidence: `power cut`, `ACPI shutdown sent` …"""

    def qemu(self, machine: str, command: list[str], versions: dict[str, Any]) -> None:
        """The exact QEMU command of the boot that follows, and the versions of what it uses."""

    def screenshot_path(self, machine: str, name: str) -> Path | None:
        """Where a screenshot (PNG) of this name belongs; None when nobody keeps it."""
        return None
