"""What a trial's sandboxes were granted and used: `<trial>/sandbox.json` (docs/sandbox.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchflow.results.json_values import mapping, number
from benchflow.results.safe_files import UnreadableRecord, read_object

NAME = "sandbox.json"
VERIFIER_OUT_OF_DISK = "VerifierOutOfDisk"
VERIFIER_OUT_OF_MEMORY = "VerifierOutOfMemory"
#: The causes of trials whose verifier was ended because it had used more than it may.
USED_UP = frozenset({VERIFIER_OUT_OF_DISK, VERIFIER_OUT_OF_MEMORY})
#: A group is full at its limit, of which the kernel keeps a little back.
_FULL = 0.95
#: Two verifications at once on a host for one leave each half; from here on others had most.
_CROWDED = 0.6


def reports(trial: Path) -> Mapping[str, Any]:
    """Role → what its sandbox was granted and used. Raises UnreadableRecord."""
    return mapping(read_object(f"{trial}/{NAME}").get("sandboxes"))


def used_up(trial: Path) -> tuple[str, str] | None:
    """The cause, with words, when a verifier of `trial` used up its disk or its memory.

    Beyond its disk all commands of a sandbox are ended, beyond its memory the kernel kills one of
    them: such a verifier leaves no reward. A kill below the limit was for the host's own memory.
    """
    try:
        found = reports(trial)
    except UnreadableRecord:
        return None
    for role, report in found.items():
        if not role.startswith("verifier"):
            continue
        granted, used = (
            mapping(mapping(report).get("granted")),
            mapping(mapping(report).get("used")),
        )
        disk, memory = number(granted.get("disk_mb")), number(granted.get("memory_mb"))
        written, peak = number(used.get("disk_mb")), number(used.get("memory_peak_mb"))
        if disk and written and written >= disk:
            told = f"the verifier wrote {written:,.0f} MB, of {disk:,.0f} MB that it may"
            return VERIFIER_OUT_OF_DISK, told
        if memory and peak and peak >= _FULL * memory and number(used.get("memory_kills")):
            return VERIFIER_OUT_OF_MEMORY, f"the verifier needed more than its {memory:,.0f} MB"
    return None


def others_share(trial: Path) -> float | None:
    """The share of the host's processors that others had during the verification, 0 to 1.

    None where nothing was counted.
    """
    try:
        found = reports(trial)
    except UnreadableRecord:
        return None
    shares = [
        number(mapping(mapping(report).get("used")).get("others_share"))
        for role, report in found.items()
        if role.startswith("verifier")
    ]
    return max((share for share in shares if share is not None), default=None)


def crowded(trial: Path) -> float | None:
    """`others_share`, if others had most: a limit in seconds says little then. Else None."""
    share = others_share(trial)
    return share if share is not None and share >= _CROWDED else None
