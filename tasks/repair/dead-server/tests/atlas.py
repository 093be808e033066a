"""The server under proof: its machine, its people, and its volumes read from outside."""

import hashlib
import re
import subprocess

import server as facts
from owner_data import RECORDS
from tally import Tally

from benchflow.boot import Disk, Nic
from benchflow.boot.ext4 import Ext4
from benchflow.boot.tools import run_tool

DISK = "/app/out/server.img"
HIDDEN_PORT = 9099
SETTLE = "timeout 240 systemctl is-system-running --wait"
START = 300.0  # reference seconds from power-on to a login prompt, with every time-out of systemd


class Server:
    """The machine under proof, and what only this run knows about it."""

    def __init__(self, machines, image_path, work, nonce):
        self.board, self.banner = nonce(), nonce()
        self.added = []
        self.quieted = None
        disk = work / "server.img"
        subprocess.run(["cp", "--sparse=always", image_path, disk], check=True)
        mark_release(disk, self.banner)
        self.machine = machines.create(
            "server",
            disks=[Disk(disk)],
            nics=[Nic(forwards=[22, facts.PORT, HIDDEN_PORT])],
            extra_args=["-smbios", f"type=1,product={self.board}"],
        )

    def piet(self):
        return self.machine.login("piet", facts.PIET, timeout=START)

    def ingrid(self):
        """Her shell; from her login on the kernel keeps quiet on the console."""
        shell = self.machine.login("ingrid", facts.INGRID, timeout=START)
        if shell is not self.quieted:
            shell.run(as_root("dmesg -n 1"), timeout=60)
            self.quieted = shell
        return shell

    def root(self, command, timeout=60.0):
        """Run a shell command as root through Ingrid's own sudo; returns what it printed."""
        result = self.ingrid().run(as_root(command), timeout=timeout)
        assert result.status == 0, f"{command}: status {result.status}: {result.stdout[-500:]}"
        return result.stdout

    def settled(self):
        """The state of the system once it has nothing left to start."""
        return self.ingrid().run(SETTLE, timeout=START).stdout.strip()

    def tally(self):
        return Tally(self.machine.forward(facts.PORT))

    def add(self, client, text):
        record = f"2026-11-21|lamps|{text}|{100 + len(self.added)}"
        number = len(RECORDS) + len(self.added) + 1
        answer = client.ask("ADD " + record)
        assert answer == f"OK {number}", f"ADD was answered {answer!r}"
        self.added.append(f"{number}|{record}")


def as_root(command):
    """The line by which Ingrid runs a shell command as root."""
    inner = command.replace("'", "'\\''")
    return f"echo {facts.INGRID} | sudo -S -p '' sh -c '{inner}'"


def told(shell, command):
    """What a command prints, exact: Piet cannot forbid the kernel to write to his console."""
    shell.run(f"{command} > /tmp/told", timeout=60)
    return shell.read_file("/tmp/told").decode(errors="replace")


def mark_release(disk, banner):
    """Put a word of this run into the copy's os-release: systemd prints it when it starts.

    And let systemd wait longer for its disks than 90 seconds: it counts them on the clock on the
    wall, which runs too fast for a guest on a busy host.
    """
    system = Ext4(disk, facts.SYSTEM_START)
    path = system.stat("/etc/os-release").path
    text = system.read(path).decode(errors="replace")
    text = re.sub(r'(?m)^PRETTY_NAME="?([^"\n]*)"?$', rf'PRETTY_NAME="\1 {banner}"', text)
    local = disk.with_suffix(".os-release")
    local.write_text(text)
    device = f"{disk}?offset={facts.SYSTEM_START}"
    patience = disk.with_suffix(".patience")
    patience.write_text("[Manager]\nDefaultDeviceTimeoutSec=240\n")
    drop_in = "/etc/systemd/system.conf.d"
    script = f"rm {path}\nwrite {local} {path}\nmkdir {drop_in}\n"
    script += f"write {patience} {drop_in}/patience.conf\n"
    run_tool(["debugfs", "-w", "-f", "-", device], stdin=script.encode())


def sound(path, start):
    """What e2fsck says about the file system at byte `start`; empty when it has nothing to say."""
    done = run_tool(["e2fsck", "-fn", f"{path}?offset={start}"])
    return "" if done.status == 0 else done.stdout.decode(errors="replace")[-500:] or "unreadable"


def owners_files(volume):
    """SHA-256 of what lies in the owner's folders, by path."""
    found = {}
    for top in ("/documents", "/ledger"):
        for entry, content in volume.contents(top):
            assert (entry.uid, entry.gid) == (990, 990), f"{entry.path} has another owner"
            found[entry.path.lstrip("/")] = hashlib.sha256(content).hexdigest()
    return found
