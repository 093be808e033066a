"""The service key and the shell that it opens: what it may, and what nobody may."""

from __future__ import annotations

import re
import secrets

from disk import Layout
from meter import Meter
from probes import ENOENT, ENOSYS, EPERM

from benchflow.boot import kernel_banner
from benchflow.boot.inspect import ed25519

# The kernel's first user and process name spaces (include/linux/proc_ns.h).
FIRST_SPACES = {"user-space": "user:[4026531837]", "process-space": "pid:[4026531836]"}


def opens_for_one_signature(meter: Meter) -> None:
    """Nothing but the signature of the service key for this meter and challenge opens."""
    meter.refuses("0" * 128, "since no challenge was given")
    somebody = secrets.token_bytes(32)
    for why, wrong in (
        ("for nobody's signature", lambda given: secrets.token_hex(64)),
        ("for somebody else's signature",
         lambda given: ed25519.sign(somebody, f"vakt-open:{meter.id}:{given}".encode()).hex()),
        ("for another meter's id",
         lambda given: meter.signature(given, unit=secrets.token_hex(32))),
        ("for another challenge", lambda given: meter.signature(secrets.token_hex(16))),
    ):  # fmt: skip
        meter.refuses(wrong(meter.challenge()), why)
    meter.refuses(meter.signature(meter.challenge()) + "00", "for 130 digits", also="unknown")


def uses_challenges_up(meter: Meter) -> None:
    """Only the newest challenge counts, and one attempt uses it up, be it the right one."""
    older, newer = meter.challenge(), meter.challenge()
    assert older != newer, "[R16] wants a new challenge each time: it is the same"
    meter.refuses(meter.signature(older), "since it is not the newest challenge")
    meter.refuses(meter.signature(newer), "since an attempt has used it up")
    given = meter.challenge()
    meter.ask("open 00")
    meter.refuses(meter.signature(given), "since an attempt that is no signature has used it up")
    right = meter.signature(meter.challenge())
    meter.open(right.upper())
    meter.to_commands()
    meter.refuses(right, "since it has opened already")


def has_the_first_process_rights(meter: Meter) -> None:
    """The shell is root's, with all that the first process may do."""
    own, first = (
        dict(re.findall(r"(?m)^(\w+):\s*(\S+)", meter.sees(name))) for name in ("self", "first")
    )
    for name in ("CapEff", "CapBnd"):
        missing = int(first.get(name, "0"), 16) & ~int(own.get(name, "0"), 16)
        assert not missing, (
            f"[R16] wants every right of the first process: {name} lacks {missing:x}"
        )
    assert own.get("Seccomp", "0") == first.get("Seccomp", "0"), (
        f"[R16] wants every right of the first process: Seccomp is {own.get('Seccomp')}"
    )
    for name, first_space in FIRST_SPACES.items():
        said = meter.sees(name, missing=ENOENT)
        assert said in ("", first_space), f"[R16] wants the meter's own root: it is in {said!r}"


def cannot_write_to_root(meter: Meter) -> None:
    """Root cannot be written to, by root either."""
    shell = meter.machine.shell
    mounts = [line.split() for line in shell.run("cat /proc/mounts").stdout.splitlines()]
    root = [
        mount for mount in mounts if len(mount) > 3 and mount[1] == "/" and mount[0] != "rootfs"
    ]
    assert root and "ro" in root[-1][3].split(","), f"[R11] wants root read-only: {mounts}"
    status = shell.run("mount -o remount,rw / && touch /etc/written").status
    assert status != 0, "[R11] wants root read-only: root wrote to it after a remount"


def runs_what_was_signed(meter: Meter, layout: Layout) -> None:
    """Kernel and command line are those of the signed program."""
    said, wanted = meter.sees("cmdline").strip(), layout.command_line.strip()
    assert said == wanted, f"[R2] wants .cmdline, {wanted!r}, as the command line: {said!r}"
    # Up to the number of the build, which a distribution leaves out of the file.
    said = meter.sees("version").strip().removeprefix("Linux version ").split(" #")[0]
    wanted = kernel_banner(layout.program.content(".linux")).split(" #")[0]
    assert said == wanted, f"[R2] wants the kernel in .linux, {wanted!r}: {said!r}"


def refused(one: Meter, call: str, words: str) -> None:
    """The kernel does not allow a system call, or does not have it."""
    said = one.probe(call)
    assert said in (EPERM, ENOSYS), (
        f"[{words}] wants EPERM or ENOSYS for {call}: it ended with {said}"
    )
