#!/usr/bin/env python3
"""Draws a catalogue, says what queries of it are answered, and asks a box that start.sh started.

catalogue.py draw catalogue.img [SEED [FILES]]    writes one, and lists its files
catalogue.py ask catalogue.img                    asks for each file by UDP and by HTTP
"""

import random
import socket
import struct
import sys
import zlib
from pathlib import Path

SECTOR, ENTRY = 512, 32
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"


def drawn(seed, count):
    """The bytes of a disk."""
    rng = random.Random(seed)
    names = set()
    while len(names) < count:
        names.add("".join(rng.choices(LETTERS, k=rng.randint(3, 20))))
    sector = 1 + -(-count * ENTRY // SECTOR)
    directory, body = b"", b""
    for name in sorted(names):
        value = rng.randbytes(rng.choice((0, 1, 511, 512, 513, rng.randint(1, 60_000))))
        directory += struct.pack("<20sIII", name.encode(), sector, len(value), zlib.crc32(value))
        padded = value + rng.randbytes(-len(value) % SECTOR)
        sector, body = sector + len(padded) // SECTOR, body + padded
    head = b"SKAT" + struct.pack("<II", count, sector)
    head += struct.pack("<I", zlib.crc32(head + directory))
    directory += rng.randbytes(-len(directory) % SECTOR)
    return head + rng.randbytes(SECTOR - len(head)) + directory + body


def files(disk):
    """Its files by name."""
    found = {}
    for number in range(struct.unpack_from("<I", disk, 4)[0]):
        name, first, length, _ = struct.unpack_from("<20sIII", disk, SECTOR + ENTRY * number)
        found[name.rstrip(b"\0").decode()] = disk[first * SECTOR : first * SECTOR + length]
    return found


def due(value, digits):
    """What a query of a file is answered; `value` is None for one that is not there."""
    if value is None:
        return f"NONE {digits}"
    return f"OK {digits} {len(value)} {zlib.crc32(digits.encode() + value):08x}"


def ask(disk):
    """Each file by UDP and by HTTP, of the box behind start.sh's ports."""
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    line.settimeout(5)
    for name, value in files(disk).items():
        digits = f"{random.getrandbits(64):016x}"
        line.sendto(f"SUM {name} {digits}".encode(), ("127.0.0.1", 7007))
        said = line.recv(2048).decode()
        with socket.create_connection(("127.0.0.1", 8080), 5) as web:
            web.sendall(f"GET /{name} HTTP/1.0\r\n\r\n".encode())
            reply = b"".join(iter(lambda: web.recv(65536), b""))
        right = said == due(value, digits), reply.partition(b"\r\n\r\n")[2] == value
        print(name, len(value), *("right" if one else "WRONG" for one in right))


def main():
    """The two commands."""
    if sys.argv[1:2] == ["draw"] and len(sys.argv) > 2:
        seed, count = (int(word) for word in (sys.argv[3:] + ["1", "20"][len(sys.argv) - 3 :]))
        disk = drawn(seed, count)
        Path(sys.argv[2]).write_bytes(disk)
        for name, value in files(disk).items():
            print(name, len(value), f"{zlib.crc32(value):08x}")
    elif sys.argv[1:2] == ["ask"] and len(sys.argv) == 3:
        ask(Path(sys.argv[2]).read_bytes())
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
