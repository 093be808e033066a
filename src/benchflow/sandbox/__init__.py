"""The namespace sandbox: no daemon, no Docker, never the host's root inside.

The names below load on first use, because the helper that runs inside a sandbox imports this
package too and has to start in milliseconds.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the typing module would be a third of the helper's start
if TYPE_CHECKING:
    from typing import Any

    from benchflow.sandbox.cleanup import gc as gc
    from benchflow.sandbox.image.images import build as build
    from benchflow.sandbox.image.images import debian as debian
    from benchflow.sandbox.model import ExecResult as ExecResult
    from benchflow.sandbox.model import Image as Image
    from benchflow.sandbox.model import ImageConfig as ImageConfig
    from benchflow.sandbox.model import Limits as Limits
    from benchflow.sandbox.model import Mount as Mount
    from benchflow.sandbox.namespace import Sandbox as Sandbox

_HOMES = {
    "ExecResult": "model",
    "Image": "model",
    "ImageConfig": "model",
    "Limits": "model",
    "Mount": "model",
    "Sandbox": "namespace",
    "build": "image.images",
    "debian": "image.images",
    "gc": "cleanup",
}

__all__ = [
    "ExecResult",
    "Image",
    "ImageConfig",
    "Limits",
    "Mount",
    "Sandbox",
    "build",
    "debian",
    "gc",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
