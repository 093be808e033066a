"""A repository of this run: the delivered packages and the bench's, signed anew or badly.

Served on the loopback of where the checks run, which a guest reaches as 10.0.2.2.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from xml.sax.saxutils import escape, quoteattr

from metadata import Repository
from rpms import Rpm

from benchflow.bench.http_files import HttpFiles
from benchflow.boot.inspect.openpgp import Key

_RELATION = {2: "LT", 4: "GT", 8: "EQ", 10: "LE", 12: "GE"}


class Publisher(HttpFiles):
    """What `offer` adds is known after `publish`."""

    def __init__(self, repository: Repository) -> None:
        super().__init__()
        self.repository = repository
        self.key = repository.key
        self.own: dict[str, tuple[Rpm, bytes]] = {}
        for one in repository.packages:
            self.put(one.href, repository.root / one.href)

    @property
    def url(self) -> str:
        """The repository, as a guest names it: with the slash that its settings have."""
        return f"{super().url}/"

    def offer(self, *packages: Rpm, key: Key | None = None, signed: bool = True) -> None:
        """Add packages, signed with the repository's key, another one, or not at all."""
        for one in packages:
            data = one.pack((key or self.key) if signed else None)
            self.own[one.file_name] = (one, data)
            self.put(f"packages/{one.file_name}", data)

    def places(self) -> list[str]:
        """Where all of it lies, below `url`."""
        packages = [one.href for one in self.repository.packages]
        own = [f"packages/{name}" for name in self.own]
        index = [f"repodata/{name}" for name in ("repomd.xml", "repomd.xml.asc", "primary.xml",
                                                 "filelists.xml")]  # fmt: skip
        return [*packages, *own, *index]

    def withdraw(self, *packages: Rpm) -> None:
        for one in packages:
            self.own.pop(one.file_name, None)

    def publish(self, key: Key | None = None, *, signed: bool = True) -> None:
        """Write and sign the metadata of all that is offered."""
        added = [_entry(one, data) for one, data in self.own.values()]
        lists = [_filelist(one, data) for one, data in self.own.values()]
        parts = {
            "primary": _merged(self.repository.primary, added),
            "filelists": _merged(self.repository.filelists, lists),
        }
        now = int(time.time())
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<repomd xmlns="http://linux.duke.edu/metadata/repo">'
            f"<revision>{now}{secrets.randbelow(10**6):06d}</revision>"
        )
        for kind, data in parts.items():
            digest, name = hashlib.sha256(data).hexdigest(), f"repodata/{kind}.xml"
            self.put(name, data)
            text += (
                f'<data type="{kind}"><checksum type="sha256">{digest}</checksum>'
                f'<open-checksum type="sha256">{digest}</open-checksum><location href="{name}"/>'
                f"<timestamp>{now}</timestamp><size>{len(data)}</size></data>"
            )
        raw = f"{text}</repomd>\n".encode()
        self.put("repodata/repomd.xml", raw)
        if signed:
            self.put("repodata/repomd.xml.asc", (key or self.key).detached(raw))
        else:
            self.remove("repodata/repomd.xml.asc")


def _merged(delivered: bytes, added: list[str]) -> bytes:
    end = delivered.rindex(b"</")
    return delivered[:end] + "".join(added).encode() + delivered[end:]


def _entry(one: Rpm, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    entries = ""
    for kind in ("provides", "requires", "conflicts", "recommends"):
        lines = ""
        for name, flags, version in one.dependencies(kind):
            if flags & 1 << 24:
                continue
            rest = ""
            if flags in _RELATION:
                ver, _, rel = version.partition("-")
                rest = f' flags="{_RELATION[flags]}" epoch="0" ver={quoteattr(ver)}'
                rest += f" rel={quoteattr(rel)}" if rel else ""
            lines += f"<rpm:entry name={quoteattr(name)}{rest}/>"
        entries += f"<rpm:{kind}>{lines}</rpm:{kind}>" if lines else ""
    files = "".join(f"<file>{escape(p)}</file>" for p in one.paths() if p.startswith("/etc/"))
    return (
        '<package xmlns="http://linux.duke.edu/metadata/common" '
        'xmlns:rpm="http://linux.duke.edu/metadata/rpm" type="rpm">'
        f"<name>{one.name}</name><arch>noarch</arch>"
        f'<version epoch="0" ver="{one.version}" rel="{one.release}"/>'
        f'<checksum type="sha256" pkgid="YES">{digest}</checksum><summary>trial</summary>'
        "<description>trial</description><packager/><url/>"
        '<time file="1700000000" build="1700000000"/>'
        f'<size package="{len(data)}" installed="1" archive="1"/>'
        f'<location href="packages/{one.file_name}"/><format><rpm:license>none</rpm:license>'
        "<rpm:vendor/><rpm:group>Unspecified</rpm:group><rpm:buildhost>bench</rpm:buildhost>"
        "<rpm:sourcerpm>bench-1-1.src.rpm</rpm:sourcerpm>"
        f'<rpm:header-range start="0" end="0"/>{entries}{files}</format></package>'
    )


def _filelist(one: Rpm, data: bytes) -> str:
    files = "".join(f"<file>{escape(path)}</file>" for path in one.paths())
    return (
        '<package xmlns="http://linux.duke.edu/metadata/filelists" '
        f'pkgid="{hashlib.sha256(data).hexdigest()}" name="{one.name}" arch="noarch">'
        f'<version epoch="0" ver="{one.version}" rel="{one.release}"/>{files}</package>'
    )
