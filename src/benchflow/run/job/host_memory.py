"""How much of the host's memory programs can have now."""

from __future__ import annotations

from pathlib import Path


def available_mb() -> int:
    """MiB, as the kernel estimates them: what only caches files is available (proc(5))."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) >> 10
    raise RuntimeError("/proc/meminfo has no MemAvailable, which Linux has since 3.14")
