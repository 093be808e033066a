"""What a station in use has that an upgrade must carry over, and what it then has to look like."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from shlex import quote

from archives import Archives
from releases import DORG
from station import PORT, Station

from benchflow.bench.deb_package import Deb
from benchflow.bench.other_draws import never_twice
from benchflow.boot import CommandFailed

LEDGER_CONF = """\
# How the station calls itself, where it listens, what it counts. Release 3.0.
name=station
port=7300
unit=kg
"""
SITE_CONF = """\
# The site. Release 3.0.
region=north
language=en
units=metric
"""
REPORT_CONF = """\
# The heading of reports. Release 3.0: may hold blanks, and is not cut.
heading=Holm 3
"""
# Where a list of all files of a station lies on it, from before its upgrade.
BEFORE = "/root/files-before"
_FILES = (
    "find /etc/apt /etc/holm /var /root /tmp /opt /srv /home /usr/local -xdev -type f "
    "| LC_ALL=C sort"
)
# What Debian's own programs write there while packages come and go.
_DEBIANS = (
    "/var/lib/dpkg/", "/var/lib/apt/", "/var/lib/systemd/", "/var/lib/ucf/", "/var/lib/pam/",
    "/var/lib/shells.state", "/var/log/", "/var/cache/ldconfig/", "/var/cache/debconf/",
    "/var/cache/man/", "/var/cache/apt/pkgcache.bin", "/var/cache/apt/srcpkgcache.bin",
    "/var/backups/", "/var/lib/holm-ledger/", "/etc/holm/ledger.conf",
)  # fmt: skip
_OLD = ("/var/lib/holm-tally", "/var/lib/holm-registry", "/etc/holm/tally.conf",
        "/etc/holm/registry.conf", "/etc/holm/relay.conf")  # fmt: skip

# Where a maintainer script stops and says so, so that the power can be cut just there.
_HOLD = """#!/bin/sh
if [ -e /root/hold-{mark} ]; then
	rm /root/hold-{mark}
	sync
	# More than once: a getty that starts just now throws away what is on its way to the terminal.
	for time in 1 2 3 4 5 6 7 8 9; do
		echo {word} >/dev/ttyS0
		sleep 10
	done
	sleep 810
