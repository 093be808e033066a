"""A station on the bench: started, told where its archives are, asked."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from time import time

from archives import AHEAD, Line

from benchflow.bench.guest import Guest
from benchflow.bench.http_files import HOST
from benchflow.bench.line_service import ask
from benchflow.bench.wrong_passwords import let_in, near
from benchflow.boot import Disk, GuestError, Nic

FIELD = Path("/field")
PASSWORD = "Salt-Fjord-23"
APPEND = "console=ttyS0,115200 quiet panic=-1"
PORT = 7300
START_SECONDS = 120
UPGRADE_SECONDS = 300
# The versions of what is installed, and what of it is not wholly so.
LIST = "dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n'"


class Station(Guest):
    """A station of 1.0 as it was delivered then, with a `line` of its own."""

    def __init__(self, machines, name: str, line: Line, other_port: int) -> None:
        clock = datetime.fromtimestamp(time() + AHEAD, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        machine = machines.create(
            name, firmware="direct", kernel=FIELD / "vmlinuz", initrd=FIELD / "initrd",
            append=APPEND, disks=[Disk(FIELD / "station.img")],
            nics=[Nic(forwards=sorted({PORT, other_port}), restrict=False)],
            extra_args=["-rtc", f"base={clock}"],
        )  # fmt: skip
        super().__init__(machine, PASSWORD, login_seconds=START_SECONDS)
        self.line, self.port = line, PORT

    # -- the line -----------------------------------------------------------------------------

    def connect(self) -> None:
        """Its archives are at the other end of its line from now on."""
        for archive in ("holm", "base"):
            self.write(f"/etc/holm/mirrors/{archive}", self.line.address(archive) + "\n")
        self.online()

    def online(self) -> None:
        """Wait until the archives can be reached."""
        self.until(self._signals, 60, "network")

    def _signals(self) -> bool:
        self.line.asked.clear()
        place = self.line.mark("online").removeprefix(self.line.root)
        call = (
            f"exec 3<>/dev/tcp/{HOST}/{self.line.port} && printf 'GET {place} HTTP/1.0\\r\\n\\r\\n'"
            " >&3 && read -r answer <&3"
        )
        self.run(f"timeout 5 bash -c {quote(call)}")
        return self.line.marked("online")

    def refuses_other_passwords(self) -> None:
        found = let_in(self.machine, "root", near(PASSWORD))
        self.enter()
        assert not found, f"root logs in with {found}, not with the password alone [R18]"

    # -- packages -----------------------------------------------------------------------------

    def apt(self, words: str, seconds: float = 180) -> int:
        """The status of `apt-get`, asked nothing and told nothing else."""
        call = f"DEBIAN_FRONTEND=noninteractive apt-get -q {words} </dev/null >/run/apt.log 2>&1"
        return self.run(call, seconds).status

    def nightly(self, when: str = "") -> None:
        """What each station does at night."""
        for words in ("update", "-y upgrade"):
            status = self.apt(words)
            assert status == 0, f"apt-get {words}: {status} {when} [R5]: {self.log('apt')}"

    def log(self, name: str) -> str:
        return self.run(f"tail -n 12 /run/{name}.log").stdout[-900:]

    def installed(self) -> dict[str, str]:
        """Versions by package. AssertionError when something is not wholly installed."""
        found: dict[str, str] = {}
        for line in self.say(LIST).splitlines():
            words = line.split()
            assert len(words) == 3, f"dpkg-query: {line[:100]!r}"
            assert words[2] in ("ii", "rc", "hi"), f"{words[0]} is in the state {words[2]}"
            if words[2] != "rc":
                found[words[0]] = words[1]
        return found

    def version(self, name: str) -> str | None:
        """The version of one package, None when it is not installed."""
        answer = self.run(f"dpkg-query -W -f '${{Version}} ${{db:Status-Status}}' {quote(name)}")
        words = answer.stdout.split()
        whole = answer.status == 0 and words[1:] == ["installed"]
        return words[0] if whole else None

    def release(self) -> str:
        return self.say(". /etc/os-release; echo $ID $VERSION_ID $VERSION_CODENAME")

    def suites(self) -> set[str]:
        """Of which suites apt reads indexes."""
        said = self.say("apt-get indextargets --format '$(RELEASE)'")
        return set(said.split())

    # -- the registers ------------------------------------------------------------------------

    def ask(self, *lines: str, seconds: float = 30) -> list[str]:
        """The service's answers, from outside, tried again while it starts."""
        return ask(self.machine, self.port, *lines, seconds=seconds)

    def service(self) -> str:
        """The number of the process that listens on the service's port; "" when none does."""
        row = re.compile(rf"\s*\d+: [0-9A-F]+:{self.port:04X} [0-9A-F]+:0+ 0A (?:\S+ +){{3}}\s*"
                         r"\d+ +\d+ +(\d+) ")  # fmt: skip
        table = self.run("cat /proc/net/tcp /proc/net/tcp6").stdout
        inodes = [found[1] for line in table.splitlines() if (found := row.match(line))]
        for inode in inodes:
            look = f"find /proc/[0-9]*/fd -lname 'socket:\\[{inode}\\]' 2>/dev/null"
            if found := re.search(r"^/proc/(\d+)/fd/", self.run(look).stdout, re.MULTILINE):
                return found[1]
        return ""

    def service_user(self) -> str:
        number = self.service()
        if not number:
            raise GuestError(f"nobody listens on port {self.port}")
        return self.say(f"stat -c %U /proc/{number}")

    def hang_up(self, times: int) -> None:
        """Hang up before the answer, as often as that, as a sensor does: the program then ends by
        SIGPIPE, which a service manager may take for an end in order."""
        call = (
            f"for time in $(seq {times}); do"
            f" {{ exec 3<>/dev/tcp/127.0.0.1/{self.port} && yes version | head -n 2000 >&3;"
            " exec 3>&-; } 2>/dev/null; sleep 0.3; done"
        )
        self.run(f"timeout {30 + 3 * times} bash -c {quote(call)}", 60 + 3 * times)

    def end_service(self, user: str, times: int = 1, signal: str = "KILL") -> None:
        """End what `user` runs, as often as that, soon after it is there again."""
        find = f"find /proc -maxdepth 1 -name '[0-9]*' -user {user}"
        self.say(
            f"for time in $(seq {times}); do"
            f" for p in $({find}); do kill -{signal} ${{p#/proc/}}; done; sleep 0.3; done",
            60 + 3 * times,
        )

    def who_can_write(self, user: str, *paths: str) -> str:
        """Each account but root and `user`, with the path that it can write."""
        look = 'for p; do [ ! -w "$p" ] || echo "$0 $p"; done'
        return self.say(
            "echo stranger:x:54321:54321: | cat /etc/passwd - | while IFS=: read -r n x u g r; do "
            f'[ "$u" = 0 ] || [ "$n" = {user} ] || setpriv --reuid "$u" --regid "$g" '
            f"$([ $n = stranger ] && echo --clear-groups || echo --init-groups) "
            f'sh -c {quote(look)} "$n" {" ".join(paths)} </dev/null; done',
            120,
        )

    # -- the release upgrade ------------------------------------------------------------------

    def upgrade(self, seconds: float = 400) -> int:
        """The status of holm-upgrade, without a terminal."""
        return self.run("holm-upgrade </dev/null >/run/upgrade.log 2>&1", seconds).status

    def begin_upgrade(self) -> None:
        self.say(
            "(setsid holm-upgrade </dev/null >/run/upgrade.log 2>&1 &) </dev/null >/dev/null 2>&1"
        )

    def upgrading(self) -> bool:
        """Whether a holm-upgrade is at work, called here or by the station itself."""
        look = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '/holm-upgrade$'"
        return self.run(look).stdout.strip() != "0"
