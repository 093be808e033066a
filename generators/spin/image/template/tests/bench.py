"""The bench: units with the delivered image, one of them on at a time."""

from __future__ import annotations

import random
import secrets
import shutil
import subprocess
from pathlib import Path

from ordered import AXES, FIRMWARE, PORT, form, has
from unit import Hardware, Unit, ordered_hardware

from benchflow.bench.media_disks import ext_disk
from benchflow.bench.password_hash import sha512_crypt
from benchflow.boot import BadDeliverable, GuestError, Image
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.ext4 import Ext4
from benchflow.boot.inspect.partitions import Partition

_MIB = 1 << 20
_FILE_MAX = 64 * _MIB


class Bench:
    """`unit` is the one that is asked; `image` what was delivered."""

    def __init__(self, create, image: Path, work: Path, draw: random.Random) -> None:
        self.create, self.image, self.work, self.draw = create, image, work, draw
        self.password, self.hash = AXES["password"], ""
        if has("hash-from-board"):
            self.password, self.hash = self.new_password()
        self.port, self.site = PORT, None
        if has("site-disk"):
            self.port = draw.randrange(20_000, 60_000)
            self.site = self.site_disk(self.port)
        self.loader = self.loaded()
        self.long = self.longer(work / "unit.img")
        self.made = 0
        self.first = self.machine(self.long, ordered_hardware(self.hash))
        self.unit = self.first
        self.taken: Path | None = None
        self.takes = 0.0
        """Reference seconds from power-on to the service's first answer, in a first start."""

    @staticmethod
    def new_password() -> tuple[str, str]:
        word = f"{secrets.token_hex(3)}-Kx{secrets.token_hex(3)}"
        return word, sha512_crypt(word, secrets.token_hex(6))

    def site_disk(self, port: int) -> Path:
        path = self.work / f"site-{port}.img"
        rows = {"site": "north", "port": str(port), "reporting": "no"}
        keys = self.draw.sample(sorted(rows), 3)
        text = form({key: rows[key] for key in keys})
        files = {AXES["site_file"]: text.encode(), "notes": b"port 99 is not ours\n"}
        return ext_disk(path, files, label=AXES["site_label"], kind="ext2", megabytes=4)

    def longer(self, path: Path) -> Path:
        """A disk that production wrote the image to."""
        subprocess.run(["cp", "--sparse=always", self.image, path], check=True)
        size = (path.stat().st_size + _MIB - 1) // _MIB + self.draw.randrange(40, 200)
        with path.open("r+b") as file:
            file.truncate(size * _MIB)
        return path

    def loaded(self) -> dict:
        """What the board's loader reads, where units have one."""
        if FIRMWARE != "direct":
            return {}
        image = Image(self.image)
        try:
            files = image.fat(min(image.partitions(), key=lambda one: one.start))
            for name in ("vmlinuz", "initrd", "cmdline"):
                (self.work / name).write_bytes(files.read(f"/{name}", _FILE_MAX))
        except ValueError as error:  # of a table without partitions
            raise BadDeliverable("the disk has no first partition") from error
        line = (self.work / "cmdline").read_text(encoding="ascii", errors="replace").strip()
        assert line.isprintable(), f"the command line is {line!r}"
        return {
            "kernel": self.work / "vmlinuz", "initrd": self.work / "initrd",
            "append": line or "quiet",
        }  # fmt: skip

    # -- units ------------------------------------------------------------------------------------

    def machine(self, disk: Path, hardware: Hardware, port: int = 0, site: Path | None = None):
        self.made += 1
        return Unit.create(
            self.create, f"unit-{self.made}", disk, hardware, self.loader, self.password,
            port or self.port, site or self.site,
        )  # fmt: skip

    def off(self) -> None:
        self.unit.cut()

    def up(self) -> Unit:
        """The unit, which is on, with root logged in; what it was is left as it was."""
        unit = self.unit
        if not unit.machine.alive:
            unit.start()
        elif not unit.logged_in():
            try:
                unit.enter()
            except GuestError:  # what the check before it has left
                unit.cut_and_start()
        return unit

    def as_new(self) -> Unit:
        """The unit as production made it; it is off."""
        self.off()
        self.unit = self.first
        self.first.machine.reset_disks()
        return self.first

    def fresh(self) -> Unit:
        """A unit as new, started for the first time."""
        return self.as_new().start()

    def disk(self) -> Path:
        """A copy of the unit's disk, as it is."""
        return self.unit.machine.flatten()

    def moved(self, hardware: Hardware, port: int = 0, site: Path | None = None) -> Unit:
        """The unit's disk in another unit, as it was when the power went; it is off."""
        path = self.work / f"moved-{self.made}.img"
        self.off()
        shutil.move(self.disk(), path)
        return self.with_disk(path, hardware, port, site)

    def with_disk(
        self, path: Path, hardware: Hardware, port: int = 0, site: Path | None = None
    ) -> Unit:
        self.off()
        self.unit = self.machine(path, hardware, port, site)
        if self.taken:  # the disk of the unit before it
            self.taken.unlink(missing_ok=True)
        self.taken = path
        return self.unit

    def data(self) -> Ext4:
        """The files of the data partition as the next start finds them."""
        return Image(self.data_file()).ext4()

    def data_file(self) -> Path:
        """The data partition as the next start finds it: its journal is replayed."""
        path, target = self.disk(), self.work / "data.img"
        data = self.last(path)
        with path.open("rb") as source, target.open("wb") as file:
            file.truncate(data.size)
            for at in range(0, data.size, _MIB):
                source.seek(data.start + at)
                piece = source.read(min(_MIB, data.size - at))
                if piece.strip(b"\0"):
                    file.seek(at)
                    file.write(piece)
        path.unlink()
        run_tool(["e2fsck", "-fy", str(target)], cpu_seconds=120)
        return target

    # -- the disk ---------------------------------------------------------------------------------

    @staticmethod
    def last(path: Path) -> Partition:
        """The data partition of a disk."""
        found = Image(path).partitions()
        assert found, "the disk has no partitions"
        return max(found, key=lambda one: one.start)

    def others(self) -> list[Partition]:
        """Those of the image that are not the data partition."""
        data = self.last(self.image)
        return [one for one in Image(self.image).partitions() if one.number != data.number]
