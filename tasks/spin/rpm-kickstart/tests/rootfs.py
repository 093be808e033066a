"""An image as it lies on the disk: its partitions, its package database, whose its files are."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from pathlib import Path

import rpms

from benchflow.bench.lanes import Aside
from benchflow.boot import Image

DATABASE = "/var/lib/rpm/rpmdb.sqlite"
DATABASE_MAX = 64 << 20
PACKAGES_MAX = 1000
_STEPS_MAX = 2_000_000
# What is a program wherever it lies, and so no configuration.
_PROGRAM = re.compile(r".*\.(so|so\.[0-9.]+|py|ko)")
# What the letter lets be nobody's: places of users and of what comes and goes, and single files.
FREE = ("/boot/efi", "/dev", "/home", "/lost+found", "/proc", "/root", "/run", "/srv", "/sys",
        "/tmp", "/var")  # fmt: skip
FREE_FILES = re.compile(
    r"/etc/(hostname|machine-id|fstab|locale\.conf|localtime|ld\.so\.cache|\.pwd\.lock|\.updated"
    r"|(passwd|group|shadow|gshadow|subuid|subgid)-?|systemd/system/.*)"
)


def judged(
    path: Path, work: Path, repository: dict[str, rpms.Package], made: set[str]
) -> Aside[list[str]]:
    """`strange` of an image, by a reader of its own: one is not for two threads."""
    folder = work / f"judged-{path.name}"
    folder.mkdir()
    return Aside(lambda: RootFs(path, folder).strange(repository, made))


class RootFs:
    """The root file system of a disk that was shut down."""

    def __init__(self, path: Path, work: Path) -> None:
        self.image = Image(path, scratch=work)
        self.partitions = self.image.partitions()
        self._work = work
        roots = [p for p in self.partitions if self.image.filesystem(p) == "ext4"]
        systems = [self.image.ext4(p) for p in roots[:8]]
        found = [files for files in systems if files.exists("/etc/os-release")]
        assert len(found) == 1, f"{len(found)} partitions look like a root file system"
        self.files = found[0]

    def packages(self) -> list[rpms.Package]:
        """What the package database has."""
        folder = self._work / f"db-{self.image.path.name}"
        folder.mkdir(exist_ok=True)
        for suffix in ("", "-wal"):
            if self.files.exists(DATABASE + suffix):
                data = self.files.read(DATABASE + suffix, DATABASE_MAX)
                (folder / f"rpmdb.sqlite{suffix}").write_bytes(data)
        assert (folder / "rpmdb.sqlite").exists(), f"there is no {DATABASE}"
        steps = 0

        def endless() -> int:
            nonlocal steps
            steps += 1
            return int(steps > _STEPS_MAX // 1000)

        base = sqlite3.connect(folder / "rpmdb.sqlite")
        try:
            base.execute("PRAGMA trusted_schema=OFF")
            base.set_progress_handler(endless, 1000)
            rows = base.execute("SELECT blob FROM Packages").fetchmany(PACKAGES_MAX)
        except sqlite3.Error as error:
            raise AssertionError(f"{DATABASE} cannot be read: {error}") from None
        finally:
            base.close()
        found = []
        for (blob,) in rows:
            assert isinstance(blob, bytes), "no header of a package"
            found.append(rpms.Package(rpms.header(blob, magic=False)[0]))
        return found

    def installed(self) -> set[str]:
        """What is installed, the keys that are trusted aside."""
        return {one.nevra for one in self.packages() if one.name != "gpg-pubkey"}

    def strange(self, repository: dict[str, rpms.Package], made: set[str]) -> list[str]:
        """What is not as the packages of the database, which are the repository's, say; scripts
        have `made` some files."""
        found: list[str] = []
        owned: dict[str, list[rpms.File]] = {}
        for nevra in sorted(self.installed()):
            if nevra not in repository:
                found.append(f"{nevra} is not the repository's")
                continue
            for file in repository[nevra].files():
                owned.setdefault(file.path, []).append(file)
                if _hidden_program(file):
                    found.append(f"{file.path} is a program, and is said to be configuration")
        wanted: dict[str, rpms.File] = {}
        for entry in self.files.walk("/"):
            if len(found) > 50:
                return found
            if _free(entry.path) or entry.kind == "directory":
                continue
            if entry.path not in owned:
                if not FREE_FILES.fullmatch(entry.path) and entry.path not in made:
                    found.append(f"{entry.path} is no package's")
                continue
            file = owned[entry.path][0]
            if entry.kind == "symlink":
                fixed = not file.flags & rpms.GHOST and (
                    file.target or not file.flags & rpms.CONFIG
                )
                if fixed and self.files.readlink(entry.path) != file.target:
                    found.append(f"{entry.path} leads elsewhere")
            elif not file.flags & (rpms.CONFIG | rpms.GHOST):
                wanted[entry.path] = file
                if entry.kind != "file" or entry.mode != file.mode & 0o7777:
                    found.append(f"{entry.path}: {entry.kind}, mode {entry.mode:o}")
        missing = [
            path
            for path, files in owned.items()
            if not _free(path)
            and not any(file.flags & rpms.GHOST for file in files)
            and not self.files.exists(path, follow=False)
        ]
        found += [f"{path} is missing" for path in missing[:10]]
        for top in sorted({path.split("/")[1] for path in wanted}):
            if self.files.stat(f"/{top}", follow=False).kind == "directory":
                for entry, data in self.files.contents(f"/{top}"):
                    file = wanted.get(entry.path)
                    if file and hashlib.sha256(data).hexdigest() != file.digest:
                        found.append(f"{entry.path} is not its package's")
        return found

    def machine_id(self) -> str:
        """The machine-id that is in the image, "" where there is none."""
        if not self.files.exists("/etc/machine-id"):
            return ""
        said = self.text("/etc/machine-id").strip()
        return "" if said == "uninitialized" else said

    def text(self, path: str) -> str:
        return self.files.read_text(path)


def _hidden_program(file: rpms.File) -> bool:
    """Whether a program outside /etc would go unlooked at, being configuration."""
    if not file.flags & rpms.CONFIG or file.path.startswith("/etc/") or not file.digest:
        return False
    return bool(file.mode & 0o111 or _PROGRAM.fullmatch(file.path))


def _free(path: str) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in FREE)
