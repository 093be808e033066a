"""Debian packages: made here, and read where they are hostile."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchflow.boot import BadDeliverable, decompress

DEB_MAX = 16 << 20
CONTROL_MAX = 1 << 20
_MAINTAINER = "Maintainer: The bench <bench@bench.example>\n"


@dataclass(frozen=True)
class Deb:
    """A package of the bench's, for every architecture.

    `files`: path to content (those in a folder `bin` or `sbin` are programs); the paths in
    `conffiles` are conffiles. `scripts`: maintainer scripts by name. `fields`: more of its control
    file (Depends, Maintainer …).
    """

    name: str
    version: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    conffiles: tuple[str, ...] = ()
    scripts: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def control(self) -> str:
        """The control file."""
        more = "".join(f"{name}: {value}\n" for name, value in self.fields.items())
        maintainer = "" if "Maintainer" in self.fields else _MAINTAINER
        return (
            f"Package: {self.name}\nVersion: {self.version}\nArchitecture: all\n{maintainer}"
            f"{more}Description: made for one trial\n"
        )

    @property
    def file_name(self) -> str:
        """As apt names it; %3a is the colon of an epoch."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_all.deb"

    def pack(self) -> bytes:
        """The package; the same values give the same bytes."""
        control: dict[str, tuple[str | bytes, int]] = {"control": (self.control, 0o644)}
        if self.conffiles:
            control["conffiles"] = ("".join(f"{path}\n" for path in self.conffiles), 0o644)
        control.update((name, (text, 0o755)) for name, text in self.scripts.items())
        data: dict[str, tuple[str | bytes, int]] = {
            path.lstrip("/"): (text, 0o755 if "bin/" in path else 0o644)
            for path, text in self.files.items()
        }
        members = {
            "debian-binary": b"2.0\n",
            "control.tar.gz": _tar(control),
            "data.tar.gz": _tar(data),
        }
        body = b"!<arch>\n"
        for name, content in members.items():
            body += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
            body += content + b"\n" * (len(content) % 2)
        return body


def stanza(control: str, path: str, data: bytes) -> str:
    """A package's paragraph in an index."""
    return (
        f"{control.rstrip()}\nFilename: {path}\nSize: {len(data)}\n"
        f"SHA256: {hashlib.sha256(data).hexdigest()}\n"
    )


def _tar(entries: Mapping[str, tuple[str | bytes, int]]) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        folders = {"."}
        for path in entries:
            parts = path.split("/")[:-1]
            folders.update("./" + "/".join(parts[: n + 1]) for n in range(len(parts)))
        for folder in sorted(folders):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for path, (text, mode) in entries.items():
            data = text.encode() if isinstance(text, str) else text
            info = tarfile.TarInfo(f"./{path}")
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(plain.getvalue(), 1, mtime=0)


def fields(paragraph: str) -> dict[str, str]:
    """A paragraph's fields by their lower-case names; what continues a line is kept."""
    found: dict[str, str] = {}
    name = ""
    for line in paragraph.split("\n"):
        if line[:1] in (" ", "\t"):
            assert name, "a paragraph begins in the middle"
            found[name] += "\n" + line
        elif line.strip():
            name, colon, value = line.partition(":")
            name = name.lower()
            assert colon and name not in found, f"not a field: {line[:80]!r}"
            found[name] = value.strip()
    return found


def control_of(deb: bytes) -> dict[str, str]:
    """The control fields of a delivered package. AssertionError or BadDeliverable."""
    assert deb[:8] == b"!<arch>\n" and len(deb) <= DEB_MAX, "not a Debian package"
    at = 8
    for _ in range(16):
        head = deb[at : at + 60]
        size = re.fullmatch(rb"[0-9]+ *", head[48:58])
        assert len(head) == 60 and size, "the package has no control part"
        name = head[:16].decode("ascii", "replace").strip().rstrip("/")
        at += 60
        length = int(head[48:58])
        if name.startswith("control.tar"):
            return _control(deb[at : at + length], name != "control.tar")
        at += length + length % 2
    raise AssertionError("the package has no control part")


def _control(data: bytes, compressed: bool) -> dict[str, str]:
    plain = decompress(data, CONTROL_MAX) if compressed else data[:CONTROL_MAX]
    try:
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as tar:
            for member in tar:
                if member.name.removeprefix("./") == "control" and member.isfile():
                    content = tar.extractfile(member)
                    assert content, "the package's control file cannot be read"
                    return fields(content.read(1 << 16).decode("utf-8", "replace"))
    except tarfile.TarError as error:
        raise BadDeliverable(f"a package's control part cannot be read: {error}") from error
    raise AssertionError("the package has no control file")
