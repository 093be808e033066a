"""What a round of the station is made of: tables, queues, the replies that are due, and par."""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass

TABLE, QUEUE = 0x8100_0000, 0x8400_0000
MAGIC, VERSION = b"OSTV", 3
HEAD, ENTRY, FOOT = 32, 32, 8
LONGEST_TABLE, LONGEST_LINE = 4 << 20, 64
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"


@dataclass(frozen=True)
class Record:
    """One entry of a table's directory, with its value."""

    key: str
    issue: int
    value: bytes


def seal(body: bytes) -> bytes:
    """`body`, a multiple of eight bytes, with the table's last eight behind it."""
    return body + struct.pack("<II", zlib.crc32(body), 0)


def table(records: list[Record], rng: random.Random, version: int = VERSION) -> bytes:
    """The records as a table: the directory in their order, values in another, at any place."""
    places, at = {}, HEAD + ENTRY * len(records)
    values = bytearray()
    for number in rng.sample(range(len(records)), len(records)):
        values += rng.randbytes(rng.randrange(8))
        places[number] = at + len(values)
        values += records[number].value
    values += rng.randbytes(-len(values) % 8)
    length = at + len(values) + FOOT
    head = struct.pack("<4sIII", MAGIC, version, length, len(records)) + rng.randbytes(16)
    entries = b"".join(
        record.key.encode().ljust(16, b"\0")
        + struct.pack("<IIII", places[n], len(record.value), record.issue, rng.getrandbits(32))
        for n, record in enumerate(records)
    )
    return seal(head + entries + values)


def word(rng: random.Random, least: int = 1, most: int = 16) -> str:
    """A key."""
    return "".join(rng.choices(LETTERS, k=rng.randint(least, most)))


def draw(rng: random.Random, count: int, longest: int = 160) -> list[Record]:
    """`count` records: keys with common beginnings, one in eight a further issue of another's."""
    keys: list[str] = []
    used: set[tuple[str, int]] = set()
    records = []
    while len(records) < count:
        shape = rng.randrange(8)
        if keys and shape == 0:
            key = rng.choice(keys)
        elif keys and shape < 4:
            key = (rng.choice(keys)[: rng.randrange(1, 15)] + word(rng))[:16]
        else:
            key = word(rng, 4)
        issue = rng.getrandbits(rng.choice((8, 31, 32)))
        if (key, issue) in used:
            continue
        used.add((key, issue))
        keys.append(key)
        records.append(Record(key, issue, rng.randbytes(rng.randint(0, longest))))
    return records


def nonce(rng: random.Random) -> str:
    """Sixteen digits of a query."""
    return f"{rng.getrandbits(64):016x}"


def current(records: list[Record]) -> dict[str, Record]:
    """Of each key the record with the highest issue."""
    found: dict[str, Record] = {}
    for record in records:
        if record.key not in found or found[record.key].issue < record.issue:
            found[record.key] = record
    return found


def get(key: str, digits: str, verb: str = "GET") -> str:
    """A query's line."""
    return f"{verb} {key} {digits}\n"


def checksum(record: Record, digits: str) -> int:
    """What a query of these digits asks of a record."""
    return zlib.crc32(digits.encode() + record.value)


def replies(records: list[Record], asked: list[tuple[str, str]]) -> str:
    """What is due to queries (key, digits), in their order."""
    known, lines = current(records), []
    for key, digits in asked:
        if key not in known:
            lines.append(f"NONE {digits}\n")
            continue
        record = known[key]
        lines.append(f"OK {digits} {len(record.value)} {checksum(record, digits):08x}\n")
    return "".join(lines)


def total(records: list[Record], asked: list[tuple[str, str]]) -> str:
    """What is due to SUM after these were added."""
    known = current(records)
    added = [(known[key], digits) for key, digits in asked if key in known]
    both = 0
    for record, digits in added:
        both ^= checksum(record, digits)
    return f"SUM {len(added)} {len(asked) - len(added)} {both:08x}\n"


def queue(*lines: str | bytes) -> bytes:
    """The queue as it lies in memory: the lines, and a zero byte."""
    return b"".join(x.encode() if isinstance(x, str) else x for x in lines) + b"\0"


def par(records: list[Record], made: bytes, key: str) -> int:
    """The instructions that are par for a first answer: [R17] of the order."""
    return int(1000 + 0.54 * len(made) + 4 * len(records) + len(current(records)[key].value))


def par_of_round(records: list[Record], made: bytes, queries: int) -> int:
    """The instructions that are par for a round of additions: [R19] of the order."""
    return int(1000 + 0.54 * len(made) + 40 * len(records) + 500 * queries)
