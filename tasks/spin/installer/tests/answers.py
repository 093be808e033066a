"""What the office writes: answers drawn for this run, and the volumes that they lie on."""

from __future__ import annotations

import hashlib
import secrets
import string
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

from benchflow.bench.deb_package import Deb
from benchflow.bench.media_disks import ext_disk, fat_disk, files_on, our_tool
from benchflow.bench.other_draws import never_twice
from benchflow.bench.password_hash import sha512_crypt
from benchflow.boot import Image

LABEL = "QUAY-ANSW"
ZONES = ("Asia/Kathmandu", "America/St_Johns", "Australia/Eucla", "Pacific/Chatham")


@never_twice
def word(letters: int = 6) -> str:
    """A name that nobody can know: two volumes or users of one name are a fault in the answers."""
    return "q" + secrets.token_hex(letters)[: letters - 1]


def odd_banner() -> str:
    """60 characters at most, all punctuation of ASCII among them."""
    signs = list(string.punctuation)
    secrets.SystemRandom().shuffle(signs)
    return f"$(halt) \\n %s {''.join(signs)} {secrets.token_hex(3)}"


def steps(size: int, spread: int) -> int:
    """A size that nobody can know: multiples of 4."""
    return size + 4 * secrets.randbelow(spread // 4)


def network() -> tuple[str, str, str]:
    """(network, address, gateway) of this run."""
    head = f"10.{secrets.randbelow(200) + 20}.{2 * secrets.randbelow(125)}.0/23"
    line = secrets.choice([*IPv4Network(head).subnets(new_prefix=25 + secrets.randbelow(3))])
    return str(line), str(line[4 + secrets.randbelow(10)]), str(line[2])


@dataclass
class User:
    """`key` is a key's path; `more` are others of theirs."""

    name: str
    role: str
    password: str = field(default_factory=lambda: secrets.token_hex(8))
    hash: str = ""
    key: Path | None = None
    more: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hash = self.hash or sha512_crypt(self.password, secrets.token_hex(6))

    def with_key(self, folder: Path) -> User:
        """Give them a key of their own, kept in `folder`; the last one is the one they use."""
        if self.key is not None:
            self.more.append(self.key)
        self.key = folder / f"{self.name}.{len(self.more)}.key"
        our_tool(
            "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "the office", "-f", str(self.key)
        )
        return self

    def public(self) -> list[str]:
        """Their keys, as each stands in its `.pub` file."""
        keys = [*self.more, *([self.key] if self.key else [])]
        return [key.with_suffix(".key.pub").read_text().strip() for key in keys]


@dataclass
class Volume:
    name: str
    size: int | str
    fs: str
    mount: str


@dataclass
class Answers:
    """One `quay.conf`; `lines()` is what stands there."""

    disk: str
    volumes: list[Volume]
    users: list[User]
    group: str = field(default_factory=word)
    address: str = "dhcp"
    gateway: str = ""
    swap: int = 64
    free: int = 64
    consent: str = ""
    keep: str = ""
    root: User | None = None
    order: str = field(default_factory=lambda: f"QS-{secrets.token_hex(6)}")
    hostname: str = field(default_factory=lambda: f"quay-{secrets.token_hex(4)}")
    timezone: str = field(default_factory=lambda: secrets.choice(ZONES))
    banner: str = field(default_factory=lambda: f"Quay {secrets.token_hex(4)}")
    comment: str = field(default_factory=lambda: secrets.token_hex(16))
    packages: dict[str, bytes] = field(default_factory=dict)

    def lines(self) -> list[str]:
        found = [f"# {self.comment}", ""]
        for key in ("order", "disk", "consent", "hostname", "timezone", "address", "gateway",
                    "group", "swap", "free", "keep", "banner"):  # fmt: skip
            value = str(getattr(self, key))
            found += [f"{key} = {value}"] if value else []
        found += [f"root = {self.root.hash}"] if self.root else []
        found += [f"volume = {v.name} {v.size} {v.fs} {v.mount}" for v in self.volumes]
        for user in self.users:
            found.append(f"user = {user.name} {user.role} {user.hash}")
            found += [f"key = {user.name} {text}" for text in user.public()]
        for name, data in self.packages.items():
            found.append(f"package = {name} {hashlib.sha256(data).hexdigest()}")
        return found

    def text(self) -> bytes:
        return ("\n".join(self.lines()) + "\n").encode()

    def files(self) -> dict[str, bytes]:
        """What lies on the volume."""
        return {"quay.conf": self.text(), "note.txt": self.comment.encode(), **self.packages}


def ext2(path: Path, files: dict[str, bytes]) -> Path:
    """A whole disk with ext2, as the office makes them."""
    return ext_disk(path, files, label=LABEL, kind="ext2", megabytes=8)


def fat(path: Path, files: dict[str, bytes]) -> Path:
    """A disk with one partition, FAT."""
    return fat_disk(path, files, label=LABEL)


def strangers_on(path: Path) -> list[str]:
    """What on a volume of answers is no file, by path: the office makes no folders there."""
    disk = Image(path)
    files = disk.ext4() if disk.bytes_at(1080, 2) == b"\x53\xef" else disk.fat(disk.partition(1))
    return [
        entry.path
        for entry in files.walk("/")
        if entry.kind != "file" and entry.path.strip("/") not in ("", "lost+found")
    ]


def report_of(path: Path) -> dict[str, str]:
    """The report on a volume of answers: {} when there is none."""
    text = files_on(path).get("report.txt", b"")[:4096].decode("ascii", "replace")
    rows = [line.split(" = ", 1) for line in text.splitlines() if line]
    assert all(len(row) == 2 for row in rows), (
        f"the report is no list of key = value: {text[:200]!r}"
    )
    return dict(rows)


def deb(name: str, files: dict[str, bytes], postinst: str = "", depends: str = "") -> bytes:
    """A Debian package of ours, which wants another one of ours."""
    scripts = {"postinst": f"#!/bin/sh\nset -e\n{postinst}\n"} if postinst else {}
    fields = {"Maintainer": "The office <office@quay.example>"}
    fields |= {"Depends": depends} if depends else {}
    return Deb(name, "1.0", files, scripts=scripts, fields=fields).pack()
