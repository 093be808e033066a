"""A controller on the bench: started, asked, and its disk looked at."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bundle import SLOT, Release, digest_of

from benchflow.bench.guest import GuestWithTries
from benchflow.bench.slot_bundles import SLOTS, DeliveredSlots, NamedPartitions
from benchflow.boot import (
    CheckMisuse,
    Disk,
    GuestError,
    Machine,
)

PASSWORD = "Lock-Chamber-7"
#: Reference seconds from power-on to the login prompt of a confirmed version. [R5]
START_SECONDS = 30
WATCHDOG = ["-device", "i6300esb"]
SECTOR = 512
KEYS = ("slot", "version", "state", "try", "other", "other_version", "floor")
VALUES = {"slot": ("a", "b"), "state": ("trial", "confirmed"), "try": ("0", "1", "2", "3"),
          "other": ("good", "ready", "failed", "none")}  # fmt: skip


def same(found: object, due: object, words: str) -> None:
    assert found == due, f"found {found}, due {due}: {words}"


def on_bench(machines, name: str, disk: Path, media: Disk | None) -> Machine:
    """A board with `disk`, and a second one where there is one."""
    disks = [Disk(disk), *([media] if media else [])]
    return machines.create(name, disks=disks, rng=False, extra_args=WATCHDOG)


def parse_status(text: str) -> dict[str, str]:
    """`update status` by key. AssertionError where it has not the form of [R13]."""
    rows = [line.split("=", 1) for line in text.splitlines() if line.strip()]
    assert [row[0] for row in rows] == list(KEYS), f"not the seven lines of [R13]: {text!r}"
    status = {key: value.strip() for key, value in rows}
    odd = [key for key, values in VALUES.items() if status[key] not in values]
    assert not odd, f"{odd} have values that [R13] does not know: {text!r}"
    nothing = status["other"] == "none" and status["other_version"] != "-"
    assert not nothing, f"a version of a slot that holds none [R13]: {text!r}"
    return status


@dataclass(frozen=True)
class Layout(DeliveredSlots):
    """Where the named partitions lie, in bytes."""

    def digest(self, disk: Path, slot: str) -> str:
        return digest_of(disk, self.place(f"slot-{slot}")[0], SLOT)

    def fill(self, disk: Path, name: str, content: Callable[[int], bytes]) -> None:
        """Write `content(size)`, piece by piece, all over a partition of a copy of a disk."""
        start, size = self.place(name)
        with disk.open("r+b") as stream:
            stream.seek(start)
            for at in range(0, size, 1 << 20):
                stream.write(content(min(1 << 20, size - at)))

    def changed(self, before: Path, after: Path) -> list[int]:
        """The sectors outside of slots and data that differ between two copies of a disk."""
        places = {name: self.place(name) for name in SLOTS}
        return NamedPartitions(places).changed_outside(before, after)


class Unit(GuestWithTries):
    """`machine` with what is known of its disk, its releases and its records."""

    def __init__(
        self, machine: Machine, layout: Layout, releases: Mapping[int, Release], records: list[str]
    ) -> None:
        super().__init__(machine, PASSWORD, login_seconds=START_SECONDS)
        self.layout = layout
        self.releases = releases
        self.records = records

    # -- life ---------------------------------------------------------------------------------

    def up(self, seconds: float = 90) -> None:
        """See to it that somebody is logged in, whatever an earlier check has come to."""
        try:
            self.say("true", 10)
        except (GuestError, CheckMisuse):
            self.off()
            self.start(seconds)

    def off(self) -> None:
        if self.machine.alive:
            self.machine.power_cut()

    def cut(self, seconds: float = START_SECONDS) -> None:
        """Take the power away, and give it back."""
        self.machine.power_cut()
        self.start(seconds)

    def awaits_restart(self, seconds: float, what: str, boots: int | None = None) -> None:
        """Wait until the machine starts again; AssertionError with `what` when it does not.

        `boots`: its starts before what is waited for, where that may be over already.
        """
        boots = self.machine.boots if boots is None else boots
        deadline = self.machine.deadline(seconds)
        while self.machine.boots == boots and deadline.remaining() > 0:
            time.sleep(0.2)
        assert self.machine.boots > boots, f"no restart within {seconds} s: {what}"

    def leave(self) -> None:
        """Restart in order, and wait until the old start is over."""
        self.machine.reboot(timeout=60)

    # -- questions ----------------------------------------------------------------------------

    def status(self) -> dict[str, str]:
        return parse_status(self.say("update status"))

    def install(self, path: str, seconds: float = 60, folder: str = "/") -> int:
        """The exit status of `update install` in a folder, which has to come within `seconds`."""
        command = f"(cd {folder} && update install {shlex.quote(path)})"
        return self.machine.shell.run(command, timeout=seconds).status

    def installs(self, path: str) -> None:
        done = self.machine.shell.run(f"update install {path}", timeout=60)
        said = f"{done.status}, {done.stdout[-300:]!r}"
        assert done.status == 0, (
            f"update install of a good bundle ended with {said}; 0 is due [R10]"
        )

    def add(self, text: str) -> None:
        """Add a record, which counts from the moment at which it is acknowledged."""
        quoted = "'" + text.replace("'", "'\\''") + "'"
        said = self.say(f"record add {quoted}", 30)
        due = f"ok {len(self.records) + 1}"
        assert said == due, f"record add said {said!r}, and {due!r} is due [R21]"
        self.records.append(text)

    def listed(self) -> list[str]:
        """The lines of `record list`, not stripped: blanks are a record's, too."""
        said: str = self.machine.shell.run("record list", check=True).stdout
        return said.strip("\n").splitlines()

    def keeps_records(self) -> None:
        """What was acknowledged is there, in order; one more may be, whose word got lost."""
        lines = self.listed()
        expected = [f"{n} {text}" for n, text in enumerate(self.records, 1)]
        assert lines[: len(expected)] == expected, (
            f"record list says {lines!r}, and acknowledged were {expected!r} [R21, R25]"
        )
        more = lines[len(expected) :]
        assert len(more) <= 1, f"record list has records of nobody: {more!r} [R21]"
        self.records[:] = [line.partition(" ")[2] for line in lines]

    def runs(self, release: Release, *, state: str = "confirmed") -> dict[str, str]:
        """Assert that `release` runs, by what only its own slot image holds."""
        status = self.status()
        due = (str(release.version), state)
        found = (status["version"], status["state"])
        assert found == due, f"{found} runs, and {due} should: {status}"
        if release.build:
            text = self.say("cat /etc/release")
            assert f"build={release.build}" in text.splitlines(), (
                f"/etc/release is not that of {release.version}: {text!r} [R7, R8]"
            )
        return status

    def now(self) -> Release:
        """The release that runs, by what it says of itself."""
        version = self.status()["version"]
        release = self.releases.get(int(version) if version.isdigit() else 0)
        assert release is not None, f"version {version!r} runs, and nobody made it [R13]"
        return release

    def whole(self, status: Mapping[str, str], disk: Path | None = None) -> None:
        """Assert that the slots hold, bit for bit, what `status` says of them."""
        disk = disk or self.machine.flatten()
        slots = {status["slot"]: status["version"]}
        other = "b" if status["slot"] == "a" else "a"
        if status["other"] != "none":
            slots[other] = status["other_version"]
        for slot, version in slots.items():
            release = self.releases.get(int(version) if version.isdigit() else 0)
            assert release is not None, f"slot {slot} holds {version!r}, says the unit [R13]"
            found = self.layout.digest(disk, slot)
            assert found == release.digest, (
                f"slot {slot} is not, bit for bit, the bundle's version {version} [R3, R13]"
            )
        disk.unlink()
