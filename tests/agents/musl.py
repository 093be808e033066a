"""An image's worth of files without glibc, below /musl of a Debian sandbox: busybox and musl."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchflow.agents.layers import AgentSpec, Layer
from benchflow.sandbox import ExecResult, Mount, Sandbox, build

ROOT = "/musl"
_DOCKERFILE = r"""FROM debian:bookworm
RUN apt-get update && apt-get install -y --no-install-recommends musl busybox-static \
 && mkdir -p /musl/bin /musl/lib /musl/etc /musl/root /musl/tmp /musl/proc /musl/dev \
 && cp /bin/busybox /musl/bin/ \
 && for a in $(busybox --list); do [ $a = busybox ] || ln -s busybox /musl/bin/$a; done \
 && cp -L /lib/ld-musl-x86_64.so.1 /musl/lib/ \
 && ln -s ld-musl-x86_64.so.1 /musl/lib/libc.musl-x86_64.so.1 \
 && echo root:x:0:0:root:/root:/bin/sh > /musl/etc/passwd
"""


def run_in_musl(spec: AgentSpec, layer: Layer, command: str) -> ExecResult:
    """Run a command with the layer shown, where no glibc is."""
    with tempfile.TemporaryDirectory() as context:
        (Path(context) / "Dockerfile").write_text(_DOCKERFILE)
        image = build(context)
    shown = [Mount(layer.path, f"{ROOT}{spec.inside}")]
    with Sandbox.start(image, mounts=shown) as box:
        box.exec(f"mount -t proc proc {ROOT}/proc && mount --rbind /dev {ROOT}/dev")
        path = f"export HOME=/root PATH={spec.inside}/bin:/bin"
        return box.exec(["chroot", ROOT, "/bin/sh", "-c", f"{path}; {command}"], timeout=120)
