"""The server under proof: its machine, its people, and its volumes read from outside."""

import hashlib
import re
import secrets
import subprocess
from itertools import pairwise

import server as facts
from owner_data import RECORDS
from state import SCRIPT, State
from tally import Tally

from benchflow.boot import Disk, GuestError, LoginFailed, Nic
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.ext4 import Ext4

DISK = "/app/out/server.img"
START = 300.0  # reference seconds from power-on to a login prompt: the five minutes of R1
KERNEL = 90.0  # and to the kernel, with the minute that R1 leaves for a menu
SETTLE = "timeout 240 systemctl is-system-running --wait"
LATE = "20010203040506"  # when the verifier's copy says that its volumes were last checked
NO_SLOTS = (3, 18)  # where a card is called ens3 (what QEMU does by itself) or ens18 (as it was)


class Server:
    """The machine under proof, and what only this run knows about it."""

    def __init__(self, machines, image_path, work, nonce):
        self.board, self.banner = nonce(), nonce()
        self.added = []
        self.lost = ""  # why it is asked nothing more in this start
        self.quieted = None
        self.loud = 0  # up to which level the kernel spoke on the console before it was quieted
        self.until = None  # the end of the five minutes of R1
        self._at_rest = None
        self.closed = closed_ports()
        slot = secrets.choice([n for n in range(5, 30) if n not in NO_SLOTS])
        disk = work / "server.img"
        subprocess.run(["cp", "--sparse=always", image_path, disk], check=True)
        mark_release(disk, self.banner)
        mark_unchecked(disk)
        self.machine = machines.create(
            "server",
            disks=[Disk(disk)],
            nics=[
                Nic(
                    model=f"virtio-net-pci,addr={slot:#x}",
                    mac="52:54:00:" + secrets.token_bytes(3).hex(":"),
                    forwards=[22, facts.PORT, *self.closed],
                )
            ],
            extra_args=["-smbios", f"type=1,product={self.board}"],
        )

    def start(self):
        """Switch it on; it has to come to its kernel, whatever it comes to then."""
        self.switch_off()
        self.lost = ""
        self.until = self.machine.deadline(START)
        self.machine.boot()
        self.comes_up()

    def comes_up(self):
        """Wait for the kernel of a start that is under way."""
        try:
            self.machine.expect_kernel(timeout=KERNEL)
        except GuestError as error:
            self.lose(f"it did not start: {error}")
            raise

    def switch_off(self):
        if self.machine.alive:
            self.machine.power_cut()

    def at_rest(self):
        """Its disk after all of the first starts, switched off; one copy for all who look.

        By the button, where it still runs: a disk whose journal was not replayed cannot be read.
        """
        if self._at_rest is None:
            if self.machine.alive:
                self.machine.shutdown()
            self.switch_off()
            self._at_rest = self.machine.flatten()
        return self._at_rest

    def lose(self, why):
        """Remember why nothing more can be asked in this start: nobody waits for it again."""
        self.lost = why

    def there(self):
        """Fail at once where nothing can be asked any more."""
        assert not self.lost, f"not asked, because {self.lost}"

    def piet(self):
        self.there()
        return self.machine.login("piet", facts.PIET, timeout=START)

    def ingrid(self):
        """Her shell; from her login on the kernel keeps quiet on the console."""
        self.there()
        try:
            shell = self.machine.login("ingrid", facts.INGRID, timeout=START)
        except GuestError as error:
            self.lose(f"Ingrid could not log in: {error}")
            raise
        if shell is not self.quieted:
            said = shell.run(as_root("cat /proc/sys/kernel/printk; dmesg -n 1"), timeout=60)
            level = re.search(r"(?m)^(\d+)\s+\d+\s+\d+\s+\d+\s*$", said.stdout)
            self.loud = self.loud or (int(level[1]) if level else 0)
            self.quieted = shell
        return shell

    def refuses(self, user, password):
        """Whether the console turns a name and a password away."""
        self.there()
        try:
            self.machine.login(user, password, timeout=60)
        except LoginFailed:
            return True
        return False

    def root(self, command, timeout=60.0):
        """Run a shell command as root through Ingrid's own sudo; returns what it printed."""
        result = self.ingrid().run(as_root(command), timeout=timeout)
        assert result.status == 0, f"{command}: status {result.status}: {result.stdout[-500:]}"
        return result.stdout

    def state(self):
        """How this start has turned out, once it has nothing left to start."""
        shell = self.ingrid()
        shell.run(SETTLE, timeout=START)
        shell.write_file("/tmp/state.sh", SCRIPT.encode())
        return State(self.root("sh /tmp/state.sh", timeout=START))

    def tally(self):
        return Tally(self.machine.forward(facts.PORT))

    def add(self, client, text):
        record = f"2026-11-21|lamps|{text}|{100 + len(self.added)}"
        number = len(RECORDS) + len(self.added) + 1
        answer = client.ask("ADD " + record)
        assert answer == f"OK {number}", f"ADD was answered {answer!r}; [R9] it takes new records"
        self.added.append(f"{number}|{record}")

    def copied(self):
        """The checksum of the copy of the ledger that this start made."""
        return self.root("sha256sum < /var/backups/tally/ledger.txt").split()[0]


