"""A unit with the delivered program: composed, started, asked on its console."""

from __future__ import annotations

import io
import shlex
import subprocess
import tarfile
from pathlib import Path

from bundles import Vendor
from flash import Flash
from ordered import FLASH, SLOTS, WORD, has, verb

from benchflow.bench.http_files import HttpFiles
from benchflow.boot import Machine

MB = 112
PROGRAM = f"/usr/bin/{WORD}"
#: Gives the flash to the kernel, and stays.
_NBD = """
import fcntl, os, socket, sys
open("/run/board/kept", "w").write(str(os.getpid()))
line = socket.create_connection(("10.0.2.2", int(sys.argv[1])))
line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
device = open("/dev/nbd0", "r+b", buffering=0)
fcntl.ioctl(device, 0xAB01, 512)
fcntl.ioctl(device, 0xAB07, int(sys.argv[2]) // 512)
fcntl.ioctl(device, 0xAB0A, 1 | 4)
fcntl.ioctl(device, 0xAB00, line.fileno())
fcntl.ioctl(device, 0xAB03)
"""
#: The power goes: nothing that runs is left, and nothing that is in memory.
_OFF = """#!/bin/sh
kept=" 1 $(cat /run/board/kept) " one=$$
while [ "$one" -gt 1 ]; do
    kept="$kept$one "
    one=$(cut -d' ' -f4 /proc/$one/stat)
done
for place in /proc/[0-9]*; do
    pid=${place#/proc/}
    case $kept in *" $pid "*) continue ;; esac
    [ -e "$place/exe" ] && kill -9 $pid
done 2> /dev/null
cmp -s /proc/mounts /run/board/all-mounts ||
sed -e 's/^[^ ]* //; s/ .*//' /proc/mounts | sort -r | while read -r place; do
    grep -qxF "$place" /run/board/mounts || umount -l "$place"
done
find /run /tmp /dev/shm -mindepth 1 -maxdepth 1 ! -name board -exec rm -rf {} + 2> /dev/null
blockdev --flushbufs /dev/nbd0
"""
#: A start: the call, and what is in the slot that it names.
_ON = f"""#!/bin/sh
{WORD} {verb("boot")} > /run/board/said 2> /run/board/wrong
echo "status $?"
read -r slot seconds < /run/board/said
echo "said $(tr '\\n' '|' < /run/board/said)"
sed 's/^/wrong /' /run/board/wrong
case $slot in
CASES    *) exit ;;
esac
mkdir /run/system
exec 2> /dev/null
dd if=/dev/nbd0 bs=4096 skip=$place count=$count | tar -xf - -C /run/system
printf '%s' "$slot" > /run/slot
cd /run/system && ./start
echo "ended $?"
"""


def compose(tar: Path, module: Path, program: Path, etc: dict[str, bytes], image: Path) -> None:
    """The ROM of a unit that has the program."""
    tree = image.with_suffix(".tree")
    tree.mkdir()
    subprocess.run(["tar", "-xpf", tar, "-C", tree, "--same-owner"], check=True)
    (tree / PROGRAM[1:]).write_bytes(program.read_bytes())
    (tree / PROGRAM[1:]).chmod(0o755)
    cases = "".join(
        f"    {name}) place={at // 4096} count={size // 4096} ;;\n"
        for name, (at, size) in SLOTS.items()
    )
    board = {"flash.py": _NBD, "off": _OFF, "on": _ON.replace("CASES", cases)}
    for name, text in board.items():
        (tree / "usr/lib" / f"board-{name}").write_text(text)
        (tree / "usr/lib" / f"board-{name}").chmod(0o755)
    (tree / "usr/lib/nbd.ko").write_bytes(module.read_bytes())
    (tree / "etc/keys").mkdir()
    for name, data in etc.items():
        (tree / "etc" / name).write_bytes(data)
    with image.open("wb") as file:
        file.truncate(MB << 20)
    command = ["mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-d", tree, image]
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run(["rm", "-rf", tree], check=True)


