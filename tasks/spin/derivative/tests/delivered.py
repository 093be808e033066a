"""The archive as it was delivered: signed indexes and packages, all of it hostile."""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

from debs import DEB_MAX, control_of, fields

from benchflow.boot.inspect import openpgp

SUITES = {"alke": "holm", "bris": "holm", "bookworm": "base"}
KEY_OF = {"alke": "alke", "bris": "bris", "bookworm": "base"}
INDEX = "main/binary-amd64/Packages"
INDEX_MAX = 4 << 20
RELEASE_MAX = 1 << 20
STANZAS_MAX = 500


@dataclass(frozen=True)
class Package:
    """A delivered package, as its index has it."""

    name: str
    version: str
    path: str
    paragraph: str
    data: bytes

    @property
    def control(self) -> dict[str, str]:
        return control_of(self.data)


@dataclass(frozen=True)
class Suite:
    """A delivered suite: its Release as signed, and its packages by name."""

    name: str
    release: dict[str, str]
    packages: dict[str, Package]
    #: What [R2] forbids and hinders nobody from making archives of it.
    problems: tuple[str, ...] = ()

    def version(self, name: str) -> str:
        assert name in self.packages, f"{self.name} has no package {name}"
        return self.packages[name].version


def read_bounded(path: Path, most: int) -> bytes:
    """A delivered file. AssertionError when it is not one, or too large."""
    assert path.is_file() and not path.is_symlink(), f"there is no file {path.name}"
    assert path.stat().st_size <= most, f"{path.name} is larger than {most} bytes"
    return path.read_bytes()


def never_ends(armour: str) -> bool:
    """Whether no signature on a delivered key says when it ends (RFC 4880, 5.2.3.6)."""
    for tag, body in openpgp.packets(openpgp.unarmoured(armour, "PGP PRIVATE KEY BLOCK")):
        if tag != 2 or body[:1] != b"\4":
            continue
        at, end = 6, 6 + int.from_bytes(body[4:6], "big")
        while at < end:
            size, used = body[at], 1
            if size >= 192:
                size, used = ((size - 192) << 8) + body[at + 1] + 192, 2
            if body[at + used] & 0x7F == 9 and any(body[at + used + 1 : at + used + size]):
                return False
            at += used + max(1, size)
    return True


def suite(archive: Path, name: str, key: openpgp.Key) -> Suite:
    """A suite as delivered. What is wrong with its signature, sums and names is told in `problems`,
    and such packages are left out; AssertionError where there is no index."""
    folder, problems = archive / SUITES[name], []
    release: dict[str, str] = {}
    index = read_bounded(folder / "dists" / name / INDEX, INDEX_MAX)
    try:
        signed = read_bounded(folder / "dists" / name / "InRelease", RELEASE_MAX)
        release = fields(openpgp.signed_text(signed, key))
    except AssertionError as error:
        problems.append(f"InRelease, signed by {KEY_OF[name]}.key alone: {error}")
    hashes = [line.split() for line in release.get("sha256", "").split("\n") if line.strip()]
    wanted = [hashlib.sha256(index).hexdigest(), str(len(index)), INDEX]
    if wanted not in hashes:
        problems.append(f"the Release's SHA256 is not that of {INDEX}")
    paragraphs = [
        text for text in re.split(r"\n\s*\n", index.decode("utf-8", "replace")) if text.strip()
    ]
    assert len(paragraphs) <= STANZAS_MAX, f"{name}: {len(paragraphs)} packages"
    packages: dict[str, Package] = {}
    for text in paragraphs:
        try:
            package = _package(folder, text)
            assert package.name not in packages, f"{package.name} stands there twice"
            packages[package.name] = package
        except AssertionError as error:
            problems.append(str(error))
    return Suite(name, release, packages, tuple(problems))


def _package(folder: Path, paragraph: str) -> Package:
    field = fields(paragraph)
    path = field.get("filename", "")
    assert re.fullmatch(r"(\./)?[A-Za-z0-9._+~%:=,-]+(/[A-Za-z0-9._+~%:=,-]+)*", path), (
        f"Filename: {path!r}"
    )
    assert ".." not in path.split("/"), f"Filename: {path!r}"
    path = posixpath.normpath(path)
    data = read_bounded(folder / path, DEB_MAX)
    assert hashlib.sha256(data).hexdigest() == field.get("sha256"), f"{path}: another SHA256"
    assert str(len(data)) == field.get("size"), f"{path}: another Size"
    return Package(field.get("package", ""), field.get("version", ""), path, paragraph, data)
