"""dm-verity in plain Python: the superblock, the hash tree, and a tree made anew."""

from __future__ import annotations

import hashlib
import secrets
import struct
from dataclasses import dataclass

BLOCK = 4096
_PER_BLOCK = BLOCK // 32


@dataclass(frozen=True)
class Superblock:
    """As veritysetup writes it (cryptsetup, lib/verity/verity.c)."""

    raw: bytes
    data_blocks: int
    salt: bytes

    @classmethod
    def of(cls, raw: bytes) -> Superblock:
        """AssertionError for anything but hash type 1, SHA-256 and blocks of 4096 bytes."""
        signature, version, kind = struct.unpack_from("<8sII", raw)
        (algorithm,) = struct.unpack_from("<32s", raw, 32)
        data, tree, blocks, salt = struct.unpack_from("<IIQH", raw, 64)
        assert signature == b"verity\0\0" and version == 1, "root-verity has no superblock"
        assert kind == 1, f"hash type {kind}"
        assert algorithm.rstrip(b"\0") == b"sha256", f"the hash is {algorithm!r}"
        assert (data, tree) == (BLOCK, BLOCK), f"blocks of {data} and {tree} bytes"
        assert salt <= 256, f"a salt of {salt} bytes"
        return cls(raw[:BLOCK], blocks, raw[88 : 88 + salt])


@dataclass(frozen=True)
class Tree:
    """The root hash, and the blocks that stand behind the superblock."""

    root_hash: str
    blocks: bytes
    leaves_at: int  # where in `blocks` the lowest level begins

    def some_hash(self) -> int:
        """Where in `blocks` a hash lies: a drawn one, that of root's last block, or one above."""
        starts = range(0, len(self.blocks), 32)
        places = [at for at in starts if self.blocks[at : at + 32].strip(b"\0")]
        above = [at for at in places if at < self.leaves_at] or places
        return secrets.choice((secrets.choice(places), places[-1], secrets.choice(above)))


def tree_of(data: bytes, superblock: Superblock) -> Tree:
    """The hash tree over `data`, levels from the top down, as they lie on the partition."""
    salt = superblock.salt

    def digest(block: bytes) -> bytes:
        return hashlib.sha256(salt + block).digest()

    levels: list[bytes] = []
    below = data
    while True:
        hashes = [digest(below[at : at + BLOCK]) for at in range(0, len(below), BLOCK)]
        if len(hashes) == 1 and levels:
            break
        level = b"".join(
            b"".join(hashes[at : at + _PER_BLOCK]).ljust(BLOCK, b"\0")
            for at in range(0, len(hashes), _PER_BLOCK)
        )
        levels.append(level)
        below = level
    blocks = b"".join(reversed(levels))
    return Tree(hashes[0].hex(), blocks, len(blocks) - len(levels[0]))
