"""The machine in which the delivered file system is used, and what is asked of it."""

from __future__ import annotations

import contextlib
import random
import re
from pathlib import Path

from benchflow.bench.source_builder import BENCH, Built
from benchflow.boot import Disk, GuestError, VerifierBroken

NAMES = ("holm.ko", "mkfs.holm", "fsck.holm")
NEEDED = ("vmlinuz", "guest.cpio")

PATIENCE = 90  # reference seconds of a program of ours
BRIEF = 30  # of mount, umount, mkfs and fsck
#: What the kernel says when something in it went wrong [R7]. Lock-ups and stalls are not among it:
#: a host that is busy enough brings them about, and who really hangs does not answer in time.
COMPLAINTS = (
    r"BUG: (?!soft lockup|workqueue lockup)|kernel BUG|Oops|WARNING: CPU|general protection fault"
    r"|[Bb]ad page (state|map)|refcount_t:|list_(add|del) corruption|[Uu]nable to handle"
    r"|Objects remaining|Busy inodes after unmount"
)
#: Marks that stay when a log is full: a bad page, an oops, a warning.
TAINTED = 1 << 5 | 1 << 7 | 1 << 9


def proof(salt: bytes, part: str) -> str:
    """What a program says of a part that holds."""
    word = 0xCBF29CE484222325
    for byte in salt + part.encode():
        word = (word ^ byte) * 0x100000001B3 & (1 << 64) - 1
    word ^= word >> 29
    return f"{word * 0x9E3779B97F4A7C15 & (1 << 64) - 1:016x}"


