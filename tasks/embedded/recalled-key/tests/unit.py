"""A controller on the bench, with board A or B: started, asked, and its slots looked at."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from bundle import SLOT, Release

from benchflow.bench.delivered_files import sha256_of
from benchflow.bench.guest import GuestWithTries
from benchflow.bench.slot_bundles import DeliveredSlots
from benchflow.bench.wrong_passwords import let_in, near
from benchflow.boot import CheckMisuse, Disk, GuestError, Machine

PASSWORD = "Lock-Chamber-7"
#: Reference seconds from power-on to the login prompt of a confirmed version.
START_SECONDS = 30
#: The same where a version is tried first.
TRIAL_SECONDS = 90
#: Three tries of a version with an unhealthy script, and the start of the one before.
GIVEN_UP_SECONDS = 240
#: A script's ten seconds, and what a restart may take that begins then.
SCRIPT_SECONDS = 20
#: Three dead tries, the firmware and the loader before each, and the start of the one before.
DEAD_SECONDS = 135
#: What a record may say.
TEXTS = ("lamp on", "a  b", "100 %s \\n", 'it\'s "so" $HOME `x` *', "-n", "Lygte grøn – 3 °C", "7")
KEYS = ("slot", "version", "state", "try", "other", "other_version", "floor")


def same(found: object, due: object, words: str) -> None:
    assert found == due, f"found {found}, due {due}: {words}"


def in_trial(version: int, tries: int, before: Mapping[str, str]) -> dict[str, str]:
    """What `update status` says in a try, on a unit that said `before` when it was installed."""
    return {"slot": "b" if before["slot"] == "a" else "a", "version": str(version),
            "state": "trial", "try": str(tries), "other": "good",
            "other_version": before["version"], "floor": before["floor"]}  # fmt: skip


def board_a(machines, name: str, disk: Path, media: Path | None) -> Machine:
    disks = [Disk(disk), *([Disk(media, read_only=True)] if media else [])]
    return machines.create(name, disks=disks, rng=False, extra_args=["-device", "i6300esb"])


def board_b(machines, name: str, disk: Path, media: Path | None) -> Machine:
    # An ATA disk cannot be read-only; each machine writes to an overlay of its own anyway.
    disks = [Disk(disk, bus="ide"), *([Disk(media, bus="ide")] if media else [])]
    return machines.create(
        name, disks=disks, memory_mb=96, rng=False, extra_args=["-device", "ib700"]
    )


class Layout(DeliveredSlots):
    """Where the named partitions lie, in bytes."""

    def slot(self, disk: Path, slot: str) -> str:
        """SHA-256 of a slot as it is on `disk`."""
        return sha256_of(disk, self.place(f"slot-{slot}")[0], SLOT)

    def wipe(self, disk: Path, noise: bool) -> None:
        """Nothing is left of the data: there are zeros, or noise in which no file system begins."""
        start, size = self.place("data")
        with disk.open("r+b") as stream:
            stream.seek(start)
            for at in range(0, size, 1 << 20):
                stream.write(bytes(min(1 << 20, size - at)))
            if noise:
                stream.seek(start)
                stream.write(secrets.token_bytes(1080) + b"no" + secrets.token_bytes(64 << 10))


class Unit(GuestWithTries):
    """`machine` with what is known of its disk, of all releases, and of its records."""

    def __init__(
        self, machine: Machine, layout: Layout, releases: Mapping[int, Release], records: list[str]
    ) -> None:
        super().__init__(machine, PASSWORD, login_seconds=START_SECONDS)
        self.layout, self.releases, self.records = layout, releases, records
        self.hostname, self.config = "unit", ""

    def up(self) -> None:
        """See to it that somebody is logged in, whatever an earlier check has come to."""
        try:
            self.say("true", 10)
        except (GuestError, CheckMisuse):
            if self.machine.alive:
                self.machine.power_cut()
            self.start(TRIAL_SECONDS)

    def refuses_other_passwords(self, words: str) -> None:
        """No login by a word that is near the password; root is logged in afterwards."""
        self.up()
        found = let_in(self.machine, "root", near(PASSWORD))
        self.enter()
        assert not found, f"root logs in with {found}, not with the password alone {words}"

    def cut(self, seconds: float = TRIAL_SECONDS) -> None:
        """Take the power away, and give it back."""
        self.machine.power_cut()
        self.start(seconds)

    def leave(self) -> None:
        """Restart in order, and wait until the old start is over."""
        self.machine.reboot(timeout=60)

    def awaits_restart(self, seconds: float, what: str) -> None:
        """Wait until the machine starts again; AssertionError with `what` when it does not."""
        boots, deadline = self.machine.boots, self.machine.deadline(seconds)
        while self.machine.boots == boots and deadline.remaining() > 0:
            time.sleep(0.2)
        assert self.machine.boots > boots, f"no restart within {seconds} s: {what}"

    def crashes(self) -> None:
        """A confirmed version that crashes restarts by itself and stays what it is."""
        before, boots = self.status(), self.machine.boots
        self.machine.shell.leave("echo c >/proc/sysrq-trigger")
        self.enter(TRIAL_SECONDS)
        assert self.machine.boots > boots, "a crash did not restart it"
        same(self.status(), before, "status after a crash")
        self.keeps()

    def status(self) -> dict[str, str]:
        [found] = self.statuses("update status")
        return found

    def statuses(self, command: str) -> list[dict[str, str]]:
        """What `command` shows of `update status`, as often as that was called."""
        text = self.say(command)
        rows = [line.partition("=") for line in text.splitlines() if line.strip()]
        times = max(1, len(rows) // len(KEYS))
        assert [row[0] for row in rows] == list(KEYS) * times, f"not the seven lines: {text!r}"
        return [
            {key: value.strip() for key, _, value in rows[at : at + len(KEYS)]}
            for at in range(0, len(rows), len(KEYS))
        ]

    def install(self, path: str) -> int:
        """The exit status of `update install`, which has to come within a minute."""
        return self.machine.shell.run(f"update install {path}", timeout=60).status

    def installs(self, path: str) -> None:
        done = self.machine.shell.run(f"update install {path}", timeout=60)
        said = f"{done.status}, {done.stdout[-300:]!r}"
        assert done.status == 0, f"update install of a good bundle ended with {said}; 0 is due"

    def add(self, text: str) -> None:
        quoted = "'" + text.replace("'", "'\\''") + "'"
        said, due = self.say(f"record add {quoted}", 30), f"ok {len(self.records) + 1}"
        assert said == due, f"record add said {said!r}, and {due!r} is due"
        self.records.append(text)

    def keeps(self) -> None:
        """Records, host name and configuration are there."""
        lines = self.say("record list").splitlines()
        expected = [f"{n} {text}" for n, text in enumerate(self.records, 1)]
        assert lines == expected, f"record list says {lines!r}, and acknowledged were {expected!r}"
        same(self.say("hostname"), self.hostname, "the host name")
        if self.config:
            same(self.say("cat /data/config/ours"), self.config, "our file in /data/config")

    def configure(self, name: str) -> None:
        """The host name from the next start on, and a file of ours beside it."""
        self.hostname, self.config = name, secrets.token_hex(8)
        self.say(f"mkdir -p /data/config; cd /data/config; printf '{name}\\nmore\\n' >hostname;"
                 f" echo {self.config} >ours; cd /; sync")  # fmt: skip

    def runs(self, release: Release) -> dict[str, str]:
        """Assert that `release` runs, confirmed, by what only its own slot image holds."""
        status = self.status()
        due = (str(release.version), "confirmed", "0")
        found = (status["version"], status["state"], status["try"])
        assert found == due, f"{found} runs, and {due} should: {status}"
        if release.build:
            text = self.say("cat /etc/release")
            assert f"build={release.build}" in text.splitlines(), (
                f"/etc/release is not that of {release.version}: {text!r}"
            )
        return status

    def holds(self, slot: str, release: Release, why: str) -> None:
        """Assert that a slot is, bit for bit, this release."""
        disk = self.machine.flatten()
        found = self.layout.slot(disk, slot)
        disk.unlink()
        same(found, release.digest, f"slot {slot}: {why}")

    def whole(self, status: Mapping[str, str]) -> None:
        """Assert that the slots hold, bit for bit, what `status` says of them."""
        disk = self.machine.flatten()
        slots = {status["slot"]: status["version"]}
        if status["other"] != "none":
            slots["b" if status["slot"] == "a" else "a"] = status["other_version"]
        found = {slot: self.layout.slot(disk, slot) for slot in slots}
        disk.unlink()
        for slot, version in slots.items():
            release = self.releases.get(int(version) if version.isdigit() else 0)
            assert release is not None, f"slot {slot} holds {version!r}, says the unit"
            assert found[slot] == release.digest, (
                f"slot {slot} is not, bit for bit, the bundle's version {version}"
            )
