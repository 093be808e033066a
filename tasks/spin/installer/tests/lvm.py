"""LVM as it lies on a disk, read without device mapper: hostile, so that everything is bounded."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

from benchflow.boot import BadDeliverable, Image

_MIB = 1 << 20
_TEXT_MAX = 1 << 20
_NAME = r"[A-Za-z0-9_+.-]{1,127}"


@dataclass
class Lv:
    """A logical volume: its pieces are (first extent of it, count, first extent of the disk)."""

    name: str
    uuid: str
    pieces: list[tuple[int, int, int]] = field(default_factory=list)
    extents: int = 0


class Group:
    """The volume group on the one physical volume of a disk. Raises BadDeliverable."""

    def __init__(self, disk: Path) -> None:
        self._disk = Image(disk)
        found = []
        for part in self._disk.partitions():
            label = self._disk.bytes_at(part.start, 2048)
            for sector in range(4):
                if label[sector * 512 : sector * 512 + 8] == b"LABELONE":
                    found.append((part, label[sector * 512 : sector * 512 + 512]))
        if len(found) != 1:
            raise BadDeliverable(f"{len(found)} partitions hold a physical volume of LVM")
        self.partition, header = found[0]
        text = self._metadata(header)
        self._parse(text)

    def _metadata(self, sector: bytes) -> str:
        (offset,) = struct.unpack_from("<I", sector, 20)
        if offset > 400:
            raise BadDeliverable("a label of LVM that leads nowhere")
        at = (
            offset + 40
        )  # the PV's identifier and size; then two lists of areas, each ended by zeros
        lists: list[list[tuple[int, int]]] = [[], []]
        for areas in lists:
            while at + 16 <= len(sector):
                start, size = struct.unpack_from("<QQ", sector, at)
                at += 16
                if not start:
                    break
                areas.append((start, size))
        if not lists[0] or not lists[1]:
            raise BadDeliverable("a physical volume without metadata")
        start, size = lists[1][0]
        if size < 1024 or start + size > self.partition.size:
            raise BadDeliverable("metadata of LVM that lie outside")
        base = self.partition.start + start
        header = self._disk.bytes_at(base, 512)
        place, length = struct.unpack_from("<QQ", header, 40)
        if not 0 < length <= _TEXT_MAX or not 512 <= place < size:
            raise BadDeliverable("metadata of LVM of no sensible length")
        first = min(length, size - place)  # a ring
        data = self._disk.bytes_at(base + place, first)
        if first < length:
            data += self._disk.bytes_at(base + 512, length - first)
        return data.rstrip(b"\0").decode("ascii", "replace")

    def _parse(self, text: str) -> None:
        text = re.sub(r"#[^\n]*", "", text)
        named = re.match(rf"\s*({_NAME}) \{{\s*id = \"([A-Za-z0-9-]+)\"", text)
        if not named:
            raise BadDeliverable("metadata of LVM without a group")
        self.name, self.uuid = named[1], named[2]
        self.extent = self._number(text, "extent_size") * 512
        self._start = self._number(text, "pe_start") * 512
        self.extents = self._number(text, "pe_count")
        if len(re.findall(r"\bpe_count = ", text)) != 1:
            raise BadDeliverable("a group on several physical volumes")
        self.volumes: dict[str, Lv] = {}
        _before, _, after = text.partition("logical_volumes {")
        for name, body in _blocks(after):
            identifier = re.search(r"\bid = \"([A-Za-z0-9-]+)\"", body)
            volume = Lv(name, identifier[1] if identifier else "")
            for key, piece in _blocks(body):
                if not key.startswith("segment"):
                    continue
                disk = re.search(r"stripes = \[\s*\"[^\"]+\",\s*(\d{1,9})\s*\]", piece)
                if not disk or '"striped"' not in piece:
                    raise BadDeliverable(f"volume {name} is not a plain one")
                start, count = (self._number(piece, k) for k in ("start_extent", "extent_count"))
                volume.pieces.append((start, count, int(disk[1])))
                volume.extents += count
            self.volumes[name] = volume

    @staticmethod
    def _number(text: str, key: str) -> int:
        found = re.search(rf"\b{key} = (\d{{1,12}})\b", text)
        if not found:
            raise BadDeliverable(f"metadata of LVM without {key}")
        return int(found[1])

    def sizes(self) -> dict[str, float]:
        """MiB by volume."""
        return {n: v.extents * self.extent / _MIB for n, v in self.volumes.items()}

    def megabytes(self) -> float:
        return self.extents * self.extent / _MIB

    def head(self, name: str) -> bytes:
        """The first 128 KiB of a volume."""
        if name not in self.volumes or not self.volumes[name].pieces:
            raise BadDeliverable(f"there is no volume {name}")
        place = min(self.volumes[name].pieces)[2]
        return self._disk.bytes_at(
            self.partition.start + self._start + place * self.extent, 128 << 10
        )

    def copy(self, name: str, target: Path, limit: int = 2 << 30) -> Path:
        """A volume's bytes as a file, with holes where it holds zeros."""
        if name not in self.volumes:
            raise BadDeliverable(
                f"there is no volume {name}; there are {sorted(self.volumes)[:20]}"
            )
        volume = self.volumes[name]
        if volume.extents * self.extent > limit:
            raise BadDeliverable(f"volume {name} is too large")
        zeros = bytes(_MIB)
        with target.open("wb") as file:
            file.truncate(volume.extents * self.extent)
            for start, count, place in volume.pieces:
                base = self.partition.start + self._start + place * self.extent
                for at in range(0, count * self.extent, _MIB):
                    data = self._disk.bytes_at(base + at, _MIB)
                    if data != zeros[: len(data)]:
                        file.seek(start * self.extent + at)
                        file.write(data)
        return target


def _blocks(text: str) -> list[tuple[str, str]]:
    """The `name { … }` of the outermost level, until a closing brace too many."""
    found, depth, begin, name = [], 0, 0, ""
    for token in re.finditer(rf"({_NAME}) \{{|\}}", text):
        if token[0] != "}":
            if depth == 0:
                name, begin = token[1], token.end()
            depth += 1
        else:
            depth -= 1
            if depth < 0:
                break
            if depth == 0:
                found.append((name, text[begin : token.start()]))
    return found


def filesystem(head: bytes) -> tuple[str, str]:
    """(type, identifier) of what begins with these bytes."""
    if head[0:4] == b"XFSB":
        return "xfs", head[32:48].hex()
    if head[1080:1082] == b"\x53\xef":
        return "ext4", head[1128:1144].hex()
    if head[4086:4096] == b"SWAPSPACE2":
        return "swap", head[1036:1052].hex()
    return "", ""
