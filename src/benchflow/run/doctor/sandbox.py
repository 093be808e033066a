"""What the namespace sandbox stands on."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchflow.base.home import home
from benchflow.errors import BenchflowError
from benchflow.run.doctor.check import Check, State, first_line

#: program → (Debian package, what it is for, whether a run needs it)
PROGRAMS = {
    "slirp4netns": ("slirp4netns", "the agent's network", True),
    "buildah": ("buildah", "images from Dockerfiles", True),
    "mmdebstrap": ("mmdebstrap", "base images", True),
    "bwrap": ("bubblewrap", "verify --sandbox none", False),
}


def user_namespaces() -> Check:
    """Makes one; as root also the mount namespace that root makes without one."""
    name = "user namespaces"
    if os.geteuid() == 0:
        mounts = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
        if mounts.returncode != 0:
            return Check(
                name,
                State.BROKEN,
                "this root may make no mount namespace: it lacks CAP_SYS_ADMIN",
                "start the container with --cap-add SYS_ADMIN (docs/scale.md), or be a plain user",
            )
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return Check(name, State.OK, "root" if os.geteuid() == 0 else "unprivileged")
    switches = {
        "kernel.unprivileged_userns_clone": "1",
        "kernel.apparmor_restrict_unprivileged_userns": "0",
        "user.max_user_namespaces": "15000",
    }
    for key, wanted in switches.items():
        path = Path("/proc/sys") / key.replace(".", "/")
        if path.exists() and path.read_text().strip() in ({"0"} if wanted != "0" else {"1"}):
            return Check(
                name, State.BROKEN, f"{key} forbids them", f"as root: sysctl {key}={wanted}"
            )
    return Check(name, State.BROKEN, done.stderr.strip(), "leave the container that forbids them")


def id_maps() -> Check:
    """Asks for the 65,536 ids that a sandbox has."""
    from benchflow.sandbox import idmap

    try:
        found = idmap.current()
    except BenchflowError as error:
        lacking = "uidmap" if shutil.which("newuidmap") is None else ""
        return Check("id maps", State.MISSING, error.message, error.hint, package=lacking)
    how = "root's own" if found.privileged else "from /etc/subuid and /etc/subgid"
    return Check("id maps", State.OK, f"{idmap.SIZE} ids from {found.uid_base}, {how}")


def overlayfs() -> Check:
    """Mounts one in a user namespace, over a folder where sandboxes will live."""
    with tempfile.TemporaryDirectory(dir=home(), prefix="doctor-") as folder:
        for part in ("lower", "upper", "work", "merged"):
            (Path(folder) / part).mkdir()
        script = (
            'cd "$1" && mount -t overlay overlay '
            "-o lowerdir=lower,upperdir=upper,workdir=work,userxattr merged && touch merged/x"
        )
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", folder],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode == 0:
        return Check("overlayfs", State.OK, f"Linux {os.uname().release}, in a user namespace")
    return Check(
        "overlayfs",
        State.BROKEN,
        (done.stderr.strip().splitlines() or ["mount failed"])[-1],
        "needs Linux 5.11 or newer, and BENCHFLOW_HOME on ext4, xfs or btrfs",
    )


#: Makes the device that the network of a sandbox hangs on; says the errno where it cannot.
_TAP = """
import fcntl, os, struct, sys
try:
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tap0", 0x1002))
except OSError as error:
    sys.exit(f"{error.errno} {error.strerror}")
"""


def network(device: str = "/dev/net/tun") -> Check:
    """Makes the network device that a sandbox with a network has, in namespaces like a sandbox's.

    `device`: another path than the kernel's, to see what is said where it is not as it should be.
    """
    script = _TAP.replace("/dev/net/tun", device)
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-I", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return Check("sandbox network", State.OK, f"a tap device through {device}")
    said = (done.stderr.strip().splitlines() or ["it cannot be made"])[-1]
    number, _, why = said.partition(" ")
    causes = {
        errno.ENOENT: ("is not there", f"as root: modprobe tun; in a container: --device {device}"),
        errno.ENODEV: ("has no driver", "as root: modprobe tun"),
        errno.ENXIO: ("has no driver", "as root: modprobe tun"),
        errno.EACCES: ("may not be opened by you", f"as root: chmod 666 {device}"),
        errno.EPERM: ("is forbidden here", f"start the container with --device {device}"),
    }
    cause, hint = causes.get(
        int(number) if number.isdigit() else 0, (said, "tasks without a network run all the same")
    )
    shown = f"{device} {cause}" if number.isdigit() and cause != said else said
    detail = f"{shown}{f' ({why})' if why else ''}"
    module = "tun" if "modprobe tun" in hint else ""
    return Check("sandbox network", State.BROKEN, detail, hint, module=module)


def seccomp_notify() -> Check:
    """Whether the kernel hands system calls to a supervisor (mknod and mounts are answered so)."""
    path = Path("/proc/sys/kernel/seccomp/actions_avail")
    actions = path.read_text().split() if path.exists() else []
    if "user_notif" in actions:
        return Check("seccomp notify", State.OK, "user_notif")
    hint = "needs Linux 5.0 or newer with CONFIG_SECCOMP_FILTER"
    return Check("seccomp notify", State.MISSING, "the kernel has no user_notif", hint)


def limits() -> Check:
    """Which limits a sandbox could really be held to."""
    from benchflow.sandbox.limits import create_groups
    from benchflow.sandbox.model import Limits

    groups = create_groups(f"doctor-{os.getpid()}", Limits(memory_mb=64, pids=64, cpus=1))
    try:
        report = dict(groups.report)
    finally:
        groups.remove()
    lacking = sorted(name for name, how in report.items() if how.startswith("not enforced"))
    if not lacking:
        return Check("limits", State.OK, ", ".join(sorted(report)), needed=False)
    return Check(
        "limits",
        State.OPTIONAL,
        "not enforced: " + ", ".join(lacking),
        "runs work without; a trial may then use more than its task grants",
        needed=False,
    )


def program(name: str) -> Check:
    """One program of `PROGRAMS`, with its version."""
    package, purpose, needed = PROGRAMS[name]
    if shutil.which(name) is None:
        hint = f"apt-get install {package}"
        return Check(name, State.MISSING, f"for {purpose}", hint, needed, package)
    version = first_line([name, "--version"]).removeprefix(name).strip()
    return Check(name, State.OK, version or "installed", needed=needed)
