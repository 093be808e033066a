"""escape, part two: system calls, name spaces, mounts, keys, terminals, tricks with roots."""

from __future__ import annotations

import ctypes
import os
import socket
from pathlib import Path

from benchflow.testing.sandbox_conformance.catalogue import check
from benchflow.testing.sandbox_conformance.outcome import NotApplicable, expect, fail
from benchflow.testing.sandbox_conformance.rig import Rig, host_processes, text

# Calls that root of the host may make, given arguments that are invalid on purpose: a kernel that
# gets as far as looking at them answers EINVAL, EFAULT or EBADF; one that refuses, EPERM.
_X86_64 = {
    "init_module": (175, "0, 0, 0"),
    "finit_module": (313, "-1, 0, 0"),
    "kexec_load": (246, "0, 99999, 0, 0xFFFF"),
    "bpf": (321, "9999, 0, 0"),
    "open_by_handle_at": (304, "-1, 0, 0"),
    "swapon": (167, "0, 0"),
    "acct": (163, "1"),
    "iopl": (172, "3"),
    "quotactl": (179, "0x80000200, 0, 0, 0"),
    "keyctl": (250, "0, -3, 1"),
    "add_key": (248, "0, 0, 0, 0, -3"),
}


def _machine() -> None:
    if os.uname().machine != "x86_64":
        raise NotApplicable("written for x86_64's call numbers")


@check
async def escape__privileged_calls(rig: Rig) -> None:
    """Calls for modules, kexec, bpf, file handles, swap, accounting, ports and keys are refused"""
    await rig.on_no_own_kernel()
    _machine()
    allowed = []
    for name, (number, arguments) in _X86_64.items():
        shown = await rig.out(f"perl -e '$r=syscall({number}, {arguments}); print $r, q( ), $!+0'")
        result, errno = shown.split()
        if result != "-1" or int(errno) not in (1, 38):
            allowed.append(f"{name} (result {result}, errno {errno})")
    expect(not allowed, f"the kernel looked at: {', '.join(allowed)}")


@check
async def escape__kernel_modules(rig: Rig) -> None:
    """A kernel module cannot be loaded"""
    if await rig.has_own_kernel():
        await _modules_are_its_own(rig)
        return
    await rig.run("printf '\\177ELFjunk' > /srv/c/evil.ko")
    _machine()
    program = "open F,q(/srv/c/evil.ko); my $p=q(); $r=syscall(313,fileno F,$p,0); print $!+0"
    expect(await rig.out(f"perl -e '{program}'") == "1", "the kernel tried to load one")


async def _modules_are_its_own(rig: Rig) -> None:
    """What root loads into a kernel of its own is not in the host's."""
    names = {"dummy", "nbd", "ifb"} - _modules()
    command = f"for m in {' '.join(names)}; do modprobe $m && echo $m; done; true"
    loaded = (await rig.out(command)).split()
    if not loaded:
        raise NotApplicable("the environment has a kernel of its own, and no module to load")
    expect(not _modules() & set(loaded), f"the host's kernel has loaded {loaded}")


def _modules() -> set[str]:
    """The modules of the host's kernel; none where it cannot have any."""
    list_of_all = Path("/proc/modules")
    if not list_of_all.exists():
        return set()
    return {line.split()[0] for line in list_of_all.read_text().splitlines()}


@check
async def escape__mounts_stay_inside(rig: Rig) -> None:
    """What is mounted inside is not mounted on the host"""
    name = f"mount-{rig.token}"
    await rig.run(f"mkdir -p /srv/c/{name} && mount -t tmpfs {name} /srv/c/{name}")
    seen = name in Path("/proc/self/mountinfo").read_text()
    await rig.run(f"umount /srv/c/{name}; rmdir /srv/c/{name}")
    expect(not seen, "it is")


@check
async def escape__host_disk_cannot_be_mounted(rig: Rig) -> None:
    """The host's root disk cannot be mounted"""
    device = next(
        (
            line.split()[2]
            for line in Path("/proc/self/mountinfo").read_text().splitlines()
            if line.split()[4] == "/"
        ),
        "",
    )
    if not device or device.startswith("0:"):
        raise NotApplicable("the host's root is on no disk")
    command = (
        f"rm -f /srv/c/rd; mkdir -p /srv/c/rm; mknod /srv/c/rd b {device.replace(':', ' ')}; "
        f"for t in ext4 xfs btrfs; do mount -t $t -o ro /srv/c/rd /srv/c/rm && "
        f"cat /srv/c/rm{rig.secret_file}; mountpoint -q /srv/c/rm && echo MOUNTED && "
        "umount /srv/c/rm; done; true"
    )
    shown = text(await rig.run(command))
    expect(rig.secret not in shown, "it was, and a file of the host's was read")
    # Under a kernel of its own the disk with that number is its own.
    expect("MOUNTED" not in shown or await rig.has_own_kernel(), "it was")


@check
async def escape__name_spaces_of_process_one(rig: Rig) -> None:
    """Entering the name spaces of any visible process does not lead to the host"""
    found = await rig.out(
        f"for p in $(ls /proc | grep -E '^[0-9]+$'); do "
        f"timeout 5 nsenter -t $p -m -- cat {rig.secret_file} 2>/dev/null; "
        f"timeout 5 nsenter -t $p -a -- cat {rig.secret_file} 2>/dev/null; done; true",
        timeout_sec=120,
    )
    expect(rig.secret not in found, "it does")


