"""The channel between a waiting trial and its driver.

A Unix socket in the trial's folder, open to its owner alone (mode 0600). One connection is one
call: the driver sends one line of JSON, the trial answers with one, bytes in it are base64. A
driver that hangs up before the answer gives its call up.
"""

from __future__ import annotations

import base64
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: The socket's name in the trial's folder.
NAME = "drive.sock"
#: Bytes of a request, and of an answer, that are read at most.
MOST_REQUEST = 24 << 20
MOST_ANSWER = 96 << 20
#: Bytes that one call may read or write as they are; larger files are put and got by path.
MOST_DATA = 16 << 20
_BACKLOG = 16


class NobodyWaits(ConnectionError):
    """No trial listens in this folder."""


def listen(trial: Path) -> socket.socket:
    """A listening socket in the folder `trial`; one that a dead process left is replaced."""
    (trial / NAME).unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(made.fileno(), 0o600)  # before bind(2), which gives the file this mode
        with _short(trial) as path:
            made.bind(path)
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def connect(trial: Path) -> socket.socket:
    """A connection to the trial that waits in the folder `trial`. Raises NobodyWaits."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short(trial) as path:
            made.connect(path)
    except OSError as error:
        made.close()
        raise NobodyWaits(f"{trial}: {error.strerror}") from error
    return made


def is_waiting(trial: Path) -> bool:
    """Whether a trial waits in the folder `trial` at this moment."""
    if not (trial / NAME).is_socket():
        return False
    try:
        connect(trial).close()
    except NobodyWaits:
        return False
    return True


@contextmanager
def _short(trial: Path) -> Iterator[str]:
    """The socket's path in at most 107 bytes, which is what unix(7) has room for."""
    folder = os.open(trial, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{NAME}"
    finally:
        os.close(folder)


def packed(message: dict[str, Any]) -> bytes:
    """One line of JSON; bytes in `message` become base64."""
    return json.dumps(message, default=_base64).encode() + b"\n"


def unpacked(line: bytes) -> dict[str, Any]:
    """Raises ValueError for anything but a JSON object."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not a JSON object")
    return message


def data_of(message: dict[str, Any], name: str) -> bytes:
    """The bytes under `name`. Raises ValueError where there are none."""
    text = message.get(name)
    if not isinstance(text, str):
        raise ValueError(f"{name} is missing")
    return base64.b64decode(text, validate=True)


def _base64(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"{type(value).__name__} cannot be sent")
