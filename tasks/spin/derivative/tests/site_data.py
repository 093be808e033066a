"""What a station in use has that an upgrade must carry over, and what it then has to look like."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from shlex import quote

from debs import Deb
from publisher import Publisher
from releases import BRIS
from station import PORT, Station

from benchflow.boot import CommandFailed

REGISTRY_CONF = """\
# How the station calls itself, and where it listens. Release 2.0.
name=station
port=7300
"""
SITE_CONF = """\
# The site. Release 2.0.
region=north
language=en
"""
# Where a list of all files of a 1.0 lies on it, from before its upgrade.
BEFORE = "/root/files-of-1.0"
_FILES = (
    "find /etc/apt /etc/holm /var /root /tmp /opt /srv /home /usr/local -xdev -type f "
    "| LC_ALL=C sort"
)
# What Debian's own programs write there while packages come and go. ({} is a package's name.)
_DEBIANS = (
    "/var/lib/dpkg/", "/var/lib/apt/", "/var/lib/systemd/", "/var/lib/ucf/", "/var/lib/pam/",
    "/var/lib/shells.state", "/var/log/", "/var/cache/ldconfig/", "/var/cache/debconf/",
    "/var/cache/man/", "/var/cache/apt/pkgcache.bin", "/var/cache/apt/srcpkgcache.bin",
    "/var/backups/", "/var/lib/holm-registry/", "/etc/holm/registry.conf",
)  # fmt: skip

# Where a maintainer script stops and says so, so that the power can be cut just there.
_HOLD = """#!/bin/sh
if [ -e /root/hold-{step} ]; then
	rm /root/hold-{step}
	sync
	# More than once: a getty that starts just now throws away what is on its way to the terminal.
	for time in 1 2 3 4 5 6 7 8 9; do
		echo {word} >/dev/ttyS0
		sleep 10
	done
	sleep 810
