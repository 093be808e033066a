"""What stands on a meter's `data`: who opens it, and whether all that is written is encrypted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from disk import Layout
from disk_states import changed, runs
from luks2 import Volume, looks_random
from rsa import Key

from benchflow.bench.hidden_secrets import all_unpacked, holds, of_ed25519, unpacked


def opened(data: bytes, secret: bytes) -> tuple[Volume, bytes]:
    """The volume and its key. AssertionError unless the secret, and it alone, opens it."""
    volume = Volume(data)
    keys = volume.opened_by(secret)
    assert keys, "[R10] wants the volume opened by the 32 bytes of the unit secret: they do not"
    others = sorted(set(volume.keyslots) - set(keys))
    assert not others, f"[R10] wants it opened by nothing else: so is not keyslot {others}"
    (key,) = set(keys.values())
    return volume, key


def _strange(data: bytes, volume: Volume, key: bytes, offsets: list[int]) -> list[int]:
    """Which of these sectors are not encrypted with the volume key.

    Such a sector has no even spread of bytes, or comes out of the decryption as noise. (One that is
    noise in the volume, too, would be taken for one: what meters store has never filled a sector
    without a gap.) Zeros are what a discard leaves.
    """
    unit = volume.unit
    offsets = [at for at in offsets if data[at : at + unit].strip(b"\0")]
    plain = volume.units(key, data, offsets)
    return [
        at
        for at, text in zip(offsets, plain, strict=True)
        if not looks_random(data[at : at + unit]) or looks_random(text)
    ]


def encrypted_only(before: bytes, after: bytes, volume: Volume, key: bytes) -> int:
    """How many sectors differ in two states of `data`; all of them have to be the volume's."""
    begin, end, unit = volume.begin, volume.whole_end, volume.unit
    assert not changed(before, after, 512, 0, begin) and before[end:] == after[end:], (
        "[R12] wants all encrypted that is written: something was beside the volume"
    )
    offsets = changed(before, after, unit, begin, end)
    strange = _strange(after, volume, key, offsets)
    assert not strange, (
        f"[R12] wants all encrypted with the volume key: of {len(offsets)} sectors {len(strange)} "
        f"are not, the first at {strange[0]} of data, {after[strange[0] :][:32]!r}"
    )
    return len(offsets)


def _not_by_the_key(data: bytes, volume: Volume, key: bytes) -> dict[int, bytes]:
    """What stands behind the key slots and is not encrypted with the volume key, by its place; and
    what the header (at 0) says beyond what it needs."""
    unit, end = volume.unit, volume.whole_end
    strange = _strange(data, volume, key, list(range(volume.begin, end, unit)))
    found = {at: data[at : at + unit] for at in strange} | {0: volume.remarks}
    return found | ({end: data[end:]} if data[end:].strip(b"\0") else {})


def same_but_for_the_volume(
    one: tuple[bytes, Volume, bytes], two: tuple[bytes, Volume, bytes]
) -> None:
    """What is not encrypted with the volume key is the same in two meters."""
    found = [set(_not_by_the_key(*each).items()) for each in (one, two)]
    differ = sorted(found[0] ^ found[1])
    assert not differ, (
        "[R12] wants what is not encrypted with the volume key to be the same in every meter: "
        f"it is not at {differ[0][0]} of data, {differ[0][1][:200]!r}"
    )


def private_keys_lie_nowhere(delivered: Iterable[bytes], db_key: Key, service: bytes) -> None:
    """Neither private key is on the disk, in a form that signs."""
    numbers = dict(zip(("prime", "other prime"), db_key.primes, strict=True))
    numbers["exponent"] = db_key.exponent
    private = {f"service.key, {name}": value for name, value in of_ed25519(service).items()} | {
        f"db.key's {name}": number.to_bytes((number.bit_length() + 7) // 8, "big")
        for name, number in numbers.items()
    }
    found = holds(delivered, private)
    assert not found, f"[R3] wants neither private key on unit.img: {found}"


def nothing_readable(
    layout: Layout, kept: Path, firmware: bytes, values: Mapping[str, str], secret: bytes
) -> None:
    """What was stored, and the unit secret, cannot be read from the disk in any usual form; nor is
    it among the firmware's variables, which outlive a power cut as well."""
    disk = kept.read_bytes()
    wanted = {f"the value of {name}": value.encode() for name, value in values.items()}
    wanted |= {f"the name {name}": name.encode() for name in values}
    wanted["the unit secret"] = secret[2:31]
    written = changed(layout.image.path.read_bytes(), disk)
    found = holds(all_unpacked(runs(disk, written)), wanted)
    assert not found, f"[R12] wants nothing readable on the disk: {found}"
    found = holds(unpacked(firmware), wanted)
    assert not found, f"[R11] wants changes in data alone: the firmware's variables have {found}"


def key_lies_nowhere(delivered: Iterable[bytes], layout: Layout, kept: Path, key: bytes) -> None:
    """Neither what was delivered nor what the meter wrote holds the key of the volume."""
    halves = {"the volume key": key[: len(key) // 2], "the volume key's": key[len(key) // 2 :]}
    disk = kept.read_bytes()
    written = runs(disk, changed(layout.image.path.read_bytes(), disk))
    found = holds(chain(delivered, all_unpacked(written)), halves)
    assert not found, f"[R10], [R12] want a random key that only the unit secret gives: {found}"
