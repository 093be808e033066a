"""The router: its ROM with what was delivered, its flash, its console."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from ordered import UPLINK, WORD

from benchflow.bench.ethernet import drawn_mac
from benchflow.boot import Disk, Machine, Nic

ROM_MB, FLASH_MB = 176, 24


def compose(tar: Path, site: Path, image: Path) -> None:
    """The ROM of a router with the delivered folder."""
    tree = image.with_suffix(".tree")
    tree.mkdir()
    subprocess.run(["tar", "-xpf", tar, "-C", tree, "--same-owner"], check=True)
    shutil.rmtree(tree / "site")
    shutil.copytree(site, tree / "site", symlinks=True)
    for path in (tree / "site", *(tree / "site").rglob("*")):
        os.chown(path, 0, 0, follow_symlinks=False)
    (tree / "usr/bin" / WORD).symlink_to(f"/site/{WORD}")
    make_disk(tree, image, ROM_MB)
    subprocess.run(["rm", "-rf", tree], check=True)


def make_disk(tree: Path, image: Path, megabytes: int) -> None:
    with image.open("wb") as file:
        file.truncate(megabytes << 20)
    command = ["mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-d", tree, image]
    subprocess.run(command, check=True, capture_output=True)


def flash(folder: Path, text: str, files: dict[str, bytes]) -> Path:
    """A flash as the owner writes it: the file of the site, and keys."""
    tree, image = folder / "flash.tree", folder / "flash.img"
    tree.mkdir()
    for name, data in {"site": text.encode(), **files}.items():
        (tree / name).write_bytes(data)
        (tree / name).chmod(0o600)
    make_disk(tree, image, FLASH_MB)
    shutil.rmtree(tree)
    return image


class Station:
    """The machine on its two wires."""

    def __init__(self, machine: Machine, macs: dict[str, str]) -> None:
        self.machine, self.macs = machine, macs

    @classmethod
    def create(cls, create, made: Path, rom: Path, data: Path, lans: dict[str, str],
               macs: dict[str, str], clock: str) -> Station:  # fmt: skip
        """`lans`: the LAN of each of carrier and site; so `macs`. `clock`: of each start."""
        order = ("carrier", "site") if UPLINK == "eth0" else ("site", "carrier")
        machine = create(
            "router", firmware="direct", kernel=made / "vmlinuz", initrd=made / "initrd",
            append="console=ttyS0,115200 quiet panic=-1", disks=[Disk(rom), Disk(data)],
            nics=[Nic(lan=lans[each], mac=macs[each]) for each in order],
            extra_args=["-rtc", f"base={clock}"],
        )  # fmt: skip
        return cls(machine, macs)

    def switch_on(self) -> None:
        self.machine.boot()

    def enter(self) -> None:
        self.machine.attach(timeout=240)

    def run(self, command: str, seconds: float = 90) -> tuple[int, str, str]:
        done = self.machine.shell.run_apart(command, timeout=seconds)
        return done.status, done.stdout, done.stderr

    def call(self, *words: str, seconds: float = 120) -> tuple[int, str, str]:
        """The router's command, called by root."""
        return self.run(" ".join([WORD, *map(shlex.quote, words)]), seconds)

    def write(self, text: str) -> None:
        """The owner changes the file."""
        self.machine.shell.write_file("/data/.new", text.encode())
        status, _, wrong = self.run("mv /data/.new /data/site && sync")
        assert status == 0, f"the file of the site cannot be written: {wrong[-200:]}"


def drawn_macs() -> dict[str, str]:
    return {each: drawn_mac() for each in ("carrier", "site")}