@check
async def escape__helpers_cannot_be_traced(rig: Rig) -> None:
    """Processes of the environment's own that are visible inside cannot be traced or read"""
    await rig.on_this_machine()
    _machine()
    marker = f"36{rig.token}"
    await rig.run(f"setsid perl -e 'sleep 30' {marker} & sleep 0.2")
    pids = host_processes(marker)
    expect(pids, "no process of the sandbox was found on the host")
    space = Path(f"/proc/{pids[0]}/ns/pid").stat().st_ino
    if space == Path("/proc/self/ns/pid").stat().st_ino:
        await rig.run(f"pkill -9 -f {marker}")
        fail("every process of the host is visible")
    readable = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            same = (folder / "ns/pid").stat().st_ino == space
            program = (folder / "exe").readlink()
            known = (folder / "exe").stat()
            number = (folder / "status").read_text().partition("NSpid:")[2].split("\n")[0].split()
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            continue
        on_host = program.exists() and os.path.samestat(program.stat(), known)
        if not same or not on_host:
            continue
        attempt = await rig.run(
            f"perl -e 'exit syscall(101, 0x4206, {number[-1]}, 0, 0) == 0 ? 0 : 1' || "
            f"head -c 1 /proc/{number[-1]}/maps | grep -q ."
        )
        if attempt.return_code == 0:
            readable.append(f"{program} ({number[-1]} inside)")
    await rig.run(f"pkill -9 -f {marker}")
    expect(not readable, f"traced: {', '.join(readable)}")


@check
async def escape__chroot_tricks(rig: Rig) -> None:
    """The classic ways out of a chroot end in the sandbox's own root"""
    program = (
        "mkdir q(/srv/c/jail); opendir D, q(/); chroot q(/srv/c/jail); chdir q(..) for 1..64; "
        "chroot q(.); "
        f"open F, q({rig.secret_file}) and print <F>; "
        f"open F, q(../../../../../../..{rig.secret_file}) and print <F>"
    )
    shown = (await rig.run(f"perl -e '{program}'")).stdout or ""
    expect(rig.secret not in shown, "they end on the host")


@check
async def escape__root_moves(rig: Rig) -> None:
    """Turning over the root mount in a mount name space of its own shows nothing of the host"""
    command = (
        "unshare --mount --propagation private sh -c 'mkdir -p /srv/c/new/old; "
        "mount -t tmpfs t /srv/c/new; mkdir -p /srv/c/new/old; cd /srv/c/new; "
        "pivot_root . old 2>/dev/null; "
        f"cat old{rig.secret_file} {rig.secret_file} /{rig.secret_file}' 2>/dev/null; true"
    )
    expect(rig.secret not in ((await rig.run(command)).stdout or ""), "it does")


@check
async def escape__keyrings(rig: Rig) -> None:
    """Keys of the orchestrator's user and session cannot be found or read inside"""
    _machine()
    libc = ctypes.CDLL(None, use_errno=True)
    name = f"benchflow-{rig.token}".encode()
    user_keyring = ctypes.c_int(-4)
    key = libc.syscall(248, b"user", name, rig.secret.encode(), len(rig.secret), user_keyring)
    if key < 0:
        raise NotApplicable(
            f"the host has no key service for us: {os.strerror(ctypes.get_errno())}"
        )
    try:
        program = (
            f"my $b=q( ) x 200; my $n=syscall(250, 11, {key}, $b, 200); print $b if $n>0; "
            f"print syscall(250, 10, -4, q(user), q({name.decode()}), 0) > 0 ? q( FOUND) : q()"
        )
        shown = text(await rig.run(f"perl -e '{program}'; cat /proc/keys"))
    finally:
        libc.syscall(250, 3, key)  # KEYCTL_REVOKE
    expect(rig.secret not in shown and "FOUND" not in shown, "a key was found")
    expect(name.decode() not in shown, "it is listed in /proc/keys")


@check
async def escape__shared_memory(rig: Rig) -> None:
    """System V shared memory of the host's cannot be attached"""
    libc = ctypes.CDLL(None, use_errno=True)
    number = int(rig.token[:7], 16)
    segment = libc.shmget(number, 4096, 0o1666)  # IPC_CREAT
    expect(segment >= 0, "the host has no shared memory to try this with")
    try:
        shown = await rig.out(f"perl -e 'print defined shmget({number}, 4096, 0) ? 1 : 0'")
    finally:
        libc.shmctl(segment, 0, None)  # IPC_RMID
    expect(shown == "0", "it can")


@check
async def escape__terminal_injection(rig: Rig) -> None:
    """A command has no terminal of the host's, and cannot push input into one (TIOCSTI)"""
    program = (
        "print q(tty ) if open T, q(+<), q(/dev/tty); "
        "for my $f (*STDIN,*STDOUT,*STDERR){ my $c=q(x); print q(pushed ) if ioctl($f,0x5412,$c) }"
    )
    shown = await rig.out(f"perl -e '{program}'")
    expect(not shown, f"it has: {shown}")


@check
async def escape__host_name(rig: Rig) -> None:
    """Setting the host name inside does not set the host's"""
    before = socket.gethostname()
    try:
        await rig.run(f"hostname conformance-{rig.token[:6]}")
        expect(socket.gethostname() == before, "it does")
    finally:
        if socket.gethostname() != before:
            socket.sethostname(before)


@check
async def escape__oom_protection(rig: Rig) -> None:
    """A program inside cannot make the host's out-of-memory killer spare it"""
    await rig.on_no_own_kernel()
    shown = await rig.run("echo -1000 > /proc/self/oom_score_adj && cat /proc/self/oom_score_adj")
    expect("-1000" not in (shown.stdout or ""), "it can")
