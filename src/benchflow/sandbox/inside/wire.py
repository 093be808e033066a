"""Messages between the owner of a sandbox and its helper: JSON behind a four-byte length, or one
JSON object in one packet, with file descriptors where a message carries them."""

from __future__ import annotations

import json
import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

type Message = dict[str, Any]
PACKET = 128 * 1024


def send_packet(channel: socket.socket, message: Message, fds: tuple[int, ...] = ()) -> None:
    socket.send_fds(channel, [json.dumps(message).encode()], list(fds))


def receive_packet(channel: socket.socket) -> tuple[Message, list[int]]:
    """The next message and its descriptors; EOFError when the other side is gone."""
    data, fds, _flags, _address = socket.recv_fds(channel, PACKET, 8)
    for fd in fds:
        # recv_fds ignores MSG_CMSG_CLOEXEC.
        os.set_inheritable(fd, False)
    if not data:
        raise EOFError
    message: Message = json.loads(data)
    return message, fds


def send_stream(channel: socket.socket, message: Message) -> None:
    data = json.dumps(message).encode()
    channel.sendall(struct.pack("!I", len(data)) + data)


def receive_stream(channel: socket.socket) -> Message:
    (length,) = struct.unpack("!I", _exactly(channel, 4))
    message: Message = json.loads(_exactly(channel, length))
    return message


def _exactly(channel: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = channel.recv(count - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)
