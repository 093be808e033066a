"""A machine on the bench: started, told where the repository is, asked, and made to compose."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from publisher import Publisher
from rpms import placed

from benchflow.bench.lanes import Aside
from benchflow.bench.wrong_passwords import let_in
from benchflow.boot import Disk, GuestError, Machine, Nic

PASSWORD = "Tern-Rope-58"
START_SECONDS = 150
COMPOSE_SECONDS = 600
PORT = 7070
ROOM_MB, IMAGE_MB = 4096, 1024
PLACE = "/srv/bench"
_OWN = ("/var/log/*", "/var/lib/rpm/*", "/var/lib/systemd/*", "/root/.*", "/run/*", "/proc/*",
        "/sys/*", "/dev/*", f"{PLACE}/*", "/tmp/systemd-*", "/var/tmp/systemd-*")  # fmt: skip
_FETCH = """import os, sys, urllib.request
url, top = sys.argv[1:]
for name in sys.stdin.read().split():
    os.makedirs(os.path.dirname(f"{top}/{name}"), exist_ok=True)
    urllib.request.urlretrieve(url + name, f"{top}/{name}")
"""
_ASKER = """import os, sys
user = int(sys.argv[1])
os.environ["HOME"] = sys.argv[2]
os.setgroups([])
os.setgid(user)
os.setuid(user)
os.execvp("rpm", ["rpm", "-qa", "--qf", "%{NAME}\\n"])
"""
_WRITERS = """import os, pwd, sys
known = [(one.pw_name, one.pw_uid, one.pw_gid) for one in pwd.getpwall()]
for name, user, group in [*known, ("stranger", 54321, 54321)]:
    if user and name != sys.argv[1] and not os.fork():
        os.setgroups(os.getgrouplist(name, group) if (name, user, group) in known else [])
        os.setgid(group)
        os.setuid(user)
        for path in sys.argv[2:]:
            if os.access(path, os.W_OK):
                print(f"{name}:{path}", flush=True)
        os._exit(0)
    elif user and name != sys.argv[1]:
        os.wait()
