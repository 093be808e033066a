"""One tar file as an OCI image layout, which every image builder can fetch from a folder.

Fetching unpacks the tar once; adding it to an empty container and committing that reads and
writes everything three times. Format: the OCI image-spec 1.0, image-layout.md.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"


def write(folder: Path, archive: Path, config: dict[str, Any], *, architecture: str) -> None:
    """Make `folder` an image layout whose only layer is the uncompressed tar `archive`, which
    moves there.

    `config` is the image's `config` object (Env, Cmd …); `architecture` is OCI's name (`amd64`).
    No time is recorded, so that the same content is the same image. The folder can be read by
    every id. Raises OSError.
    """
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    layer = {"mediaType": _LAYER, "digest": f"sha256:{digest}", "size": archive.stat().st_size}
    image = {
        "architecture": architecture,
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
        "history": [{"created_by": archive.name}],  # buildah counts these against the layers
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _blob(blobs, _CONFIG, image),
        "layers": [layer],
    }
    index = {"schemaVersion": 2, "manifests": [_blob(blobs, _MANIFEST, manifest)]}
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    archive.rename(blobs / digest)


def _blob(blobs: Path, media: str, document: dict[str, Any]) -> dict[str, Any]:
    data = json.dumps(document, sort_keys=True).encode()
    digest = hashlib.sha256(data).hexdigest()
    (blobs / digest).write_bytes(data)
    return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)}
