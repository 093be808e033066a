"""A disk that remembers every write and every flush in its order, as an NBD server for QEMU.

From what it remembers, the disk is made as it could have been had the power gone at any moment: all
that was flushed before, and of what was written since whatever the disk may have kept. So one run
of a machine gives as many power cuts as one likes, each at an exactly known place.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import socket
import struct
import tempfile
import threading
from pathlib import Path

MOST = 400 << 20  # bytes of writes that are remembered
SECTOR = 512


class RecordedDisk:
    """A disk with the content of `image`.

    `torn`: which part of the writes that a cut has left is there by halves, sector by sector.
    """

    def __init__(self, image: Path, *, torn: float = 0.0) -> None:
        self.torn = torn
        self.base = image.read_bytes()
        self.now = bytearray(self.base)
        self.log: list[tuple[int, bytes] | None] = []  # a write, or None for a flush
        self.flooded = False
        self._stored = 0
        self._folder = Path(tempfile.mkdtemp(prefix="disk-"))
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self._folder / "nbd"))
        self._server.listen(1)
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def arguments(self) -> list[str]:
        """What QEMU has to be told."""
        node = {
            "driver": "nbd",
            "node-name": "recorded",
            "server": {"type": "unix", "path": str(self._folder / "nbd")},
        }
        device = "virtio-blk-pci,drive=recorded,write-cache=on"
        return ["-blockdev", json.dumps(node), "-device", device]

    def close(self) -> None:
        """No more of it."""
        self._server.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def after_cut(self, moment: int, rng: random.Random) -> bytes:
        """The disk when the power went before entry `moment` of the log."""
        disk = bytearray(self.base)
        flushed = max((n + 1 for n in range(moment) if self.log[n] is None), default=0)
        keep = rng.choice((0.0, 0.5, 0.9, 1.0))
        for n, entry in enumerate(self.log[:moment]):
            if entry is None or (n >= flushed and rng.random() >= keep):
                continue
            at, data = entry
            if n >= flushed and rng.random() < self.torn:
                for part in range(0, len(data), SECTOR):
                    if rng.random() < 0.5:
                        piece = data[part : part + SECTOR]
                        disk[at + part : at + part + len(piece)] = piece
            else:
                disk[at : at + len(data)] = data
        return bytes(disk)

    def _serve(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                peer, _ = self._server.accept()
                with peer, contextlib.suppress(OSError, EOFError):
                    self._greet(peer)
                    self._work(peer)

    def _greet(self, peer: socket.socket) -> None:
        facts = struct.pack(">QH", len(self.base), 1 | 4 | 8)
        peer.sendall(b"NBDMAGICIHAVEOPT" + struct.pack(">H", 3))
        read(peer, 4)
        while True:
            _, option, length = struct.unpack(">8sII", read(peer, 16))
            read(peer, length)
            reply = struct.pack(">QI", 0x3E889045565A9, option)
            if option == 1:
                peer.sendall(facts + bytes(124))
                return
            if option in (6, 7):
                peer.sendall(reply + struct.pack(">IIH", 3, 12, 0) + facts)
                peer.sendall(reply + struct.pack(">II", 1, 0))
                if option == 7:
                    return
            elif option == 2:
                peer.sendall(reply + struct.pack(">II", 1, 0))
                raise EOFError
            else:
                peer.sendall(reply + struct.pack(">II", 0x80000001, 0))

    def _work(self, peer: socket.socket) -> None:
        while True:
            _, flags, kind, handle, at, length = struct.unpack(">IHHQQI", read(peer, 28))
            answer, error = b"", 0
            if kind == 0:
                answer = bytes(self.now[at : at + length])
            elif kind == 1:
                data = read(peer, length)
                self.now[at : at + length] = data
                self._stored += length
                self.flooded = self.flooded or self._stored > MOST
                if not self.flooded:
                    self.log.append((at, data))
                    if flags & 1:
                        self.log.append(None)
            elif kind == 2:
                return
            elif kind == 3:
                self.log.append(None)
            else:
                error = 22
            peer.sendall(struct.pack(">IIQ", 0x67446698, error, handle) + answer)


def read(peer: socket.socket, count: int) -> bytes:
    """Exactly so many bytes. EOFError at the end."""
    got = bytearray()
    while len(got) < count:
        piece = peer.recv(count - len(got))
        if not piece:
            raise EOFError
        got += piece
    return bytes(got)
