"""Partition tables, read by sfdisk."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.bounded_run import run_tool

_MAX_PARTITIONS = 256


@dataclass(frozen=True)
class Partition:
    """One partition: `start` and `size` in bytes, `type` a GUID (GPT) or a hex number (MBR)."""

    number: int
    start: int
    size: int
    type: str
    table: str
    uuid: str = ""
    name: str = ""
    bootable: bool = False
    attributes: str = ""


def read_partitions(image: Path) -> list[Partition]:
    """The partitions of a raw image by number; an empty list when it has no table.

    Raises BadDeliverable when a partition lies outside the image or overlaps another one.
    """
    done = run_tool(["sfdisk", "--json", str(image)], limit=1 << 20)
    if done.status != 0:
        if b"does not contain a recognized partition table" in done.stderr:
            return []
        raise BadDeliverable(f"the partition table cannot be read: {done.complaint}")
    table = _parse(done.stdout)
    sector = int(table.get("sectorsize", 512))
    entries = table.get("partitions", [])
    if len(entries) > _MAX_PARTITIONS:
        raise BadDeliverable(f"the partition table has {len(entries)} entries")
    found = [_partition(entry, str(table.get("label", "")), sector) for entry in entries]
    _check(found, image.stat().st_size)
    return sorted(found, key=lambda partition: partition.number)


def _parse(output: bytes) -> dict[str, Any]:
    try:
        table = json.loads(output.decode(errors="replace"))["partitiontable"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadDeliverable(f"the partition table is unreadable: {error!r}") from None
    if not isinstance(table, dict):
        raise BadDeliverable("the partition table is unreadable")
    return table


def _partition(entry: dict[str, Any], table: str, sector: int) -> Partition:
    number = re.search(r"(\d+)\Z", str(entry["node"]))
    if number is None:
        raise BadDeliverable(f"a partition has no number: {entry['node']!r}")
    attributes = str(entry.get("attrs", ""))
    return Partition(
        number=int(number[1]),
        start=int(str(entry["start"])) * sector,
        size=int(str(entry["size"])) * sector,
        type=str(entry["type"]),
        table=table,
        uuid=str(entry.get("uuid", "")),
        name=str(entry.get("name", "")),
        bootable=bool(entry.get("bootable", False)) or "LegacyBIOSBootable" in attributes,
        attributes=attributes,
    )


def _check(partitions: list[Partition], size: int) -> None:
    end = 0
    # An extended partition of an MBR holds the logical ones, which have numbers from 5.
    extended = {"5", "f", "85"}
    for part in sorted((p for p in partitions if p.type not in extended), key=lambda p: p.start):
        if part.start + part.size > size:
            raise BadDeliverable(f"partition {part.number} reaches beyond the end of the image")
        if part.start < end:
            raise BadDeliverable(f"partition {part.number} overlaps another one")
        end = part.start + part.size
