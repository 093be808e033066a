#!/usr/bin/env python3
"""Run a firmware on the board with a table and a queue, as the customer's bench does.

    measure.py firmware.elf                     the example's one query: replies, count, par, score
    measure.py firmware.elf --seed 7 --count 4000 --queries 400       a round of additions
    measure.py firmware.elf --table T --queue Q                       your own files: replies, count

The count is QEMU's own (its record mode), of all instructions from power-on until the board sleeps.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

TABLE, QUEUE = 0x8100_0000, 0x8400_0000


def drawn(seed: int, count: int, queries: int) -> tuple[bytes, bytes, str, int]:
    """A round: table, queue, the replies that are due, par. One query is a GET, many are ADDs.

    The bench draws other tables than these, but of the same kind.
    """
    dice = random.Random(seed)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789"
    newest: dict[str, tuple[int, bytes]] = {}
    directory, heap, first = b"", b"", 32 + 32 * count
    for issue in dice.sample(range(1 << 32), count):
        again = newest and dice.random() < 0.1
        key = (
            dice.choice(list(newest))
            if again
            else "".join(dice.choices(letters, k=dice.randint(4, 16)))
        )
        value = dice.randbytes(dice.randint(0, 160))
        heap += dice.randbytes(dice.randint(0, 7))
        place = first + len(heap)
        directory += struct.pack(
            "<16sIIII", key.encode(), place, len(value), issue, dice.getrandbits(32)
        )
        heap += value
        newest[key] = max(newest.get(key, (-1, b"")), (issue, value))
    heap += bytes(-len(heap) % 8)
    size = first + len(heap) + 8
    table = struct.pack("<4sIII16x", b"OSTV", 3, size, count) + directory + heap
    table += struct.pack("<II", zlib.crc32(table), 0)
    lines, due, both = [], "", 0
    for key in dice.choices(list(newest), k=queries):
        digits, value = dice.randbytes(8).hex(), newest[key][1]
        answer = zlib.crc32(digits.encode() + value)
        both ^= answer
        lines.append(f"{'GET' if queries == 1 else 'ADD'} {key} {digits}")
        due = f"OK {digits} {len(value)} {answer:08x}\n"
    if queries == 1:
        par = 1000 + 54 * size // 100 + 4 * count + len(value)
    else:
        par = 1000 + 54 * size // 100 + 40 * count + 500 * queries
        lines.append("SUM")
        due = f"SUM {queries} 0 {both:08x}\n"
    return table, "".join(f"{line}\n" for line in lines).encode() + b"\0", due, par


def run(firmware: str, table: str, queue: str, folder: str, seconds: float) -> tuple[bytes, int]:
    """What the board printed, and its instructions when it slept (-1: it switched itself off)."""
    serial = Path(folder) / "serial"
    control, theirs = socket.socketpair()
    board = subprocess.Popen(
        ["qemu-system-riscv64", "-nodefaults", "-no-user-config", "-display", "none",
         "-machine", "virt", "-cpu", "rv64", "-m", "128M", "-bios", "none", "-kernel", firmware,
         "-icount", f"shift=0,rr=record,rrfile={folder}/record",
         "-device", f"loader,file={table},addr={TABLE:#x},force-raw=on",
         "-device", f"loader,file={queue},addr={QUEUE:#x},force-raw=on",
         "-chardev", f"file,id=s,path={serial}", "-serial", "chardev:s",
         "-chardev", f"socket,id=q,fd={theirs.fileno()}", "-mon", "chardev=q,mode=control"],
        pass_fds=[theirs.fileno()],
    )  # fmt: skip
    theirs.close()
    talk = control.makefile("rw")
    last, end = -1, time.monotonic() + seconds

    def ask(name: str) -> dict:
        talk.write(json.dumps({"execute": name}) + "\n")
        talk.flush()
        for line in talk:
            answer = json.loads(line)
            if "return" in answer:
                return answer["return"]
        raise EOFError

    try:
        talk.readline()
        ask("qmp_capabilities")
        while time.monotonic() < end:
            time.sleep(0.3)
            count = ask("query-replay")["icount"]
            if count == last:
                return serial.read_bytes(), count
            last = count
        sys.exit(f"not asleep after {seconds:g} s; it printed {serial.read_bytes()[-300:]!r}")
    except (EOFError, OSError):
        board.wait()
        return serial.read_bytes(), -1
    finally:
        board.kill()
        board.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("firmware")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000, help="records")
    parser.add_argument("--queries", type=int, default=1)
    parser.add_argument("--table")
    parser.add_argument("--queue")
    parser.add_argument("--seconds", type=float, default=30)
    given = parser.parse_args()
    table, queue, due, par = drawn(given.seed, given.count, given.queries)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "table").write_bytes(table)
        (Path(folder) / "queue").write_bytes(queue)
        said, count = run(given.firmware, given.table or f"{folder}/table",
                          given.queue or f"{folder}/queue", folder, given.seconds)  # fmt: skip
    print(said.decode("ascii", "backslashreplace"), end="")
    print(f"instructions {count}" if count >= 0 else "switched itself off")
    if not given.table and not given.queue:
        print(
            "replies", "right" if said.decode("ascii", "replace") == due else f"WRONG, due:\n{due}"
        )
        print(f"par {par}, score {par / count:.3f}")


if __name__ == "__main__":
    main()