def cpio(files: dict[str, bytes]) -> bytes:
    """An archive (newc) of executable files."""
    out = bytearray()
    for number, (name, data) in enumerate([*files.items(), ("TRAILER!!!", b"")]):
        mode = 0o100755 if name != "TRAILER!!!" else 0
        fields = (number + 1000, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        out += b"070701" + "".join(f"{value:08x}" for value in fields).encode()
        out += name.encode() + b"\0"
        out += bytes(-len(out) % 4)
        out += data
        out += bytes(-len(out) % 4)
    return bytes(out)


class Guest:
    """One start of the machine, with the module loaded."""

    def __init__(self, machine, salt: bytes) -> None:
        self.machine, self.salt = machine, salt
        machine.boot()
        # Nothing that was delivered runs before this word.
        machine.expect(r"the machine is up\r?\n", 300)
        machine.attach()
        self.ok("dmesg -n 1; insmod /holm.ko", "[R4] insmod holm.ko")

    def run(self, command: str, seconds: float = PATIENCE):
        return self.machine.shell.run(command, timeout=seconds)

    def ok(self, command: str, why: str, seconds: float = PATIENCE) -> str:
        """It ends with status 0."""
        done = self.run(command, seconds)
        assert done.status == 0, f"{why}: `{command}` ends with {done.status}: {done.stdout[-400:]}"
        return done.stdout

    def says(self, command: str, status: int, why: str, seconds: float = BRIEF) -> str:
        """It ends with this status."""
        done = self.run(command, seconds)
        assert done.status == status, (
            f"{why}: `{command}` ends with {done.status}, not {status}: {done.stdout[-400:]}"
        )
        return done.stdout

    def healthy(self) -> None:
        """The kernel has not complained."""
        told, _, said = self.run("cat /proc/sys/kernel/tainted; dmesg", BRIEF).stdout.partition(
            "\n"
        )
        found = re.search(rf"^.*?({COMPLAINTS}).*$", said, re.MULTILINE)
        assert not found, f"[R7] the kernel says: {said[found.start() : found.start() + 900]}"
        assert re.fullmatch(r"\d{1,9}", told) and not int(told) & TAINTED, (
            f"[R7] the kernel has complained: it is tainted ({told[:40]!r})"
        )

    # -- the file system -------------------------------------------------------------------------

    def make(self, disk: str = "/dev/vda") -> None:
        self.ok(f"mkfs.holm {disk}", "[R4] mkfs.holm", BRIEF)

    def mount(self, disk: str = "/dev/vda", options: str = "", why: str = "[R4] mount") -> None:
        chosen = f"-o {options} " if options else ""
        self.ok(f"mount -t holm {chosen}{disk} /mnt", why, BRIEF)

    def leave(self, why: str = "[R4] umount") -> None:
        self.ok("cd /; umount /mnt", why, BRIEF)

    def fresh(self, disk: str = "/dev/vda") -> None:
        """A new file system, mounted."""
        self.run("cd /; umount /mnt 2> /dev/null; umount /twin 2> /dev/null", BRIEF)
        self.make(disk)
        self.mount(disk)

    def clean(self, why: str, disk: str = "/dev/vda") -> None:
        """`fsck.holm -n` finds nothing."""
        self.says(f"fsck.holm -n {disk}", 0, why)

    def free(self) -> int:
        """Bytes that are free, as `statfs` tells it."""
        _, blocks, size = self.room()
        return blocks * size

    def room(self) -> tuple[int, int, int]:
        """`f_blocks`, `f_bavail` and `f_frsize`."""
        told = re.fullmatch(r"(\d+) (\d+) (\d+)\n", self.ok("tools room /mnt", "[R6] statfs"))
        assert told, "[R6] statfs"
        return int(told[1]), int(told[2]), int(told[3])

    def use(self, program: str, part: str, where: str = "/mnt", **params) -> str:
        """What a part of a hidden program says, whether it holds or not."""
        given = " ".join(f"{key}={value}" for key, value in params.items())
        self.run(f"mkdir -p {where}", BRIEF)
        return self.run(f"{program} {where} salt={self.salt.hex()} {given} {part}").stdout

    def part(self, program: str, *parts: str, why: str, where: str = "/mnt", **params) -> None:
        """These parts of a hidden program hold, each with its proof."""
        for part in parts:
            said = self.use(program, part, where, **params)
            told = re.findall(r"^@(.*)$", said, re.MULTILINE)
            assert told == [f"{part} ok {proof(self.salt, part)}"], (
                f"{why}: {part}: {' '.join(told) or said[-300:]!r}"
            )
        self.healthy()

    def listing(self, why: str, seconds: float = PATIENCE) -> dict[str, str]:
        """Everything below /mnt: path to what it is. What cannot be read has `!`."""
        done = self.run(f"timeout -s KILL {int(seconds)} tools list /mnt", seconds + 30)
        lines = done.stdout.splitlines()
        assert lines and lines[-1] == "<listed>", (
            f"{why}: its files cannot be listed: {done.status}, {done.stdout[-300:]!r}"
        )
        found: dict[str, str] = {}
        for line in lines[:-1]:
            kind, path, *rest = line.split(" ", 2)
            found[f"{path}!" if kind == "!" else path] = f"{kind} {rest[0] if rest else ''}"
        return found


class Station:
    """One guest for many checks; a new one where the last has died or complained."""

    def __init__(self, machines, built: Built, work: Path, rng: random.Random) -> None:
        self.machines, self.rng = machines, rng
        self.salt = rng.randbytes(32)
        self.work = work / "station"
        self.work.mkdir()
        for needed in NEEDED:
            if not (BENCH / needed).is_file():
                raise VerifierBroken(f"{BENCH / needed} is not there: image/build.sh makes it")
        self.initrd = self.work / "initrd.cpio"
        files = {
            "holm.ko": built.files["holm.ko"],
            "bin/mkfs.holm": built.files["mkfs.holm"],
            "bin/fsck.holm": built.files["fsck.holm"],
        }
        with self.initrd.open("wb") as file:
            base = (BENCH / "guest.cpio").read_bytes()
            file.write(base + bytes(-len(base) % 512) + cpio(files))
        self._guest: Guest | None = None
        self._starts = 0

    def boot(self, disks: list[Path], memory_mb: int = 256, cpus: int = 2, **more) -> Guest:
        """A start of its own."""
        self._starts += 1
        machine = self.machines.create(
            f"holm-{self._starts}",
            kernel=BENCH / "vmlinuz",
            initrd=self.initrd,
            memory_mb=memory_mb,
            cpus=cpus,
            append="console=ttyS0 quiet panic=-1 mitigations=off",
            disks=[Disk(path) for path in disks],
            **more,
        )
        try:
            return Guest(machine, self.salt)
        except BaseException:
            switch_off(machine)
            raise

    def blank(self, megabytes: int) -> Path:
        self._starts += 1
        path = self.work / f"{self._starts}.img"
        with path.open("wb") as file:
            file.truncate(megabytes << 20)
        return path

    @contextlib.contextmanager
    def guest(self):
        """The guest that serves many checks: /dev/vda with 64 MiB, /dev/vdb with 16, /dev/vdc with
        1024."""
        if self._guest is None:
            self._guest = self.boot([self.blank(64), self.blank(16), self.blank(1024)])
        try:
            yield self._guest
            self._guest.healthy()
        except BaseException:
            self.drop()
            raise

    @contextlib.contextmanager
    def own(self, disks: list[Path], **more):
        """A guest for one check."""
        self.drop()
        guest = self.boot(disks, **more)
        try:
            yield guest
            guest.healthy()
        finally:
            switch_off(guest.machine)

    def drop(self) -> None:
        if self._guest is not None:
            switch_off(self._guest.machine)
            self._guest = None

    def seed(self) -> int:
        return self.rng.getrandbits(63)


def switch_off(machine) -> None:
    with contextlib.suppress(GuestError):
        if machine.alive:
            machine.power_cut()
    machine.close()
