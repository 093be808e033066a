"""The gate `image`: nothing of the answers is in the built image that the agent works in."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from benchflow.authoring.gate import GateResult, judged
from benchflow.authoring.search import MIB, Searched, files_of
from benchflow.authoring.similarity import SHINGLE, Secrets
from benchflow.base.numbers import plural

#: A line that so many different files of an image hold is common stock (a default configuration,
#: a licence), whoever else wrote it down.
PUBLIC = 3
_SHOWN = 20
_DPKG = "var/lib/dpkg/status"
#: A configuration file and its MD5 sum as its package brought it (dpkg-query(1), Conffiles).
_CONFFILE = re.compile(rb"^ /(\S+) ([0-9a-f]{32})", re.MULTILINE)
#: What somebody typed or looked at while the image was made.
_HISTORIES = {
    ".ash_history",
    ".bash_history",
    ".gdb_history",
    ".lesshst",
    ".node_repl_history",
    ".psql_history",
    ".python_history",
    ".sqlite_history",
    ".viminfo",
    ".wget-hsts",
    ".zsh_history",
}


@dataclass
class _Suspects:
    """Files that share lines with the secrets, to be judged once all were seen."""

    files: list[tuple[str, bytes]] = field(default_factory=list)
    held_by: Counter[bytes] = field(default_factory=Counter)
    contents: set[bytes] = field(default_factory=set)


def search(root: Path, layers: tuple[Path, ...]) -> GateResult:
    """Compares every file of every layer, archives and lower layers included, with the answers.

    A file is a finding when it is one of theirs, when it repeats them (`likeness`; lines that three
    different files of the image hold are public and do not count, nor does a configuration file as
    its Debian package brought it), or when it is a history of what
    somebody typed. `layers` are directories of the host, lowest first.
    """
    secrets, seen, suspects = Secrets.of(root), Searched(), _Suspects()
    findings: list[str] = []
    stock: set[tuple[bytes, bytes]] = set()
    for name, data in files_of(layers, seen, secrets.sizes):
        if PurePosixPath(name).name in _HISTORIES and data.strip():
            findings.append(f"/{name} is a history of {len(data.splitlines())} lines: remove it")
        if name == _DPKG:
            stock.update(_CONFFILE.findall(data))
        if copied := secrets.copies(data):
            findings.append(f"/{name} is {copied}: move it out of reach")
        elif len(common := secrets.common(data)) >= SHINGLE:
            digest = hashlib.sha256(data).digest()
            if digest not in suspects.contents:
                suspects.contents.add(digest)
                suspects.held_by.update(common)
                suspects.files.append((name, data))
    public = {line for line, count in suspects.held_by.items() if count >= PUBLIC}
    for name, data in suspects.files:
        md5 = hashlib.md5(data, usedforsecurity=False).hexdigest().encode()
        if (name.encode(), md5) in stock:
            continue
        if hit := secrets.repeated_by(data, public, name):
            line, what = hit
            where = f"/{name}:{line}" if line else f"/{name}"
            findings.append(f"{where} repeats {what}: move it out of reach")
    if len(findings) > _SHOWN:
        findings[_SHOWN:] = [f"and {len(findings) - _SHOWN} more"]
    unread = f", {len(seen.unread)} unread ({seen.unread[0]})" if seen.unread else ""
    size = f"{seen.files} files, {seen.stored // MIB} MiB in {plural(len(layers), 'layer')}"
    return judged("image", f"{size}{unread}", findings)
