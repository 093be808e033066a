"""Built images in a registry: pushed by buildah, named by the digest that the registry has."""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchflow.errors import InfrastructureError
from benchflow.sandbox import idmap
from benchflow.sandbox.image import images, registry
from benchflow.sandbox.image.images import OnProgress
from benchflow.sandbox.model import Image


def push(
    image: Image, name: str, tag: str, labels: Mapping[str, str], *, on_progress: OnProgress
) -> str:
    """Push a built `image` with `labels` as `name`:`tag`; the digest (`sha256:…`) it has there.

    The same image with the same labels has the same digest. A registry on this machine's loopback
    is spoken to without TLS. Layers that the registry has are not sent again. Raises
    InfrastructureError, with what the registry said, also when the registry does not have
    afterwards what was sent.
    """
    place = registry.Repository(name)
    with images.storage(idmap.current(), on_progress) as builder:
        status, said, digest = builder.push(
            image.digest.removeprefix("sha256:"),
            f"{name}:{tag}",
            labels,
            credentials=place.credentials(),
            verify_tls=not place.is_loopback,
        )
    if status or not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        lines = [line for line in said.splitlines() if line.strip()]
        last = lines[-1][-400:] if lines else "nothing was said"
        raise registry.refused(f"{name}:{tag}", last)
    there = place.find(tag)
    if there is None or there.digest != digest:
        raise InfrastructureError(
            f"{name}:{tag} was sent, and the registry has something else under that name",
            hint="see who else pushes there, then call this again",
        )
    return digest
