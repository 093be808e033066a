"""What guests stand on: QEMU, firmware, acceleration, and how fast this host boots.

A run needs none of these on the host: a verifier's image brings its own QEMU and firmware. They
are for `benchflow verify --sandbox none`, and to know what to expect.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from benchflow.run.doctor.check import Check, State, first_line

ARCHES = ("x86_64", "aarch64", "riscv64")
FIRMWARE = (("x86_64", "uefi"), ("x86_64", "uefi-secure"), ("aarch64", "uefi"))


def qemu(arch: str) -> Check:
    """The QEMU of an architecture."""
    from benchflow.boot.errors import VerifierBroken
    from benchflow.boot.machine.firmware import BOARDS, program

    name = f"qemu {arch}"
    try:
        path = program(arch)
    except VerifierBroken as error:
        package = BOARDS[arch].package
        hint = f"apt-get install {package}"
        return Check(name, State.MISSING, str(error), hint, needed=False, package=package)
    line = first_line([path, "--version"])
    return Check(name, State.OK, line.removeprefix("QEMU emulator version").strip() or path)


def firmware(arch: str, kind: str) -> Check:
    """The UEFI firmware of an architecture."""
    from benchflow.boot.errors import VerifierBroken
    from benchflow.boot.machine.firmware import pflash

    name = f"{kind} {arch}"
    try:
        files = pflash(arch, kind)
    except VerifierBroken as error:
        package = "ovmf" if arch == "x86_64" else "qemu-efi-aarch64"
        hint = f"apt-get install {package}"
        return Check(name, State.MISSING, str(error), hint, needed=False, package=package)
    return Check(name, State.OK, str(files[0]) if files else "built in")


def kvm() -> Check:
    """Boots a guest under KVM: a device that is present need not work."""
    from benchflow.boot.machine.accel import KVM, kvm_works

    if not Path(KVM).exists():
        detail, hint = f"no {KVM}", "guests run under TCG, several times slower"
    elif not os.access(KVM, os.R_OK | os.W_OK):
        detail, hint = f"{KVM} is not ours to open", "as root: usermod -aG kvm YOU, then log in"
    elif kvm_works(os.uname().machine):
        return Check("kvm", State.OK, "a guest booted under it", needed=False)
    else:
        detail = f"{KVM} is present and does not work: a guest did not boot under it"
        hint = "nothing to do: guests run under TCG, several times slower"
    return Check("kvm", State.OPTIONAL, detail, hint, needed=False)


def sandbox_vm() -> Check:
    """Whether an agent can have a machine of its own, and what that runs under."""
    from benchflow.sandbox.vm import accelerator, room_image

    name = "sandbox vm"
    if os.uname().machine != room_image.ARCH:
        detail = f"machines are {room_image.ARCH}, and this host is {os.uname().machine}"
        return Check(name, State.OPTIONAL, detail, "only for --sandbox vm", needed=False)
    if shutil.which("mke2fs", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
        hint = "apt-get install e2fsprogs; only for --sandbox vm"
        package = "e2fsprogs"
        return Check(name, State.MISSING, "no mke2fs", hint, needed=False, package=package)
    made = room_image.made()
    if made is None:
        detail = (
            "not made yet: the first --sandbox vm makes its image, and finds out whether KVM works"
        )
        return Check(name, State.OK, detail, needed=False)
    if accelerator.usable(made) == "kvm":
        return Check(name, State.OK, "under KVM: a guest booted under it", needed=False)
    detail = "under TCG, several times slower than the namespace sandbox"
    return Check(name, State.OK, detail, needed=False)


def speed() -> Check:
    """Measures by booting; deadlines are scaled by it."""
    from benchflow.boot.errors import VerifierBroken
    from benchflow.boot.machine.calibrate import measure

    try:
        host = measure("x86_64")
    except VerifierBroken as error:
        return Check("host speed", State.BROKEN, str(error), "see qemu above", needed=False)
    detail = (
        f"{host.speed:.2f} times as fast as the reference host; guests run under {host.accelerator}"
    )
    return Check("host speed", State.OK, detail)
