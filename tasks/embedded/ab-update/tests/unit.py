"""A controller on the bench: started, asked, and its disk looked at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bundle import SLOT, Release, digest_of

from benchflow.boot import Disk, GuestPanic, GuestTimeout, Image, Machine

PASSWORD = "Lock-Chamber-7"
WATCHDOG = ["-device", "i6300esb"]
SECTOR = 512
#: A kernel's word for a host that kept its timer from it. `boot` starts the machine anew then, but
#: the boot loader has counted a try (docs/boot.md).
SPOILT = "IO-APIC + timer doesn't work!"
KEYS = ("slot", "version", "state", "try", "other", "other_version", "floor")


def on_bench(machines, name: str, disk: Path, media: Disk | None) -> Machine:
    """A board with `disk`, and a second one where there is one."""
    disks = [Disk(disk), *([media] if media else [])]
    return machines.create(name, disks=disks, rng=False, extra_args=WATCHDOG)


def parse_status(text: str) -> dict[str, str]:
    """`update status` by key. AssertionError where it has not the form of [R13]."""
    rows = [line.split("=", 1) for line in text.splitlines() if line.strip()]
    assert [row[0] for row in rows] == list(KEYS), f"not the lines of [R13]: {text!r}"
    status = {key: value.strip() for key, value in rows}
    assert status["slot"] in ("a", "b") and status["state"] in ("trial", "confirmed"), text
    assert status["try"] in ("0", "1", "2", "3"), text
    assert status["other"] in ("good", "ready", "failed", "none"), text
    return status


@dataclass(frozen=True)
class Layout:
    """Where the named partitions lie, in bytes."""

    places: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, image: Image) -> Layout:
        places: dict[str, tuple[int, int]] = {}
        for partition in image.partitions():
            if partition.name in ("slot-a", "slot-b", "data"):
                assert partition.name not in places, f"{partition.name} is there twice"
                places[partition.name] = (partition.start, partition.size)
        missing = {"slot-a", "slot-b", "data"} - set(places)
        assert not missing, f"no partition is called {sorted(missing)}"
        return cls(places)

    def digest(self, disk: Path, slot: str) -> str:
        start, _ = self.places[f"slot-{slot}"]
        return digest_of(disk, start, SLOT)

    def changed(self, before: Path, after: Path) -> list[int]:
        """The sectors outside of slots and data that differ between two copies of a disk."""
        found: list[int] = []
        with before.open("rb") as one, after.open("rb") as two:
            position = 0
            for start, size in [*sorted(self.places.values()), (before.stat().st_size, 0)]:
                one.seek(position)
                two.seek(position)
                left, right = one.read(start - position), two.read(start - position)
                if left != right:
                    for at in range(0, len(left), SECTOR):
                        if left[at : at + SECTOR] != right[at : at + SECTOR]:
                            found.append((position + at) // SECTOR)
                position = start + size
        return found


class Unit:
    """`machine` with what is known of its disk, its releases and its records."""

    def __init__(
        self, machine: Machine, layout: Layout, releases: Mapping[int, Release], records: list[str]
    ) -> None:
        self.machine = machine
        self.layout = layout
        self.releases = releases
        self.records = records

    # -- life ---------------------------------------------------------------------------------

    def login(self, seconds: float = 60) -> None:
        """Wait for a confirmed version, through any number of tries that panic."""
        self._through_panics(
            seconds, lambda left: self.machine.login("root", PASSWORD, timeout=left)
        )

    def _through_panics(self, seconds: float, wait: Callable[[float], object]) -> None:
        """`wait` is given what is left of `seconds`, in reference seconds too."""
        deadline = self.machine.deadline(seconds)
        while True:
            try:
                wait(max(1.0, deadline.seconds - deadline.used()))
                return
            except GuestPanic:
                if deadline.remaining() <= 0:
                    raise

    def start(self, seconds: float = 60) -> None:
        self.machine.boot()
        self.login(seconds)

    def leave(self) -> None:
        """Restart in order, and wait until the old start is over."""
        self.machine.reboot(timeout=60)

    def restart(self, seconds: float = 60) -> None:
        self.leave()
        self.login(seconds)

    def await_text(self, text: str, seconds: float = 60) -> None:
        """Wait for a word of this run on the console, through panics."""
        self._through_panics(
            seconds, lambda left: self.machine.expect(re.escape(text), timeout=left)
        )

    def unspoilt(self, step: Callable[[], object]) -> None:
        """A step that counts tries, begun again where the host spoilt one of them."""
        for more in (True, True, False):
            mark = self.machine.console.end
            try:
                step()
                return
            except (AssertionError, GuestTimeout):
                if not more or SPOILT not in self.machine.console.since(mark):
                    raise

    # -- questions ----------------------------------------------------------------------------

    def say(self, command: str, seconds: float = 60) -> str:
        return self.machine.shell.run(command, timeout=seconds, check=True).stdout.strip()

    def status(self) -> dict[str, str]:
        return parse_status(self.say("update status"))

    def install(self, path: str, seconds: float = 60) -> int:
        """The exit status of `update install`, which has to come within `seconds`."""
        return self.machine.shell.run(f"update install {path}", timeout=seconds).status

    def installs(self, path: str) -> None:
        done = self.machine.shell.run(f"update install {path}", timeout=60)
        assert done.status == 0, f"status {done.status} of a good bundle: {done.stdout[-300:]!r}"

    def add(self, text: str) -> None:
        """Add a record, which counts from the moment at which it is acknowledged."""
        quoted = "'" + text.replace("'", "'\\''") + "'"
        said = self.say(f"record add {quoted}", 30)
        assert said == f"ok {len(self.records) + 1}", f"{said!r} to record {len(self.records) + 1}"
        self.records.append(text)

    def keeps_records(self) -> None:
        """What was acknowledged is there, in order; one more may be, whose word got lost."""
        lines = self.say("record list").splitlines()
        expected = [f"{n} {text}" for n, text in enumerate(self.records, 1)]
        assert lines[: len(expected)] == expected, f"records: {lines!r}, expected {expected!r}"
        assert len(lines) <= len(expected) + 1, f"records of nobody: {lines[len(expected) :]!r}"
        self.records[:] = [line.partition(" ")[2] for line in lines]

    def runs(self, release: Release, *, state: str = "confirmed") -> dict[str, str]:
        """Assert that `release` runs, by what only its own slot image holds."""
        status = self.status()
        assert status["version"] == str(release.version), f"{release.version} should run: {status}"
        assert status["state"] == state, status
        if release.build:
            text = self.say("cat /etc/release")
            assert f"build={release.build}" in text, f"/etc/release is not its own: {text!r}"
        return status

    def whole(self, status: Mapping[str, str], disk: Path | None = None) -> None:
        """Assert that the slots hold, bit for bit, what `status` says of them."""
        disk = disk or self.machine.flatten()
        slots = {status["slot"]: status["version"]}
        other = "b" if status["slot"] == "a" else "a"
        if status["other"] != "none":
            slots[other] = status["other_version"]
        for slot, version in slots.items():
            release = self.releases.get(int(version) if version.isdigit() else 0)
            assert release is not None, f"slot {slot} holds {version!r}, says the unit"
            found = self.layout.digest(disk, slot)
            assert found == release.digest, f"slot {slot} is not, bit for bit, version {version}"
        disk.unlink()