def as_root(command):
    """The line by which Ingrid runs a shell command as root."""
    inner = f"{facts.PATH} {command}".replace("'", "'\\''")
    return f"echo {facts.INGRID} | /usr/bin/sudo -S -p '' /bin/sh -c '{inner}'"


def closed_ports():
    """Ports that nobody may reach: those that are often open, and some of this run's own."""
    bounds = [23, 1024, 4710, 8192, 20000, 40000, 65536]
    drawn = [secrets.choice(range(low + 1, high)) for low, high in pairwise(bounds)]
    return sorted({21, 23, 80, 443, 3306, 5432, 8080, *drawn})


def mark_release(disk, banner, patience=240):
    """Put a word of this run into the copy's os-release: systemd prints it when it starts.

    And let systemd wait longer for its disks than 90 seconds: it counts them on the clock on the
    wall, which runs too fast for a guest on a busy host. And give the ledger a size that takes its
    reader some seconds, so that an order that nobody has set is no order.
    """
    system = Ext4(disk, facts.SYSTEM_START)
    path = system.stat("/etc/os-release").path
    text = system.read(path).decode(errors="replace")
    text = re.sub(r'(?m)^PRETTY_NAME="?([^"\n]*)"?$', rf'PRETTY_NAME="\1 {banner}"', text)
    files = {
        path: text,
        "/etc/systemd/system.conf.d/patience.conf": (
            f"[Manager]\nDefaultDeviceTimeoutSec={patience}\n"
        ),
        "/etc/systemd/system/ledger-check.service.d/zz-long-ledger.conf": (
            "[Service]\nExecStartPre=/bin/sleep 5\n"
        ),
    }
    script = f"rm {path}\n"
    for number, (name, content) in enumerate(files.items()):
        local = disk.with_suffix(f".mark{number}")
        local.write_text(content)
        script += f"mkdir {name.rpartition('/')[0]}\nwrite {local} {name}\n"
    _debugfs(disk, facts.SYSTEM_START, script)


def copy_without_data(image_path, disk):
    """A copy whose data volume has lost its beginning, and that does not wait long for it."""
    subprocess.run(["cp", "--sparse=always", image_path, disk], check=True)
    mark_release(disk, "without its data", patience=15)
    with disk.open("r+b") as file:
        file.seek(facts.DATA_START)
        file.write(bytes(64 << 10))


def mark_unchecked(disk):
    """Make both volumes of the copy due for a check, so that one that was made can be seen.

    A check also makes indexes for folders without one (mke2fs -d and debugfs leave such), and after
    any change of its root systemd starts anew: a start that is ours, which the boot loader has to
    survive. So a system volume that is sound is given its indexes first; what is not stays so.
    """
    system = f"{disk}?offset={facts.SYSTEM_START}"
    if run_tool(["e2fsck", "-fn", system]).status == 0:
        run_tool(["e2fsck", "-fp", system])
    script = f"ssv mnt_count 20\nssv max_mnt_count 19\nssv lastcheck {LATE}\n"
    for start in (facts.SYSTEM_START, facts.DATA_START):
        _debugfs(disk, start, script)


def _debugfs(disk, start, script):
    run_tool(["debugfs", "-w", "-f", "-", f"{disk}?offset={start}"], stdin=script.encode())


def owners_files(volume):
    """SHA-256 of what lies in the owner's folders, by path."""
    return {
        entry.path.lstrip("/"): hashlib.sha256(content).hexdigest()
        for top in ("/documents", "/ledger")
        for entry, content in volume.contents(top)
    }


def given_away(volume, names):
    """Which of the owner's files and folders have another owner, or are open to more people."""
    wrong = []
    for top in ("/documents", "/ledger"):
        for entry in [volume.stat(top), *volume.walk(top)]:
            folder = entry.kind == "directory"
            if not folder and entry.path.lstrip("/") not in names:
                continue
            if (entry.uid, entry.gid) != (990, 990) or entry.mode & ~(0o750 if folder else 0o640):
                wrong.append(f"{entry.path}: owner {entry.uid}:{entry.gid}, mode {entry.mode:o}")
    return wrong
