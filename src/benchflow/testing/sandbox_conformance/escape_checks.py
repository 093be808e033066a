"""escape, part one: the host's files, processes, devices and kernel settings.

Every attempt is one that does no harm where it succeeds, because a leaky environment is a host.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from benchflow.testing.sandbox_conformance.catalogue import check
from benchflow.testing.sandbox_conformance.outcome import NotApplicable, expect
from benchflow.testing.sandbox_conformance.rig import (
    LOGS,
    Rig,
    bystander,
    host_processes,
    log_dir,
    text,
)

# A write of the present value: it changes nothing even where it is let through.
_SETTINGS = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/panic",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/fs/file-max",
    "/proc/sys/fs/protected_symlinks",
    "/sys/kernel/uevent_helper",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/module/firmware_class/parameters/path",
)


@check
async def escape__host_files(rig: Rig) -> None:
    """A file of the host's cannot be read by its path, nor through any process's root"""
    command = (
        f"for p in '' /proc/[0-9]*/root /proc/[0-9]*/cwd /proc/self/cwd/../../../../..; do "
        f"cat $p{rig.secret_file} 2>/dev/null; done; true"
    )
    expect(rig.secret not in await rig.out(command), "it was read")


@check
async def escape__host_files_are_not_written(rig: Rig) -> None:
    """Nothing that root inside writes appears at that path on the host"""
    folder = rig.scratch("target")
    await rig.run(f"mkdir -p {folder}; echo x > {folder}/written")
    expect(not list(folder.iterdir()), "a file appeared on the host")


@check
async def escape__host_identity(rig: Rig) -> None:
    """The host's /etc/shadow and machine-id are not the sandbox's"""
    for name in ("/etc/shadow", "/etc/machine-id"):
        try:
            ours = Path(name).read_text()
        except (FileNotFoundError, PermissionError):
            continue
        theirs = (await rig.run(f"cat {name}")).stdout or ""
        expect(not ours.strip() or ours != theirs, f"{name} is the host's")


@check
async def escape__open_descriptors(rig: Rig) -> None:
    """A command has no descriptor but its three streams; none of the orchestrator's leaks in"""
    shown = await rig.out("perl -e 'opendir D,q(/proc/self/fd); print join q( ), sort readdir D'")
    numbers = [int(word) for word in shown.split() if word.isdigit()]
    expect(len(numbers) <= 4 and max(numbers) <= 4, f"descriptors {numbers}")
    # Plain files alone: whoever reads from another's pipe takes its data away.
    reads = "for f in /proc/[0-9]*/fd/*; do [ -f $f ] && timeout 1 head -c 99 $f 2>/dev/null; done"
    result = await rig.run(f"timeout 60 sh -c '{reads}' < /dev/null | grep -ac {rig.secret}")
    expect(text(result).strip() in ("0", ""), "an open file of the orchestrator's can be read")


@check
async def escape__host_processes_are_unseen(rig: Rig) -> None:
    """Processes of the host are not in the sandbox's /proc"""
    other = bystander()
    try:
        start = Path(f"/proc/{other.pid}/stat").read_text().rpartition(")")[2].split()[19]
        shown = await rig.run(f"cat /proc/{other.pid}/stat")
        words = (shown.stdout or "").rpartition(")")[2].split()
        expect(len(words) < 20 or words[19] != start, "a host process shows up under its number")
    finally:
        other.kill()
        other.wait()


@check
async def escape__host_processes_are_unharmed(rig: Rig) -> None:
    """A signal to the number that a process has on the host does not reach it"""
    other = bystander()
    try:
        await rig.run(f"kill -9 {other.pid}; kill -9 -{other.pid}; sleep 0.2")
        expect(other.poll() is None, "a process of the host was killed from inside")
    finally:
        other.kill()
        other.wait()


