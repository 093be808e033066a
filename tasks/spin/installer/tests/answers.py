"""What the office writes: answers drawn for this run, and the volumes that they lie on."""

from __future__ import annotations

import hashlib
import io
import secrets
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from sha512crypt import sha512_crypt

from benchflow.boot import Image, VerifierBroken

LABEL = "QUAY-ANSW"
ZONES = ("Asia/Kathmandu", "America/St_Johns", "Australia/Eucla", "Pacific/Chatham")


def run(*command: str) -> bytes:
    """A tool of ours on a file of ours; what fails is the verifier."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=300)
    if done.returncode:
        raise VerifierBroken(f"{command[0]} failed", evidence=done.stderr.decode()[-1000:])
    return done.stdout


def word(letters: int = 6) -> str:
    """A name that nobody can know."""
    return "q" + secrets.token_hex(letters)[: letters - 1]


@dataclass
class User:
    name: str
    role: str
    password: str = field(default_factory=lambda: secrets.token_hex(8))
    hash: str = ""
    key: Path | None = None

    def __post_init__(self) -> None:
        self.hash = self.hash or sha512_crypt(self.password, secrets.token_hex(6))

    def with_key(self, folder: Path) -> User:
        """Give them a key of their own, kept in `folder`."""
        self.key = folder / f"{self.name}.key"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "the office", "-f", str(self.key))
        return self


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
            if user.key is not None:
                text = user.key.with_suffix(".key.pub").read_text().strip()
                found.append(f"key = {user.name} {text}")
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
    tree = path.with_suffix(".tree")
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    for name, data in files.items():
        (tree / name).write_bytes(data)
    path.unlink(missing_ok=True)
    run(
        "mke2fs",
        "-q",
        "-t",
        "ext2",
        "-L",
        LABEL,
        "-E",
        "root_owner=0:0",
        "-d",
        str(tree),
        str(path),
        "8M",
    )
    shutil.rmtree(tree)
    return path


def fat(path: Path, files: dict[str, bytes]) -> Path:
    """A disk with one partition, FAT."""
    start = 1 << 20
    with path.open("wb") as file:
        file.truncate(17 << 20)
        file.seek(446)  # one entry of an MBR: type 0e, from sector 2048 on
        file.write(bytes.fromhex("00000000 0e000000 00080000 00800000"))
        file.seek(510)
        file.write(b"\x55\xaa")
    place = f"{path}@@{start}"
    run("mformat", "-i", place, "-v", LABEL, "-T", str(0x8000), "-h", "16", "-s", "32", "::")
    for name, data in files.items():
        source = path.with_suffix(".file")
        source.write_bytes(data)
        run("mcopy", "-i", place, str(source), f"::{name}")
        source.unlink()
    return path


def tree_of(path: Path) -> dict[str, bytes]:
    """What lies on a volume of answers now."""
    disk = Image(path)
    is_fat = disk.bytes_at(1080, 2) != b"\x53\xef"
    files = disk.fat(disk.partition(1)) if is_fat else disk.ext4()
    return {
        # FAT knows no capitals: who writes REPORT.TXT there has written report.txt.
        entry.path.lstrip("/").lower() if is_fat else entry.path.lstrip("/"): data
        for entry, data in files.contents("/", limit=1 << 20)
        if not entry.path.startswith("/lost+found")
    }


def report_of(path: Path) -> dict[str, str]:
    """The report on a volume of answers: {} when there is none."""
    text = tree_of(path).get("report.txt", b"")[:4096].decode("ascii", "replace")
    rows = [line.split(" = ", 1) for line in text.splitlines() if line]
    assert all(len(row) == 2 for row in rows), (
        f"the report is no list of key = value: {text[:200]!r}"
    )
    return dict(rows)


def deb(name: str, files: dict[str, bytes], postinst: str = "") -> bytes:
    """A Debian package of ours."""

    def packed(members: dict[str, tuple[bytes, int]]) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            folders = {str(up) for path in members for up in Path(path).parents if up.name}
            for folder in sorted(folders):  # dpkg makes none that the package does not name
                info = tarfile.TarInfo(f"./{folder}")
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(info)
            for path, (data, mode) in members.items():
                info = tarfile.TarInfo(f"./{path}")
                info.size, info.mode = len(data), mode
                tar.addfile(info, io.BytesIO(data))
        return buffer.getvalue()

    control = (
        f"Package: {name}\nVersion: 1.0\nArchitecture: all\n"
        f"Maintainer: The office <office@quay.example>\n"
        f"Description: settings of a quay\n"
    )
    scripts = {"control": (control.encode(), 0o644)}
    if postinst:
        scripts["postinst"] = (f"#!/bin/sh\nset -e\n{postinst}\n".encode(), 0o755)
    parts = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": packed(scripts),
        "data.tar.gz": packed({path: (data, 0o644) for path, data in files.items()}),
    }
    archive = b"!<arch>\n"
    for part, data in parts.items():
        archive += f"{part:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        archive += data + b"\n" * (len(data) % 2)
    return archive