fi
"""


class Site:
    """One run's registers, settings and packages, all drawn."""

    def __init__(self) -> None:
        token = secrets.token_hex(3)
        pens = (f"pen-{secrets.token_hex(4)}" for _ in range(5))
        self.registers = {pen: 1 + secrets.randbelow(10**6 - 1) for pen in pens}
        self.name = f"raft-{secrets.token_hex(4)}"
        self.port = PORT + 1 + secrets.randbelow(900)
        self.heading = f"heading={secrets.token_hex(8)} $(id) *\n# ours\n"
        self.note = secrets.token_hex(16)
        self.local = f"holm-local-{token}"
        self.extra = f"extra-{token}"
        self.ahead = f"ahead-{token}"
        self.by_hand = f"by-hand-{token}"
        self.kept, self.renewed = f"/etc/{self.local}/kept.conf", f"/etc/{self.local}/new.conf"
        self.words = {step: f"held-{step}-{secrets.token_hex(8)}" for step in ("pre", "post")}
        self.program = f"/usr/bin/{self.local}"
        self.answers = {version: secrets.token_hex(8) for version in ("1.0", "2.0")}
        self.change = f"setting={secrets.token_hex(8)}\n"

    def package(self, version: str) -> Deb:
        """The package of Holm's that only the bench knows; 2.0 can be stopped half way."""
        answer = self.answers[version]
        scripts = {
            f"{step}inst": _HOLD.format(step=step, word=self.words[step])
            for step in ("pre", "post")
        }
        return Deb(
            self.local, version,
            {self.program: f"#!/bin/sh\necho {answer}\n",
             self.kept: f"setting={version}\n", self.renewed: f"setting={version}\n"},
            (self.kept, self.renewed), scripts if version == "2.0" else {},
        )  # fmt: skip

    def offer(self, publisher: Publisher) -> None:
        publisher.offer("alke", self.package("1.0"), self._ahead("3.0"))
        publisher.offer("bris", self.package("2.0"), self._ahead("2.5"))
        publisher.offer("bookworm", self._extra("3"))

    def offer_more(self, publisher: Publisher) -> None:
        """A higher version of what the administrator took from the base."""
        publisher.offer("bookworm", self._extra("3.1"))

    def _extra(self, version: str) -> Deb:
        return Deb(self.extra, version, {f"/usr/share/{self.extra}": f"{version}\n"})

    def _ahead(self, version: str) -> Deb:
        """A package that is lower in 2.0 than in 1.0."""
        return Deb(self.ahead, version, {f"/usr/share/{self.ahead}": f"{version}\n"})

    def settle(self, station: Station) -> None:
        """Make the station one that has been in use."""
        assert station.apt(f"install {self.local} {self.extra} {self.ahead}") == 0, (
            "packages of both archives cannot be installed [R9]"
        )
        # Of no archive: what an administrator has installed on his own [R22].
        station.machine.shell.write_file("/tmp/own.deb", Deb(self.by_hand, "1").pack(), 120)
        station.say("dpkg -i /tmp/own.deb && rm /tmp/own.deb", 120)
        # Singly: the service ends a connection after 10 s, and what is asked anew is added twice.
        for register, number in self.registers.items():
            said = station.ask(f"add {register} {number}")
            assert said == [f"total {number}"], f"add {number}: {said}"
        station.say(
            f"sed -i -e 's/^name=.*/name={self.name}/' -e 's/^port=.*/port={self.port}/' "
            "/etc/holm/tally.conf"
        )
        station.end_service("KILL")
        station.port = self.port
        said = station.ask("name", seconds=60)
        assert said == [f"name {self.name}"], f"restarted, the service says {said} [R8]"
        station.write("/etc/holm/report.conf", self.heading)
        station.write(self.kept, self.change)
        station.say("mkdir -p /home/keeper")
        station.write("/home/keeper/note", self.note)
        station.say("sync")

    def remember(self, station: Station) -> None:
        """Leave a list of the station's files on it, with which it is compared in the end."""
        station.say(f"{_FILES} >{BEFORE}; sync", 120)

    # -- after the upgrade --------------------------------------------------------------------

    def two(self, station: Station) -> str:
        """What a 2.0 is missing, "" when nothing is."""
        if (release := station.release()) != "holm 2.0 bris":
            return f"/etc/os-release says {release}"
        try:
            there = station.installed()
        except AssertionError as error:
            return str(error)
        offered = station.publisher.suites["bris"]
        wanted = {name: package.version for name, package in offered.packages.items()}
        wanted |= {self.local: "2.0", self.extra: "3.1", self.ahead: "3.0", self.by_hand: "1"}
        for name in (*BRIS, self.local, self.extra, self.ahead, self.by_hand):
            if there.get(name) != wanted.get(name, BRIS.get(name)):
                return f"{name} {wanted.get(name)}: {there.get(name)} is installed"
        return ""

    def whole(self, station: Station) -> str:
        """What a whole 2.0 is missing or has of 1.0 still, "" when nothing is."""
        if missing := self.two(station):
            return missing
        there = station.installed()
        if "holm-relay" in there or "bc" not in there:
            return "holm-relay is still there, or bc is not"
        if there.get("holm-tally", "2.0") == "1.0":
            return "holm-tally 1.0 is still there"
        for path in ("/var/lib/holm-tally", "/etc/holm/tally.conf", "/etc/holm/relay.conf"):
            if station.has(path):
                return f"{path} is still there"
        suites = {suite for _, suite in station.sources()}
        return "" if suites == {"bris", "bookworm"} else f"its sources are those of {suites}"

    def becomes_whole(self, station: Station, seconds: float) -> None:
        """By itself, `seconds` after it was started at the latest, while nothing is done but
        looking. What is not a whole 2.0 then has to be a 2.0 at least: others ask for the rest."""
        missing = "?"
        deadline = station.machine.deadline(max(1.0, seconds - station.machine.elapsed))
        while missing and deadline.remaining() > 0:
            assert station.machine.alive, "it switched itself off"
            try:
                missing = self.whole(station)
            except (CommandFailed, AssertionError) as error:
                # What is asked is being replaced, or a package is between two states.
                missing = str(error)
            time.sleep(1)
        missing = missing and self.two(station)
        assert not missing, f"no 2.0 {seconds:g} seconds after its start [R28]: {missing}"

    def program_is_new(self, station: Station) -> None:
        said = station.say(self.program)
        assert said == self.answers["2.0"], f"{self.program} says {said}, which is not 2.0's [R22]"
        assert station.say("dpkg --audit") == "", "dpkg --audit finds packages half installed [R22]"

    def registers_are_there(self, station: Station) -> None:
        """Each register once, with its total, said by the service and as it lies on the disk."""
        said = station.ask("version", "all", seconds=60)
        assert said[0] == "version 2.0", f"the service says {said[0]!r}"
        pairs = sorted(self.registers.items())
        wanted = " ".join(["all", *(f"{r}={n}" for r, n in pairs)])
        assert said[1] == wanted, f"it has {said[1][:300]!r}, and should have {wanted!r} [R23]"
        lines = station.say("cat /var/lib/holm-registry/registers").splitlines()
        assert sorted(lines) == [f"{r} {n}" for r, n in pairs], (
            f"on the disk: {lines[:10]}; SERVICES.md: a line `REGISTER T` for each"
        )
        left = station.run("ls -d /var/lib/holm-tally /etc/holm/tally.conf* 2>/dev/null").stdout
        assert not left.split(), f"{left.split()} is left of holm-tally [R23]"
        user = station.service_user()
        assert user == "holm-registry", f"it runs as {user}; SERVICES.md: as holm-registry"

    def settings_are_there(self, station: Station) -> None:
        said = station.ask("name", seconds=60)
        assert said == [f"name {self.name}"], f"it says {said}, not {self.name} [R23]"
        lines = station.say("cat /etc/holm/registry.conf").splitlines()
        for key, value in (("name", self.name), ("port", str(self.port))):
            found = [line for line in lines if line.startswith(f"{key}=")]
            assert found[-1:] == [f"{key}={value}"], (
                f"registry.conf has {found}; tally.conf had {key}={value} [R23]"
            )
        rest = [[line for line in text if line.partition("=")[0] not in ("name", "port")]
                for text in (lines, REGISTRY_CONF.splitlines())]  # fmt: skip
        assert rest[0] == rest[1], f"registry.conf has {rest[0]}, the new file {rest[1]} [R23]"

    def configuration_is_right(self, station: Station) -> None:
        read = station.machine.shell.read_file
        for path, text in (("/etc/holm/report.conf", self.heading), (self.kept, self.change)):
            assert read(path).decode() == text, f"{path}, which somebody changed, is another [R25]"
        assert read(self.renewed) == b"setting=2.0\n", (
            f"{self.renewed}, which nobody changed, is not that of 2.0 [R25]"
        )
        assert read("/etc/holm/site.conf").decode() == SITE_CONF, (
            "site.conf, which nobody changed, is not that of 2.0 [R25]"
        )
        assert read("/home/keeper/note").decode() == self.note, "/home/keeper/note changed [R25]"
        line = station.say("cat /etc/holm/mirrors/holm")
        assert line == station.publisher.archive("holm"), f"mirrors/holm: {line[:200]!r} [R9]"

    def all_is_carried(self, station: Station) -> None:
        self.registers_are_there(station)
        self.settings_are_there(station)
        self.configuration_is_right(station)

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
                and station.run(f"dpkg -S {quote(path)}").status != 0
            ]  # fmt: skip
            time.sleep(5 if left else 0)
        assert not left, f"{left[:8]} were not there before holm-upgrade [R31]"