class Station:
    """The machine. `flash` is its flash; `run` gives status, standard output and error."""

    def __init__(self, machine: Machine, flash: Flash) -> None:
        self.machine, self.flash, self.web = machine, flash, HttpFiles()
        self._folders = 0

    def switch_on(self) -> None:
        """Everything up to the first call of the program."""
        self.machine.boot()
        self.machine.attach(timeout=240)
        self.run("insmod /usr/lib/nbd.ko nbds_max=1; mkdir /run/board; mount -o remount,ro /")
        self.run(
            f"setsid python3 -IS /usr/lib/board-flash.py {self.flash.port} {FLASH} "
            "< /dev/null > /dev/null 2>&1 & ln -s nbd0 /dev/flash"
        )
        done = self.run(
            f"n=0; while [ $n -lt 60 ] && [ \"$(blockdev --getsize64 /dev/nbd0)\" != {FLASH} ]; "
            "do n=$((n + 1)); sleep 0.3; done; blockdev --getsize64 /dev/nbd0; "
            "sed -e 's/^[^ ]* //; s/ .*//' /proc/mounts > /run/board/mounts; "
            "cat /proc/mounts > /run/board/all-mounts", 90
        )  # fmt: skip
        assert done[1].split()[-1:] == [str(FLASH)], f"the unit has no flash: {done}"

    def run(self, command: str, seconds: float = 60) -> tuple[int, str, str]:
        done = self.machine.shell.run_apart(command, timeout=seconds)
        return done.status, done.stdout, done.stderr

    def lose_power(self) -> None:
        """The machine's power goes, and comes back; the flash holds what it has."""
        self.machine.power_cut()
        self.switch_on()

    def call(self, *words: str, seconds: float = 90) -> tuple[int, str, str]:
        """The program, called by root."""
        return self.run(" ".join([WORD, *map(shlex.quote, words)]), seconds)

    def begin(self, *words: str) -> None:
        """A call in the background; `ended` waits for its status."""
        line = " ".join([WORD, *map(shlex.quote, words)])
        self.run(
            f"rm -f /run/board/end; ( {line}; echo $? > /run/board/end ) "
            "< /dev/null > /dev/null 2>&1 &"
        )

    def ended(self, seconds: float = 60) -> int:
        """-1 where the call did not end in time."""
        wait = "n=0; while [ $n -lt 400 ] && [ ! -s /run/board/end ]"
        wait += "; do n=$((n + 1)); sleep 0.2; done"
        said = self.run(f"{wait}; cat /run/board/end", 2 * seconds + 60)[1]
        return int(said) if said.strip().isdigit() else -1

    def bring(self, files: dict[str, bytes | str]) -> str:
        """A folder with these files; a text is the target of a link."""
        self._folders += 1
        made, name = io.BytesIO(), f"in{self._folders}"
        with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for path, data in files.items():
                info = tarfile.TarInfo(path)
                if isinstance(data, str):
                    info.type, info.linkname = tarfile.SYMTYPE, data
                    tar.addfile(info)
                else:
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
        self.web.files = {self.web.place(name): made.getvalue()}
        folder = f"/run/board/{name}"
        status, said, wrong = self.run(
            f"mkdir {folder}; wget -q -O - {self.web.url}/{name} | tar -xf - -C {folder} "
            "&& echo whole"
        )
        assert said.strip() == "whole", f"the unit cannot fetch a bundle: {status} {wrong[-200:]}"
        return folder

    def tidy(self) -> None:
        """What was brought goes."""
        self.run("rm -rf /run/board/in*")

    def deadline(self, seconds: float):
        """What is left of so many seconds."""
        return self.machine.deadline(seconds)

    def set_clock(self, seconds: int) -> None:
        self.run(f"date -s @{seconds}")

    def off(self) -> None:
        """Nothing of what runs, or is in memory, is left."""
        self.run("sh /usr/lib/board-off", 90)

    def on(self) -> tuple[int, str, str, str]:
        """A start: status and output of the call, what it said besides, and how the system that it
        started ended (\"\" where there was none)."""
        _, said, _ = self.run("sh /usr/lib/board-on", 120)
        rows = [row.partition(" ") for row in said.splitlines()]
        found = {head: rest for head, _, rest in rows if head in ("status", "said", "ended")}
        wrong = "".join(f"{rest}\n" for head, _, rest in rows if head == "wrong")
        up = "\n".join(row for row in said.splitlines() if row.startswith("up "))
        ended = f"{found.get('ended', '')} {up}".strip()
        return int(found.get("status", "-1")), found.get("said", ""), wrong, ended


def etc_of(about: dict[str, str], vendor: Vendor) -> dict[str, bytes]:
    """What the ROM says of the unit."""
    found = {"unit": "".join(f"{key}={value}\n" for key, value in about.items()).encode()}
    for name, key in vendor.keys.items():
        if name == "main" or (name == "second" and has("two-signatures")) or has("keyring"):
            found[f"keys/{name}.pem"] = key.pem()
    if has("enciphered"):
        found["keys/secret"] = vendor.secret.hex().encode() + b"\n"
    return found
