"""Which files of a station are no package's: read on its disk, where no program of it answers."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from benchflow.boot import Entry
from benchflow.boot.inspect.filesystem import FileSystem

INFO = "/var/lib/dpkg/info"
#: [R7] "programs, units, sources, priorities, keys": where programs lie, and where the others do.
PROGRAMS = ("/usr", "/opt", "/etc/init.d", "/etc/cron.d", "/etc/cron.daily", "/etc/cron.hourly",
            "/etc/cron.weekly", "/etc/cron.monthly")  # fmt: skip
OTHERS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/usr/local/lib/systemd", "/etc/holm",
          "/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/preferences",
          "/etc/apt/preferences.d", "/etc/apt/trusted.gpg", "/etc/apt/trusted.gpg.d",
          "/etc/apt/keyrings", "/usr/share/keyrings")  # fmt: skip
#: The folders that a merged /usr has twice; before, packages have the files of both.
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_TEXT_MAX = 1 << 16


def not_a_packages(files: FileSystem) -> list[str]:
    """Programs, units, sources, priorities and keys that dpkg knows nothing of."""
    owned = set(_owned(files))
    found = {
        entry.path
        for top in PROGRAMS
        for entry in _regular(files, top)
        if entry.mode & 0o111 and not entry.path.endswith(".pyc")
    }
    found |= {
        entry.path
        for top in OTHERS
        for entry in _regular(files, top)
        if entry.size and not _says_nothing(files, entry)
    }
    return sorted(path for path in found if path not in owned)


def _owned(files: FileSystem) -> Iterator[str]:
    for entry, data in files.contents(INFO):
        if entry.path.endswith(".list"):
            yield from (_merged(line) for line in data.decode(errors="replace").splitlines())
    diversions = "/var/lib/dpkg/diversions"
    if files.exists(diversions):
        yield from (_merged(line) for line in files.read_text(diversions).splitlines())


def _merged(path: str) -> str:
    path = posixpath.normpath(path)
    first = path.lstrip("/").partition("/")[0]
    return f"/usr{path}" if first in _MERGED else path


def _regular(files: FileSystem, top: str) -> list[Entry]:
    if not files.exists(top):
        return []
    entry = files.stat(top)
    found = [entry] if entry.kind == "file" else files.walk(entry.path)
    return [one for one in found if one.kind == "file"]


def _says_nothing(files: FileSystem, entry: Entry) -> bool:
    """An empty file, or one of comments alone, is no source."""
    if not entry.path.startswith("/etc/apt/") or entry.size > _TEXT_MAX:
        return False
    lines = files.read(entry.path).decode(errors="replace").splitlines()
    return all(not line.strip() or line.lstrip().startswith("#") for line in lines)
