"""Messages between the owner of a sandbox and its helper: one in a packet, with file descriptors
where it carries them, or behind a four-byte length in a stream.

They are marshalled, since both sides are our own code in one interpreter (no program inside can
get at these sockets), and the modules behind json and socket would be half of the helper's start.
"""

from __future__ import annotations

import _socket
import marshal
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

type Message = dict[str, Any]
PACKET = 128 * 1024
_FDS = 8


def send_packet(channel: _socket.socket, message: Message, fds: tuple[int, ...] = ()) -> None:
    carried = struct.pack(f"{len(fds)}i", *fds)
    control = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, carried)] if fds else []
    channel.sendmsg([marshal.dumps(message)], control)


def receive_packet(channel: _socket.socket) -> tuple[Message, list[int]]:
    """The next message and its descriptors; EOFError when the other side is gone."""
    room = _socket.CMSG_SPACE(4 * _FDS)
    data, control, _flags, _address = channel.recvmsg(PACKET, room, _socket.MSG_CMSG_CLOEXEC)
    fds: list[int] = []
    for level, kind, carried in control:
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
            fds += struct.unpack(f"{len(carried) // 4}i", carried)
    for fd in fds:
        os.set_inheritable(fd, False)
    if not data:
        raise EOFError
    message: Message = marshal.loads(data)
    return message, fds


class Batch:
    """Entries of a transfer on their way out: small ones share a packet, with their contents, so
    that ten thousand small files do not cost ten thousand turns of two processes."""

    SMALL = 16 * 1024
    _FULL = 64 * 1024

    def __init__(self, channel: _socket.socket) -> None:
        self._channel = channel
        self._entries: list[Message] = []
        self._size = 0

    def add(self, entry: Message) -> None:
        """Send an entry, with the next ones."""
        size = 256 + 4 * len(entry["path"]) + len(entry.get("data") or b"")
        if self._size + size > self._FULL:
            self.flush()
        self._entries.append(entry)
        self._size += size

    def alone(self, entry: Message, fd: int) -> None:
        """Send an entry whose contents are an open file."""
        self.flush()
        send_packet(self._channel, entry, (fd,))

    def flush(self) -> None:
        """Send what waits."""
        if self._entries:
            send_packet(self._channel, {"batch": self._entries})
        self._entries, self._size = [], 0


def send_stream(channel: _socket.socket, message: Message) -> None:
    data = marshal.dumps(message)
    channel.sendall(struct.pack("!I", len(data)) + data)


def receive_stream(channel: _socket.socket) -> Message:
    (length,) = struct.unpack("!I", _exactly(channel, 4))
    message: Message = marshal.loads(_exactly(channel, length))
    return message


def _exactly(channel: _socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = channel.recv(count - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)
