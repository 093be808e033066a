"""A station on the bench: started, asked, and compared with what packages say."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from shlex import quote

from form import Entry, Package
from line import Line
from repository import Repository

from benchflow.bench.ext4_edit import Superblock
from benchflow.bench.guest import Guest
from benchflow.boot import Disk, Machine
from benchflow.boot.errors import GuestTimeout

PASSWORD = "Cold-Lake-51"
APPEND = "console=ttyS0,115200 quiet panic=-1"
STATE = "var/lib/lade"
LONG = 240  # for what the order gives no time
# What is no package's business, and what a station that runs may write [R7].
ASIDE = ("dev", "proc", "sys", "run", "tmp", "root", "lost+found", "var")
REASON = "a line on standard error that says why"
_PRUNE = " -o ".join(f"-path ./{path}" for path in ASIDE)
# Below /var a station may write by itself, but for what packages of ours have there.
LOOK = f"""cd / || exit 1
all() {{
find . -xdev \\( {_PRUNE} \\) -prune -o "$@"
test ! -d var/bench || find ./var/bench -xdev "$@"
}}
{{
all \\( -type f -o -type d \\) -exec stat -c '%f|%u|%g|%n' {{}} +
all -type l -exec stat -c '%f|%u|%g|%N' {{}} +
all -type f -exec sha256sum {{}} +
}} | tr -d "'" | sort
"""
_TYPE = {"file": 0o100000, "directory": 0o040000, "symlink": 0o120000}


def lines(entries: Mapping[str, Entry]) -> set[str]:
    """What LOOK prints of these entries."""
    found = set()
    for path, entry in entries.items():
        shown = f"./{path} -> {entry.link}" if entry.kind == "symlink" else f"./{path}"
        found.add(f"{_TYPE[entry.kind] | entry.mode:x}|{entry.uid}|{entry.gid}|{shown}")
        if entry.kind == "file":
            found.add(f"{hashlib.sha256(entry.data).hexdigest()}  ./{path}")
    return {line.replace("'", "") for line in found}


class Station(Guest):
    """`machine` with the words of the letter."""

    def __init__(self, machine: Machine, repository: Repository, line: Line) -> None:
        super().__init__(machine, PASSWORD)
        self.repository = repository
        self.line = line
        self.follows = False
        self.since_login = 0.0  # `machine.elapsed` when the first login was there
        self.spoken: dict[int, str] = {}  # status -> what was called when it was said with a reason
        self.silent: dict[int, str] = {}  # the same, of what was said without one

    @classmethod
    def create(
        cls, machines, name: str, deliverable, disk: Path, repository: Repository, line: Line,
        nics=(),
    ):  # fmt: skip
        machine = machines.create(
            name, firmware="direct", kernel=deliverable("/app/out/vmlinuz"),
            initrd=deliverable("/app/out/initrd"), append=APPEND, rng=False,
            disks=[Disk(disk)], nics=nics, extra_args=() if nics else line.card,
        )  # fmt: skip
        return cls(machine, repository, line)

    # -- life ---------------------------------------------------------------------------------

    def entered(self) -> None:
        """Bring what we look with."""
        # A place of ours in memory, so that we can look when the disk is full.
        self.say("mkdir -p /run/bench && { mount -t tmpfs bench /run/bench || :; } 2>/dev/null")
        self.write("/run/bench/look", LOOK)

    def restart(self) -> None:
        try:
            self.machine.reboot(timeout=30)
        except GuestTimeout as error:
            raise AssertionError(f"reboot: not down after 30 seconds [R2]: {error}") from error
        self.enter()
        found = re.findall(r"EXT4-fs.*(?:recovery|orphan).*", self.run("dmesg").stdout)
        assert not found, (
            f"reboot left the disk so that the kernel had to repair it [R2]: {found[:3]}"
        )

    def power_off(self) -> None:
        """In order, so that the disk can be read afterwards."""
        super().power_off(30, why="[R2]")

    def cut(self) -> None:
        self.machine.power_cut()

    def online(self, seconds: float = 15) -> None:
        """Wait for the network."""
        deadline = self.machine.deadline(seconds)
        word = f"online{time.monotonic_ns()}"
        while not self.repository.marked(word):
            assert deadline.remaining() > 0, (
                f"our web server, at an address of the network that DHCP gives, was not reached "
                f"{seconds:g} seconds after the login [R3]"
            )
            self.run(f"wget -q -T 3 -O /dev/null {self.repository.mark(word)}", 60)
            time.sleep(0.3)
        said = self.run("ip -4 addr").stdout
        assert self.line.gave(said), (
            f"its network {self.line.net} gives addresses from {self.line.first} on by DHCP, and "
            f"it has none of them in that width [R3]; ip addr says {said[-300:]!r}"
        )
        said = self.run("ip route").stdout
        assert re.search(rf"^default via {re.escape(self.line.host)}\b", said, re.MULTILINE), (
            f"the route that DHCP gives leads over {self.line.host} [R3]; ip route says {said!r}"
        )

    # -- questions ----------------------------------------------------------------------------

    def has(self, path: str) -> bool:
        return self.run(f"test -e '/{path}'").status == 0

    def call(self, words: str, seconds: float = LONG):
        """What `lade …` writes to either stream, and its status."""
        said = self.machine.shell.run_apart(f"lade {words}", timeout=seconds)
        if said.status:
            where = self.spoken if said.stderr.strip() else self.silent
            where.setdefault(said.status, f"lade {words}")
        return said

    def lade(self, words: str, seconds: float = LONG) -> int:
        """The status of `lade …`."""
        return self.call(words, seconds).status

    def ends(self, words: str, status: int, why: str, seconds: float = LONG) -> None:
        """`lade …` ends with this status; `why` says which words want it."""
        said = self.call(words, seconds)
        shown = (said.stderr or said.stdout).strip()[-300:]
        assert said.status == status, (
            f"lade {words} ended with {said.status}, {status} was wanted: {why}; it said {shown!r}"
        )

    def done(self, words: str, seconds: float = LONG) -> None:
        """`lade …` ends with 0."""
        self.ends(words, 0, "it had what it needs", seconds)

    def asks(self, words: str, status: int = 0) -> list[str]:
        """The lines that a question prints to standard output, and nothing else."""
        said = self.call(words)
        assert said.status == status, (
            f"lade {words} ended with {said.status}, {status} was wanted; it said "
            f"{(said.stderr or said.stdout).strip()[-300:]!r}"
        )
        return said.stdout.splitlines()

    def gave_reasons(self, *statuses: int) -> None:
        """Each of these statuses was seen, and always with a reason."""
        silent = {status: self.silent[status] for status in statuses if status in self.silent}
        assert not silent, f"nothing on standard error, and {REASON!r} was wanted: {silent}"
        unseen = [status for status in statuses if status not in self.spoken]
        assert not unseen, f"never ended with {unseen}, of which each was called for"

    def versions(self) -> dict[str, str]:
        rows = [line.split(" ") for line in self.asks("list")]
        assert all(len(row) == 2 for row in rows), f"lade list has other lines [R25]: {rows}"
        assert rows == sorted(rows), f"lade list is not sorted by name [R25]: {rows}"
        return {row[0]: row[1] for row in rows}

    def sound(self) -> None:
        """`lade verify` finds nothing."""
        said = self.call("verify")
        assert not said.status and not said.stdout.strip(), (
            f"lade verify ended with {said.status} and found {said.stdout[-600:]!r}, and nothing "
            "was to be found [R26, R33]"
        )

    def follow(self, repository: Repository, *more: str) -> None:
        """Point the station at a repository and its key."""
        text = [f"repository={repository.url}", f"key={repository.key}", *more]
        shown = " ".join(quote(line) for line in text)
        self.say(f"printf '%s\\n' {shown} >/etc/lade.conf")
        self.follows = True

    def background(self, words: str) -> str:
        """Start `lade …`; its status will be in /run/bench/status. The mark of its end."""
        done = f"done{time.monotonic_ns()}"
        self.say(
            "rm -f /run/bench/status; "
            f"(setsid sh -c 'echo $$ >/run/bench/pid; exec lade {words}' >/dev/null 2>&1; "
            "echo $? >/run/bench/status.new; mv /run/bench/status.new /run/bench/status; "
            f"wget -q -T 20 -O /dev/null {self.repository.mark(done)}"
            ") </dev/null >/dev/null 2>&1 &"
        )
        return done

    def awaits(self, question, seconds: float, what: str) -> None:
        deadline = self.machine.deadline(seconds)
        while not question():
            assert deadline.remaining() > 0, f"{what}: not within {seconds:g} seconds"
            time.sleep(0.1)

    def ended(self, seconds: float = LONG) -> int:
        """The status of what was started in the background."""
        deadline = self.machine.deadline(seconds)
        while deadline.remaining() > 0:
            result = self.run("cat /run/bench/status 2>/dev/null")
            if result.status == 0 and result.stdout.strip():
                return int(result.stdout)
            time.sleep(0.3)
        raise AssertionError(f"lade, called in the background, had not ended {seconds:g} s later")

    # -- what is on the disk ------------------------------------------------------------------

    def note(self) -> None:
        """Remember what there is."""
        self.say("sh /run/bench/look >/run/bench/before", 120)

    def changes(self) -> tuple[set[str], set[str]]:
        """What went and what came since `note`, as `lines` writes it."""
        text = self.run(
            "sh /run/bench/look >/run/bench/now; cd /run/bench; "
            "diff before now | grep '^[-+<>]' | grep -v '^---\\|^+++'", 120,
        ).stdout  # fmt: skip
        gone = {row[1:].lstrip() for row in text.splitlines() if row[:1] in "-<" and row}
        come = {row[1:].lstrip() for row in text.splitlines() if row[:1] in "+>" and row}
        return gone, come

    def digest(self) -> str:
        """Of all that is on the disk, and of what `lade list` says."""
        look = self.say("sh /run/bench/look | sha256sum", 120)
        return f"{look} {self.versions()}"

    def changed(self, gone: Iterable[str] = (), come: Iterable[str] = ()) -> None:
        """Exactly this went and came since `note`."""
        went, came = self.changes()
        gone, come = set(gone), set(come)
        both = gone & come
        gone, come = gone - both, come - both
        report = {
            "should have gone": gone - went, "should not have gone": went - gone,
            "should have come": come - came, "should not have come": came - come,
        }  # fmt: skip
        wrong = {what: sorted(found)[:4] for what, found in report.items() if found}
        assert not wrong, f"files (type and mode, owner, group, path; or sum, path): {wrong}"

    def refuses(self, words: str, status: int, why: str, seconds: float = LONG) -> None:
        """`lade …` ends with this status, and nothing has changed since `note`."""
        self.ends(words, status, why, seconds)
        self.changed()

    def seen(self) -> set[str]:
        """All that is there, as `lines` writes it."""
        return set(self.say("sh /run/bench/look", 120).splitlines())

    def in_order(self) -> None:
        """The disk of a station that is off was left as `umount` leaves it."""
        found = Superblock.of(self.machine.flatten())
        assert found.clean and not found.to_replay, (
            f"the file system was not left in order [R2]: {'' if found.clean else 'not '}clean, "
            f"journal {'to be replayed' if found.to_replay else 'clean'}; both were wanted clean"
        )

    def has_all(self, *packages: Package) -> None:
        """Every file and link of the packages is there as they say."""
        assert self.holds(*packages), (
            f"not all files and links of {[p.file_name for p in packages]} are there as they say "
            "(content, mode, owner, target) [R12]"
        )

    def holds(self, *packages: Package, without: Iterable[str] = ()) -> bool:
        """Whether every file and link of the packages is there as they say."""
        wanted = set()
        for package in packages:
            entries = {p: e for p, e in package.plain.items() if p not in set(without)}
            wanted |= lines(entries)
        self.say("sh /run/bench/look >/run/bench/held", 120)
        text = "\n".join(sorted(wanted)) + "\n"
        self.machine.shell.write_file("/run/bench/wanted", text.encode())
        missing = self.run(
            "sort /run/bench/held /run/bench/wanted | uniq -d | wc -l", 60
        ).stdout.strip()
        return int(missing) == len(wanted)
