"""The root file systems that the delivered kernel is given: drawn, and made without a mount."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from builder import BENCH

from benchflow.boot.machine.disks import run_tool

FOLDERS = ("bin", "dev", "etc", "proc", "root", "sys", "tmp", "var")
MARK = b"<the salt of this verification!>"
PLAIN = "none,filetype,sparse_super,large_file"
SYLLABLES = [
    "ba",
    "be",
    "bi",
    "bo",
    "da",
    "de",
    "di",
    "do",
    "fa",
    "fe",
    "ga",
    "gi",
    "go",
    "ka",
    "ke",
    "ki",
    "ko",
    "la",
    "le",
    "li",
    "lo",
    "ma",
    "me",
    "mi",
    "mo",
    "na",
    "ne",
    "no",
    "pa",
    "pe",
    "po",
    "ra",
    "re",
    "ri",
    "sa",
    "se",
    "si",
    "so",
    "ta",
    "te",
    "ti",
    "to",
    "va",
    "ve",
    "vi",
]


def word(rng: random.Random, syllables: int = 3) -> str:
    """A word that means nothing, another each time."""
    return "".join(rng.choices(SYLLABLES, k=syllables)) + str(rng.randrange(10, 100))


@dataclass
class Entry:
    """A file, folder (`data` is None) or link of the tree."""

    data: bytes | None
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    mtime: int = 1_600_000_000
    link: str | None = None


@dataclass
class Root:
    """A tree of files that becomes an ext2 image. `holes`: files of that size with pieces."""

    rng: random.Random
    entries: dict[str, Entry] = field(default_factory=dict)
    holes: dict[str, tuple[int, dict[int, bytes]]] = field(default_factory=dict)
    salts: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in FOLDERS:
            self.entries[f"/{name}"] = Entry(None, 0o1777 if name == "tmp" else 0o755)

    def put(self, path: str, data: bytes, mode: int = 0o644, **more) -> str:
        """A file; the folders above it come by themselves."""
        self.folder(path.rpartition("/")[0])
        self.entries[path] = Entry(data, mode, **more)
        return path

    def folder(self, path: str, mode: int = 0o755, **more) -> str:
        """A folder, with those above it."""
        if path and path not in self.entries:
            self.folder(path.rpartition("/")[0])
            self.entries[path] = Entry(None, mode, **more)
        return path

    def link(self, path: str, target: str) -> str:
        """A symbolic link."""
        self.folder(path.rpartition("/")[0])
        self.entries[path] = Entry(b"", link=target)
        return path

    def program(self, name: str, path: str | None = None) -> str:
        """A hidden program with a salt of its own, at a drawn path, of a drawn C library."""
        binary = BENCH / "programs" / name
        if not binary.exists():
            binary = BENCH / "programs" / f"{name}.{self.rng.choice(('glibc', 'musl'))}"
        data = binary.read_bytes()
        assert data.count(MARK) == 1, f"{binary} has no salt"
        path = (
            path or f"/{self.rng.choice(('bin', 'opt', 'usr/local/bin', 'root'))}/{word(self.rng)}"
        )
        self.salts[path] = self.rng.randbytes(32)
        return self.put(path, data.replace(MARK, self.salts[path]), 0o755)

    def busybox(self) -> None:
        """BusyBox with its names."""
        self.put("/bin/busybox", (BENCH / "busybox").read_bytes(), 0o755)
        for name in APPLETS:
            self.link(f"/bin/{name}", "busybox")

    def image(self, path: Path, block: int | None = None, megabytes: int | None = None) -> Path:
        """The image at `path`."""
        tree = path.with_suffix(".tree")
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir()
        tree.chmod(0o755)
        for name, entry in self.entries.items():
            place = tree / name[1:]
            if entry.link is not None:
                place.symlink_to(entry.link)
            elif entry.data is None:
                place.mkdir(exist_ok=True)
            else:
                place.write_bytes(entry.data)
        for name, (size, pieces) in self.holes.items():
            with (tree / name[1:]).open("wb") as file:
                file.truncate(size)
                for at, piece in pieces.items():
                    file.seek(at)
                    file.write(piece)
        for name, entry in reversed(self.entries.items()):
            place = tree / name[1:]
            os.chown(place, entry.uid, entry.gid, follow_symlinks=False)
            if entry.link is None:
                place.chmod(entry.mode)
                os.utime(place, (entry.mtime, entry.mtime))
        block = block or self.rng.choice((1024, 4096))
        used = sum(4096 + len(entry.data or b"") * 1.02 for entry in self.entries.values()) / (
            1 << 20
        )
        used += sum(len(pieces) * 0.07 + 2 for _, pieces in self.holes.values())
        megabytes = megabytes or int(used * 1.3) + self.rng.randint(12, 28)
        path.unlink(missing_ok=True)
        run_tool(
            [
                "mke2fs",
                "-q",
                "-F",
                "-t",
                "ext2",
                "-O",
                PLAIN,
                "-b",
                str(block),
                "-I",
                self.rng.choice(("128", "256")),
                "-N",
                str(len(self.entries) * 2 + 1024),
                "-E",
                "root_owner=0:0",
                "-d",
                str(tree),
                str(path),
                f"{megabytes}M",
            ]
        )
        shutil.rmtree(tree)
        return path


APPLETS = [
    "[",
    "arp",
    "ash",
    "awk",
    "basename",
    "cat",
    "chmod",
    "chown",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "dd",
    "df",
    "dirname",
    "du",
    "echo",
    "env",
    "expr",
    "false",
    "find",
    "free",
    "getopt",
    "grep",
    "gunzip",
    "gzip",
    "head",
    "hexdump",
    "hostname",
    "httpd",
    "id",
    "ifconfig",
    "install",
    "kill",
    "killall",
    "less",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mount",
    "mv",
    "nc",
    "nice",
    "nohup",
    "od",
    "paste",
    "pgrep",
    "pidof",
    "ping",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "reset",
    "rev",
    "rm",
    "rmdir",
    "route",
    "sed",
    "seq",
    "setsid",
    "sh",
    "sha256sum",
    "sleep",
    "sort",
    "split",
    "stat",
    "stty",
    "sync",
    "tac",
    "tail",
    "tar",
    "tee",
    "telnet",
    "test",
    "time",
    "timeout",
    "top",
    "touch",
    "tr",
    "true",
    "truncate",
    "tty",
    "udhcpc",
    "umount",
    "uname",
    "uniq",
    "uptime",
    "usleep",
    "vi",
    "wc",
    "wget",
    "which",
    "whoami",
    "xargs",
    "yes",
    "poweroff",
    "reboot",
]
