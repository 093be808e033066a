"""What the analyser on the serial line's chip saw: every access, from QEMU's own trace.

The guest can neither see nor change it. A line is `serial_write write addr 0x00 val 0x41`.
"""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

LINE = re.compile(rb"serial_(read|write) \w+ addr 0x([0-9a-f]+) val 0x([0-9a-f]+)\n")
MOST = 4 << 20  # bytes; the record of an honest run has some 30,000
DATA, INTERRUPTS, FIFO, LINE_CONTROL, LINE_STATUS = 0, 2, 2, 3, 5
EMPTY, DIVISOR, WHY, IS_EMPTY = 0x20, 0x80, 0x0F, 0x02


class Analyser:
    """The record of one machine. What exceeds `MOST` is let go: QEMU must not wait for us."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # for writing too: it never ends
        self._path, self._seen, self._open = path, bytearray(), True
        self.arguments = ["-trace", "serial_read", "-trace", "serial_write", "-D", str(path)]
        self._follower = threading.Thread(target=self._follow, daemon=True)
        self._follower.start()

    def close(self) -> None:
        """Listen no more."""
        if self._open:
            self._open = False
            self._follower.join()
            os.close(self._pipe)
            self._path.unlink()

    def _follow(self) -> None:
        while self._open:
            try:
                data = os.read(self._pipe, 1 << 16)
            except BlockingIOError:
                time.sleep(0.02)
                continue
            if len(self._seen) < MOST:
                self._seen += data

    def record(self, sent: int) -> bytes:
        """All of the run, once it holds `sent` bytes that were sent, or a second has passed."""
        end = time.monotonic() + 1
        while (record := bytes(self._seen)).count(b"serial_write write addr 0x00") < sent:
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        assert len(record) < MOST, "the analyser's record is flooded"
        return record


def violation(record: bytes) -> str:
    """The first byte that was sent when the chip had not said that it has room; "" without one."""
    room, fifo, divisor, sent = 0, False, False, 0
    for match in LINE.finditer(record):
        written, register, value = match[1] == b"write", int(match[2], 16), int(match[3], 16)
        if written and register == LINE_CONTROL:
            divisor = bool(value & DIVISOR)
        elif written and register == FIFO:
            fifo = bool(value & 1)
        elif written and register == DATA and not divisor:
            sent, room = sent + 1, room - 1
            if room < 0:
                return f"byte {sent} was sent without room for it"
        elif not written and (
            (register == LINE_STATUS and value & EMPTY)
            or (register == INTERRUPTS and value & WHY == IS_EMPTY)
        ):
            room = 16 if fifo else 1
    return "" if sent else "nothing was sent"
