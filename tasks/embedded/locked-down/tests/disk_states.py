"""Two states of a disk, compared."""

from __future__ import annotations


def changed(
    before: bytes, after: bytes, unit: int = 512, begin: int = 0, end: int | None = None
) -> list[int]:
    """Where, in units, two states of a disk differ between two places."""
    block, found = 1 << 20, []
    end = len(after) if end is None else end
    for start in range(begin, end, block):
        stop = min(start + block, end)
        if before[start:stop] != after[start:stop]:
            found += [
                at
                for at in range(start, stop, unit)
                if before[at : at + unit] != after[at : at + unit]
            ]
    return found


def runs(after: bytes, offsets: list[int], unit: int = 512) -> list[bytes]:
    """The bytes at these places, neighbours together."""
    joined: list[list[int]] = []
    for at in offsets:
        if joined and joined[-1][1] == at:
            joined[-1][1] = at + unit
        else:
            joined.append([at, at + unit])
    return [after[start:end] for start, end in joined]
