"""Real guests for tests: a Debian kernel, a busybox initramfs, small bootable disks.

Everything is fetched from the machine's own Debian mirror once, into
`$BENCHFLOW_HOME/testdata`, and built without privileges.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

DEBIAN_ARCH = {"x86_64": "amd64", "aarch64": "arm64", "riscv64": "riscv64"}


class MirrorUnreachable(RuntimeError):
    """A Debian package could not be fetched; the text says which and why."""


def testdata() -> Path:
    """The cache of fetched and built guests."""
    home = os.environ.get("BENCHFLOW_HOME") or (
        Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "benchflow"
    )
    path = Path(home) / "testdata"
    path.mkdir(parents=True, exist_ok=True)
    return path


def cpio(files: Mapping[str, tuple[int, bytes]]) -> bytes:
    """A "newc" archive (kernel's buffer-format.rst): path → (mode with type bits, content).

    The content of a symlink is its target, that of a device node `b"MAJOR MINOR"`.
    """
    out = bytearray()
    for inode, (name, (mode, content)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))]):
        major = minor = 0
        if mode & 0o170000 in (0o020000, 0o060000):
            major, minor = (int(word) for word in content.split())
            content = b""
        path = name.encode() + b"\0"
        fields = [inode + 1, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(path), 0]
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + path
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def fetch_package(package: str) -> Path:
    """The unpacked tree of a Debian package of the host's suite and architecture."""
    target = testdata() / "packages" / package.replace(":", "_")
    if target.is_dir():
        return target
    scratch = target.with_name(f"{target.name}.{os.getpid()}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    done = subprocess.run(
        ["apt-get", "-q", "download", package], cwd=scratch, capture_output=True, text=True
    )
    debs = list(scratch.glob("*.deb"))
    if done.returncode or not debs:
        raise MirrorUnreachable(f"apt-get download {package}: {done.stderr.strip()[-500:]}")
    subprocess.run(["dpkg-deb", "-x", str(debs[0]), str(scratch / "x")], check=True)
    (scratch / "x").rename(target)
    shutil.rmtree(scratch)
    return target


@cache
def debian_kernel(arch: str = "x86_64") -> Path:
    """A Debian cloud kernel image for `arch`."""
    meta = f"linux-image-cloud-{DEBIAN_ARCH[arch]}"
    shown = subprocess.run(
        ["apt-cache", "depends", meta], capture_output=True, text=True, check=True
    ).stdout
    package = shown.split("Depends:")[1].split()[0]
    return next((fetch_package(package) / "boot").glob("vmlinuz-*"))


@cache
def busybox(arch: str = "x86_64") -> Path:
    """A static busybox for `arch`."""
    return next(fetch_package("busybox-static").glob("**/bin/busybox"))


def build_initramfs(
    target: Path,
    init: str,
    *,
    arch: str = "x86_64",
    files: Mapping[str, tuple[int, bytes]] | None = None,
) -> Path:
    """Write an initramfs with busybox whose /init is the given shell script; returns `target`.

    Before `init` runs, /proc, /sys and /dev are mounted and busybox's applets are installed.
    `files` are added (path → (mode with type bits, content); see `cpio`).
    """
    script = (
        "#!/bin/busybox sh\n"
        "/bin/busybox mount -t proc proc /proc\n"
        "/bin/busybox mount -t sysfs sys /sys\n"
        "/bin/busybox mount -t devtmpfs dev /dev\n"
        "/bin/busybox --install -s /bin\n"
        "export PATH=/bin\n"
    ) + init
    tree: dict[str, tuple[int, bytes]] = dict.fromkeys(("bin", "proc", "sys", "dev", "tmp", "etc", "root", "mnt"), (16877, b""))
    tree["dev/console"] = (0o020600, b"5 1")
    tree["bin/busybox"] = (0o100755, busybox(arch).read_bytes())
    tree["init"] = (0o100755, script.encode())
    tree.update(files or {})
    target.write_bytes(gzip.compress(cpio(tree), compresslevel=1))
    return target


LOGIN_INIT = """
echo 'root:$1$x$3M8nRmkkTA2ZLHDPBxv/2.:0:0:root:/root:/bin/sh' >/etc/passwd
echo root:x:0: >/etc/group
while :; do setsid getty -L 115200 $(tty_name) vt100; done
"""

SHELL_INIT = """
setsid cttyhack sh
poweroff -f
"""
