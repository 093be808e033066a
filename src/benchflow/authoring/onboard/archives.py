"""Archives of sources, read member by member: nothing is unpacked, and bombs end early."""

from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path

from benchflow.authoring.onboard.tree import TEXT_MAX, TOTAL_MAX, Note, Tree, shown
from benchflow.errors import UsageError

#: What is kept of an archive's small files: they are read in passing, once.
KEPT_MAX = 512 << 20
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar.zst", ".crate")
_BOUND = f"it unpacks to more than {TOTAL_MAX >> 30} GiB"


def is_archive(path: Path) -> bool:
    """Whether its name says that it is an archive that can be read."""
    return path.name.endswith((*_TARS, ".zip", ".whl"))


def opened(path: Path) -> Tree:
    """The files of one archive, without the folder that all of them lie in.

    Raises UsageError for what is no archive, or a bomb.
    """
    tree = Tree()
    add(tree, path)
    return tree


def add(tree: Tree, path: Path, below: str = "") -> None:
    """Puts the files of an archive into `tree`; their common folder becomes `below`."""
    if not is_archive(path):
        raise UsageError(
            f"{path.name} is no archive that can be read",
            hint=f"it has to end in one of {', '.join(_TARS)} or .zip",
        )
    found = Tree()
    kept: dict[str, bytes] = {}
    try:
        (_zip if path.suffix in (".zip", ".whl") else _tar)(found, kept, path)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
        raise UsageError(
            f"{path.name} cannot be read: {shown(str(error))[:200]}", hint="is it whole?"
        ) from None
    except RuntimeError:
        raise UsageError(f"{path.name} is encrypted", hint="hand in a plain archive") from None
    _merge(tree, found, kept, below)


def _tar(found: Tree, kept: dict[str, bytes], path: Path) -> None:
    read = total = 0
    with tarfile.open(path, "r|*", errors="surrogateescape") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            total += member.size
            if total > TOTAL_MAX:
                raise UsageError(f"{path.name}: {_BOUND}", hint="name a smaller source")
            if member.issym():
                found.links[name] = member.linkname
            elif member.islnk():
                found.refused.append(Note("a hard link: left out", shown(name)))
            elif member.isreg():
                found.add(name, member.size, executable=bool(member.mode & 0o100))
                file = archive.extractfile(member) if member.size <= TEXT_MAX else None
                if file and read + member.size <= KEPT_MAX and name in found.sizes:
                    kept[name] = file.read(TEXT_MAX)
                    read += member.size
            elif not member.isdir():
                found.refused.append(Note("a device or pipe: left out", shown(name)))


def _zip(found: Tree, kept: dict[str, bytes], path: Path) -> None:
    read = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            name, mode = member.filename, member.external_attr >> 16
            if mode & 0o170000 == 0o120000:
                found.links[name] = os.fsdecode(_head(archive, member))
                continue
            found.add(name, member.file_size, executable=bool(mode & 0o100))
            small = member.file_size <= TEXT_MAX and read + member.file_size <= KEPT_MAX
            if small and name in found.sizes:
                with archive.open(member) as file:
                    kept[name] = file.read(TEXT_MAX)
                read += member.file_size


def _head(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as file:
        return file.read(4096)


def _merge(tree: Tree, found: Tree, kept: dict[str, bytes], below: str) -> None:
    tops = {name.split("/", 1)[0] for name in (*found.sizes, *found.links)}
    only = len(tops) == 1 and all("/" in name for name in (*found.sizes, *found.links))
    cut = len(next(iter(tops))) + 1 if only else 0
    contents: dict[str, bytes] = {}
    for name, size in found.sizes.items():
        tree.add(below + name[cut:], size, executable=name in found.executable)
        contents[below + name[cut:]] = kept.get(name, b"")
    for name, target in found.links.items():
        tree.link(below + name[cut:], target)
    tree.refused += found.refused
    earlier = tree.reader
    tree.reader = lambda name: contents[name] if name in contents else earlier(name)
