"""Catalogues: drawn, written as the order says, damaged, and what is due to queries of them."""

from __future__ import annotations

import random
import string
import struct
import zlib
from dataclasses import dataclass

SECTOR, ENTRY, HEAD = 512, 32, 16
LONGEST, LONGEST_FILE, LONGEST_NAME = 4 << 20, 256 << 10, 20
LETTERS = string.ascii_letters + string.digits + "._-"
LENGTHS = (0, 1, 2, 511, 512, 513, 535, 536, 537, 1459, 1460, 1461, 4096)


@dataclass(frozen=True)
class Catalogue:
    """Files by name, and the disk on which they lie; `at` is where each begins on it."""

    files: dict[str, bytes]
    disk: bytes
    at: dict[str, int]

    def damaged(self, place: int, rng: random.Random) -> Catalogue:
        """One bit of the byte at `place` is another."""
        disk = bytearray(self.disk)
        disk[place] ^= 1 << rng.randrange(8)
        return Catalogue(self.files, bytes(disk), self.at)

    def reply(self, name: str, digits: str) -> bytes:
        """What is due to a query, where nothing is damaged."""
        value = self.files.get(name)
        if value is None:
            return f"NONE {digits}".encode()
        return f"OK {digits} {len(value)} {zlib.crc32(digits.encode() + value):08x}".encode()


def word(rng: random.Random, least: int = 1, most: int = LONGEST_NAME) -> str:
    """A name."""
    return "".join(rng.choices(LETTERS, k=rng.randint(least, most)))


def digits(rng: random.Random) -> str:
    """The sixteen characters of a query."""
    return f"{rng.getrandbits(64):016x}"


def draw(rng: random.Random, more: int = 24) -> dict[str, bytes]:
    """Files of the lengths around which mistakes are made, some others, one as long as may be."""
    lengths = [*LENGTHS, *(rng.randint(600, 9000) for _ in range(more)), 65_536, LONGEST_FILE]
    names = {word(rng, 4) for _ in lengths}
    while len(names) < len(lengths):
        names.add(word(rng, 4))
    shuffled = sorted(names)
    rng.shuffle(shuffled)
    shuffled[0], shuffled[1] = word(rng, 1, 1), word(rng, LONGEST_NAME)
    return {name: rng.randbytes(n) for name, n in zip(shuffled, lengths, strict=True)}


def sealed(count: int, sectors: int, directory: bytes, noise: bytes, magic=b"SKAT") -> bytes:
    """The first sector, with a CRC that is right."""
    head = magic + struct.pack("<II", count, sectors)
    return head + struct.pack("<I", zlib.crc32(head + directory)) + noise[: SECTOR - HEAD]


def write(files: dict[str, bytes], rng: random.Random) -> Catalogue:
    """The disk: contents in any order, anything between and behind them."""
    first = 1 + -(-len(files) * ENTRY // SECTOR)
    order = list(files)
    rng.shuffle(order)
    body, at = bytearray(), {}
    for name in order:
        body += rng.randbytes(SECTOR * rng.choice((0, 0, 0, 1, 2)))
        at[name] = first * SECTOR + len(body)
        body += files[name] + rng.randbytes(-len(files[name]) % SECTOR)
    listed = list(files)
    rng.shuffle(listed)
    directory = b"".join(
        struct.pack("<20sIII", name.encode(), at[name] // SECTOR, len(value), zlib.crc32(value))
        for name, value in ((name, files[name]) for name in listed)
    )
    sectors = first + len(body) // SECTOR
    filled = directory + rng.randbytes(-len(directory) % SECTOR)
    disk = sealed(len(files), sectors, directory, rng.randbytes(SECTOR)) + filled + bytes(body)
    assert len(disk) == sectors * SECTOR <= LONGEST
    return Catalogue(files, disk + rng.randbytes(SECTOR * rng.randint(1, 9)), at)


def longest(rng: random.Random) -> Catalogue:
    """As long as may be, with a directory of hundreds."""
    files = {f"{word(rng, 1, 12)}-{n}": rng.randbytes(rng.randint(1, 1500)) for n in range(600)}
    # Between two files are two sectors at most.
    taken = sum(-(-len(data) // SECTOR) + 2 for data in files.values())
    room = LONGEST // SECTOR - 1 - -(-700 * ENTRY // SECTOR) - taken
    for n in range(room // (LONGEST_FILE // SECTOR + 2)):
        files[f"long{n}"] = rng.randbytes(LONGEST_FILE - rng.randrange(9))
    return write(files, rng)


def heads_that_cannot_be(made: Catalogue, rng: random.Random) -> list[bytes]:
    """First sectors that are wrong although their CRC is right for what it can be about."""
    count, sectors = struct.unpack_from("<II", made.disk, 4)
    directory = made.disk[SECTOR : SECTOR + ENTRY * count]
    noise = made.disk[HEAD:SECTOR]
    whole = made.disk[SECTOR:]
    too_many = (sectors - 1) * SECTOR // ENTRY + 1
    magic = bytearray(b"SKAT")
    magic[rng.randrange(4)] ^= 1 << rng.randrange(8)
    return [
        sealed(count, sectors, directory, noise, bytes(magic)),
        # What is no more than the directory, where a product of 32 bits is cut off.
        sealed(count + (1 << 27), sectors, directory, noise),
        sealed(too_many, sectors, whole[: too_many * ENTRY], noise),
        sealed(count, 0, directory, noise),
        sealed(count, (LONGEST >> 9) + 1, directory, noise),
        sealed(0xFFFF_FFFF, sectors, directory, noise),
        bytes(SECTOR),
    ]
