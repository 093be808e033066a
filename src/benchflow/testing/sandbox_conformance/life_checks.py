"""life: start, stop, logs, and what is left when the orchestrator is killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

from benchflow.testing.sandbox_conformance.catalogue import check
from benchflow.testing.sandbox_conformance.outcome import NotApplicable, expect, fail
from benchflow.testing.sandbox_conformance.rig import (
    LOGS,
    Rig,
    gone,
    host_processes,
    log_dir,
    text,
)

_ORCHESTRATOR = """
import asyncio, sys
from benchflow.testing.sandbox_conformance.rig import Rig
async def main():
    rig = Rig(sys.argv[1])
    environment = await rig.env()
    await environment.exec("setsid perl -e 'sleep 900' daemon-" + sys.argv[2] + " & true")
    print("ready", rig.work, environment.session_id, flush=True)
    await environment.exec("perl -e 'sleep 900' main-" + sys.argv[2])
asyncio.run(main())
"""


def _mounts() -> set[str]:
    return {line.split(" - ")[0] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def _groups(pid: int) -> list[Path]:
    """The control groups, below the tops, that a process is in and that can be seen here."""
    found = []
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for name in (*names.split(","), ""):
            place = Path("/sys/fs/cgroup") / name / path.lstrip("/")
            if path != "/" and place.is_dir() and path not in Path("/proc/self/cgroup").read_text():
                found.append(place)
    return found


#: Of an environment with a kernel of its own, the process that runs it is to name its session.
_UNSEEN = "no process on the host is seen to be the environment's"


@check
async def life__stop_leaves_nothing(rig: Rig) -> None:
    """After stop no process, mount or control group of the environment is left"""
    marker = f"33{rig.token}"
    mounts = _mounts()
    async with rig.fresh() as environment:
        await environment.exec(f"setsid perl -e 'sleep 900' {marker} & true")
        if await rig.has_own_kernel():
            marker = environment.session_id
        running = host_processes(marker)
        expect(running, _UNSEEN)
        groups = _groups(running[0])
    expect(await gone(marker), "a process is left")
    left = _mounts() - mounts
    expect(not left, f"mounts are left: {sorted(left)[:3]}")
    kept = [str(path) for path in groups if path.exists()]
    expect(not kept, f"control groups are left: {kept[:3]}")


@check
async def life__stop_ends_a_running_command(rig: Rig) -> None:
    """Stop does not wait for a command that still runs"""
    environment = rig.make(rig.default_network())
    await environment.start(force_build=False)
    running = asyncio.ensure_future(environment.exec("sleep 900"))
    await asyncio.sleep(0.5)
    began = time.monotonic()
    await environment.stop(delete=True)
    expect(time.monotonic() - began < 30 * rig.patience, "it waited")
    done, _ = await asyncio.wait([running], timeout=10 * rig.patience)
    expect(done, "the command's caller still waits")
    running.exception()


@check
async def life__stop_twice(rig: Rig) -> None:
    """A second stop does no harm"""
    environment = rig.make(rig.default_network())
    await environment.start(force_build=False)
    await environment.stop(delete=True)
    await environment.stop(delete=True)


@check
async def life__nothing_is_kept(rig: Rig) -> None:
    """What one environment writes, the next one over the same image does not see"""
    async with rig.fresh() as environment:
        await environment.exec(f"echo kept > /var/kept-{rig.token}")
    async with rig.fresh() as environment:
        file = f"/var/kept-{rig.token}"
        found = await environment.exec(f"if [ -e {file} ]; then rm {file}; echo there; fi")
        expect(text(found).strip() == "", "it does")


@check
async def life__logs_are_readable(rig: Rig) -> None:
    """What root and other users write in a log directory is the caller's to read and remove"""
    environment = rig.make(rig.default_network())
    if not environment.capabilities.mounted:
        raise NotApplicable("the environment mounts no log directories")
    await environment.start(force_build=False)
    await environment.exec(
        f"cd {LOGS} && umask 077 && echo r > by-root && mkdir closed && echo c > closed/file && "
        f"chmod 0 closed/file && chmod 0 closed"
    )
    await environment.exec(f"cd {LOGS} && umask 077 && echo n > by-nobody", user="nobody")
    await environment.prepare_logs_for_host()
    await environment.stop(delete=True)
    folder = log_dir(environment)
    expect((folder / "by-root").read_text() == "r\n", "root's file is not readable")
    expect((folder / "by-nobody").read_text() == "n\n", "another user's file is not readable")
    (folder / "closed").chmod(0o700)
    for name in ("by-root", "by-nobody", "closed/file"):
        info = (folder / name).lstat()
        expect(info.st_uid == os.getuid(), f"{name} belongs to {info.st_uid}")
        (folder / name).unlink()


@check
async def life__logs_are_harmless(rig: Rig) -> None:
    """A log directory comes back without outward symlinks, devices, fifos and set-uid files"""
    environment = rig.make(rig.default_network())
    if not environment.capabilities.mounted:
        raise NotApplicable("the environment mounts no log directories")
    await environment.start(force_build=False)
    await environment.exec(
        f"cd {LOGS} && ln -s {rig.secret_file} link && mkdir sub && "
        f"ln -s ../../../../../../../../..{rig.secret_file} sub/up && mkfifo sub/pipe; "
        "mknod null c 1 3; mknod disk b 254 0; cp /usr/bin/id suid && chmod 6755 suid; "
        "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local=>\"sock\",Listen=>1)'"
    )
    await environment.prepare_logs_for_host()
    await environment.stop(delete=True)
    found = []
    for path in log_dir(environment).rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            if path.exists() and rig.secret in path.read_text():
                found.append(f"{path.name}: a symlink to the host's file")
        elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            found.append(f"{path.name}: a special file")
        elif stat.S_ISREG(mode) and mode & 0o6000:
            found.append(f"{path.name}: set-uid")
    expect(not found, "; ".join(found))


@check
async def life__killed_orchestrator(rig: Rig) -> None:
    """After kill -9 of the orchestrator, the next command leaves no process and no mount of it"""
    marker = f"34{rig.token}"
    mounts = _mounts()
    child = subprocess.Popen(
        [sys.executable, "-c", _ORCHESTRATOR, rig.import_path, marker],
        stdout=subprocess.PIPE,
        cwd=rig.work,
    )
    assert child.stdout is not None
    line = await asyncio.to_thread(child.stdout.readline)
    if line and await rig.has_own_kernel():
        marker = line.split()[2].decode()
        expect(host_processes(marker), _UNSEEN)
    for _ in range(100):
        if len(host_processes(f"main-{marker}")) > 0:
            break
        await asyncio.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    expect(line.startswith(b"ready"), "the orchestrator did not come up")
    await asyncio.to_thread(shutil.rmtree, Path(line.split()[1].decode()))
    await asyncio.to_thread(rig.kind.preflight)
    if not await gone(marker):
        left = len(host_processes(marker))
        for pid in host_processes(marker):
            os.kill(pid, signal.SIGKILL)
        fail(f"{left} processes live on")
    left_mounts = _mounts() - mounts
    expect(not left_mounts, f"mounts are left: {sorted(left_mounts)[:3]}")
