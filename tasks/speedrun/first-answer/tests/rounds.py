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


@dataclass(frozen=True)
class Round:
    """What one start finds, and what it has to say."""

    records: list[Record]
    table: bytes
    queue: bytes
    due: str


def seal(body: bytes, last: int = 0) -> bytes:
    """`body`, a multiple of eight bytes, with the table's last eight behind it."""
    return body + struct.pack("<II", zlib.crc32(body), last)


def table(records: list[Record], rng: random.Random, most: int = 7) -> bytes:
    """The records as a table: the directory in their order, values in another, at any place.

    `most` is the number of bytes that may lie between two values.
    """
    places, at = {}, HEAD + ENTRY * len(records)
    values = bytearray()
    for number in rng.sample(range(len(records)), len(records)):
        values += rng.randbytes(rng.randint(0, most))
        places[number] = at + len(values)
        values += records[number].value
    values += rng.randbytes(-len(values) % 8)
    length = at + len(values) + FOOT
    head = struct.pack("<4sIII", MAGIC, VERSION, length, len(records)) + rng.randbytes(16)
    entries = b"".join(
        record.key.encode().ljust(16, b"\0")
        + struct.pack("<IIII", places[n], len(record.value), record.issue, rng.getrandbits(32))
        for n, record in enumerate(records)
    )
    return seal(head + entries + values, rng.getrandbits(32))


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


def one_query(rng: random.Random, records: list[Record], key: str) -> Round:
    """A round of one query, as the first answer's are."""
    query = (key, nonce(rng))
    made = table(records, rng)
    return Round(records, made, queue(get(*query)), replies(records, [query]))


def some_2000(rng: random.Random) -> list[Record]:
    """The records of a first answer's table."""
    return draw(rng, rng.randint(1900, 2100))


def first_answer(rng: random.Random) -> tuple[Round, int]:
    """A round of one query for a table of some 2,000 records, and its par: [R17] of the order."""
    records = some_2000(rng)
    key = rng.choice(records).key
    drawn = one_query(rng, records, key)
    return drawn, par(records, drawn.table, key)


def additions(rng: random.Random) -> tuple[Round, int]:
    """Some 400 additions to a table of some 4,000 records, and their par: [R19] of the order."""
    records = draw(rng, rng.randint(3900, 4100))
    asked = [(rng.choice(records).key, nonce(rng)) for _ in range(rng.randint(390, 410))]
    made = table(records, rng)
    lines = [get(*query, verb="ADD") for query in asked]
    drawn = Round(records, made, queue(*lines, "SUM\n"), total(records, asked))
    return drawn, par_of_round(records, made, len(asked))


def value_at(made: bytes, number: int) -> tuple[int, int]:
    """(place, length) of the value of a table's entry."""
    place, length = struct.unpack_from("<II", made, HEAD + ENTRY * number + 16)
    return place, length


def flipped(made: bytes, place: int, rng: random.Random) -> bytes:
    """The table with one bit of one byte changed."""
    spoilt = bytearray(made)
    spoilt[place] ^= 1 << rng.randrange(8)
    return bytes(spoilt)


def spoilt_value(made: bytes, records: list[Record], rng: random.Random) -> bytes:
    """The table with one bit of one value changed, which is found by nothing but the CRC."""
    number = rng.choice([n for n, record in enumerate(records) if record.value])
    place, length = value_at(made, number)
    return flipped(made, place + rng.randrange(length), rng)
