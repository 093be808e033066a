"""tests/task.json: what staging tells the verifier about the task."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchflow.boot.inspect.deliverable import Deliverable
from benchflow.boot.machine.guard import MARGIN_MB
from benchflow.boot.milestones import ChecksError

ARCHES = ("x86_64", "aarch64", "riscv64")
FIRMWARES = ("bios", "uefi", "direct")


@dataclass(frozen=True)
class Manifest:
    """The manifest of docs/design.md, with the defaults of the fixtures.

    `verifier_sec` is the time limit of the whole verifier, `storage_mb` what it may have on the
    disk; 0 when there is none.
    """

    name: str = ""
    version: str = ""
    digest: str = ""
    arch: str = "x86_64"
    firmware: str = "bios"
    memory_mb: int = 512
    verifier_sec: float = 0
    storage_mb: int = 0
    deliverables: tuple[Deliverable, ...] = field(default=())

    @property
    def task(self) -> dict[str, Any]:
        """The part that milestones.json repeats."""
        return {"name": self.name, "version": self.version, "digest": self.digest}

    @property
    def machines_may_write(self) -> int | None:
        """Bytes that all files of machines and checks may take; None when there is no limit.

        What was delivered lies on the same disk.
        """
        if not self.storage_mb:
            return None
        delivered = sum(entry.max_stored_mb for entry in self.deliverables)
        return int(max(1.0, self.storage_mb - delivered - MARGIN_MB)) << 20

    def deliverable(self, path: str | None) -> Deliverable:
        """The entry for `path`, or the first one. Raises ChecksError when there is none."""
        if path is None and self.deliverables:
            return self.deliverables[0]
        for deliverable in self.deliverables:
            if deliverable.path == path:
                return deliverable
        known = ", ".join(d.path for d in self.deliverables) or "none"
        raise ChecksError(
            f"deliverable {path!r} is not declared in task.toml", fix=f"declared: {known}"
        )


def load(path: Path) -> Manifest:
    """Read task.json. Raises ChecksError when it is missing or wrong."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ChecksError("no task.json beside checks.py", fix="stage the task first") from None
    except ValueError as error:
        raise ChecksError(f"not valid JSON: {error}", file=path.name) from None
    try:
        if data["schema"] != 1:
            raise ChecksError(f"schema {data['schema']!r} is unknown", file=path.name)
        manifest = Manifest(
            name=str(data.get("name", "")),
            version=str(data.get("version", "")),
            digest=str(data.get("digest", "")),
            arch=str(data.get("arch", "x86_64")),
            firmware=str(data.get("firmware", "bios")),
            memory_mb=int(data.get("memory_mb", 512)),
            verifier_sec=float(data.get("verifier_sec", 0)),
            storage_mb=int(data.get("storage_mb", 0)),
            deliverables=tuple(
                Deliverable(
                    path=str(entry["path"]),
                    kind=str(entry.get("kind", "file")),
                    max_mb=float(entry["max_mb"]),
                    max_stored_mb=float(entry["max_stored_mb"]),
                )
                for entry in data.get("deliverables", [])
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ChecksError(f"wrong content: {error!r}", file=path.name) from None
    if manifest.arch not in ARCHES or manifest.firmware not in FIRMWARES:
        raise ChecksError(
            f"arch {manifest.arch!r} or firmware {manifest.firmware!r} is unknown", file=path.name
        )
    return manifest
