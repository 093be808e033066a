"""Whether machines run under KVM here: found out by booting one, once for each boot of the host.

A /dev/kvm that opens, and even makes machines, may still not run a guest.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from benchflow.base.atomic import write_json
from benchflow.base.home import home
from benchflow.sandbox.model import Image, Limits
from benchflow.sandbox.namespace import Sandbox
from benchflow.sandbox.vm import frames, qemu
from benchflow.sandbox.vm.engine import Engine

KVM = "/dev/kvm"
_PROBE_SECONDS = 15.0
#: What a run is told where there is no KVM.
COST = (
    "machines run under TCG here, for want of KVM: programs take several times as long as in the "
    "namespace sandbox; --agent-timeout-multiplier gives an agent more time"
)


def usable(room: Image) -> str:
    """`kvm` where a guest booted under it, else `tcg`."""
    if not os.access(KVM, os.R_OK | os.W_OK):
        return "tcg"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    record = home() / "machines" / "kvm.json"
    key = {"boot": boot, "room": room.digest}
    try:
        known = json.loads(record.read_text())
    except (FileNotFoundError, ValueError):
        known = {}
    if {name: known.get(name) for name in key} != key:
        known = {**key, "works": _boots(room)}
        record.parent.mkdir(mode=0o700, exist_ok=True)
        write_json(record, known)
    return "kvm" if known["works"] else "tcg"


def _boots(room: Image) -> bool:
    """Boot the room's kernel without a disk: its process 1 then switches the machine off."""
    spec = qemu.Spec(
        name="probe",
        key=secrets.token_bytes(frames.KEY_BYTES),
        accelerator="kvm",
        limits=Limits(memory_mb=256),
        network="none",
        hostname="probe",
        probe=True,
    )
    with Sandbox.start(room, devices=("kvm",)) as box:
        engine = Engine(box, spec, None)
        status = engine.wait(_PROBE_SECONDS)
        engine.kill()
    return status == 0
