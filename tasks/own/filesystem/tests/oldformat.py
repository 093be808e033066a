"""Disks of format 1 (FORMAT-1.md): drawn, whole or hostile, with right checksums."""

from __future__ import annotations

import random
import stat
import struct
import zlib
from dataclasses import dataclass, field

BLOCK = 4096
ROOT = 1
FEW = 5  # extents that an inode has in itself


def crc32c(data: bytes) -> int:
    """CRC-32C."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ 0x82F63B78 if value & 1 else value >> 1
        table.append(value)
    return table


_TABLE = _table()


@dataclass
class Inode:
    mode: int
    uid: int
    gid: int
    seconds: int
    nanoseconds: int
    size: int = 0
    links: int = 1
    #: Logical block to content; what is not there is a hole.
    blocks: dict[int, bytes] = field(default_factory=dict)
    device: tuple[int, int] = (0, 0)
    extents: list[tuple[int, int, int]] = field(default_factory=list)
    more: int = 0
    counted: int | None = None  # extents that it says to have, where that is not true

    def record(self) -> bytes:
        count = len(self.extents) if self.counted is None else self.counted
        here = b"".join(struct.pack("<III", *extent) for extent in self.extents[:FEW])
        head = struct.pack(
            "<HHIIQqII",
            self.mode,
            self.links & 0xFFFF,
            self.uid,
            self.gid,
            self.size,
            self.seconds,
            self.nanoseconds,
            count,
        )
        device = self.device[0] << 20 | self.device[1]
        body = head + here.ljust(60, b"\0") + struct.pack("<II", self.more, device)
        body = body.ljust(124, b"\0")
        return body + struct.pack("<I", crc32c(body))


class Old:
    """A disk of format 1, and what is on it."""

    def __init__(self, rng: random.Random, megabytes: int) -> None:
        self.rng = rng
        self.count = (megabytes << 20) // BLOCK
        self.inodes: list[Inode] = []
        self.names: dict[int, list[tuple[int, bytes]]] = {}
        self.uuid = rng.randbytes(16)
        self.label = b"old-" + f"{rng.getrandbits(60):x}".encode()
        self.expected: dict[str, str] = {}
        self.slots = rng.randint(200, 400)
        self.table = rng.randint(16, 300)
        #: Changed by hostile disks before they are written.
        self.super = {"version": 1, "blocks": self.count, "table": self.table, "slots": self.slots}
        #: Records of names in folders as they are, where a hostile disk has its own.
        self.raw_folders: dict[int, list[bytes]] = {}

    # -- what is on it ----------------------------------------------------------------------------

    def add(self, mode: int, **more) -> int:
        rng = self.rng
        self.inodes.append(
            Inode(
                mode,
                rng.randrange(0xFFFFFFFF),
                rng.randrange(0xFFFFFFFF),
                rng.randint(-(1 << 32), 1 << 33),
                rng.randrange(10**9),
                **more,
            )
        )
        return len(self.inodes)

    def name(self, folder: int, name: str, ino: int) -> None:
        self.names.setdefault(folder, []).append((ino, name.encode()))

    def folder(self, parent: int, name: str) -> int:
        ino = self.add(stat.S_IFDIR | self.rng.choice((0o755, 0o700, 0o2775)), links=2)
        self.names.setdefault(ino, [])
        if parent:
            self.name(parent, name, ino)
            self.inodes[parent - 1].links += 1
        return ino

    def file(self, parent: int, name: str, pieces: int, holes: bool) -> int:
        rng = self.rng
        ino = self.add(stat.S_IFREG | rng.choice((0o644, 0o600, 0o4755)))
        inode = self.inodes[ino - 1]
        at = 0
        for _ in range(pieces):
            at += rng.randint(1, 40) if holes else 0
            for _ in range(rng.randint(1, 4)):
                inode.blocks[at] = rng.randbytes(BLOCK)
                at += 1
        inode.size = at * BLOCK - rng.randint(0, BLOCK - 1) if at else 0
        if inode.size % BLOCK and (at - 1) in inode.blocks:
            # Behind the end lies what means nothing.
            inode.blocks[at - 1] = inode.blocks[at - 1]
        if holes and rng.random() < 0.5:
            inode.size += rng.randint(1, 50000)
        self.name(parent, name, ino)
        return ino

    def link(self, parent: int, name: str, target: str) -> int:
        ino = self.add(stat.S_IFLNK | 0o777)
        inode = self.inodes[ino - 1]
        inode.size = len(target)
        inode.blocks[0] = target.encode().ljust(BLOCK, b"\0")
        self.name(parent, name, ino)
        return ino

    def populate(self) -> None:
        rng = self.rng
        root = self.folder(0, "")
        folders = [root]
        for n in range(rng.randint(5, 9)):
            folders.append(self.folder(rng.choice(folders), f"folder{n}-{rng.getrandbits(30):x}"))
        for n in range(rng.randint(30, 50)):
            self.file(
                rng.choice(folders),
                f"file{n}-{rng.getrandbits(30):x}",
                rng.choice((0, 1, 1, 2, 4, 9)),
                rng.random() < 0.4,
            )
        self.file(rng.choice(folders), "many-extents", rng.randint(60, 120), True)
        for n in range(8):
            self.link(rng.choice(folders), f"link{n}", "t" * rng.randint(1, 900) + f"{n}")
        crowd = self.folder(root, "crowd")
        for n in range(60):
            ino = self.add(stat.S_IFREG | 0o640)
            self.name(crowd, f"{n:x}-" + "n" * rng.randint(0, 240), ino)
        twice = self.file(root, "one-name", 2, False)
        self.name(crowd, "another-name", twice)
        self.inodes[twice - 1].links = 2
        for name, kind, device in (
            ("fifo", stat.S_IFIFO, (0, 0)),
            ("null", stat.S_IFCHR, (1, 3)),
            ("disk", stat.S_IFBLK, (259, rng.randint(256, 70000))),
        ):
            ino = self.add(kind | 0o600, device=device)
            self.name(root, name, ino)

    # -- as bytes ---------------------------------------------------------------------------------

    def folder_blocks(self, ino: int) -> dict[int, bytes]:
        if ino in self.raw_folders:
            return dict(enumerate(self.raw_folders[ino]))
        blocks: list[bytes] = []
        now = b""
        for child, name in self.names.get(ino, []):
            size = 8 + len(name) + 3 & ~3
            gap = self.rng.choice((0, 0, 0, 12, 40))
            if len(now) + size + gap > BLOCK - 8:
                blocks.append(filled(now))
                now = b""
            if gap:
                now += struct.pack("<IHBB", 0, gap, min(gap - 8, 3), 0) + b"old".ljust(
                    gap - 8, b"\0"
                )
            now += struct.pack("<IHBB", child, size, len(name), 0) + name.ljust(size - 8, b"\0")
        if now:
            blocks.append(filled(now))
        return dict(enumerate(blocks))

    def image(self) -> bytes:
        rng = self.rng
        disk = bytearray(self.count * BLOCK)
        disk[BLOCK : 16 * BLOCK] = rng.randbytes(15 * BLOCK)  # which means nothing
        used = set(range(16)) | set(range(self.table, self.table + (self.slots + 31) // 32))
        free = iter(self._places(used))
        for number, inode in enumerate(self.inodes, 1):
            if stat.S_ISDIR(inode.mode) and not inode.extents:
                inode.blocks = self.folder_blocks(number)
                inode.size = len(inode.blocks) * BLOCK
            if not inode.extents:
                self._lay(disk, inode, free)
            at = self.table * BLOCK + (number - 1) * 128
            disk[at : at + 128] = inode.record()
        head = struct.pack(
            "<8sIIII16s32sQ",
            b"HOLMFS-1",
            self.super["version"],
            self.super["blocks"],
            self.super["table"],
            self.super["slots"],
            self.uuid,
            self.label,
            1_700_000_000,
        ).ljust(508, b"\0")
        disk[:512] = head + struct.pack("<I", crc32c(head))
        return bytes(disk)

    def _places(self, used: set[int]):
        """Free blocks, mostly beside each other, in the first half of the disk."""
        at = 16
        while True:
            for _ in range(self.rng.randint(1, 6)):
                while at in used:
                    at += 1
                if at >= self.count:
                    raise AssertionError("a disk of format 1 has no room for what was drawn")
                used.add(at)
                yield at
                at += 1
            at += self.rng.choice((0, 0, 1, 3))

    def _lay(self, disk: bytearray, inode: Inode, free) -> None:
        for logical in sorted(inode.blocks):
            place = next(free)
            disk[place * BLOCK : place * BLOCK + BLOCK] = inode.blocks[logical]
            last = inode.extents[-1] if inode.extents else None
            if last and last[0] + last[2] == logical and last[1] + last[2] == place:
                inode.extents[-1] = (last[0], last[1], last[2] + 1)
            else:
                inode.extents.append((logical, place, 1))
        if len(inode.extents) > FEW:
            inode.more = next(free)
            rest = b"".join(struct.pack("<III", *extent) for extent in inode.extents[FEW:])
            disk[inode.more * BLOCK : inode.more * BLOCK + len(rest)] = rest

    def listing(self, ino: int = ROOT, where: str = "") -> dict[str, str]:
        """What `tools list` has to say of it."""
        found: dict[str, str] = {}
        for child, name in self.names[ino]:
            inode, path = self.inodes[child - 1], where + name.decode()
            time = f"{inode.seconds}.{inode.nanoseconds:09d}"
            owner = f"{inode.mode & 0o7777:o} {inode.uid} {inode.gid} {time}"
            if stat.S_ISDIR(inode.mode):
                found[path] = f"d {owner}"
                found |= self.listing(child, f"{path}/")
            elif stat.S_ISLNK(inode.mode):
                target = inode.blocks[0][: inode.size].decode()
                found[path] = f"l {inode.links} {target}"
            elif stat.S_ISREG(inode.mode):
                found[path] = f"f {owner} {inode.links} {inode.size} {sums(inode)} "
            else:
                major, minor = inode.device
                number = (major & 0xFFF) << 8 | minor & 0xFF | (minor & ~0xFF) << 12
                found[path] = f"o {inode.mode:o} {number}"
        return found


def sums(inode: Inode) -> str:
    told = ""
    for at in range(0, inode.size, BLOCK):
        length = min(BLOCK, inode.size - at)
        block = inode.blocks.get(at // BLOCK, bytes(BLOCK))[:length]
        told += f"{zlib.crc32(block):x},"
    return told


def filled(records: bytes) -> bytes:
    """A block of a folder whose last record ends with it."""
    rest = BLOCK - len(records)
    return records + (struct.pack("<IHBB", 0, rest, 0, 0).ljust(rest, b"\0") if rest else b"")


def whole(rng: random.Random, megabytes: int = 16) -> Old:
    old = Old(rng, megabytes)
    old.populate()
    return old


def name_record(ino: int, name: bytes, size: int | None = None, length: int | None = None) -> bytes:
    room = 8 + len(name) + 3 & ~3
    return struct.pack(
        "<IHBB", ino, room if size is None else size, len(name) if length is None else length, 0
    ) + name.ljust(room - 8, b"\0")


def hostile(rng: random.Random, kind: int) -> bytes:
    """One of many lies, each with right checksums."""
    old = whole(rng)
    files = [i for i in old.inodes if stat.S_ISREG(i.mode) and i.blocks]
    folders = [n for n, i in enumerate(old.inodes, 1) if stat.S_ISDIR(i.mode)]
    victim, folder = rng.choice(files), rng.choice(folders)
    lies = [
        lambda: victim.extents.append((0, old.count + rng.randint(0, 1 << 30), 3)),
        lambda: victim.extents.append((0, 20, 0xFFFFFFFF)),
        lambda: victim.extents.extend([(5, 20, 4), (0, 30, 9), (5, 20, 4)]),
        lambda: victim.extents.append((0, rng.randint(0, 15), 1)),
        lambda: _counted(old.inodes[folder - 1], victim),
        lambda: setattr(victim, "size", (1 << 63) + rng.getrandbits(60)),
        lambda: old.names[folder].append((ROOT, b"circle")),
        lambda: old.names[folder].append((folder, b"itself")),
        lambda: old.names[folder].append((old.slots + rng.randint(1, 1 << 30), b"nobody")),
        lambda: old.names[folder].append((old.slots, b"free")),
        lambda: old.raw_folders.update({folder: [name_record(5, b"short", size=0) * 200]}),
        lambda: old.raw_folders.update({folder: [name_record(5, b"long", size=0xFFFC)]}),
        lambda: old.raw_folders.update({folder: [name_record(5, b"../../etc", length=255)]}),
        lambda: old.raw_folders.update({folder: [filled(name_record(5, b"a/b") * 3)]}),
        lambda: old.raw_folders.update({folder: [rng.randbytes(BLOCK) for _ in range(3)]}),
        lambda: old.super.update(slots=0xFFFFFFFF),
        lambda: old.super.update(table=0xFFFFFFF0),
        lambda: old.super.update(blocks=0xFFFFFFFF),
        lambda: old.super.update(slots=0),
        lambda: old.super.update(version=rng.randint(2, 1 << 31)),
        lambda: setattr(old.inodes[0], "mode", stat.S_IFREG | 0o644),
        lambda: setattr(old.inodes[0], "mode", 0),
        lambda: setattr(old.inodes[folder - 1], "links", 0),
        lambda: _sizes(old, rng),
    ]
    lies[kind % len(lies)]()
    for number in old.raw_folders:
        old.raw_folders[number] = [
            block.ljust(BLOCK, b"\0")[:BLOCK] for block in old.raw_folders[number]
        ]
    return old.image()


KINDS = 24


def _counted(folder: Inode, victim: Inode) -> None:
    for inode in (folder, victim):
        inode.extents = inode.extents or [(0, 20, 1)]
        inode.counted = 0xFFFFFFF0


def _sizes(old: Old, rng: random.Random) -> None:
    for inode in old.inodes:
        if stat.S_ISLNK(inode.mode):
            inode.size = rng.choice((0, 4096, 5000, 1 << 40))
