"""What somebody in the cellar may try, and what then has to happen."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from disk import Copy, Layout
from meter import Bench

from benchflow.boot import GuestExited

# What the firmware hands to the program of a boot entry: UTF-16, with a zero at the end.
LOAD_OPTIONS = "init=/bin/sh rdinit=/bin/sh break=top rd.break systemd.debug-shell\0".encode(
    "utf-16-le"
)
# Typed while it starts: what interrupts, what menus and emergency shells wait for.
KEYS = "\x03\x04\x1c\x1a\n\x1b\x1b[21~\x1bOQ abcdefghijklmnopqrstuvwxyz 0123456789\x7f\t\n"
_ENTRY = b"title x\nefi /EFI/BOOT/BOOTX64.EFI\noptions init=/bin/sh rdinit=/bin/sh\n"
ATTACK_FILES = {
    "/loader/loader.conf": b"timeout 0\ndefault x.conf\neditor yes\n",
    "/loader/entries/x.conf": _ENTRY,
    "/loader/credentials/console.cred": b"init=/bin/sh",
    "/loader/credentials/sysctl.extra.cred": b"kernel.sysrq=1\n",
    "/EFI/BOOT/BOOTX64.EFI.extra.d/console.cred": b"init=/bin/sh",
    "/EFI/BOOT/grub.cfg": b"linux /EFI/BOOT/BOOTX64.EFI init=/bin/sh\nboot\n",
    "/EFI/BOOT/cmdline": b"init=/bin/sh rdinit=/bin/sh",
    "/startup.nsh": b"fs0:\\EFI\\BOOT\\BOOTX64.EFI init=/bin/sh\r\n",
}
_CREDENTIAL = "io.systemd.credential"
# Credentials that Debian 12's systemd takes from firmware unless it is told not to.
STRANGE = "/run/from-outside"
_SYSCTL, _FILES = "sysctl.extra=kernel.sysrq=1", f"tmpfiles.extra=f+ {STRANGE} - - - - x"
ATTACK_QEMU = [
    "-smbios", "type=11,value=io.systemd.stub.kernel-cmdline-extra=init=/bin/sh rdinit=/bin/sh,"
    "value=io.systemd.boot.kernel-cmdline-extra=init=/bin/sh,"
    f"value={_CREDENTIAL}:systemd.unit-dropin.getty=x,"
    f"value={_CREDENTIAL}:{_SYSCTL},value={_CREDENTIAL}:{_FILES}",
    "-fw_cfg", f"name=opt/{_CREDENTIAL}s/shell,string=init=/bin/sh",
    "-fw_cfg", "name=opt/cmdline,string=init=/bin/sh",
    "-fw_cfg", f"name=opt/{_CREDENTIAL}s/{_SYSCTL.replace('=', ',string=', 1)}",
    "-fw_cfg", f"name=opt/{_CREDENTIAL}s/{_FILES.replace('=', ',string=', 1)}",
]  # fmt: skip


def nothing_starts(bench, disk, name: str, unit_secret: bytes) -> None:
    """The firmware refuses the program and finds nothing else; the disk's code never ran.

    The refusal is the firmware's own word. That it enforces is ours: the lists hold one
    certificate, and no program runs before its signature was checked.
    """
    one = bench.meter(name, disk.path, unit_secret)
    try:
        one.machine.boot()
        one.machine.expect(r"(Access Denied|Security Violation)", timeout=60)
        one.machine.expect(r"No bootable option or device was found", timeout=60)
        text = one.machine.console.since(0)
        assert "Linux version" not in text and "UNIT " not in text, (
            "[R7] wants nothing of it started: the console has words of the system's"
        )
    finally:
        one.machine.close()
        disk.path.unlink()


def refuses_root(bench, layout, disk, name: str, unit_secret: bytes) -> None:
    """The meter says that root is not ours, switches itself off, and left the disk alone."""
    one = bench.meter(name, disk.path, unit_secret)
    try:
        said = one.starts()
        assert said == "REFUSED root", f"[R8] wants UNIT REFUSED root: UNIT {said}"
        with contextlib.suppress(GuestExited):
            assert one.ends(20), "[R8] wants it switched off: it stays on"
        assert one.machine.boots == 1 and not one.machine.alive, (
            "[R8] wants it switched off: it restarts instead"
        )
        assert one.states() == ["REFUSED root"], f"[R8] wants that alone: {one.states()}"
        assert "UNIT READY" not in one.machine.console.since(0), "[R8]: it says UNIT READY besides"
        left_alone(layout, disk, one.machine.flatten(), "R8")
    finally:
        one.machine.close()
        disk.path.unlink()


def locked(
    bench: Bench, layout: Layout, disk: Copy, name: str, unit_secret: bytes | None, state: str
) -> None:
    """A meter on a copied disk says why it is locked, answers nothing else, changes nothing."""
    one = bench.meter(name, disk.path, unit_secret)
    try:
        said = one.starts()
        assert said == f"LOCKED {state}", f"[R13] wants UNIT LOCKED {state}: UNIT {said}"
        for line in ("id", "get x", "put x y", "challenge", "open " + "0" * 128, "\x03", "", "\x04",
                     "exit", "attest " + "0" * 32, secrets.token_hex(500)):  # fmt: skip
            said = one.ask(line)
            assert said == "locked", f"[R13] wants '= locked' for {line[:60]!r}: {said!r}"
        wanted = f"LOCKED {state}"
        assert one.states() == [wanted], f"[R13] wants UNIT {wanted}, and no more: {one.states()}"
        one.machine.power_cut()
        left_alone(layout, disk, one.machine.flatten(), "R13")
    finally:
        one.machine.close()
        disk.path.unlink()


def left_alone(layout: Layout, disk: Copy, after: Path, words: str) -> None:
    """A start that comes to nothing has changed nothing, in data or elsewhere on the disk."""
    assert layout.read("data", after) == layout.read("data", disk.path), (
        f"[{words}] wants data left as it is: it was changed"
    )
    assert layout.same_but_data(after, disk.path), (
        "[R11] wants no start to write outside of data: this one did"
    )


def unused(root: bytes) -> int:
    """A byte in a block that holds nothing, drawn, or in the last such; any where there is none."""
    empty = [at for at in range(0, len(root) - 4095, 4096) if not root[at : at + 4096].strip(b"\0")]
    base = 4096 * secrets.randbelow(len(root) // 4096)
    if empty:
        base = secrets.choice((empty[-1], secrets.choice(empty)))
    return base + secrets.randbelow(4096)
