"""Runs Python as a user without any privilege, although the tests run as root.

In a mount namespace of its own this shows the user an account, a subordinate id range and the
interpreter (which may live in root's home): nothing of the host is changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import benchflow

UID = 64_123
SUB_BASE = 1_500_000_000
_STAGE = "/srv"

_SCRIPT = """
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=0755 tmpfs {stage}
mkdir {stage}/python {stage}/src {stage}/site
mount --bind {python} {stage}/python
mount --bind {source} {stage}/src
mount --bind {site} {stage}/site
for name in passwd group subuid subgid; do
    mount --bind {work}/$name /etc/$name
done
for node in net/tun fuse; do
    if [ -e /dev/$node ]; then
        cp -a /dev/$node {stage}/node && chmod 666 {stage}/node
        mount --bind {stage}/node /dev/$node && umount -l {stage}/node 2>/dev/null || true
        mv {stage}/node {stage}/node.$(basename $node)
    fi
done
if [ {closed} ]; then
    # The interpreter finds its library by an absolute path in a directory closed to others.
    mount -t tmpfs -o mode=0755 tmpfs {top}
    mkdir -p {python}
    mount --bind {stage}/python {python}
fi
cd /
exec setpriv --reuid {uid} --regid {uid} --clear-groups \
    env -i PATH="$PATH" HOME={home} BENCHFLOW_HOME={home}/state \
    PYTHONPATH={stage}/src:{stage}/site PYTHONDONTWRITEBYTECODE=1 {program} "$@"
"""


def run(
    script: str, work: Path, timeout: float = 300, *, ranges: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a Python script as the plain user; `work` must be reachable by everybody.

    Without `ranges` nobody grants the user subordinate ids.
    """
    home = work / "home"
    home.mkdir(exist_ok=True)
    os.chown(home, UID, UID)
    account = f"plain:x:{UID}:{UID}::{home}:/bin/sh\n"
    (work / "passwd").write_text(Path("/etc/passwd").read_text() + account)
    (work / "group").write_text(Path("/etc/group").read_text() + f"plain:x:{UID}:\n")
    for name in ("subuid", "subgid"):
        (work / name).write_text(f"plain:{SUB_BASE}:65536\n" if ranges else "")
    program = work / "program.py"
    program.write_text(script)
    top = Path("/", Path(sys.base_prefix).parts[1])
    shell = _SCRIPT.format(
        stage=_STAGE,
        python=sys.base_prefix,
        program=os.path.realpath(sys.executable),  # Debian's has no other name than python3.13
        top=top,
        closed="" if top.stat().st_mode & 0o001 else "closed",
        source=Path(benchflow.__file__).parents[1],
        site=Path(os.__file__).parent / "site-packages"
        if sys.prefix == sys.base_prefix
        else Path(sys.prefix, "lib", f"python3.{sys.version_info.minor}", "site-packages"),
        work=work,
        home=home,
        uid=UID,
    )
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", shell, "sh", str(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
