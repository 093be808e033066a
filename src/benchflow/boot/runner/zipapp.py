"""Build the one file that the verifier needs: `boot.pyz`. For use outside the verifier only."""

from __future__ import annotations

import importlib.util
import os
import zipfile
from pathlib import Path

_PACKAGES = ("boot", "bench")
_LIBRARIES = ("pexpect", "ptyprocess", "qemu")
_OUTSIDE_ONLY = {"zipapp.py"}
# The oldest moment that a zip archive can state: the bytes depend on the content alone.
_EPOCH = (1980, 1, 1, 0, 0, 0)
# -I: no PYTHON* variables, no user site, no current folder; before anything else is imported.
_MAIN = """\
import os
import sys

if not sys.flags.isolated:
    os.execv(sys.executable, [sys.executable, "-I", "-B", *sys.argv])

from benchflow.boot.__main__ import main

sys.exit(main())
"""


def build_boot_zipapp(dest: Path) -> None:
    """Write `dest`, a zip application for Python 3.11 or newer.

    Holds benchflow/boot, benchflow/bench and the pure-Python libraries pexpect, ptyprocess and
    qemu.qmp of the running environment. The same sources give the same bytes. `dest` is replaced
    atomically.
    """
    ours = Path(__file__).parents[2]
    members = {"__main__.py": _MAIN.encode(), "benchflow/__init__.py": b""}
    for package in _PACKAGES:
        for path in sorted((ours / package).rglob("*.py")):
            if path.name not in _OUTSIDE_ONLY:
                members[f"benchflow/{path.relative_to(ours).as_posix()}"] = path.read_bytes()
    for library in _LIBRARIES:
        folder = _folder(library)
        for path in sorted(folder.rglob("*.py")):
            members[f"{library}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
        # A package without this file cannot be imported from an archive.
        members.setdefault(f"{library}/__init__.py", b"")
    temporary = dest.with_name(f".{dest.name}.{os.getpid()}")
    with temporary.open("wb") as stream:
        stream.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in sorted(members):
                info = zipfile.ZipInfo(name, _EPOCH)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                info.create_system = 3
                archive.writestr(info, members[name])
    temporary.chmod(0o755)
    temporary.replace(dest)


def _folder(library: str) -> Path:
    spec = importlib.util.find_spec(library)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{library} is not installed beside benchflow")
    return Path(next(iter(spec.submodule_search_locations)))
