"""What a machine has written to its disk: the blocks that are not as they were delivered."""

from __future__ import annotations

from pathlib import Path

from benchflow.bench.hidden_secrets import all_unpacked, holds, pieces

PIECE, BLOCK = 4 << 20, 4096


def new_blocks(old: Path, new: Path, target: Path) -> Path:
    """All blocks of `new` that differ from those of `old` in the same place, one by one, in
    `target`."""
    with old.open("rb") as before, new.open("rb") as after, target.open("wb") as out:
        while piece := after.read(PIECE):
            was = before.read(PIECE)
            if piece == was:
                continue
            for at in range(0, len(piece), BLOCK):
                block = piece[at : at + BLOCK]
                if block != was[at : at + BLOCK]:
                    out.write(block)
    return target


def shown(old: Path, new: Path, target: Path, keys: dict[str, bytes]) -> str:
    """Which key is in the new blocks of a disk, and in which form, "" for none; `target` is room
    for them, and gone afterwards."""
    try:
        return holds(all_unpacked(pieces(new_blocks(old, new, target))), keys)
    finally:
        target.unlink(missing_ok=True)