@check
async def escape__root_is_not_host_root(rig: Rig) -> None:
    """Root inside has no id 0 on the host, nor has root of a user namespace that it nests"""
    if await rig.has_own_kernel():
        session = (await rig.env()).session_id
        own = host_processes(session)
        expect(own, "no process on the host is seen to be the environment's")
        expect(
            "0" not in _ids(own), "the process that runs the environment's kernel is host root's"
        )
        return
    marker = f"35{rig.token}"
    for command in (
        f"perl -e 'sleep 20' plain-{marker} &",
        f"unshare --user --map-root-user perl -e 'sleep 20' nested-{marker} &",
    ):
        await rig.run(f"setsid {command} sleep 0.3")
    pids = [pid for pid in host_processes(marker) if b"perl" in _comm(pid)]
    expect(pids, "no process of the sandbox was found on the host")
    ids = _ids(pids)
    await rig.run(f"pkill -9 -f {marker}")
    expect("0" not in ids, f"a process inside has host ids {sorted(ids)}")


@check
async def escape__files_of_root_inside(rig: Rig) -> None:
    """A file that root inside writes into a mounted directory is not host root's"""
    environment = await rig.env()
    await rig.on_this_machine()
    if not environment.capabilities.mounted:
        raise NotApplicable("the environment mounts no log directories")
    await environment.exec(f"echo x > {LOGS}/whose && chmod 4755 {LOGS}/whose")
    info = (log_dir(environment) / "whose").stat()
    await environment.exec(f"rm -f {LOGS}/whose")
    expect(info.st_uid != 0, f"it is owned by {info.st_uid}, mode {stat.S_IMODE(info.st_mode):o}")


@check
async def escape__set_uid_in_a_mount(rig: Rig) -> None:
    """A set-uid root program that is left in a mounted directory does not make root on the host"""
    environment = await rig.env()
    await rig.on_this_machine()
    if not environment.capabilities.mounted:
        raise NotApplicable("the environment mounts no log directories")
    await environment.exec(f"cp /usr/bin/id {LOGS}/become && chmod 6755 {LOGS}/become")
    path = log_dir(environment) / "become"
    info = path.stat()
    await environment.exec(f"rm -f {LOGS}/become")
    expect(not (info.st_uid == 0 and info.st_mode & stat.S_ISUID), "it does, while it all runs")


@check
async def escape__block_devices(rig: Rig) -> None:
    """No disk of the host's can be opened, by its node or by one made inside"""
    disks = [
        (name, (Path("/sys/class/block") / name / "dev").read_text().strip())
        for name in sorted(path.name for path in Path("/sys/class/block").iterdir())
        if not name.startswith(("ram", "loop", "zram"))
    ]
    if not disks:
        raise NotApplicable("the host shows no disk")
    if await rig.has_own_kernel():
        await _no_disk_of_the_hosts(rig, disks[:8])
        return
    for name, number in disks[:8]:
        command = (
            f"rm -f /srv/c/d; mknod /srv/c/d b {number.replace(':', ' ')} 2>/dev/null; "
            f"for f in /srv/c/d /dev/{name}; do head -c 9 $f >/dev/null 2>&1 && echo $f; done; true"
        )
        opened = await rig.out(command)
        expect(not opened, f"{name} was opened as {opened.split()[:1]}")


@check
async def escape__memory_devices(rig: Rig) -> None:
    """/dev/mem, /dev/port and the kernel's log cannot be opened, by node, by mknod or by call"""
    await rig.on_no_own_kernel()
    for name, major, minor in (("mem", 1, 1), ("port", 1, 4), ("kmsg", 1, 11)):
        opened = await rig.out(
            f"rm -f /srv/c/m; mknod /srv/c/m c {major} {minor} 2>/dev/null; "
            f"for f in /srv/c/m /dev/{name}; do timeout 2 head -c 1 $f >/dev/null 2>&1; "
            "[ $? -eq 0 ] && echo $f; done; true"
        )
        expect(not opened, f"{name} was opened as {opened.split()[:1]}")
    result = await rig.run("dmesg | head -3")
    expect("[" not in (result.stdout or ""), "the kernel's log can be read")


