"""The boot entry on the EFI system partition: read, and given a word."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from benchflow.boot import Image


def esp_of(image: Image):
    found = [p for p in image.partitions() if p.type.upper().startswith("C12A7328")]
    assert len(found) == 1, f"{len(found)} EFI system partitions; [R1]: exactly one"
    return found[0], image.fat(found[0])


def entry_of(image: Image) -> tuple[str, str]:
    _, esp = esp_of(image)
    entries = [n for n in esp.listdir("/loader/entries") if n.lower().endswith(".conf")]
    assert len(entries) == 1, f"{len(entries)} boot entries, {entries}; [R1]: exactly one"
    path = f"/loader/entries/{entries[0]}"
    return path, esp.read_text(path)


def field_of(entry: str, key: str) -> list[str]:
    rows = (line.split(None, 1) for line in entry.splitlines())
    return [row[1].strip() if len(row) > 1 else "" for row in rows if row[:1] == [key]]


def with_word(disk: Path, work: Path, word: str, *, first: bool) -> Path:
    """Set a reset word in the options of a disk's boot entry, and nothing else.

    It stands before all other options, or behind them: the order says that the line contains it.
    """
    path, entry = entry_of(Image(disk))
    part, _ = esp_of(Image(disk))
    option = f"appliance.factory-reset={word}"
    bare = re.sub(r"[ \t]*appliance\.factory-reset=\S*", "", entry)
    line = re.compile(r"(?m)^([ \t]*options\b)[ \t]*(.*?)[ \t]*\r?$")
    new = rf"\1 {option} \2" if first else rf"\1 \2 {option}"
    edited, n = line.subn(new, bare, count=1)
    assert n == 1, "the boot entry has no options line any more [R28]"
    local = work / "entry.conf"
    local.write_text(edited)
    subprocess.run(
        ["mcopy", "-o", "-i", f"{disk}@@{part.start}", str(local), f"::{path}"],
        check=True,
        env={"MTOOLS_SKIP_CHECK": "1", "PATH": "/usr/bin:/bin"},
    )
    return disk
