"""What a trial's sandboxes were granted and used: `<trial>/sandbox.json` (docs/sandbox.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchflow.results.files import UnreadableRecord, read_object
from benchflow.results.values import mapping, number

NAME = "sandbox.json"
#: The cause of a trial whose verifier was ended because it had written more than it may.
VERIFIER_OUT_OF_DISK = "VerifierOutOfDisk"


def reports(trial: Path) -> Mapping[str, Any]:
    """Role → what its sandbox was granted and used. Raises UnreadableRecord."""
    return mapping(read_object(trial / NAME).get("sandboxes"))


def verifier_out_of_disk(trial: Path) -> tuple[str, str] | None:
    """The cause, with words, when a verifier of `trial` used up its disk.

    All commands of a sandbox are ended beyond its limit, so such a verifier leaves no reward.
    """
    try:
        found = reports(trial)
    except UnreadableRecord:
        return None
    for role, report in found.items():
        granted = number(mapping(mapping(report).get("granted")).get("disk_mb"))
        used = number(mapping(mapping(report).get("used")).get("disk_mb"))
        if role.startswith("verifier") and granted and used and used >= granted:
            told = f"the verifier wrote {used:,.0f} MB, of {granted:,.0f} MB that it may"
            return VERIFIER_OUT_OF_DISK, told
    return None
