"""The repository as delivered, all of it hostile: signed index, packages, what they need."""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import rpms

from benchflow.boot import decompress
from benchflow.boot.inspect import openpgp

TEXT_MAX = 64 << 20
RPM_MAX = 64 << 20
PACKAGES_MAX = 2000
REPO = "{http://linux.duke.edu/metadata/repo}"
COMMON = "{http://linux.duke.edu/metadata/common}"
_PATH = re.compile(r"[A-Za-z0-9._+~^%:-]+(/[A-Za-z0-9._+~^%:-]+)*")


def read_bounded(path: Path, most: int) -> bytes:
    """A delivered file. AssertionError when it is not one, or too large."""
    assert path.is_file() and not path.is_symlink(), f"there is no file {path.name}"
    assert path.stat().st_size <= most, f"{path.name} is larger than {most} bytes"
    return path.read_bytes()


def xml(data: bytes, what: str) -> ET.Element:
    """Metadata. AssertionError for what is none; entities are nobody's business here."""
    assert b"<!DOCTYPE" not in data and b"<!ENTITY" not in data, f"{what} has a document type"
    try:
        return ET.fromstring(data)
    except ET.ParseError as error:
        raise AssertionError(f"{what}: {error}") from None


def inside(root: Path, href: str) -> Path:
    assert _PATH.fullmatch(href) and not {"..", "."} & set(href.split("/")), f"location {href!r}"
    return root / href


@dataclass(frozen=True)
class Listed:
    """A package of the index, with the header of its file."""

    href: str
    package: rpms.Package


class Repository:
    """What is in `repodata` and beside it. `primary` and `filelists` are texts."""

    def __init__(self, root: Path, key: openpgp.Key) -> None:
        self.root = root
        self.key = key
        self.repomd = read_bounded(root / "repodata/repomd.xml", 1 << 20)
        armour = read_bounded(root / "repodata/repomd.xml.asc", openpgp.ARMOUR_MAX)
        made = openpgp.unarmoured(armour.decode("ascii", "replace"), "PGP SIGNATURE")
        assert openpgp.signed(self.repomd, made, key), "repomd.xml is not signed with the key"
        self.primary = self._part("primary")
        self.filelists = self._part("filelists")
        self.packages = self._packages()

    def _part(self, kind: str) -> bytes:
        for data in xml(self.repomd, "repomd.xml").findall(f"{REPO}data"):
            if data.get("type") != kind:
                continue
            location, checksum = data.find(f"{REPO}location"), data.find(f"{REPO}checksum")
            assert location is not None and checksum is not None, f"{kind}: no location or checksum"
            raw = read_bounded(inside(self.root, location.get("href", "")), TEXT_MAX)
            assert checksum.get("type") == "sha256", f"{kind}: no sha256"
            assert hashlib.sha256(raw).hexdigest() == checksum.text, f"{kind}: another checksum"
            return raw if raw[:1] == b"<" else decompress(raw, TEXT_MAX)
        raise AssertionError(f"repomd.xml has no {kind}")

    def _packages(self) -> list[Listed]:
        found: list[Listed] = []
        for one in xml(self.primary, "primary").findall(f"{COMMON}package"):
            assert len(found) < PACKAGES_MAX, "packages without end"
            location, checksum = one.find(f"{COMMON}location"), one.find(f"{COMMON}checksum")
            version = one.find(f"{COMMON}version")
            assert None not in (location, checksum, version), "an entry without location"
            href = location.get("href", "")
            data = read_bounded(inside(self.root, href), RPM_MAX)
            assert checksum.get("type") == "sha256", f"{href}: no sha256"
            assert hashlib.sha256(data).hexdigest() == checksum.text, f"{href}: another checksum"
            package = rpms.read(data, self.key)
            said = (
                f"{one.findtext(f'{COMMON}name')}-{version.get('epoch') or 0}:"
                f"{version.get('ver')}-{version.get('rel')}.{one.findtext(f'{COMMON}arch')}"
            )
            assert said == package.nevra, f"{href} is {package.nevra}, not {said}"
            found.append(Listed(href, package))
        names = [one.package.nevra for one in found]
        assert len(set(names)) == len(names), "a package is there twice"
        return found

    def unlisted(self) -> list[str]:
        """Files that are neither metadata, nor listed, nor sources."""
        known = {one.href for one in self.packages} | {"repodata/repomd.xml"}
        known.add("repodata/repomd.xml.asc")
        for location in xml(self.repomd, "repomd.xml").iter(f"{REPO}location"):
            known.add(location.get("href", ""))
        return [
            name
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
            and (name := str(path.relative_to(self.root))) not in known
            and not name.startswith("source/")
        ]

    def by_nevra(self) -> dict[str, rpms.Package]:
        return {one.package.nevra: one.package for one in self.packages}

    def named(self, name: str) -> rpms.Package:
        found = [one.package for one in self.packages if one.package.name == name]
        assert len(found) == 1, f"{len(found)} packages are called {name}"
        return found[0]

    def unresolved(self) -> list[str]:
        """What packages require and none has, by name and path."""
        had = {n for one in self.packages for n, _, _ in one.package.needs("provides")}
        had |= {file.named for one in self.packages for file in one.package.files()}
        return sorted(
            f"{one.package.name} needs {name}"
            for one in self.packages
            for name, flags, _ in one.package.needs("requires")
            if name not in had and not flags & 1 << 24 and not name.startswith("(")
        )

    def sources(self) -> dict[str, rpms.Package]:
        """The source packages by name."""
        found = {}
        for path in sorted((self.root / "source").glob("*.src.rpm"))[:100]:
            package = rpms.read(read_bounded(path, RPM_MAX), self.key)
            assert package.is_source, f"{path.name} is no source package"
            found[package.name] = package
        return found
