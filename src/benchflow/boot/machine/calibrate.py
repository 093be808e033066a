"""What the host can do, found out once per process by booting: speed, accelerator, sandbox.

`BENCHFLOW_HOST_SPEED` and `BENCHFLOW_ACCEL` carry values that were measured before (the parent
of many verifications sets them); nothing else is believed without a boot.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache

from benchflow.boot.errors import BadSetting, BootError, QemuFailed
from benchflow.boot.machine.accel import kvm_works
from benchflow.boot.machine.firmware import program
from benchflow.boot.machine.reference_boot import reference_boot

# Processor seconds of the reference boot's work on the reference host: 2 cores (AMD EPYC,
# virtualised), QEMU 7.2 under TCG, otherwise idle; the best of 8 runs.
REFERENCE = {"x86_64": 0.082, "aarch64": 0.073, "riscv64": 0.056}
PATIENCE = 120.0  # real seconds; the slowest host on which verification makes sense needs a few
SLOWEST, FASTEST = 0.02, 50.0


@dataclass(frozen=True)
class Host:
    """`speed`: 1.0 = the reference host, 0.5 = half as fast. `sandbox`: QEMU's own seccomp works.

    `accelerator`: kvm or tcg.
    """

    speed: float
    accelerator: str
    qemu_version: str
    sandbox: bool


@cache
def measure(arch: str) -> Host:
    """The host as it serves guests of `arch`. Raises VerifierBroken, whatever goes wrong.

    QemuMissing; QemuFailed when nothing boots; BadSetting when what was handed on makes no sense.
    """
    try:
        return _measure(arch)
    except BootError:
        raise
    except Exception as error:
        # No guest has run yet: whatever this is, it must not count against what was delivered.
        raise QemuFailed(f"the host could not be measured: {error!r}") from error


def _measure(arch: str) -> Host:
    version = _version(arch)
    sandbox, speed = True, _given_speed()
    if speed is None:
        taken = reference_boot(arch, "tcg", PATIENCE, sandbox=True)
        if taken is None:
            # A seccomp filter around us may forbid QEMU to install its own.
            sandbox, taken = False, reference_boot(arch, "tcg", PATIENCE, sandbox=False)
        if taken is None:
            raise QemuFailed(f"{program(arch)} cannot even run the reference boot")
        if taken <= 0:
            raise QemuFailed("this kernel does not say how long a process was on a processor")
        speed = min(FASTEST, max(SLOWEST, REFERENCE[arch] / taken))
    return Host(round(speed, 3), _accelerator(arch, sandbox), version, sandbox)


def _given_speed() -> float | None:
    given = os.environ.get("BENCHFLOW_HOST_SPEED")
    if not given:
        return None
    try:
        speed = float(given)
    except ValueError:
        raise BadSetting(f"BENCHFLOW_HOST_SPEED={given!r} is not a number") from None
    if not SLOWEST <= speed <= FASTEST:
        raise BadSetting(f"BENCHFLOW_HOST_SPEED={given} is not within {SLOWEST} to {FASTEST}")
    return speed


def _accelerator(arch: str, sandbox: bool) -> str:
    given = os.environ.get("BENCHFLOW_ACCEL")
    if given:
        if given not in ("kvm", "tcg"):
            raise BadSetting(f"BENCHFLOW_ACCEL={given!r}: kvm or tcg")
        return given
    return "kvm" if kvm_works(arch, sandbox) else "tcg"


@cache
def _version(arch: str) -> str:
    output = subprocess.run(
        [program(arch), "--version"], capture_output=True, text=True, errors="replace", check=False
    ).stdout
    found = re.search(r"version (\S+)", output)
    if found is None:
        raise QemuFailed(f"{program(arch)} --version does not say its version", evidence=output)
    return found[1]
