"""Python, the machine, mirror, disk, memory, docker."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from benchflow.base.home import home
from benchflow.run.doctor.check import Check, State, first_line
from benchflow.run.host.identity import facts
from benchflow.run.job.host_memory import available_mb

_DISK_NEEDED_GB = 10
_MEMORY_NEEDED_MB = 3500
_APT_HELPER = "/usr/lib/apt/apt-helper"


def python() -> Check:
    """The interpreter that runs us."""
    return Check("python", State.OK, f"{platform.python_version()}, {sys.executable}")


def machine() -> Check:
    """What each trial here records of its host."""
    known = facts()
    cpu = known["cpu"] or known["machine"]
    return Check("host", State.OK, f"{known['id']}: {cpu}, Linux {known['kernel']}", needed=False)


def mirror(*, verbose: bool) -> Check:
    """Fetches one small file as apt itself would, from the first source of its configuration."""
    if not Path(_APT_HELPER).exists():
        return Check(
            "mirror",
            State.MISSING,
            "this is not Debian or Ubuntu: there is no apt to ask",
            "base images are made from a Debian mirror; use a Debian machine or --sandbox docker",
        )
    listing = ["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI) $(RELEASE)"]
    targets = first_line(listing)
    if not targets:
        return Check("mirror", State.BROKEN, "apt has no package source", "write one into /etc/apt")
    base, _, release = targets.partition(" ")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        done = subprocess.run(
            [_APT_HELPER, "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10",
             "download-file", f"{base}dists/{release}/Release", f"{folder}/Release"],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    name = f" ({urlsplit(base).hostname or base})" if verbose else ""
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it did not answer"])[-1]
        detail = said if verbose else "it does not answer (-v says more)"
        return Check(
            "mirror", State.BROKEN, detail + name, "check the network and /etc/apt, proxies too"
        )
    return Check("mirror", State.OK, f"answers for {release}{name}")


def disk() -> Check:
    """Room for images, layers and sandboxes."""
    free = shutil.disk_usage(home()).free / 1e9
    detail = f"{free:.0f} GB free in {home()}"
    if free < _DISK_NEEDED_GB:
        hint = f"make room for {_DISK_NEEDED_GB} GB, or set BENCHFLOW_HOME to a larger disk"
        return Check("disk", State.BROKEN, detail, hint)
    return Check("disk", State.OK, detail)


def memory() -> Check:
    """Memory that is free for a trial and its guest."""
    page = os.sysconf("SC_PAGE_SIZE")
    total = os.sysconf("SC_PHYS_PAGES") * page >> 20
    available = available_mb()
    detail = f"{available} MiB available of {total} MiB, {len(os.sched_getaffinity(0))} cores"
    if available < _MEMORY_NEEDED_MB:
        return Check("memory", State.BROKEN, detail, f"free {_MEMORY_NEEDED_MB} MiB")
    return Check("memory", State.OK, detail)


def docker() -> Check:
    """Only for --sandbox docker."""
    hint = "only for --sandbox docker; it needs a daemon and Compose v2"
    client = first_line(["docker", "version", "--format", "{{.Server.Version}}"])
    if not client:
        detail = "no daemon answers" if shutil.which("docker") else "not installed"
        return Check("docker", State.OPTIONAL, detail, hint, needed=False)
    compose = first_line(["docker", "compose", "version", "--short"])
    if not compose:
        return Check("docker", State.OPTIONAL, f"{client}, no Compose v2", hint, needed=False)
    return Check("docker", State.OK, f"{client}, compose {compose}", needed=False)
