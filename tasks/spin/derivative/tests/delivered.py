"""The archive as it was delivered: signed indexes and packages, all of it hostile."""

from __future__ import annotations

import hashlib
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

    def version(self, name: str) -> str:
        assert name in self.packages, f"{self.name} has no package {name}"
        return self.packages[name].version


def read_bounded(path: Path, most: int) -> bytes:
    """A delivered file. AssertionError when it is not one, or too large."""
    assert path.is_file() and not path.is_symlink(), f"there is no file {path.name}"
    assert path.stat().st_size <= most, f"{path.name} is larger than {most} bytes"
    return path.read_bytes()


def holds(path: Path, parts: list[bytes]) -> bool:
    """Whether a file, however large and sparse, has one of these short texts in it."""
    chunk, tail = 4 << 20, b""
    zeros = bytes(chunk)
    with path.open("rb") as file:
        while block := file.read(chunk):
            if block == zeros:
                tail = b""
                continue
            text = tail + block
            if any(part in text for part in parts):
                return True
            tail = block[-256:]
    return False


def suite(archive: Path, name: str, key: openpgp.Key) -> Suite:
    """A suite whose Release is signed by `key`, whose index and packages are what it says."""
    folder = archive / SUITES[name]
    signed = read_bounded(folder / "dists" / name / "InRelease", RELEASE_MAX)
    release = fields(openpgp.signed_text(signed, key))
    index = read_bounded(folder / "dists" / name / INDEX, INDEX_MAX)
    hashes = [line.split() for line in release.get("sha256", "").split("\n") if line.strip()]
    wanted = [hashlib.sha256(index).hexdigest(), str(len(index)), INDEX]
    assert wanted in hashes, f"{name}: the Release's SHA256 is not that of {INDEX}"
    paragraphs = [
        text for text in re.split(r"\n\s*\n", index.decode("utf-8", "replace")) if text.strip()
    ]
    assert len(paragraphs) <= STANZAS_MAX, f"{name}: {len(paragraphs)} packages"
    packages: dict[str, Package] = {}
    for text in paragraphs:
        field = fields(text)
        path = field.get("filename", "")
        assert re.fullmatch(r"[A-Za-z0-9._+~%-]+(/[A-Za-z0-9._+~%-]+)*", path), (
            f"Filename: {path!r}"
        )
        assert not {"..", "."} & set(path.split("/")), f"Filename: {path!r}"
        data = read_bounded(folder / path, DEB_MAX)
        assert hashlib.sha256(data).hexdigest() == field.get("sha256"), f"{path}: another SHA256"
        assert str(len(data)) == field.get("size"), f"{path}: another Size"
        package = Package(field.get("package", ""), field.get("version", ""), path, text, data)
        assert package.name not in packages, f"{name}: {package.name} is there twice"
        packages[package.name] = package
    return Suite(name, release, packages)
