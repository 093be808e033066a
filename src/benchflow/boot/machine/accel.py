"""Whether hardware acceleration works: found out by booting, never assumed.

A `/dev/kvm` that opens and even creates machines may still not run a guest (nested
virtualisation without hardware help), so the reference boot has to come to its end under KVM.
"""

from __future__ import annotations

import os
from functools import cache

from benchflow.boot.machine.firmware import native
from benchflow.boot.machine.reference_boot import reference_boot

KVM = "/dev/kvm"
PROBE_SECONDS = 5.0  # real; a working KVM needs well under one


@cache
def kvm_works(arch: str, sandbox: bool = True) -> bool:
    """Whether a guest of `arch` boots under KVM here; takes `PROBE_SECONDS` where it hangs."""
    if not native(arch) or not os.access(KVM, os.R_OK | os.W_OK):
        return False
    return reference_boot(arch, "kvm", PROBE_SECONDS, sandbox) is not None
