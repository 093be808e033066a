"""The gate `size`: how large the image and the deliverables are is stated, and it is true."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchflow.authoring.gate import GateResult, judged
from benchflow.authoring.gate_rules import errors
from benchflow.results.model import Trial
from benchflow.tasks import Task

MIB = 1 << 20
#: What verifiers 0.4.0 lets an episode's artifacts take unless told otherwise.
TRAINERS_MB = 32
_A_SIZE = re.compile(r"\d[\d ,.]*\s*(?:[KMGT]i?B|bytes|kilobytes|megabytes|gigabytes)\b", re.I)


@dataclass(frozen=True)
class Bytes:
    """`apparent`: as long as it says it is; `stored`: really allocated."""

    apparent: int = 0
    stored: int = 0


def measure(path: Path) -> Bytes:
    """What a file, or all regular files below a folder, take; nothing is followed."""
    if path.is_symlink() or not path.exists():
        return Bytes()
    if path.is_file():
        status = path.lstat()
        return Bytes(status.st_size, status.st_blocks * 512)
    apparent = stored = 0
    for folder, _, names in os.walk(path):
        for name in names:
            status = os.lstat(Path(folder) / name)
            apparent += status.st_size
            stored += status.st_blocks * 512
    return Bytes(apparent, stored)


def packed(top: Path, paths: Sequence[str]) -> int:
    """Bytes of the archive in which what lies at `paths` below `top` crosses to a verifier that is
    elsewhere (benchflow.tasks.packing)."""
    there = [path.lstrip("/") for path in paths if os.path.lexists(top / path.lstrip("/"))]
    if not there:
        return 0
    script = 'tar --create --sparse --numeric-owner -C "$0" -- "$@" | gzip -1 | wc -c'
    done = subprocess.run(
        ["sh", "-c", script, str(top), *there], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def stored(layers: Sequence[Path]) -> int:
    """Bytes that the layers of an image take on this host."""
    return sum(measure(layer).stored for layer in layers)


def size(task: Task, image_bytes: int, oracles: Sequence[Trial]) -> GateResult:
    """The image fits its `image_mb`, the oracle's deliverables their limits, and those the disk.

    What is delivered beyond its limits is refused by the verifier (docs/checks.md), so the
    instruction has to name a size too: an agent must not learn of the limit by failing.
    """
    findings = []
    image = image_bytes / MIB
    if image > task.image_mb:
        findings.append(f"the image takes {image:.0f} MiB: image_mb = {task.image_mb} is exceeded")
    room = sum(deliverable.max_stored_mb for deliverable in task.deliverables)
    if room > task.resources.storage_mb:
        findings.append(
            f"storage_mb = {task.resources.storage_mb}: deliverables may take {room} MiB"
        )
    largest = []
    figures = {"delivered_apparent_mb": 0.0, "delivered_stored_mb": 0.0}
    for deliverable in task.deliverables:
        sizes = [measure(t.path / "artifacts" / deliverable.path.lstrip("/")) for t in oracles]
        apparent = max((found.apparent for found in sizes), default=0) / MIB
        allocated = max((found.stored for found in sizes), default=0) / MIB
        if apparent > deliverable.max_mb or allocated > deliverable.max_stored_mb:
            findings.append(
                f"{deliverable.path}: the oracle's is {apparent:.0f} MiB, {allocated:.0f} stored; "
                f"max_mb = {deliverable.max_mb}, max_stored_mb = {deliverable.max_stored_mb}"
            )
        largest.append(f"{deliverable.path} {apparent:.0f} of {deliverable.max_mb} MiB")
        figures["delivered_apparent_mb"] += apparent
        figures["delivered_stored_mb"] += allocated
    texts = [task.path / "instruction.md", *task.path.glob("steps/*/instruction.md")]
    if not any(
        _A_SIZE.search(text.read_text(encoding="utf-8")) for text in texts if text.is_file()
    ):
        findings.append("the instruction names no size: say how large what is delivered may be")
    paths = [deliverable.path for deliverable in task.deliverables]
    figures["delivered_packed_mb"] = max(
        (packed(t.path / "artifacts", paths) / MIB for t in oracles), default=0.0
    )
    summary = f"image {image:.0f} of {task.image_mb} MiB, {', '.join(largest)}"
    found = errors("size", oracles) or judged("size", summary, findings)
    rounded = {name: round(figure, 2) for name, figure in figures.items()}
    return replace(found, figures=rounded if oracles else {})


def delivered(found: GateResult | None) -> str:
    """What the oracle delivered, in words, from what the gate recorded; "" where nothing is."""
    figures = found.figures if found else {}
    if "delivered_packed_mb" not in figures:
        return ""
    apparent, held, archive = (
        figures[f"delivered_{name}_mb"] for name in ("apparent", "stored", "packed")
    )
    fits = "within" if archive <= TRAINERS_MB else "over"
    return (
        f"{_mebibytes(apparent)} long, {_mebibytes(held)} stored, {_mebibytes(archive)} as one "
        f"archive, {fits} the {TRAINERS_MB} MiB that some trainers carry"
    )


def _mebibytes(count: float) -> str:
    return f"{count:,.0f} MiB" if count >= 10 else f"{count:.2g} MiB" if count else "under 0.01 MiB"
