"""A real guest for the tests of `bench`: a kernel, busybox, a login and two services."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.needs import needs

from benchflow.boot import Disk, Machine, Nic
from guests import PASSWD, build_initramfs, debian_kernel, fetch_package, modules

#: An SSH server, and what it is linked to.
PACKAGES = (
    "dropbear-bin",
    "libtomcrypt1",
    "libtommath1",
    "zlib1g",
    "libcrypt1",
    "libc6",
    "libgmp10",
)
NEEDED = (
    *("dropbear", "libtomcrypt.so.1", "libtommath.so.1", "libz.so.1", "libcrypt.so.1"),
    *("libc.so.6", "ld-linux-x86-64.so.2", "libgmp.so.10"),
)
#: Port 7000 answers each line with itself in capitals, 7001 with half a line; nothing is on 7002.
INIT = """
hostname gw
ifconfig lo up
ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
nc -ll -p 7000 -e /bin/sh -c 'while read l; do echo "$l" | tr a-z A-Z; done' &
mkdir -p /etc/dropbear /root/.ssh
chmod 700 /root /root/.ssh
dropbear -R -E 2>/dev/null &
nc -ll -p 7001 -e /bin/sh -c 'read l; printf half' &
while :; do getty -L 115200 ttyS0 vt100 </dev/null; done
"""


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Private keys of two people; root of the guest knows `friend`."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("friend", "stranger"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    return {name: folder / name for name in ("friend", "stranger")}


def ssh_server() -> dict[str, tuple[int, bytes]]:
    found = {}
    for package in PACKAGES:
        for path in fetch_package(package).rglob("*"):
            if path.name in NEEDED and path.is_file():
                folder = "lib64" if path.name.startswith("ld-") else "lib"
                folder = "bin" if path.name == "dropbear" else folder
                found[f"{folder}/{path.name}"] = (0o100755, path.read_bytes())
    return {"lib": (0o040755, b""), "lib64": (0o040755, b""), **found}


@pytest.fixture(scope="session")
@needs("qemu", "guests")
def machine(tmp_path_factory: pytest.TempPathFactory, keys: dict[str, Path]) -> Iterator[Machine]:
    """Switched off; who boots it leaves it as they like."""
    folder = tmp_path_factory.mktemp("bench")
    files = {**PASSWD, **modules("virtio_pci", "virtio_net", "virtio_blk", "ext4"), **ssh_server()}
    files["root/.ssh"] = (0o040700, b"")
    public = keys["friend"].with_suffix(".pub").read_bytes()
    files["root/.ssh/authorized_keys"] = (0o100600, public)
    initrd = build_initramfs(folder / "initrd.gz", INIT, files=files)
    made = Machine(
        "gw", firmware="direct", kernel=debian_kernel(), initrd=initrd, memory_mb=256,
        scratch=folder, append="console=ttyS0 quiet panic=-1", rng=False,
        disks=[Disk.empty(folder / "disk.img", 8)], nics=[Nic(forwards=[22, 7000, 7001, 7002])],
    )  # fmt: skip
    yield made
    made.close()
