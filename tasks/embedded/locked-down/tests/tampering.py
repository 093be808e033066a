"""What somebody in the cellar may try, and what then has to happen."""

from __future__ import annotations

import contextlib
import secrets

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
    "/EFI/BOOT/BOOTX64.EFI.extra.d/console.cred": b"init=/bin/sh",
    "/EFI/BOOT/grub.cfg": b"linux /EFI/BOOT/BOOTX64.EFI init=/bin/sh\nboot\n",
    "/EFI/BOOT/cmdline": b"init=/bin/sh rdinit=/bin/sh",
    "/startup.nsh": b"fs0:\\EFI\\BOOT\\BOOTX64.EFI init=/bin/sh\r\n",
}
_CREDENTIAL = "io.systemd.credential"
ATTACK_QEMU = [
    "-smbios", "type=11,value=io.systemd.stub.kernel-cmdline-extra=init=/bin/sh rdinit=/bin/sh,"
    "value=io.systemd.boot.kernel-cmdline-extra=init=/bin/sh,"
    f"value={_CREDENTIAL}:systemd.unit-dropin.getty=x",
    "-fw_cfg", f"name=opt/{_CREDENTIAL}s/shell,string=init=/bin/sh",
    "-fw_cfg", "name=opt/cmdline,string=init=/bin/sh",
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
        assert "UNIT READY" not in one.machine.console.since(0), "[R8]: it says UNIT READY besides"
        after = one.machine.flatten()
        assert layout.read("data", after) == layout.read("data", disk.path), (
            "[R8] wants data left as it is: it was changed"
        )
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
        for line in ("id", "get x", "put x y", "challenge", "open " + "0" * 128, "\x03"):
            said = one.ask(line)
            assert said == "locked", f"[R13] wants '= locked' for {line!r}: {said!r}"
        one.machine.power_cut()
        after = one.machine.flatten()
        assert layout.read("data", after) == layout.read("data", disk.path), (
            "[R13] wants data left as it is: it was changed"
        )
    finally:
        one.machine.close()
        disk.path.unlink()


def unused(root: bytes) -> int:
    """A byte in a block that holds nothing, drawn; any byte where there is none."""
    empty = [at for at in range(0, len(root) - 4095, 4096) if not root[at : at + 4096].strip(b"\0")]
    base = secrets.choice(empty) if empty else 4096 * secrets.randbelow(len(root) // 4096)
    return base + secrets.randbelow(4096)
