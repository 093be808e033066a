"""The network of a sandbox: its own namespace always; empty, or a user-mode network to outside."""

from __future__ import annotations

import shutil
from functools import cache

from benchflow.errors import MissingTool
from benchflow.sandbox.model import Network

RESOLVER = "10.0.2.3"


@cache
def slirp_command() -> tuple[str, ...]:
    """The command that gives a network namespace a way out, without its last arguments. The
    host's loopback cannot be reached through it."""
    program = shutil.which("slirp4netns")
    if program is None:
        raise MissingTool("slirp4netns is not installed", hint="apt-get install slirp4netns")
    return (
        program,
        "--configure",
        "--mtu=65520",
        "--disable-host-loopback",
        "--enable-sandbox",
        "--enable-seccomp",
    )


def identity_files(hostname: str, network: Network) -> dict[str, str]:
    """The files in /etc that say who and where a sandbox is."""
    hosts = f"127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 {hostname}\n"
    resolver = f"nameserver {RESOLVER}\n" if network == "user" else ""
    return {"/etc/hostname": f"{hostname}\n", "/etc/hosts": hosts, "/etc/resolv.conf": resolver}