@check
async def escape__host_console(rig: Rig) -> None:
    """The host's console cannot be opened, whatever node inside says that it is the console"""
    await rig.on_no_own_kernel()
    opened = await rig.out(
        "rm -f /srv/c/c; mknod /srv/c/c c 5 1 2>/dev/null; for f in /srv/c/c /dev/console; do "
        "[ -c $f ] && [ $(stat -c %t:%T $f) = 5:1 ] && "
        "perl -e 'use Fcntl; exit !sysopen(F,$ARGV[0],O_RDONLY|O_NONBLOCK|O_NOCTTY)' $f "
        "&& echo $f; "
        "done; true"
    )
    expect(not opened, f"it was opened as {opened.split()[:1]}")


@check
async def escape__console_stays_closed(rig: Rig) -> None:
    """Remounting a device's mount inside does not open it"""
    await rig.on_no_own_kernel()
    program = (
        "my $f = q(/dev/console); syscall(165, $f, $f, 0, 0x1020, 0); "
        "use Fcntl; my @s = stat $f; print $f if -c _ and $s[6] == 1281 "
        "and sysopen(F, $f, O_RDONLY|O_NONBLOCK|O_NOCTTY)"
    )
    if os.uname().machine != "x86_64":
        raise NotApplicable("written for x86_64's call numbers")
    shown = await rig.out(f"unshare --mount perl -e '{program}'; perl -e '{program}'; true")
    expect(not shown, "it does")


@check
async def escape__kernel_settings(rig: Rig) -> None:
    """No setting of the host's kernel can be written under /proc/sys and /sys"""
    if await rig.has_own_kernel():
        await _settings_are_its_own(rig, "/proc")
        return
    written = await rig.out(
        f"for f in {' '.join(_SETTINGS)}; do [ -e $f ] || continue; "
        "v=$(cat $f 2>/dev/null) || continue; "
        "v=$(printf %s \"$v\" | sed 's/.*\\[\\(.*\\)\\].*/\\1/'); "
        '(printf %s "$v" > $f) 2>/dev/null && [ -n "$v" ] && echo $f; done; true'
    )
    expect(not written, f"written: {', '.join(written.split())}")


@check
async def escape__remounted_settings(rig: Rig) -> None:
    """Nor can they after /proc or /sys was mounted again or remounted writable inside"""
    if await rig.has_own_kernel():
        await rig.run("mkdir -p /srv/c/p; mount -t proc proc /srv/c/p")
        await _settings_are_its_own(rig, "/srv/c/p")
        await rig.run("umount /srv/c/p")
        return
    written = await rig.out(
        "mkdir -p /srv/c/p /srv/c/s; unshare --mount sh -c '"
        "mount -t proc proc /srv/c/p; mount -t sysfs sysfs /srv/c/s; "
        "mount -o remount,rw /srv/c/s; mount -o remount,rw,bind /srv/c/s; "
        "mount -o remount,rw,bind /proc/sys; for f in /srv/c/p/sys/kernel/core_pattern "
        "/proc/sys/kernel/core_pattern /srv/c/p/sys/vm/overcommit_memory "
        "/srv/c/s/module/firmware_class/parameters/path /srv/c/s/kernel/mm/ksm/run; do "
        '[ -e $f ] || continue; v=$(cat $f); (printf %s "$v" > $f) && echo $f; done\' '
        "2>/dev/null; true"
    )
    expect(not written, f"written: {', '.join(written.split())}")


@check
async def escape__sysrq(rig: Rig) -> None:
    """/proc/sysrq-trigger cannot be written (attempted with `h`, which only prints help)"""
    await rig.on_no_own_kernel()
    result = await rig.run("echo h > /proc/sysrq-trigger")
    expect(result.return_code != 0, "it was written")


