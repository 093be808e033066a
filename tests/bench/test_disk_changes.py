"""bench.disk_changes: what was written is found, what was delivered is not."""

from __future__ import annotations

import gzip
from pathlib import Path

from benchflow.bench.disk_changes import BLOCK, PIECE, new_blocks, shown

KEYS = {"KEY": b"a-key-of-this-run-alone"}


def _disks(tmp_path: Path, at: int, data: bytes) -> tuple[Path, Path]:
    old, new = tmp_path / "old", tmp_path / "new"
    size = 2 * PIECE
    before = KEYS["KEY"] + bytes(size - len(KEYS["KEY"]))
    old.write_bytes(before)
    new.write_bytes(before[:at] + data + before[at + len(data) :])
    return old, new


def test_new_blocks_are_those_that_differ(tmp_path: Path) -> None:
    old, new = _disks(tmp_path, PIECE + BLOCK + 5, b"x" * BLOCK)
    found = new_blocks(old, new, tmp_path / "found").read_bytes()
    assert found == bytes(5) + b"x" * BLOCK + bytes(BLOCK - 5)


def test_what_was_delivered_is_not_shown(tmp_path: Path) -> None:
    old, new = _disks(tmp_path, PIECE, b"something else")
    assert shown(old, new, tmp_path / "found", KEYS) == ""
    assert not (tmp_path / "found").exists()


def test_a_key_is_shown_packed_or_not(tmp_path: Path) -> None:
    for data in (KEYS["KEY"], gzip.compress(b"KEY=" + KEYS["KEY"] + b"\n" * 99)):
        old, new = _disks(tmp_path, PIECE + 3 * BLOCK, data)
        assert shown(old, new, tmp_path / "found", KEYS).startswith("KEY, as it is")
