"""A station on the bench: started, told where the archives are, asked."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from publisher import AHEAD, Publisher

from benchflow.bench.wrong_passwords import let_in, near
from benchflow.boot import Disk, GuestError, Machine, Nic

PASSWORD = "Salt-Fjord-23"
APPEND = "console=ttyS0,115200 quiet panic=-1"
PORT = 7300
ANSWER_MAX = 65536
# The versions of what is installed, and what of it is not wholly so.
LIST = "dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n'"


class Station:
    """`machine` with the words of the letter."""

    def __init__(self, machine: Machine, port: int = PORT) -> None:
        self.machine = machine
        self.port = port

    @classmethod
    def create(
        cls, machines, name: str, deliverable, other_port: int, disk: Path | None = None
    ) -> Station:
        """Switched off, with the delivered disk or another one. The service is asked at its port,
        or at `other_port` once `port` says so."""
        clock = datetime.fromtimestamp(time.time() + AHEAD, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        machine = machines.create(
            name, firmware="direct", kernel=deliverable("/app/out/vmlinuz"),
            initrd=deliverable("/app/out/initrd"), append=APPEND,
            disks=[Disk(disk or deliverable("/app/out/station.img"))],
            nics=[Nic(forwards=[PORT, other_port], restrict=False)],
            extra_args=["-rtc", f"base={clock}"],
        )  # fmt: skip
        return cls(machine)

    # -- life ---------------------------------------------------------------------------------

    def start(self, seconds: float = 120) -> Station:
        self.machine.boot()
        return self.enter(seconds)

    def enter(self, seconds: float = 120) -> Station:
        self.machine.login("root", PASSWORD, timeout=seconds)
        return self

    def refuses_other_passwords(self) -> None:
        found = let_in(self.machine, "root", near(PASSWORD))
        self.enter()
        assert not found, f"root logs in with {found} [R5]"

    def restart(self) -> None:
        self.machine.reboot(timeout=120)
        self.enter()

    def online(self, seconds: float = 60) -> None:
        """Wait until the archives can be reached."""
        self.until(lambda: self.signal("online"), seconds, "network")

    def signal(self, word: str) -> bool:
        self.publisher.asked.clear()
        self.run(f"timeout 5 bash -c {quote(self.call(word))}")
        return self.publisher.marked(word)

    def call(self, word: str) -> str:
        """bash that asks the bench for a mark, and goes on when it is answered."""
        request = f"GET /mark/{word} HTTP/1.0\\r\\n\\r\\n"
        where = f"{self.publisher.host}/{self.publisher.port}"
        return f"exec 3<>/dev/tcp/{where} && printf '{request}' >&3 && read -r answer <&3"

    def until(
        self, question: Callable[[], object], seconds: float, what: str, pause: float = 1.0
    ) -> None:
        deadline = self.machine.deadline(seconds)
        while not question():
            assert self.machine.alive, f"{what}: the station switched itself off"
            assert deadline.remaining() > 0, f"{what}: not within {seconds:g} seconds"
            time.sleep(pause)

    # -- questions ----------------------------------------------------------------------------

    def run(self, command: str, seconds: float = 60):
        return self.machine.shell.run(command, timeout=seconds)

    def say(self, command: str, seconds: float = 60) -> str:
        """What a command that has to work prints."""
        return self.machine.shell.run(command, timeout=seconds, check=True).stdout.strip()

    def has(self, path: str) -> bool:
        return self.run(f"test -e {quote(path)}").status == 0

    def write(self, path: str, text: str) -> None:
        self.machine.shell.write_file(path, text.encode())

    def look_to(self, publisher: Publisher) -> None:
        """Its archives are `publisher`'s from now on."""
        self.publisher = publisher
        for archive in ("holm", "base"):
            self.write(f"/etc/holm/mirrors/{archive}", publisher.archive(archive) + "\n")

    def apt(self, words: str, seconds: float = 180) -> int:
        """The status of `apt-get`, asked nothing and told nothing else."""
        return self.run(f"DEBIAN_FRONTEND=noninteractive apt-get -q -y {words}", seconds).status

    def update(self, when: str = "[R9]") -> None:
        """Has `apt-get update` work."""
        status = self.apt("update")
        assert status == 0, f"apt-get update ends with {status} {when}"

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
        return (
            words[0] if answer.status == 0 and len(words) == 2 and words[1] == "installed" else None
        )

    def candidate(self, name: str) -> str | None:
        text = self.run(f"LC_ALL=C apt-cache policy {quote(name)}").stdout
        found = re.search(r"^  Candidate: (\S+)$", text, re.MULTILINE)
        return found[1] if found and found[1] != "(none)" else None

    def release(self) -> str:
        return self.say(". /etc/os-release; echo $ID $VERSION_ID $VERSION_CODENAME")

    def sources(self) -> set[tuple[str, str]]:
        """The archives that apt reads, and of each the suite."""
        said = self.say("apt-get indextargets --format '$(REPO_URI) $(RELEASE)'")
        return {(words[0], words[-1]) for line in said.splitlines() if (words := line.split())}

    def is_called(self, wanted: str, when: str) -> None:
        """Has /etc/os-release say `wanted`."""
        said = self.release()
        assert said == wanted, f"/etc/os-release says {said!r}, not {wanted!r}: {when} [R6]"

    # -- the registers ------------------------------------------------------------------------

    def ask(self, *lines: str, seconds: float = 30) -> list[str]:
        """The service's answers, from outside, tried anew while it starts."""
        deadline = self.machine.deadline(seconds)
        while True:
            with contextlib.suppress(OSError):
                answers = self._exchange(lines)
                if len(answers) == len(lines):
                    return answers
            if deadline.remaining() <= 0 or not self.machine.alive:
                raise GuestError(f"port {self.port}: no answers to {lines[:3]}")
            time.sleep(0.5)

    def _exchange(self, lines: tuple[str, ...]) -> list[str]:
        received = b""
        with socket.create_connection(self.machine.forward(self.port), timeout=15) as wire:
            wire.sendall("".join(f"{line}\n" for line in lines).encode())
            while received.count(b"\n") < len(lines) and len(received) < ANSWER_MAX:
                part = wire.recv(4096)
                if not part:
                    break
                received += part
        return received.decode("ascii", "replace").splitlines()

    def service(self) -> str:
        """The number of the process that listens on the service's port, whatever started it."""
        row = re.compile(rf"\s*\d+: [0-9A-F]+:{self.port:04X} [0-9A-F]+:0+ 0A (?:\S+ +){{3}}\s*"
                         r"\d+ +\d+ +(\d+) ")  # fmt: skip
        table = self.run("cat /proc/net/tcp /proc/net/tcp6").stdout
        inodes = [found[1] for line in table.splitlines() if (found := row.match(line))]
        for inode in inodes:
            look = f"find /proc/[0-9]*/fd -lname 'socket:\\[{inode}\\]' 2>/dev/null"
            if found := re.search(r"^/proc/(\d+)/fd/", self.run(look).stdout, re.MULTILINE):
                return found[1]
        raise GuestError(f"nobody listens on port {self.port}")

    def service_user(self) -> str:
        return self.say(f"stat -c %U /proc/{self.service()}")

    def end_service(self, signal: str) -> None:
        self.say(f"kill -{signal} {self.service()}")

    def who_can_write(self, user: str, *paths: str) -> str:
        """Each account but root and `user`, with the path that it can write."""
        ask = 'for p; do [ ! -w "$p" ] || echo "$0 $p"; done'
        return self.say(
            "echo stranger:x:54321:54321: | cat /etc/passwd - | while IFS=: read -r n x u g r; do "
            f'[ "$u" = 0 ] || [ "$n" = {user} ] || setpriv --reuid "$u" --regid "$g" '
            f"$([ $n = stranger ] && echo --clear-groups || echo --init-groups) "
            f'sh -c {quote(ask)} "$n" {" ".join(paths)} </dev/null; done',
            120,
        )

    # -- the release upgrade ------------------------------------------------------------------

    def upgrade(self, seconds: float = 400) -> int:
        """The status of holm-upgrade, without a terminal."""
        return self.run("holm-upgrade </dev/null >/run/upgrade.log 2>&1", seconds).status

    def upgrade_log(self) -> str:
        return self.run("tail -n 15 /run/upgrade.log").stdout[-1500:]

    def begin_upgrade(self) -> None:
        self.say(
            "(setsid holm-upgrade </dev/null >/run/upgrade.log 2>&1 &) </dev/null >/dev/null 2>&1"
        )