@check
async def escape__release_agent(rig: Rig) -> None:
    """The release_agent of a control group hierarchy cannot be set from inside"""
    await rig.on_no_own_kernel()
    written = await rig.out(
        "mkdir -p /srv/c/cg; for c in memory pids cpu rdma freezer; do "
        "mount -t cgroup -o $c cgroup /srv/c/cg 2>/dev/null || continue; "
        "v=$(cat /srv/c/cg/release_agent 2>/dev/null); "
        '(printf %s "$v" > /srv/c/cg/release_agent) 2>/dev/null && echo $c; '
        "umount /srv/c/cg; done; "
        "for f in $(find /sys/fs/cgroup -maxdepth 2 -name release_agent 2>/dev/null); do "
        "(: > $f) 2>/dev/null && echo $f; done; true"
    )
    expect(not written, f"writable: {written.split()[:2]}")


@check
async def escape__own_limits(rig: Rig) -> None:
    """A sandbox cannot lift its own limits through the control group file system"""
    await rig.on_no_own_kernel()
    shown = await rig.out(
        "mkdir -p /srv/c/cg2; for t in 'cgroup2 none' 'cgroup -o memory' 'cgroup -o pids'; do "
        "set -- $t; mount -t $1 ${2:+$2} ${3:-} cg /srv/c/cg2 2>/dev/null || continue; "
        "for f in memory.limit_in_bytes memory.max pids.max; do for g in /srv/c/cg2/$f; do "
        "[ -f $g ] && (echo -1 > $g || echo max > $g) 2>/dev/null && echo $g; done; done; "
        "umount /srv/c/cg2; done 2>/dev/null; true"
    )
    expect(not shown, f"written: {shown.split()[:2]}")


async def _no_disk_of_the_hosts(rig: Rig, disks: list[tuple[str, str]]) -> None:
    """Under a kernel of its own a disk may be opened: one of its own, with other contents."""
    for name, number in disks:
        try:
            with Path(f"/dev/{name}").open("rb") as disk:
                start = disk.read(1 << 20)
        except OSError:  # a host that may not read its own: then by their sizes
            there = (Path("/sys/class/block") / name / "size").read_text()
            shown = await rig.run(f"cat /sys/dev/block/{number}/size")
            expect(shown.stdout != there, f"{name} has the size of the host's")
            continue
        digest = hashlib.sha256(start).hexdigest()
        command = (
            f"rm -f /srv/c/d; mknod /srv/c/d b {number.replace(':', ' ')}; "
            f"for f in /srv/c/d /dev/{name}; do head -c 1048576 $f | sha256sum; done 2>/dev/null"
        )
        expect(digest not in await rig.out(command), f"{name} was read")


_PROGRAMS_OF_KERNELS = ("kernel/core_pattern", "kernel/modprobe")


async def _settings_are_its_own(rig: Rig, proc: str) -> None:
    """What root writes under a kernel of its own is not the host's setting."""
    value = f"/x/{rig.token}"
    for name in filter(lambda name: (Path("/proc/sys") / name).exists(), _PROGRAMS_OF_KERNELS):
        await rig.run(f"echo {value} > {proc}/sys/{name}")
        there = (Path("/proc/sys") / name).read_text()
        expect(value not in there, f"{name} was written on the host")
    await rig.run(f"echo core > {proc}/sys/kernel/core_pattern")
    await rig.run(f"echo /sbin/modprobe > {proc}/sys/kernel/modprobe")


def _ids(pids: list[int]) -> set[str]:
    return {word for pid in pids for word in _status(pid, "Uid") + _status(pid, "Gid")}


def _comm(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/comm").read_bytes()
    except FileNotFoundError:
        return b""


def _status(pid: int, field: str) -> list[str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return []
    return next(line.split()[1:] for line in lines if line.startswith(f"{field}:"))
