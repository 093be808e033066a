"""What goes over the port between host and guest, as bytes. The other side is room/agent.h.

The guest's side is hostile: nothing here trusts a length, a kind or a stream of its.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum

KEY_BYTES = 16
#: Bytes of one stream that may be on their way and that nobody has taken yet.
WINDOW = 1 << 20
PAYLOAD = 64 * 1024
_HEADER = struct.Struct("<III")
_NUMBER = struct.Struct("<I")


class Kind(IntEnum):
    """Below 16 the host says it, from 16 on the guest; DATA, END and TAKEN are said by both."""

    NOTHING = 0
    EXEC = 1
    GIVE = 2
    TAKE = 3
    DATA = 4
    END = 5
    KILL = 6
    TAKEN = 7
    LISTEN = 8
    SYNC = 9
    OUT = 16
    ERR = 17
    STATUS = 18
    OPEN = 19


#: What a guest may say.
_FROM_GUEST = {Kind.END, Kind.TAKEN, Kind.OUT, Kind.ERR, Kind.STATUS, Kind.OPEN}

type Frame = tuple[Kind, int, bytes]


def frame(kind: Kind, stream: int, payload: bytes = b"") -> bytes:
    return _HEADER.pack(len(payload), kind, stream) + payload


def number(value: int) -> bytes:
    return _NUMBER.pack(value)


def number_of(payload: bytes) -> int:
    """The number that a frame carries; 0 where it carries none."""
    return _NUMBER.unpack_from(payload)[0] if len(payload) >= _NUMBER.size else 0


def command(user: str, cwd: str, argv: str | Sequence[str], env: Mapping[str, str]) -> bytes:
    """What EXEC carries: strings behind their lengths. A command line is for the guest's shell."""
    words = ["", "-c", argv] if isinstance(argv, str) else [*argv]
    items = [user, cwd, str(len(words)), *words, str(len(env))]
    items += [f"{name}={value}" for name, value in env.items()]
    raw = [item.encode("utf-8", "surrogateescape") for item in items]
    return b"".join(number(len(item)) + item for item in raw)


class OutOfStep(Exception):
    """The guest sent what is no frame: its agent, or who took its place, is not to be talked to."""


class Reader:
    """Takes the guest's bytes apart. A new agent's greeting is known by the machine's key, at any
    place: what an agent that was killed left half-sent before it is passed over."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._left = b""
        self._greeted = False

    def read(self, data: bytes) -> Iterator[Frame | bytes]:
        """Frames; and, where a new agent greets, what it is to be answered. Raises OutOfStep."""
        self._left += data
        while (at := self._left.find(self._key)) >= 0:
            yield from self._frames(at)
            at = self._left.find(self._key)
            nonce = self._left[at + KEY_BYTES : at + 2 * KEY_BYTES]
            if len(nonce) < KEY_BYTES:
                return
            self._left = self._left[at + 2 * KEY_BYTES :]
            self._greeted = True
            yield bytes(byte ^ 0xFF for byte in self._key) + nonce
        yield from self._frames(len(self._left) - self._begun())

    def _begun(self) -> int:
        """How many bytes at the end may be the beginning of a greeting."""
        longest = min(KEY_BYTES - 1, len(self._left))
        return next((n for n in range(longest, 0, -1) if self._left.endswith(self._key[:n])), 0)

    def _frames(self, end: int) -> Iterator[Frame]:
        """Whole frames before `end`; what follows them stays."""
        at = 0 if self._greeted else max(end, 0)
        while end - at >= _HEADER.size:
            length, kind, stream = _HEADER.unpack_from(self._left, at)
            if length > PAYLOAD or kind not in _FROM_GUEST:
                raise OutOfStep(f"a frame of kind {kind} with {length} bytes")
            if end - at < _HEADER.size + length:
                break
            yield Kind(kind), stream, self._left[at + _HEADER.size : at + _HEADER.size + length]
            at += _HEADER.size + length
        self._left = self._left[at:]
