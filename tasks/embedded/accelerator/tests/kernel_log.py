"""What in a kernel's log is held against the driver."""

from __future__ import annotations

import re

# The board's timer is late on a busy host: the kernel then complains of it, long before any module.
HARMLESS = re.compile(
    r"kvarn: (loading out-of-tree module|module verification failed)|"
    r"^<\d>\[ *0\.\d+\] \.\.MP-BIOS bug: 8254 timer not connected"
)
ABOUT = re.compile(
    r"(?i)kvarn|k4\b|\bedu\b|swiotlb|\bdma\b|resource sanity|nobody cared|WARNING:|\bBUG\b|Oops|"
    r"Call Trace|general protection|refused to change|stall|hung_task|blocked for more|"
    r"page allocation failure|unable to handle|use-after-free|corrupt"
)


def against_the_driver(log: str) -> list[str]:
    """Of lines of `dmesg -r`, those that are about the driver or caused by it."""
    return [line for line in log.splitlines() if ABOUT.search(line) and not HARMLESS.search(line)]
