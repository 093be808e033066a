"""What a station in use has that an upgrade must carry over, and what it then has to look like."""

from __future__ import annotations

import secrets
import time

from debs import Deb
from publisher import Publisher
from station import Station

from benchflow.boot import CommandFailed

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
        self.registers = {f"pen-{secrets.token_hex(4)}": secrets.randbelow(10**6) for _ in range(5)}
        self.name = f"raft-{secrets.token_hex(4)}"
        self.heading = f"heading={secrets.token_hex(8)} $(id) *\n# ours\n"
        self.note = secrets.token_hex(16)
        self.local = f"holm-local-{token}"
        self.extra = f"extra-{token}"
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
        publisher.offer("alke", self.package("1.0"))
        publisher.offer("bris", self.package("2.0"))
        publisher.offer("bookworm", Deb(self.extra, "3", {f"/usr/share/{self.extra}": "x\n"}))

    def settle(self, station: Station) -> None:
        """Make the station one that has been in use."""
        assert station.apt(f"install {self.local} {self.extra}") == 0, "nothing can be installed"
        # Singly: the service ends a connection after 10 s, and what is asked anew is added twice.
        for register, number in self.registers.items():
            said = station.ask(f"add {register} {number}")
            assert said == [f"total {number}"], f"add {number}: {said}"
        station.say(f"sed -i 's/^name=.*/name={self.name}/' /etc/holm/tally.conf")
        station.write("/etc/holm/report.conf", self.heading)
        station.write(self.kept, self.change)
        station.say("mkdir -p /home/keeper")
        station.write("/home/keeper/note", self.note)
        station.say("sync")

    # -- after the upgrade --------------------------------------------------------------------

    def whole(self, station: Station) -> str:
        """What a whole 2.0 is missing, "" when nothing is."""
        if station.release() != "holm 2.0 bris":
            return "the release"
        try:
            there = station.installed()
        except AssertionError as error:
            return str(error)
        offered = station.publisher.suites["bris"]
        wanted = {name: package.version for name, package in offered.packages.items()}
        if there.get("holm-tally") is None:
            wanted.pop("holm-tally", None)
        wanted |= {self.local: "2.0", self.extra: "3"}
        named = ("holm-archive-keyring", "holm-base", "holm-registry", "holm-tools", "holm-clock",
                 "hello", self.local, self.extra)  # fmt: skip
        for name in named:
            if there.get(name) != wanted[name]:
                return f"{name} {wanted[name]}: {there.get(name)}"
        if "holm-relay" in there or "bc" not in there:
            return "holm-relay is still there, or bc is not"
        for path in ("/var/lib/holm-tally", "/etc/holm/tally.conf", "/etc/holm/relay.conf"):
            if station.has(path):
                return f"{path} is still there"
        return ""

    def becomes_whole(self, station: Station, seconds: float) -> None:
        """By itself, while nothing is done but looking."""
        missing = "?"
        deadline = station.machine.deadline(seconds)
        while missing:
            assert deadline.remaining() > 0, f"no whole 2.0 after {seconds:g} seconds: {missing}"
            assert station.machine.alive, "it switched itself off"
            time.sleep(3)
            try:
                missing = self.whole(station)
            except CommandFailed as error:  # what is asked is being replaced, /etc/os-release too
                missing = str(error)

    def registers_are_there(self, station: Station) -> None:
        """Each register once, with its total, said by the service and as it lies on the disk."""
        said = station.ask("version", "all", seconds=60)
        assert said[0] == "version 2.0", f"the service says {said[0]!r}"
        pairs = sorted(self.registers.items())
        assert said[1] == " ".join(["all", *(f"{r}={n}" for r, n in pairs)]), (
            f"it has {said[1][:300]}"
        )
        lines = station.say("cat /var/lib/holm-registry/registers").splitlines()
        assert sorted(lines) == [f"{r} {n}" for r, n in pairs], f"on the disk: {lines[:10]}"
        old = station.run("ls -A /var/lib/holm-tally /etc/holm/tally.conf").stdout
        assert station.run("test -e /var/lib/holm-tally -o -e /etc/holm/tally.conf").status != 0, (
            old
        )

    def settings_are_there(self, station: Station) -> None:
        said = station.ask("name", seconds=60)
        assert said == [f"name {self.name}"], f"it says {said}, not {self.name}"
        text = station.say("cat /etc/holm/registry.conf")
        assert "Release 2.0" in text and f"name={self.name}" in text, f"registry.conf: {text!r}"
        assert "port=7300" in text.splitlines(), f"registry.conf: {text!r}"

    def configuration_is_right(self, station: Station) -> None:
        read = station.machine.shell.read_file
        assert read("/etc/holm/report.conf").decode() == self.heading, "report.conf was changed"
        assert read(self.kept).decode() == self.change, f"{self.kept} was changed"
        assert read(self.renewed) == b"setting=2.0\n", f"{self.renewed} is not that of 2.0"
        assert "language=en" in station.say("cat /etc/holm/site.conf"), "site.conf is that of 1.0"
        assert read("/home/keeper/note").decode() == self.note, "/home/keeper/note was changed"
        line = station.say("cat /etc/holm/mirrors/holm")
        assert line == station.publisher.url("holm"), f"mirrors/holm: {line[:200]!r}"

    def nothing_is_left(self, station: Station) -> None:
        """No packages and no indexes but where apt has its own; what is under way may end."""
        look = (
            "find / -xdev \\( -path /var/cache/apt -o -path /var/lib/apt \\) -prune -o -type f "
            "\\( -name '*.deb' -o -name '*_Packages' -o -name '*InRelease' \\) -print | head -n 5"
        )
        station.until(lambda: station.say(look) == "", 60, "an end without packages left over", 5)