"""


class Bench:
    """`machine` with the words of the letter. `room` and `out` are blank disks for composing."""

    def __init__(self, machines, name: str, image: Path, work: Path, *, composes: bool) -> None:
        self._asked = threading.Lock()  # one shell, for questions of several threads
        disks = [Disk(image)]
        self.out: Disk | None = None
        if composes:
            self.out = Disk.empty(work / f"{name}.out", IMAGE_MB)
            disks += [Disk.empty(work / f"{name}.room", ROOM_MB), self.out]
        self.machine: Machine = machines.create(
            name, firmware="uefi", disks=disks,
            nics=[Nic(forwards=[PORT], restrict=False)],
        )  # fmt: skip

    def start(self, password: str = PASSWORD, wrong: Sequence[tuple[str, str]] = ()) -> Bench:
        """Switch it on. The login is made aside; the first question waits for it.

        Before, each of `wrong` (user, password) is tried; `let_in` has those that were let in.
        """
        self.machine.boot()
        self.let_in: list[tuple[str, str]] = []
        self._login = Aside(lambda: self._logged_in(password, wrong))
        return self

    def restart(self) -> None:
        """Start it once more, and log in again."""
        with self._asked:
            self.machine.reboot(timeout=120)
            self.machine.login("root", PASSWORD, timeout=START_SECONDS)

    @property
    def start_seconds(self) -> float:
        """Reference seconds from power-on to the login."""
        return self._login.result()

    def _logged_in(self, password: str, wrong: Sequence[tuple[str, str]]) -> float:
        for user, word in wrong:
            found = let_in(self.machine, user, [word], START_SECONDS)
            self.let_in += [(user, one) for one in found]
        self.machine.login("root", password, timeout=START_SECONDS)
        return self.machine.elapsed

    # -- questions ----------------------------------------------------------------------------

    def run(self, command: str, seconds: float = 90, *, check: bool = False):
        self._login.result()
        with self._asked:
            return self.machine.shell.run(command, timeout=seconds, check=check)

    def say(self, command: str, seconds: float = 90) -> str:
        """What a command that has to work prints."""
        return self.run(command, seconds, check=True).stdout.strip()

    def has(self, path: str) -> bool:
        return self.run(f"test -e {quote(path)} -o -L {quote(path)}").status == 0

    def write(self, path: str, text: str) -> None:
        self._login.result()
        with self._asked:
            self.machine.shell.write_file(path, text.encode())

    def look_to(self, publisher: Publisher) -> None:
        self.write("/etc/dnf/vars/source", publisher.url + "\n")

    def online(self, seconds: float = 60) -> None:
        """Wait until there is a way out; the shell waits, so nothing is asked over and over."""
        there = "awk '$2 == \"00000000\" { found = 1 } END { exit !found }' /proc/net/route"
        self.say(
            f"n=0; until {there} || [ $n -ge {seconds:.0f} ]; do sleep 1; n=$((n + 1)); done; "
            f"{there}",
            seconds + 60,
        )

    def dnf(self, words: str, seconds: float = 240) -> int:
        """The status of `dnf -y`; what it says goes to a file, for the console is slow."""
        return self.run(f"dnf -y {words} >/run/dnf.log 2>&1 </dev/null", seconds).status

    def log(self) -> str:
        return self.run("tail -n 8 /run/dnf.log").stdout[-1200:]

    def packages_for(self, home: str, user: int) -> int:
        """How many packages rpm knows when this user asks, with this home."""
        return int(self.say(f"python3 -c {quote(_ASKER)} {user} {home} | grep -vc gpg-pubkey"))

    def there(self, paths: list[str]) -> list[str]:
        """Those of the files that the machine has."""
        self.write("/run/asked", "\n".join([*paths, ""]))
        return self.say('while read -r p; do [ ! -f "$p" ] || echo "$p"; done </run/asked').split()

    def transaction(self) -> int:
        """The number of the last transaction in dnf's history."""
        said = self.say("dnf history list 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1; exit }'")
        assert said.isdigit(), f"dnf history list says {said[:100]!r}"
        return int(said)

    def version(self, name: str) -> str | None:
        """What rpm says is installed under this name."""
        done = self.run(f"rpm -q --qf '%{{VERSION}}\\n' {quote(name)}")
        return done.stdout.strip() if done.status == 0 else None

    def installed(self) -> list[str]:
        """The packages, without the key that dnf adds with the first one and no undoing removes."""
        names = self.say("rpm -qa").split()
        return sorted(name for name in names if not name.startswith("gpg-pubkey-"))

    def differences(self) -> list[str]:
        """The lines of `rpm -Va` that are not about configuration or claimed files."""
        said = self.run("rpm -Va 2>&1", 300).stdout
        return [
            line for line in said.splitlines()
            if line.strip() and line[11:13].strip() not in ("c", "g")
        ]  # fmt: skip

    def judged_when_changed(self, path: str) -> list[str]:
        """What rpm says of a file with one byte more, with another mode, of another user, gone,
        and of the same file as it was: the marks of each, "right" where there are none."""
        found = []
        # Put in its place and not written to: a program that runs takes no writing.
        for change in (f"cd /root && cp -p '{path}' kept && cp -p kept new && printf x >>new && "
                       f"mv -f new '{path}'",
                       f"cp -p /root/kept /root/new && mv -f /root/new '{path}' && "
                       f"chmod o+w '{path}'", f"chmod o-w '{path}' && chown 1 '{path}'",
                       f"rm '{path}'", f"mv -f /root/kept '{path}'"):  # fmt: skip
            self.say(change)
            lines = [line.split() for line in self.run(f"rpm -Vf '{path}'").stdout.splitlines()]
            marks = [words[0] for words in lines if words and placed(words[-1]) == path]
            found.append(marks[0] if marks else "right")
        return found

    def who_can_write(self, user: str, *paths: str) -> list[str]:
        """Each account but root and `user`, with the path that it can write."""
        return self.say(f"python3 -c {quote(_WRITERS)} {user} {' '.join(paths)}").split()

    def ask(self, *lines: str, seconds: float = 40) -> list[str]:
        """The beacon's answers, from outside, tried anew while it starts."""
        deadline = self.machine.deadline(seconds)
        while True:
            try:
                answers = self._exchange(lines)
                if len(answers) == len(lines):
                    return answers
            except OSError:
                pass
            if deadline.remaining() <= 0 or not self.machine.alive:
                raise GuestError(f"port {PORT}: no answers to {lines[:3]}")
            time.sleep(0.5)

    def _exchange(self, lines: tuple[str, ...]) -> list[str]:
        received = b""
        with socket.create_connection(self.machine.forward(PORT), timeout=15) as wire:
            for number, line in enumerate(lines, 1):
                wire.sendall(f"{line}\n".encode())
                while received.count(b"\n") < number and len(received) < 65536:
                    part = wire.recv(4096)
                    if not part:
                        return []
                    received += part
        return received.decode("ascii", "replace").splitlines()

    # -- composing ----------------------------------------------------------------------------

    def make_room(self) -> None:
        """A file system for kickstart files, images and what the tool keeps meanwhile."""
        # A timer of dnf's would write where a tool may not.
        self.run("systemctl stop dnf-makecache.timer dnf-makecache.service 2>/dev/null")
        self.say(
            f"mke2fs -q -F -t ext4 -E lazy_itable_init=1 /dev/vdb && mkdir -p {PLACE} && "
            f"mount /dev/vdb {PLACE} && rm -rf {PLACE}/lost+found && "
            f"mkdir {PLACE}/tmp {PLACE}/out {PLACE}/ks {PLACE}/ks/parts"
        )

    def compose(self, path: str, output: str, seconds: float = 60) -> tuple[int, str, float]:
        """(status, standard error, reference seconds) of the tool, called in the folder `ks`."""
        before = self.machine.elapsed
        done = self.run(
            f"cd {PLACE}/ks && TMPDIR={PLACE}/tmp almar-compose {quote(path)} {PLACE}/out/{output} "
            "</dev/null >/run/compose.out 2>/run/compose.err",
            seconds + 30,
        )
        spent = self.machine.elapsed - before
        said = self.run("head -c 3000 /run/compose.err").stdout
        return done.status, said, spent

    def mirror(self, publisher: Publisher, place: str) -> None:
        """Fetch all that is published into a folder of the machine's."""
        self.write("/run/published", "\n".join(publisher.places()))
        self.say(f"python3 -c {quote(_FETCH)} {publisher.url} {place} </run/published", 240)

    def traces(self) -> str:
        """What a tool at work changes outside its places: mounts, processes, accounts, units.

        Other processes may end while they are looked through; grep's word on that is no trace.
        """
        return self.say(
            "cut -d' ' -f2-4 /proc/mounts | grep -v '^/run/' | sort; "
            "cat /etc/passwd /etc/group /etc/shadow /etc/hostname /etc/machine-id | sha256sum; "
            "readlink /etc/localtime; rpm -qa | sort | sha256sum; "
            "find /etc/systemd/system /etc/yum.repos.d /etc/dnf /tmp /var/tmp /root /home -xdev | "
            "grep -v '^/[a-z/]*tmp/systemd-private' | sort; "
            f"ls -A {PLACE} {PLACE}/tmp; "
            "grep -l '[a]lmar-compose' /proc/[0-9]*/cmdline 2>/dev/null; true"
        )

    def nobodys(self) -> str:
        """What lies in /usr and /opt, if there is one, and is no package's."""
        look = "find /usr /opt -xdev \\( -type f -o -type l \\) 2>/dev/null | sort >/run/all; "
        # /bin and the like are links [R7], so what a package has there lies in /usr.
        lies = "sed -E 's#^/(bin|sbin|lib|lib64)/#/usr&#' | sort"
        return self.say(f"{look}rpm -qal | {lies} >/run/own; comm -23 /run/all /run/own", 120)

    def written(self) -> str:
        """What was written since `make_room` outside the places that a tool may use.

        What the system itself writes meanwhile (logs, its database of packages when it is asked,
        seeds and times) is no trace.
        """
        own = " -o ".join(f"-path '{path}'" for path in _OWN)
        return self.say(
            f"find / -xdev \\( {own} \\) -prune -o -newer {PLACE}/ks ! -type d -print | head -n 20",
            120,
        )

    def left(self) -> list[str]:
        """What lies in `out`."""
        return sorted(self.say(f"ls -A {PLACE}/out").split())

    def fetch(self, output: str, work: Path) -> Path:
        """An image that was made, by way of a disk, as a file that outlives the machine."""
        assert self.out is not None
        size = int(self.say(f"stat -c %s {PLACE}/out/{output}"))
        assert size <= IMAGE_MB << 20, f"the image has {size} bytes"
        self.say(f"dd if={PLACE}/out/{output} of=/dev/vdc bs=1M conv=sparse 2>&1 && sync", 300)
        path = self.machine.flatten(self.out).rename(work / output)
        with path.open("r+b") as file:
            file.truncate(size)
        return path
