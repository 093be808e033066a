"""Images that lie in a folder of this machine: `BENCHFLOW_IMAGES`, for labs without a registry.

It is an OCI layout that names its images, or a folder of such layouts:
`skopeo copy docker://python:3.12 oci:/images:python:3.12` adds one.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from pathlib import Path
from typing import Any

from benchflow.errors import InfrastructureError

VARIABLE = "BENCHFLOW_IMAGES"
_NAME = "org.opencontainers.image.ref.name"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def extract(reference: str, target: Path) -> bool:
    """Lay the image that `reference` asks for into the new folder `target`, as an OCI layout of
    its own; False where the folder of images has none of that name. Raises InfrastructureError."""
    given = os.environ.get(VARIABLE)
    if not given:
        return False
    top = Path(given)
    if not top.is_dir():
        raise InfrastructureError(f"{VARIABLE}={given}: no such folder", hint="name a folder")
    for layout in [top, *sorted(path for path in top.iterdir() if path.is_dir())]:
        try:
            manifest = _find(layout, _in_full(reference))
            if manifest is not None:
                _copy(layout, manifest, target)
                return True
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InfrastructureError(
                f"{layout}: no OCI layout that can be read: {error}",
                hint=f"write it again, or take it out of {top}",
            ) from error
    return False


def _in_full(reference: str) -> str:
    """An image's one full name: what people and layouts leave out is put in."""
    first, slash, rest = reference.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        first, rest = "docker.io", reference
    if first == "docker.io" and "/" not in rest:
        rest = f"library/{rest}"
    tagged = "@" in rest or ":" in rest.rpartition("/")[2]
    return f"{first}/{rest}" if tagged else f"{first}/{rest}:latest"


def _find(layout: Path, name: str) -> dict[str, Any] | None:
    index = layout / "index.json"
    if not index.is_file():
        return None
    for entry in json.loads(index.read_text())["manifests"]:
        called = (entry.get("annotations") or {}).get(_NAME)
        if called and _in_full(str(called)) == name:
            return _of_this_machine(layout, entry)
    return None


def _of_this_machine(layout: Path, entry: dict[str, Any]) -> dict[str, Any]:
    """The manifest itself, where an entry is a list of them, one an architecture."""
    data = json.loads(_blob(layout, entry).read_text())
    if "manifests" not in data:
        return entry
    machine = platform.machine()
    wanted = _ARCHITECTURES.get(machine, machine)
    for each in data["manifests"]:
        if (each.get("platform") or {}).get("architecture") == wanted:
            return dict(each)
    raise ValueError(f"nothing for {wanted}")


def _copy(layout: Path, entry: dict[str, Any], target: Path) -> None:
    manifest = json.loads(_blob(layout, entry).read_text())
    parts = [entry, manifest["config"], *manifest["layers"]]
    for part in parts:
        source = _blob(layout, part)
        copy = target / source.relative_to(layout)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    kept = {key: value for key, value in entry.items() if key != "annotations"}
    (target / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [kept]}))
    (target / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


def _blob(layout: Path, entry: dict[str, Any]) -> Path:
    kind, _, digest = str(entry["digest"]).partition(":")
    if not kind.isalnum() or not digest.isalnum():
        raise ValueError(f"{entry['digest']!r} is no digest")
    return layout / "blobs" / kind / digest
