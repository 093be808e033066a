"""What is shown of much output: its beginning and its end, and how much is missing between."""

from __future__ import annotations

#: A byte of UTF-8 that begins no character.
_CONTINUATION = range(0x80, 0xC0)


def bounded(data: bytes, most: int, total: int | None = None) -> tuple[bytes, int]:
    """At most about `most` bytes of `data`, and how many of `total` (default: all of it) are left
    out, 0 for none. A line between beginning and end says so. No character is cut in two."""
    total = len(data) if total is None else total
    if total <= most and len(data) <= most:
        return data, 0
    half = min(most, len(data)) // 2
    head, tail = _whole_end(data[:half]), _whole_start(data[len(data) - half :])
    missing = total - len(head) - len(tail)
    return head + f"\n[benchflow: {missing} bytes are left out here]\n".encode() + tail, missing


def _whole_end(head: bytes) -> bytes:
    for back in range(1, min(4, len(head)) + 1):
        byte = head[-back]
        if byte in _CONTINUATION:
            continue
        needs = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return head if back >= needs else head[:-back]
    return head


def _whole_start(tail: bytes) -> bytes:
    begin = 0
    while begin < min(3, len(tail)) and tail[begin] in _CONTINUATION:
        begin += 1
    return tail[begin:]