fi
"""
_STEPS = ("pre", "post")


class Site:
    """One station's registers, settings and packages, all drawn. `changed`: somebody has changed
    the settings of the service and of reports."""

    def __init__(self, changed: bool) -> None:
        token = secrets.token_hex(3)
        draw = never_twice(lambda: f"pen-{secrets.token_hex(4)}")
        self.registers = {draw(): 1 + secrets.randbelow(10**6 - 1) for _ in range(5)}
        self.changed = changed
        self.name = f"raft-{secrets.token_hex(4)}" if changed else "station"
        self.port = PORT + 1 + secrets.randbelow(900) if changed else PORT
        self.region = f"# The site, ours.\nregion={secrets.token_hex(4)}\n"
        self.heading = f"heading={secrets.token_hex(8)} $(id) *\n# ours\n"
        self.note = secrets.token_hex(16)
        self.local = f"holm-local-{token}"
        self.extra, self.ahead = f"extra-{token}", f"ahead-{token}"
        self.spares = [f"spare-{token}-{number}" for number in range(6)]
        self.kept, self.renewed = f"/etc/{self.local}/kept.conf", f"/etc/{self.local}/new.conf"
        self.words = {
            (version, step): f"held-{step}-{secrets.token_hex(8)}"
            for version in ("2.0", "3.0")
            for step in _STEPS
        }
        self.program = f"/usr/bin/{self.local}"
        self.answers = {version: secrets.token_hex(8) for version in ("1.0", "2.0", "3.0")}
        self.change = f"setting={secrets.token_hex(8)}\n"

    # -- packages of the bench's ----------------------------------------------------------------

    def _package(self, version: str) -> Deb:
        """The package of Holm's that only the bench knows; from 2.0 on it can be stopped."""
        scripts = {
            f"{step}inst": _HOLD.format(mark=f"{version}-{step}", word=self.words[version, step])
            for step in _STEPS
            if version != "1.0"
        }
        return Deb(
            self.local, version,
            {self.program: f"#!/bin/sh\necho {self.answers[version]}\n",
             self.kept: f"setting={version}\n", self.renewed: f"setting={version}\n"},
            (self.kept, self.renewed), scripts,
        )  # fmt: skip

    def _plain(self, name: str, version: str) -> Deb:
        return Deb(name, version, {f"/usr/share/{name}": f"{version}\n"})

    def offer(self, archives: Archives) -> None:
        """In every suite that these archives have."""
        version = {"alke": ("1.0", "3.5"), "bris": ("2.0", "2.5"), "dorg": ("3.0", "3.1")}
        for suite, (local, ahead) in version.items():
            if suite in archives.suites:
                spares = [self._plain(name, "1") for name in self.spares]
                archives.offer(suite, self._package(local), self._plain(self.ahead, ahead), *spares)
        later = "3.1" if "dorg" in archives.suites else "3"
        archives.offer("bookworm", self._plain(self.extra, later))

    # -- a station in use -------------------------------------------------------------------------

    def settle(self, station: Station) -> None:
        """Make a new 1.0 one that has been in use. Its keyring stays the oldest."""
        assert station.apt("update") == 0, f"apt-get update on a new 1.0: {station.log('apt')}"
        status = station.apt(f"-y install {self.local} {self.extra} {self.ahead}")
        assert status == 0, f"packages of both archives are not installed: {station.log('apt')}"
        # Singly: the service ends a connection after 10 s, and what is asked again is added twice.
        for register, number in self.registers.items():
            said = station.ask(f"add {register} {number}")
            assert said == [f"total {number}"], f"add {number}: {said}"
        if self.changed:
            station.say(
                f"sed -i -e 's/^name=.*/name={self.name}/' -e 's/^port=.*/port={self.port}/' "
                "/etc/holm/tally.conf"
            )
            station.end_service("holm-tally")
            station.port = self.port
            station.write("/etc/holm/report.conf", self.heading)
            station.write("/etc/holm/site.conf", self.region)
        said = station.ask("name", seconds=60)
        assert said == [f"name {self.name}"], f"restarted, the service says {said}"
        station.write(self.kept, self.change)
        station.say("mkdir -p /home/keeper")
        station.write("/home/keeper/note", self.note)
        station.say("sync")

    def book(self, station: Station) -> None:
        """What people of theirs count by hand, and book behind the back of a 2.0's service."""
        path = "/var/lib/holm-registry/registers"
        for register in [*list(self.registers)[:2], *list(self.registers)[:1]]:
            number = 1 + secrets.randbelow(5000)
            station.say(f"echo {register} {number} >>{path}")
            self.registers[register] += number
        new, number = f"hand-{secrets.token_hex(3)}", 1 + secrets.randbelow(5000)
        station.say(f"echo {new} {number} >>{path}; sync")
        self.registers[new] = number

    def remember(self, station: Station) -> None:
        """Leave a list of the station's files on it, with which it is compared in the end."""
        station.say(f"{_FILES} >{BEFORE}; sync", 120)

    # -- a whole release of then ------------------------------------------------------------------

    def still(self, station: Station, release: str, versions: dict[str, str | None]) -> None:
        """A whole 1.0 or 2.0 in use, with these packages in these versions."""
        said = station.release()
        assert said == release, f"it is {said!r}, not a whole {release}"
        there = station.installed()
        local = {"holm 1.0 alke": "1.0", "holm 2.0 bris": "2.0"}[release]
        wanted = {self.local: local, self.ahead: "3.5", "holm-ledger": None, "holm-report": None}
        wrong = {n: there.get(n) for n, v in (wanted | versions).items() if there.get(n) != v}
        assert not wrong, f"{wrong} is installed, not {wanted | versions}"
        register = next(iter(self.registers))
        said = station.ask("version", "name", seconds=60)
        expected = [f"version {local}", f"name {self.name}"]
        assert said == expected, f"asked for {register}: {said}, not {expected}"
        if local == "1.0":
            total = self.registers[register]
            said = station.ask(f"get {register}")
            assert said == [f"total {total}"], f"get {register}: {said}, not total {total}"
        self.changes_are_there(station)

    def changes_are_there(self, station: Station) -> None:
        """What somebody changed is as it was, to the byte."""
        read = station.machine.shell.read_file
        if self.changed:
            for path, text in (("report.conf", self.heading), ("site.conf", self.region)):
                found = read(f"/etc/holm/{path}").decode(errors="replace")
                assert found == text, f"{path}, which somebody changed, is another [R16]"
        found = read(self.kept).decode(errors="replace")
        assert found == self.change, f"{self.kept}, which somebody changed, is another [R16]"
        found = read("/home/keeper/note").decode(errors="replace")
        assert found == self.note, "/home/keeper/note changed [R16]"
        line = station.say("cat /etc/holm/mirrors/holm")
        assert line == station.line.address("holm"), f"mirrors/holm: {line[:200]!r} [R16]"

    # -- 3.0 --------------------------------------------------------------------------------------

    def three(self, station: Station) -> str:
        """What a 3.0 is missing, "" when nothing is."""
        if (release := station.release()) != "holm 3.0 dorg":
            return f"/etc/os-release says {release}"
        try:
            there = station.installed()
        except AssertionError as error:
            return str(error)
        wanted = {**DORG, self.local: "3.0", self.extra: "3.1", self.ahead: "3.5"}
        for name, version in wanted.items():
            if there.get(name) != version:
                return f"{name} {version}: {there.get(name)} is installed"
        return ""

    def whole(self, station: Station) -> str:
        """What a whole 3.0 is missing or has of before still, "" when nothing is."""
        if missing := self.three(station):
            return missing
        there = station.installed()
        if "holm-relay" in there or "bc" not in there:
            return "holm-relay is still there, or bc is not"
        for name in ("holm-tally", "holm-registry"):
            if there.get(name, "3.0") != "3.0":
                return f"{name} {there[name]} is still there"
        for path in _OLD:
            if station.has(path):
                return f"{path} is still there"
        suites = station.suites()
        return "" if suites == {"dorg", "bookworm"} else f"its sources are those of {suites}"

    def two(self, station: Station) -> str:
        """What a station that was on its way to 2.0 is missing of it, or of 3.0."""
        if (release := station.release()) == "holm 3.0 dorg":
            return self.whole(station)
        if release != "holm 2.0 bris":
            return f"/etc/os-release says {release}"
        try:
            there = station.installed()
        except AssertionError as error:
            return str(error)
        # Of ours the archives of now may have higher versions [R3].
        wanted = {self.local: "2.0", "holm-registry": "2.", "holm-tools": "2.", self.ahead: "3.5"}
        for name, version in wanted.items():
            if not there.get(name, "").startswith(version):
                return f"{name} {version}: {there.get(name)} is installed"
        if "holm-relay" in there or station.has("/var/lib/holm-tally"):
            return "holm-relay or /var/lib/holm-tally is still there"
        return "" if station.suites() == {"bris", "bookworm"} else "its sources are not bris's"

    def becomes(self, station: Station, question: Callable[[Station], str], seconds: float) -> None:
        """`whole` or `two` by itself, `seconds` after its start, while nobody does but look."""
        missing = "?"
        deadline = station.machine.deadline(max(1.0, seconds - station.machine.elapsed))
        while missing and deadline.remaining() > 0:
            assert station.machine.alive, "it switched itself off"
            try:
                missing = question(station) or ("still at work" if station.upgrading() else "")
            except (CommandFailed, AssertionError) as error:
                # What is asked is being replaced, or a package is between two states.
                missing = str(error)
            time.sleep(1)
        assert not missing, f"{seconds:g} seconds after its start: {missing}"

    def program_is_new(self, station: Station) -> None:
        said = station.say(self.program)
        assert said == self.answers["3.0"], f"{self.program} says {said}, which is not 3.0's [R11]"
        assert station.say("dpkg --audit") == "", "dpkg --audit finds packages half installed [R11]"

    def registers_are_there(self, station: Station) -> None:
        """Each register with its total, said by the service and as it lies on the disk."""
        said = station.ask("version", "all", seconds=60)
        assert said[0] == "version 3.0", f"the service says {said[0]!r}"
        wanted = " ".join(["all", *(f"{r}={n}" for r, n in sorted(self.registers.items()))])
        assert said[1] == wanted, f"it has {said[1][:300]!r}, and should have {wanted!r} [R12, R13]"
        sums: dict[str, int] = {}
        for line in station.say("cat /var/lib/holm-ledger/ledger").splitlines():
            register, _, number = line.partition(" ")
            assert number.isdigit(), f"{line!r} in the ledger; SERVICES.md: REGISTER N"
            sums[register] = sums.get(register, 0) + int(number)
        assert sums == self.registers, f"on the disk: {sums}, not {self.registers} [R12]"
        user = station.service_user()
        assert user == "holm-ledger", f"it runs as {user}; SERVICES.md: as holm-ledger"

    def settings_are_there(self, station: Station) -> None:
        said = station.ask("name", "unit", seconds=60)
        assert said == [f"name {self.name}", "unit kg"], f"it says {said}, not {self.name} [R14]"
        lines = station.say("cat /etc/holm/ledger.conf").splitlines()
        for key, value in (("name", self.name), ("port", str(self.port))):
            found = [line for line in lines if line.startswith(f"{key}=")]
            assert found[-1:] == [f"{key}={value}"], (
                f"ledger.conf has {found}; before it was {key}={value} [R14]"
            )
        rest = [[line for line in text if line.partition("=")[0] not in ("name", "port")]
                for text in (lines, LEDGER_CONF.splitlines())]  # fmt: skip
        assert rest[0] == rest[1], f"ledger.conf has {rest[0]}, the new file {rest[1]} [R14]"

    def configuration_is_right(self, station: Station) -> None:
        self.changes_are_there(station)
        read = station.machine.shell.read_file
        new = {self.renewed: "setting=3.0\n"}
        if not self.changed:
            new |= {"/etc/holm/site.conf": SITE_CONF, "/etc/holm/report.conf": REPORT_CONF}
        for path, text in new.items():
            found = read(path).decode(errors="replace")
            assert found == text, f"{path}, which nobody changed, is not that of 3.0 [R16]"

    def nothing_is_left(self, station: Station) -> None:
        """Nothing that was not there before, but what packages and Debian's programs have; what
        is under way may end."""
        left: list[str] = ["?"]
        deadline = station.machine.deadline(60)
        while left and deadline.remaining() > 0:
            new = station.say(f"{_FILES} | LC_ALL=C comm -13 {BEFORE} - | head -n 300", 120)
            left = [
                path for path in new.splitlines()
                if path != BEFORE and not path.startswith(_DEBIANS)
                and ".dpkg-" not in Path(path).name
                and station.code(f"dpkg -S {quote(path)}") != 0
            ]  # fmt: skip
            time.sleep(5 if left else 0)
        assert not left, f"{left[:8]} were not there before holm-upgrade [R23]"
