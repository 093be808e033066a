"""What the analyser in each slot saw: every access to a card's registers, from QEMU's own trace.

The guest can neither see nor change it. A line of the trace is
`memory_region_ops_write cpu 0 mr 0x55f5 addr 0xfebf0008 value 0xa size 4 name 'edu-mmio'`;
`mr` tells the cards apart, `addr` modulo 1 MiB is the register.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LINE = re.compile(
    rb"memory_region_ops_(read|write) cpu -?\d+ mr (0x[0-9a-f]+) addr (0x[0-9a-f]+) "
    rb"value (0x[0-9a-f]+) size (\d+) name 'edu-mmio'"
)
IDENT, ECHO, OPERAND, STATUS, CAUSE, RAISE, CLEAR = 0x00, 0x04, 0x08, 0x20, 0x24, 0x60, 0x64
SOURCE, TARGET, COUNT, GO = 0x80, 0x88, 0x90, 0x98
READABLE = {IDENT, ECHO, OPERAND, STATUS, CAUSE, SOURCE, TARGET, COUNT, GO}
WRITABLE = {ECHO, OPERAND, STATUS, RAISE, CLEAR, SOURCE, TARGET, COUNT, GO}
WORKING, STARTED, TO_MEMORY = 1, 1, 2
MILL, CARRIER = 0x1, 0x100
STORE, STORE_END = 0x40000, 0x40FFF  # the last byte is the card's own
MEMORY_END = 1 << 28
PIPE = 1 << 20  # bytes under way from QEMU
PAUSE = 0.02  # seconds; QEMU writes line by line, and to be woken by each would cost more than it
MOST = 500_000  # accesses; an honest record has some 5,000


@dataclass(frozen=True)
class Access:
    """One access; `card` is the same for all of one card in one machine."""

    card: str
    write: bool
    register: int
    value: int
    size: int


@dataclass(frozen=True)
class Transfer:
    """One started transfer."""

    card: str
    to_store: bool
    memory: int
    store: int
    count: int


def parse(text: bytes) -> list[Access]:
    """The accesses in complete lines of a trace."""
    return [
        Access(m[2].decode(), m[1] == b"write", int(m[3], 16) & 0xFFFFF, int(m[4], 16), int(m[5]))
        for m in LINE.finditer(text)
    ]


class Bus:
    """The trace of one machine, taken off QEMU while it runs: of all that a machine's devices do,
    only what the cards saw is kept. A guest that waits in a loop fills a disk in minutes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        os.mkfifo(path, 0o600)
        # Held open for writing too, or it would end with the first machine.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, PIPE)
        self._size = fcntl.fcntl(self._pipe, fcntl.F_GETPIPE_SZ)
        self._lock = threading.Lock()
        self._rest = b""
        self._seen: list[Access] = []
        self._cuts: list[int] = []
        threading.Thread(target=self._follow, daemon=True).start()

    @property
    def arguments(self) -> list[str]:
        """What QEMU has to be told."""
        events = ("memory_region_ops_read", "memory_region_ops_write")
        return [word for name in events for word in ("-trace", name)] + ["-D", str(self._path)]

    def all(self) -> list[Access]:
        """Everything up to now. A guest that floods the cards fails (AssertionError)."""
        self._take()
        assert len(self._seen) < MOST, "the analysers' record is flooded"
        return self._seen[:]

    def cut(self) -> None:
        """The machine is switched on now: its cards are as new."""
        self._cuts.append(len(self.all()))

    def starts(self) -> list[list[Access]]:
        """Everything up to now, by starts of the machine."""
        seen, cuts = self.all(), [0, *self._cuts, None]
        return [seen[begin:end] for begin, end in itertools.pairwise(cuts)]

    def _follow(self) -> None:
        while True:
            self._take()
            time.sleep(PAUSE)

    def _take(self) -> None:
        """All that was written before the call, which is at most what the pipe holds."""
        with self._lock:
            taken = 0
            while taken < self._size:
                try:
                    chunk = os.read(self._pipe, self._size)
                except BlockingIOError:
                    return
                taken += len(chunk)
                if len(self._seen) < MOST:  # else it is let go: QEMU must not wait for us
                    text, _, self._rest = (self._rest + chunk).rpartition(b"\n")
                    self._seen += parse(text + b"\n")

    def mark(self) -> int:
        """A point in the record, for `since`."""
        return len(self.all())

    def since(self, mark: int) -> list[Access]:
        """What came after the mark."""
        return self.all()[mark:]


def writes(accesses: Sequence[Access], register: int) -> list[Access]:
    """Those that wrote to a register."""
    return [a for a in accesses if a.write and a.register == register]


def reads(accesses: Sequence[Access], register: int) -> list[Access]:
    """Those that read a register."""
    return [a for a in accesses if not a.write and a.register == register]


def orders(accesses: Sequence[Access]) -> list[Access]:
    """Those that had a card do something."""
    return [a for a in accesses if a.write and a.register in (ECHO, OPERAND, RAISE, GO)]


def questions(accesses: Sequence[Access]) -> int:
    """How often a unit was asked whether it is done."""
    return len(reads(accesses, STATUS)) + len(reads(accesses, GO))


def transfers(accesses: Sequence[Access]) -> list[Transfer]:
    """The transfers that were started, in order."""
    found = []
    held: dict[tuple[str, int], int] = {}
    for a in accesses:
        if not a.write:
            continue
        held[a.card, a.register] = a.value
        if a.register != GO or not a.value & STARTED:
            continue
        source, target, count = (held.get((a.card, r), 0) for r in (SOURCE, TARGET, COUNT))
        to_store = not a.value & TO_MEMORY
        memory, store = (source, target) if to_store else (target, source)
        found.append(Transfer(a.card, to_store, memory, store, count))
    return found


def violations(accesses: Sequence[Access]) -> list[str]:
    """The rules of the data sheet that were broken; the first few of each card's, in words.

    A unit counts as busy from its start until the card said, in STATUS or GO or by its cause, that
    it is not.
    """
    wrong: list[str] = []
    milling: dict[str, bool] = {}
    carrying: dict[str, bool] = {}
    for a in accesses:
        what = f"{'write' if a.write else 'read'} of {a.register:#x}, {a.size * 8} bits"
        if a.register not in (WRITABLE if a.write else READABLE):
            wrong.append(f"{what}: not such a register")
        elif a.size != 4 and (a.register < SOURCE or a.size != 8):
            wrong.append(f"{what}: not such an access")
        if not a.write:
            if a.register == STATUS:
                milling[a.card] = bool(a.value & WORKING)
            elif a.register == GO:
                carrying[a.card] = bool(a.value & STARTED)
            elif a.register == CAUSE:
                milling[a.card] = milling.get(a.card, False) and not a.value & MILL
                carrying[a.card] = carrying.get(a.card, False) and not a.value & CARRIER
            continue
        if a.register == OPERAND:
            if milling.get(a.card):
                wrong.append(f"{what}: while the mill works")
            milling[a.card] = True
        elif a.register in (SOURCE, TARGET, COUNT, GO):
            if carrying.get(a.card):
                wrong.append(f"{what}: while the carrier works")
            if a.register == GO and a.value & STARTED:
                carrying[a.card] = True
    for t in transfers(accesses):
        if t.count < 1 or t.store < STORE or t.store + t.count > STORE_END:
            wrong.append(f"transfer of {t.count} bytes at {t.store:#x} of the store")
        if t.memory + t.count > MEMORY_END:
            wrong.append(f"transfer at {t.memory:#x} of the memory")
    return wrong
