"""The kit as it was delivered: its parcels, and the text that builds."""

from __future__ import annotations

import io
import re
import tarfile
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import parcel
from parcel import Parcel

from benchflow.boot import BadDeliverable

TEXT_BYTES, LINE = 64 << 10, 200
#: What is so long and has no sign in it is no word: base64, or numbers.
_PACKED = re.compile(rb"[A-Za-z0-9+/=]{40,}")
_PACKED_BYTES = 1024
#: All that a kit of 8 MiB may hold, with room for an honest hole.
ROOM = 16 << 20


@dataclass(frozen=True)
class Kit:
    """`files` are all but the parcels, by path; `packed` the parcels' bytes by file name.

    `folders` are the directories beside `packages`.
    """

    files: dict[str, bytes]
    packed: dict[str, bytes]
    folders: set[str]

    def parcels(self) -> dict[str, Parcel]:
        """The parcels by name. Raises BadDeliverable for one that is not of its form."""
        read = [parcel.read(data, file) for file, data in self.packed.items()]
        return {p.name: p for p in read}


def read(path: Path) -> Kit:
    """Raises BadDeliverable for what is not a tar of files and directories."""
    files: dict[str, bytes] = {}
    folders: set[str] = set()
    room, last = ROOM, -1
    try:
        data = path.read_bytes()
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                # A size below zero leads back to what was read; a sparse file says any size.
                if member.offset <= last or not 0 <= member.size <= room:
                    raise BadDeliverable(f"kit.tar: {member.name!r} has {member.size} bytes [R1]")
                last, room = member.offset, room - member.size
                name = member.name.removeprefix("./").rstrip("/")
                if name in ("", ".") and member.isdir():
                    continue
                if {"", ".", ".."} & set(name.split("/")) or name in files:
                    raise BadDeliverable(f"kit.tar: the name {member.name!r}, or it is twice there")
                if member.isdir():
                    folders.add(name)
                    continue
                if not member.isreg():
                    raise BadDeliverable(f"kit.tar: {member.name!r} is no file or directory [R1]")
                file = tar.extractfile(member)
                files[name] = file.read() if file else b""
            if data[tar.offset :].strip(b"\0"):
                raise BadDeliverable("kit.tar: something after the end of the archive [R1]")
    except (tarfile.TarError, ValueError, ArithmeticError, LookupError, OSError, EOFError,
            RecursionError) as error:  # fmt: skip
        raise BadDeliverable(f"kit.tar is not a plain tar archive [R1]: {error}") from error
    below = sorted(name for name in folders if name.startswith("packages/"))
    if below:
        raise BadDeliverable(f"kit.tar: the folders {below[:3]}; packages/ has parcels alone [R1]")
    packed = {n[9:]: files.pop(n) for n in list(files) if n.startswith("packages/")}
    return Kit(files, packed, {name for name in folders if name.split("/")[0] != "packages"})


def says_why(said: str) -> bool:
    """Whether a line of it has words in it, not signs alone."""
    return bool(re.search(r"\w{2,}.*\w{2,}", said))


def unreadable(files: dict[str, bytes]) -> str:
    """Why what the kit runs is not text that a person can read; "" when it is."""
    if sum(map(len, files.values())) > TEXT_BYTES:
        return f"{sum(map(len, files.values()))} bytes of it, more than 64 KiB"
    for path, data in files.items():
        try:
            lines = data.decode().split("\n")
        except UnicodeDecodeError:
            return f"{path} is not UTF-8"
        if any(unicodedata.category(c) == "Cc" and c != "\t" for line in lines for c in line):
            return f"{path} holds control characters"
        if max(map(len, lines)) > LINE:
            return f"{path} has a line of more than {LINE} characters"
        packed = sum(map(len, _PACKED.findall(data)))
        if packed > _PACKED_BYTES:
            return f"{path} has {packed} bytes of words of 40 letters and digits or more"
    return ""
