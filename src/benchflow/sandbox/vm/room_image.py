"""The room: the image in which QEMU runs, with kernel, modules and the guest's agent in it.

It is made here from Debian's packages, as any image, so that a host needs no QEMU of its own, and
what a guest could do to its QEMU is done in a namespace sandbox.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchflow.errors import InfrastructureError, TaskError
from benchflow.sandbox.image import images
from benchflow.sandbox.model import Image

CONTEXT = Path(__file__).with_name("room")
ARCH = "x86_64"
#: Where its kernel's modules lie, in a folder that is named after its version.
MODULES = "/room/modules"


def room(on_progress: images.OnProgress | None = None) -> Image:
    """Made where it is missing, which takes minutes. Raises InfrastructureError."""
    if os.uname().machine != ARCH:
        raise InfrastructureError(
            f"machines are {ARCH}, and this host is {os.uname().machine}",
            hint="use --sandbox namespace",
        )
    try:
        return images.build(CONTEXT, on_progress=on_progress)
    except TaskError as error:  # the Dockerfile is ours
        raise InfrastructureError(
            f"the image that machines run in cannot be made: {error.message}",
            hint="check `apt-get update`, and that the mirror has bookworm",
        ) from error


def made() -> Image | None:
    """The image where it is made already."""
    return images.built(CONTEXT)


def modules_of(image: Image) -> Path:
    """The folder on the host with the modules of the room's kernel."""
    for layer in reversed(image.layers):
        found = layer / MODULES.lstrip("/")
        if found.is_dir():
            return found
    raise InfrastructureError("the image that machines run in has no modules")
