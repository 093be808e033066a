"""The kit as it was delivered: its parcels, and the text that builds."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

import parcel
from parcel import Parcel

from benchflow.boot import BadDeliverable

TEXT_BYTES, LINE = 64 << 10, 200


@dataclass(frozen=True)
class Kit:
    """`files` are all but the parcels, by path; `packed` the parcels' bytes by file name."""

    files: dict[str, bytes]
    packed: dict[str, bytes]

    def parcels(self) -> dict[str, Parcel]:
        """The parcels by name. Raises BadDeliverable for one that is not of its form."""
        read = [parcel.read(data, file) for file, data in self.packed.items()]
        return {p.name: p for p in read}


def read(path: Path) -> Kit:
    """Raises BadDeliverable for what is not a tar of files and directories."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(path.read_bytes()), mode="r:") as tar:
            for member in tar:
                name = member.name.removeprefix("./").rstrip("/")
                if name in ("", ".") or member.isdir():
                    continue
                parts = name.split("/")
                if not member.isreg() or name in files or {"", ".", ".."} & set(parts):
                    raise BadDeliverable(f"kit.tar: {member.name!r} is no file, or there twice")
                file = tar.extractfile(member)
                files[name] = file.read() if file else b""
    except (tarfile.TarError, ValueError, OSError, EOFError) as error:
        raise BadDeliverable(f"kit.tar is not a tar archive: {error}") from error
    packed = {n[9:]: files.pop(n) for n in list(files) if n.startswith("packages/")}
    return Kit(files, packed)


def unreadable(files: dict[str, bytes]) -> str:
    """Why what the kit runs is not text that a person can read; "" when it is."""
    if sum(map(len, files.values())) > TEXT_BYTES:
        return "more than 64 KiB of it"
    for path, data in files.items():
        try:
            lines = data.decode().split("\n")
        except UnicodeDecodeError:
            return f"{path} is not UTF-8"
        if any((ord(c) < 32 and c != "\t") or ord(c) == 127 for line in lines for c in line):
            return f"{path} holds control characters"
        if max(map(len, lines)) > LINE:
            return f"{path} has a line of more than {LINE} characters"
    return ""
