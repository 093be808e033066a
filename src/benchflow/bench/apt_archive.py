"""Archives for apt: signed, or signed badly on purpose; and a delivered one, read without trust."""

from __future__ import annotations

import contextlib
import hashlib
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

from benchflow.bench.deb_package import DEB_MAX, control_of, fields
from benchflow.bench.delivered_files import read_bounded
from benchflow.boot.inspect import openpgp

INDEX_MAX = 4 << 20
RELEASE_MAX = 1 << 20
PACKAGES_MAX = 500
_ARMOUR = b"-----BEGIN PGP SIGNATURE-----"
_NAME = r"[A-Za-z0-9._+~%-]+"


def release_text(
    said: Mapping[str, str],
    indexes: Mapping[str, bytes],
    date: float,
    *,
    valid_for: float | None = None,
) -> str:
    """A Release: fields of your own (Origin, Suite, Codename, Components, Architectures …), the
    moment `date`, for how long it is valid, and the SHA-256 of `indexes`, by path below it.

    A field that `said` names wins over what is computed, so that it can be wrong. Sign it with
    `openpgp.Key.clearsigned`, and serve it as InRelease.
    """
    fields = {"Date": formatdate(date, usegmt=True)}
    if valid_for is not None:
        fields["Valid-Until"] = formatdate(date + valid_for, usegmt=True)
    lines = [f"{name}: {value}" for name, value in {**fields, **said}.items()]
    lines.append("SHA256:")
    for path, data in indexes.items():
        lines.append(f" {hashlib.sha256(data).hexdigest()} {len(data)} {path}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class IndexedPackage:
    """A delivered package, as its index has it."""

    name: str
    version: str
    path: str
    paragraph: str
    data: bytes

    @property
    def control(self) -> dict[str, str]:
        """Its own control fields. AssertionError or BadDeliverable."""
        return control_of(self.data)


@dataclass(frozen=True)
class Suite:
    """A delivered suite: its Release as signed, and its packages by name."""

    name: str
    release: dict[str, str]
    packages: dict[str, IndexedPackage]

    def version(self, name: str) -> str:
        """Of a package. AssertionError when there is none of that name."""
        assert name in self.packages, f"{self.name} has no package {name}"
        return self.packages[name].version


def clearsigned(text: str, *keys: openpgp.Key) -> bytes:
    """`text` signed by each of `keys`, as gpg --clearsign writes it for several."""
    head, _, _ = keys[0].clearsigned(text).partition(_ARMOUR)
    return head + openpgp.armoured(b"".join(_signatures(key.clearsigned(text))[0] for key in keys))


def signed_by(data: bytes, *keys: openpgp.Key) -> str:
    """What a clearsigned file says. AssertionError unless each of `keys`, and no other key, has
    signed it."""
    head, _, _ = data.partition(_ARMOUR)
    texts = []
    for packet in _signatures(data):
        for key in keys:
            with contextlib.suppress(AssertionError):
                texts.append((key, openpgp.signed_text(head + openpgp.armoured(packet), key)))
                break
        else:
            raise AssertionError("it is signed by a key that should not sign it")
    missing = len({key.public for key in keys} - {key.public for key, _ in texts})
    assert not missing, f"{missing} of {len(keys)} keys have not signed it"
    return texts[0][1]


def _signatures(data: bytes) -> list[bytes]:
    """The signatures of a clearsigned file, each as it stands alone."""
    text = data.decode("ascii", "replace").replace("\r\n", "\n")
    _, armour, rest = text.partition(_ARMOUR.decode())
    found = openpgp.packets(openpgp.unarmoured(armour + rest, "PGP SIGNATURE"))
    return [bytes([0xC0 | tag, 255]) + struct.pack(">I", len(body)) + body for tag, body in found]


def read_suite(folder: Path, name: str, index: str, *keys: openpgp.Key) -> Suite:
    """The suite `name` of the archive `folder`: its Release is signed by `keys` (by whomever, where
    none is given), and the index (`main/binary-amd64/Packages`) and each package are what it says.
    AssertionError otherwise."""
    signed = read_bounded(folder / "dists" / name / "InRelease", RELEASE_MAX)
    release = fields(signed_by(signed, *keys) if keys else _unsigned(signed))
    data = read_bounded(folder / "dists" / name / index, INDEX_MAX)
    sums = [line.split() for line in release.get("sha256", "").split("\n") if line.strip()]
    wanted = [hashlib.sha256(data).hexdigest(), str(len(data)), index]
    assert wanted in sums, f"{name}: the Release's SHA256 is not that of {index}"
    paragraphs = [
        text for text in re.split(r"\n\s*\n", data.decode("utf-8", "replace")) if text.strip()
    ]
    assert len(paragraphs) <= PACKAGES_MAX, f"{name}: {len(paragraphs)} packages"
    return Suite(name, release, _packages(folder, name, paragraphs))


def _unsigned(data: bytes) -> str:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return text.partition(_ARMOUR.decode())[0].partition("\n\n")[2]


def _packages(folder: Path, suite: str, paragraphs: Iterable[str]) -> dict[str, IndexedPackage]:
    found: dict[str, IndexedPackage] = {}
    for text in paragraphs:
        field = fields(text)
        path = field.get("filename", "").removeprefix("./")
        assert re.fullmatch(rf"{_NAME}(/{_NAME})*", path), f"Filename: {path!r}"
        assert not {"..", "."} & set(path.split("/")), f"Filename: {path!r}"
        data = read_bounded(folder / path, DEB_MAX)
        assert hashlib.sha256(data).hexdigest() == field.get("sha256"), f"{path}: another SHA256"
        assert str(len(data)) == field.get("size"), f"{path}: another Size"
        name, version = field.get("package", ""), field.get("version", "")
        assert name not in found, f"{suite}: {name} is there twice"
        found[name] = IndexedPackage(name, version, path, text, data)
    return found
