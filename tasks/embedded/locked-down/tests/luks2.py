"""A LUKS2 volume as cryptsetup reads it: which header counts, which keys open it, what is in it.

LUKS2 On-Disk Format Specification 1.1.1. The data come from a stranger: every length is checked
and every cost is bounded by what the meter itself, with 512 MiB and 60 seconds, could spend.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections import Counter
from dataclasses import dataclass
from typing import Any

from gcrypt import Cipher, argon2, digest, digest_size, pbkdf2

_MAGICS = (b"LUKS\xba\xbe", b"SKUL\xba\xbe")
_SIZES = tuple(1 << bits for bits in range(14, 23))  # of a header with its JSON area
_SECTOR = 512
_MOST_ROUNDS, _MOST_KIB, _MOST_WORK = 5_000_000, 384 << 10, 4 << 20
_MOST_SLOTS, _KEY_SIZES = 32, range(16, 129)
# What a header has to say in which no meter can hide anything but in salts and digests.
_USUAL = {
    "keyslots": {"type", "key_size", "priority", "area", "kdf", "af"},
    "area": {"type", "offset", "size", "encryption", "key_size"},
    "kdf": {"type", "hash", "iterations", "salt", "time", "memory", "cpus"},
    "af": {"type", "stripes", "hash"},
    "digests": {"type", "keyslots", "segments", "hash", "iterations", "salt", "digest"},
}


@dataclass(frozen=True)
class Header:
    """The metadata that count: the newest header whose checksum is right."""

    offset: int
    size: int
    number: int
    facts: dict[str, Any]
    rest: bytes  # label, subsystem, and what stands where nothing has to


def _header(data: bytes, offset: int, magic: bytes) -> Header | None:
    if data[offset : offset + 6] != magic:
        return None
    version, size, number = struct.unpack_from(">HQQ", data, offset + 6)
    (own_offset,) = struct.unpack_from(">Q", data, offset + 256)
    raw = data[offset : offset + size] if size in _SIZES else b""
    if version != 2 or own_offset != offset or len(raw) != size:
        return None
    name = raw[72:104].rstrip(b"\0").decode("ascii", "replace")
    try:
        found = digest(name, raw[:448] + bytes(64) + raw[512:])
        text, _, behind = raw[4096:].partition(b"\0")
        facts = json.loads(text)
    except (AssertionError, ValueError, RecursionError):
        return None
    if raw[448 : 448 + len(found)] != found:
        return None
    if not isinstance(facts, dict):
        return None
    parts = (raw[24:72], raw[208:256], raw[264:448], raw[512:4096], behind)
    return Header(offset, size, number, facts, b" ".join(part.strip(b"\0") for part in parts))


class Volume:
    """The partition `data` of a meter. AssertionError where it is no LUKS2 volume."""

    def __init__(self, data: bytes) -> None:
        places = [(0, _MAGICS[0]), *((size, _MAGICS[1]) for size in _SIZES)]
        found = [one for at, magic in places if (one := _header(data, at, magic))]
        assert found, "[R10] wants a LUKS2 volume in data: no header there has a right checksum"
        self.header = max(found, key=lambda one: one.number)
        self._headers = found
        self._slots = b""
        try:
            self._read(len(data))
            self._slots = data[: self.begin]
            self.remarks = self._remarks()
        except (KeyError, ValueError, TypeError, AttributeError) as problem:
            raise AssertionError(
                f"[R10] wants a LUKS2 volume: its header cannot be read, {problem!r}"
            ) from None

    def _read(self, length: int) -> None:
        facts = self.header.facts
        segments = list(facts["segments"].values())
        assert len(segments) == 1 and segments[0]["type"] == "crypt", (
            f"[R10] wants one encrypted volume: its segments are {segments}"
        )
        one = segments[0]
        self.begin = int(one["offset"])
        size = length - self.begin if one["size"] == "dynamic" else int(one["size"])
        self.end = self.begin + size
        self.encryption = str(one["encryption"])
        self.unit = int(one["sector_size"])
        self.tweak = int(one["iv_tweak"])
        self.keyslots: dict[str, dict[str, Any]] = dict(facts["keyslots"])
        self.digests = list(facts["digests"].values())
        self.tokens: dict[str, Any] = dict(facts.get("tokens") or {})
        assert 0 < self.begin < self.end <= length, "the volume lies outside of data"
        assert self.unit in (512, 1024, 2048, 4096), f"sectors of {self.unit} bytes"
        assert "integrity" not in one, "[R10] wants a volume without integrity tags: it has some"
        assert len(self.keyslots) <= _MOST_SLOTS, f"{len(self.keyslots)} keyslots"
        self.whole_end = self.end - size % self.unit

    # -- keys -----------------------------------------------------------------------------------

    def opened_by(self, passphrase: bytes) -> dict[str, bytes]:
        """The keyslots that this passphrase opens, with the key that each of them gives."""
        try:
            keys = {name: self._key(slot, passphrase) for name, slot in self.keyslots.items()}
        except (KeyError, ValueError, TypeError, AttributeError) as problem:
            raise AssertionError(f"[R10]: a keyslot cannot be read, {problem!r}") from None
        return {name: key for name, key in keys.items() if self._fits(name, key)}

    def _key(self, slot: dict[str, Any], passphrase: bytes) -> bytes:
        area, splitter, size = slot["area"], slot["af"], int(slot["key_size"])
        assert slot["type"] == "luks2" and area["type"] == "raw", "a keyslot of another kind"
        stripes, begin = int(splitter["stripes"]), int(area["offset"])
        inner = int(area["key_size"])
        assert size in _KEY_SIZES and inner in _KEY_SIZES, "[R10]: a key of a strange size"
        assert 1 <= stripes <= 8000, "[R10]: a keyslot of a strange size"
        length = -(-size * stripes // _SECTOR) * _SECTOR
        sealed = self._slots[begin : begin + length]
        assert len(sealed) == length, "[R10]: a keyslot lies in the volume"
        cipher = Cipher(str(area["encryption"]), _derived(slot["kdf"], passphrase, inner))
        text = b"".join(
            cipher.decrypt(sealed[at : at + _SECTOR], at // _SECTOR)
            for at in range(0, length, _SECTOR)
        )
        return _merged(text[: size * stripes], size, stripes, str(splitter["hash"]))

    def _fits(self, name: str, key: bytes) -> bool:
        for one in self.digests:
            if name not in one["keyslots"] or not one["segments"]:
                continue
            assert one["type"] == "pbkdf2", "a digest of another kind"
            wanted = base64.b64decode(one["digest"])
            assert len(wanted) in _KEY_SIZES, "[R10]: a digest of a strange size"
            rounds = _bounded(int(one["iterations"]), _MOST_ROUNDS, "iterations of a digest")
            salt = base64.b64decode(one["salt"])
            return pbkdf2(str(one["hash"]), key, salt, rounds, len(wanted)) == wanted
        return False

    def _remarks(self) -> bytes:
        """All that the headers say beyond what a volume needs: label, subsystem, tokens, and the
        like. Salts and the volume's identifier, which are random, are left out."""
        facts = {key: value for key, value in self.header.facts.items() if key not in _USUAL}
        for kind in ("keyslots", "digests"):
            for name, one in self.header.facts[kind].items():
                more = {key: value for key, value in one.items() if key not in _USUAL[kind]}
                for part in {"area", "kdf", "af"} & set(one):
                    more |= {key: value for key, value in one[part].items()
                             if key not in _USUAL[part]}  # fmt: skip
                facts[f"{kind} {name}"] = more
        said = json.dumps(facts, sort_keys=True).encode()
        slots_end = 2 * self.header.size + int(self.header.facts["config"]["keyslots_size"])
        behind = self._slots[slots_end:].strip(b"\0")
        return b" ".join((said, *(one.rest for one in self._headers), behind))

    # -- what is in it --------------------------------------------------------------------------

    def units(self, key: bytes, data: bytes, offsets: list[int]) -> list[bytes]:
        """The plain text of the units that begin at these places of a state of the volume."""
        cipher = Cipher(self.encryption, key)
        return [
            cipher.decrypt(data[at : at + self.unit], (at - self.begin) // _SECTOR + self.tweak)
            for at in offsets
        ]


def _bounded(value: int, most: int, what: str) -> int:
    assert 0 < value <= most, f"{value} {what}: no meter does that in its 60 seconds"
    return value


def _derived(kdf: dict[str, Any], passphrase: bytes, size: int) -> bytes:
    salt = base64.b64decode(kdf["salt"])
    if kdf["type"] == "pbkdf2":
        rounds = _bounded(int(kdf["iterations"]), _MOST_ROUNDS, "iterations of a keyslot")
        return pbkdf2(str(kdf["hash"]), passphrase, salt, rounds, size)
    assert kdf["type"] in ("argon2i", "argon2id"), f"a keyslot with {kdf['type']!r}"
    rounds, memory, lanes = int(kdf["time"]), int(kdf["memory"]), int(kdf["cpus"])
    _bounded(memory, _MOST_KIB, "KiB for a keyslot")
    _bounded(rounds * memory, _MOST_WORK, "KiB, all rounds together, for a keyslot")
    _bounded(lanes, 16, "lanes of a keyslot")
    return argon2(str(kdf["type"]), passphrase, salt, (rounds, memory, lanes), size)


def _merged(split: bytes, size: int, stripes: int, name: str) -> bytes:
    """The anti-forensic splitter, backwards (LUKS1 specification, 2.4)."""
    length = digest_size(name)

    def diffused(block: bytes) -> bytes:
        parts = [block[at : at + length] for at in range(0, size, length)]
        hashed = [
            digest(name, struct.pack(">I", index) + part)[: len(part)]
            for index, part in enumerate(parts)
        ]
        return b"".join(hashed)

    merged = bytes(size)
    for stripe in range(stripes):
        block = split[stripe * size : (stripe + 1) * size]
        merged = bytes(a ^ b for a, b in zip(merged, block, strict=True))
        if stripe < stripes - 1:
            merged = diffused(merged)
    return merged


def looks_random(block: bytes) -> bool:
    """Whether the bytes of a block are spread as evenly as those of encrypted data.

    Of n random bytes the squares of how often each value occurs add up to about n + n*n/256; text,
    numbers, hexadecimal digits and base64 are far beyond.
    """
    size, counts = len(block), Counter(block).values()
    return sum(count * count for count in counts) < size + 1.4 * size * size / 256


def same_key(one: bytes, two: bytes) -> bool:
    """Whether two volume keys have a half in common (XTS takes two keys)."""
    halves = [
        {
            hashlib.sha256(key[: len(key) // 2]).digest(),
            hashlib.sha256(key[len(key) // 2 :]).digest(),
        }
        for key in (one, two)
    ]
    return bool(halves[0] & halves[1])
