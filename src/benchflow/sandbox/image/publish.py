"""Built images in a registry: pushed by buildah, named by the digest that the registry has.

Credentials are read where podman, buildah and Docker keep them, and handed to the builder in
memory: they are written nowhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox import idmap
from benchflow.sandbox.image import images
from benchflow.sandbox.image.images import OnProgress
from benchflow.sandbox.model import Image

#: HOST[:PORT]/PATH, as the distribution spec has names: lower case, no tag.
_PREFIX = re.compile(r"[a-z0-9.-]+(:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
_LOOPBACK = re.compile(r"(localhost|127\.\d+\.\d+\.\d+)(:|/|$)")
#: What registries say, in the words of their clients, and what to do about it.
_REFUSALS = (
    (r"unauthorized|authentication required|denied|no basic auth", "refuses you",
     "log in: buildah login, podman login or docker login; REGISTRY_AUTH_FILE names another file"),
    (r"no space left|insufficient storage|507", "has no room", "make room there"),
    (r"413|too large|exceeds", "takes no layer as large as this", "raise its limit"),
    (r"connection refused|no such host|timeout|unreachable|EOF|reset by peer", "does not answer",
     "see whether it runs, and call it again: layers that arrived are not sent twice"),
)  # fmt: skip


def check_prefix(prefix: str) -> str:
    """`prefix` as it is, where images can have names below it. Raises UsageError."""
    if not _PREFIX.fullmatch(prefix) or "/" not in prefix:
        raise UsageError(
            f"--images {prefix}: no images can be named so",
            hint="write REGISTRY/PREFIX in lower case, such as localhost:5000/benchflow",
        )
    return prefix


def push(
    image: Image, reference: str, labels: Mapping[str, str], *, on_progress: OnProgress
) -> str:
    """Push a built `image` with `labels` as `reference`; the digest (`sha256:…`) that it has there.

    The same image with the same labels has the same digest. A registry on this machine's loopback
    is spoken to without TLS. Layers that the registry has are not sent again. Raises
    InfrastructureError, with what the registry said.
    """
    id_map = idmap.current()
    with images.storage(id_map, on_progress) as builder:
        status, said, digest = builder.push(
            image.digest.removeprefix("sha256:"),
            reference,
            labels,
            credentials=_credentials(),
            verify_tls=not _LOOPBACK.match(reference),
        )
    if not status and re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        return digest
    lines = [line for line in said.splitlines() if line.strip()]
    last = lines[-1][-400:] if lines else "nothing was said"
    for words, what, hint in _REFUSALS:
        if re.search(words, last, re.IGNORECASE):
            raise InfrastructureError(f"the registry {what}: {reference}: {last}", hint=hint)
    raise InfrastructureError(f"{reference} was not pushed: {last}", hint="try again")


def _credentials() -> str:
    """The text of the first credentials file there is, in the order of containers-auth.json(5)."""
    env = os.environ
    runtime = env.get("XDG_RUNTIME_DIR")
    config = env.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    docker = env.get("DOCKER_CONFIG") or Path.home() / ".docker"
    named = env.get("REGISTRY_AUTH_FILE")
    for place in (
        Path(named) if named else None,
        Path(runtime) / "containers/auth.json" if runtime else None,
        Path(config) / "containers/auth.json",
        Path(docker) / "config.json",
    ):
        if place and place.is_file():
            return place.read_text(encoding="utf-8")
    return ""
