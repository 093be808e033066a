"""Signed bundles: releases that differ in what was asked, false ones in what they are to be."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.needs import needs

from benchflow.bench.delivered_files import sha256_of
from benchflow.bench.media_disks import ext_disk
from benchflow.bench.slot_bundles import (
    HEAD,
    MANIFEST,
    BundleForm,
    DeliveredSlots,
    NamedPartitions,
    Vendor,
)
from benchflow.boot import Image
from benchflow.boot.inspect import ed25519
from benchflow.boot.inspect.ext4 import Ext4

MIB = 1 << 20
SLOT = 4 * MIB
FORM = BundleForm("UNIT-BUNDLE-1", "/etc/release", {"board": "varde-3"})


@pytest.fixture(scope="module")
@needs("e2fsprogs", "openssl")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Vendor:
    folder = tmp_path_factory.mktemp("vendor")
    files = {"etc/release": b"version=1\n", "sbin/init": b"init", "boot/vmlinuz": b"kernel"}
    slot = ext_disk(folder / "slot", files, label="slot", megabytes=4).read_bytes()
    done = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519"], capture_output=True)
    pem = done.stdout
    text = FORM.manifest(1, hashlib.sha256(slot).hexdigest(), SLOT)
    seed = ed25519.seed_of(pem, "vendor.pem")
    (folder / "first").write_bytes(text + ed25519.sign(seed, text) + slot)
    return Vendor(FORM, folder / "first", pem, SLOT, folder)


def test_a_manifest_is_lines_and_zeros(vendor: Vendor) -> None:
    text = vendor.manifest(7, "ab")
    assert len(text) == MANIFEST
    assert text.rstrip(b"\0") == (
        b"UNIT-BUNDLE-1\nboard=varde-3\nversion=7\nsize=4194304\nsha256=ab\n"
    )
    other = vendor.manifest("08", "ab", size=5, board="elsewhere")
    assert b"board=elsewhere\nversion=08\nsize=5\n" in other


def test_a_release_differs_in_what_was_asked_and_nothing_else(
    vendor: Vendor, tmp_path: Path
) -> None:
    made = vendor.release(tmp_path / "17", 17, "abc", {"/sbin/init": (b"other", 0o755)})
    assert (made.version, made.build) == (17, "abc") and made.digest != vendor.release1.digest
    with made.path.open("rb") as stream:
        text, signature = stream.read(MANIFEST), stream.read(64)
    assert text == vendor.manifest(17, made.digest) and made.digest == sha256_of(made.path, HEAD)
    assert ed25519.verify(ed25519.public(vendor.seed), text, signature)
    files = Ext4(made.path, HEAD, scratch=tmp_path)
    assert files.problems() == "" and files.read("/boot/vmlinuz") == b"kernel"
    assert files.read("/etc/release") == b"version=17\nbuild=abc\n"
    assert files.read("/sbin/init") == b"other"
    assert vendor.read("/etc/release") == b"version=1\n", "the delivered slot was changed"
    assert vendor.head() == vendor.release1.path.read_bytes()[:HEAD]


def test_a_false_bundle_is_false_as_it_was_asked_to_be(vendor: Vendor, tmp_path: Path) -> None:
    good = vendor.manifest(1, vendor.release1.digest)
    public = ed25519.public(vendor.seed)

    def made(**how: object) -> tuple[bytes, bytes, int, str]:
        vendor.false(tmp_path / "it", good, **how)  # type: ignore[arg-type]
        data = (tmp_path / "it").read_bytes()
        return data[:MANIFEST], data[MANIFEST:HEAD], len(data), sha256_of(tmp_path / "it", HEAD)

    text, signature, size, digest = made()
    assert text == good and ed25519.verify(public, text, signature) and size == vendor.whole
    assert digest == hashlib.sha256(bytes(SLOT)).hexdigest()
    assert made(content=vendor.release1.path)[3] == vendor.release1.digest
    assert made(size=99)[2] == 99
    assert not ed25519.verify(public, good, made(seed=bytes(32))[1])
    assert made(signature=bytes(64))[1] == bytes(64)


def disk(path: Path, names: tuple[str, ...]) -> Path:
    with path.open("wb") as file:
        file.truncate(8 * MIB)
    rows = "".join(f"start={2048 * (n + 1)}, size=2048, name={name}\n"
                   for n, name in enumerate(names))  # fmt: skip
    subprocess.run(["/usr/sbin/sfdisk", "-q", str(path)], input=f"label: gpt\n{rows}", text=True,
                   check=True)  # fmt: skip
    return path


@pytest.mark.needs("fdisk")
def test_partitions_are_known_by_their_names(tmp_path: Path) -> None:
    path = disk(tmp_path / "disk", ("boot", "slot-a", "slot-b", "data"))
    places = NamedPartitions.of(Image(path))
    assert places.places["slot-b"] == (3 * MIB, MIB)
    with path.open("r+b") as file:
        file.seek(3 * MIB)
        file.write(b"x")
    assert places.digest(path, "slot-a") == sha256_of(path, 2 * MIB, MIB)
    assert places.digest(path, "slot-b") != places.digest(path, "slot-a")
    assert places.digest(path, "slot-b", 1) == hashlib.sha256(b"x").hexdigest()
    with pytest.raises(AssertionError, match="slot-a is there twice"):
        NamedPartitions.of(Image(disk(tmp_path / "two", ("slot-a", "slot-a", "slot-b", "data"))))
    with pytest.raises(AssertionError, match=r"no partition is called \['data'\]"):
        NamedPartitions.of(Image(disk(tmp_path / "none", ("slot-a", "slot-b"))))


@pytest.mark.needs("fdisk")
def test_what_is_wrong_with_delivered_slots_is_said(tmp_path: Path) -> None:
    path = disk(tmp_path / "disk", ("boot", "slot-a", "slot-b", "data"))
    slots = DeliveredSlots.of(Image(path))
    assert not slots.faults and slots.numbers == {"slot-a": 2, "slot-b": 3, "data": 4}
    assert slots.place("slot-b") == (3 * MIB, MIB)
    assert slots.digest(path, "a") == sha256_of(path, 2 * MIB, MIB)
    wrong = DeliveredSlots.of(Image(disk(tmp_path / "wrong", ("slot-a", "slot-a", "slot-b"))))
    assert wrong.faults == ["2 partitions are called slot-a, and 1 is wanted",
                            "0 partitions are called data, and 1 is wanted"]  # fmt: skip
    with pytest.raises(AssertionError, match="no partition is called data"):
        wrong.place("data")
    (tmp_path / "none").write_bytes(b"x" * MIB)
    assert DeliveredSlots.of(Image(tmp_path / "none")).faults


def test_changed_sectors_are_found_outside_of_them(tmp_path: Path) -> None:
    places = NamedPartitions({"slot-a": (2 * MIB, MIB), "b": (3 * MIB, MIB), "c": (5 * MIB, MIB)})
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_bytes(bytes(7 * MIB))
    shutil.copyfile(before, after)
    assert places.changed_outside(before, after) == []
    inside = [2 * MIB + 5, 4 * MIB - 1, 5 * MIB, 6 * MIB - 1]
    outside = [0, 2 * MIB - 1, 4 * MIB, 4 * MIB + 511, 6 * MIB, 7 * MIB - 1]
    with after.open("r+b") as stream:
        for place in [*inside, *outside]:
            stream.seek(place)
            stream.write(b"x")
    assert places.changed_outside(before, after) == sorted({place // 512 for place in outside})
