"""Disks and files: made, changed in place, searched and hashed; with the tools that do it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import lzma
import os
import re
import secrets
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from benchflow.bench import media_disks
from benchflow.bench.delivered_files import (
    additions,
    found_in,
    pinned,
    read_bounded,
    sha256_of,
    sparse_digest,
)
from benchflow.bench.ext4_edit import Ext4Editor, Superblock
from benchflow.bench.hidden_secrets import all_unpacked, holds, unpacked
from benchflow.boot import BadDeliverable, Image, VerifierBroken
from benchflow.boot.inspect.ext4 import Ext4

MIB = 1 << 20


@pytest.mark.needs("e2fsprogs")
def test_files_are_changed_inside_an_image(tmp_path: Path) -> None:
    start = 3 * MIB
    files = {"sbin/init": b"old", "usr/keep": b"kept", "etc/release": b"version=1\n"}
    media_disks.ext_disk(tmp_path / "fs", files, label="slot")
    media_disks.debugfs(tmp_path / "fs", "symlink bin /usr")
    image = tmp_path / "image"
    image.write_bytes(bytes(start) + (tmp_path / "fs").read_bytes() + bytes(MIB))
    editor = Ext4Editor(image, start, tmp_path)
    copy = Path(shutil.copy(image, tmp_path / "copy"))
    editor.edit(copy, {"/sbin/init": (b"new\0bytes", 0o755), "/bin/more": (b"m", 0o600)})
    editor.edit(copy, {})
    found = Ext4(copy, start, scratch=tmp_path)
    assert found.problems() == ""
    assert found.read("/sbin/init") == b"new\0bytes" and found.stat("/sbin/init").mode == 0o755
    assert found.read("/usr/more") == b"m", "a link on the way was not followed"
    assert found.read("/etc/release") == b"version=1\n" and found.read("/usr/keep") == b"kept"
    assert Ext4(image, start, scratch=tmp_path).read("/sbin/init") == b"old"
    with pytest.raises(BadDeliverable, match="none is not in"):
        editor.edit(copy, {"/none/x": (b"", 0o644)})


@pytest.mark.needs("e2fsprogs")
def test_what_cannot_be_put_into_an_image_is_said(tmp_path: Path) -> None:
    media_disks.ext_disk(tmp_path / "fs", {"a": b""}, label="small", megabytes=1)
    with pytest.raises(BadDeliverable, match="/big cannot be put into the image"):
        Ext4Editor(tmp_path / "fs", 0, tmp_path).edit(
            tmp_path / "fs", {"/big": (secrets.token_bytes(4 * MIB), 0o644)}
        )


@pytest.mark.needs("e2fsprogs")
def test_a_superblock_says_when_and_how(tmp_path: Path) -> None:
    disk = media_disks.ext_disk(tmp_path / "disk", {"a": b"1"}, label="x")
    found = Superblock.of(disk)
    shown = subprocess.run(
        ["/usr/sbin/dumpe2fs", "-h", str(disk)], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(rf"(?m)^Filesystem UUID: +{found.uuid}$", shown)
    assert found.clean and not found.to_replay and found.made > 1_600_000_000
    media_disks.debugfs(disk, "feature needs_recovery", "set_super_value state 0")
    assert Superblock.of(disk).to_replay and not Superblock.of(disk).clean
    with pytest.raises(BadDeliverable, match="no ext2"):
        Superblock.of(media_disks.blank(tmp_path / "none", 1))


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("ext2", marks=pytest.mark.needs("e2fsprogs")),
        pytest.param("ext4", marks=pytest.mark.needs("e2fsprogs")),
        pytest.param("fat", marks=pytest.mark.needs("mtools", "fdisk")),
    ],
)
def test_files_lie_on_a_disk_and_are_read_back(tmp_path: Path, kind: str) -> None:
    files = {"note.txt": b"noted", "answers.conf": secrets.token_bytes(5000)}
    path = tmp_path / "disk"
    if kind == "fat":
        media_disks.fat_disk(path, files, label="STICK")
        assert Image(path).partitions()[0].start == MIB
    else:
        media_disks.ext_disk(path, files, label="STICK", kind=kind)
    assert media_disks.files_on(path) == files


@pytest.mark.needs("e2fsprogs")
def test_owners_modes_and_folders(tmp_path: Path) -> None:
    files = {"wall/messages": b"m", "empty": None, "suid-shell": b"#!/bin/sh\n"}
    disk = media_disks.ext_disk(
        tmp_path / "disk", files, label="S", owner=4711, modes={"suid-shell": 0o4755}
    )
    found = Image(disk).ext4()
    assert found.problems() == ""
    assert found.stat("/wall/messages").uid == found.stat("/empty").gid == 4711
    assert found.stat("/suid-shell").mode == 0o4755 and found.stat("/").uid == 0
    assert found.listdir("/wall") == ["messages"] and found.stat("/empty").kind == "directory"


@pytest.mark.needs("e2fsprogs")
def test_foreign_disks(tmp_path: Path) -> None:
    assert Image(media_disks.swap_disk(tmp_path / "swap")).bytes_at(4086, 10) == b"SWAPSPACE2"
    first, second = (media_disks.owned_disk(tmp_path / name, 8) for name in ("one", "two"))
    diaries = [Image(disk).ext4().read("/diary") for disk in (first, second)]
    assert len(diaries[0]) == 1 << 16 and diaries[0] != diaries[1]
    assert len({media_disks.serial() for _ in range(20)}) == 20


@pytest.mark.needs("e2fsprogs")
def test_a_disk_is_filled_to_the_last_block(tmp_path: Path) -> None:
    disk = media_disks.ext_disk(tmp_path / "disk", {"wall/a": b""}, label="S")
    media_disks.fill(disk, "wall/filler", 32)
    shown = subprocess.run(
        ["/usr/sbin/dumpe2fs", "-h", str(disk)], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"(?m)^Free blocks: +0$", shown), shown
    assert not list(tmp_path.glob("*.filler"))


@pytest.mark.needs("e2fsprogs")
def test_a_tool_of_ours_that_fails_is_the_verifiers_fault(tmp_path: Path) -> None:
    assert media_disks.our_tool("echo", "word") == b"word\n"
    with pytest.raises(VerifierBroken, match="mke2fs failed"):
        media_disks.our_tool("mke2fs", str(tmp_path / "none"))


def test_a_delivered_file_is_read_within_bounds(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_bounded(tmp_path / "file", 5) == b"12345"
    for name, most, why in (("file", 4, "larger"), ("link", 9, "no file"), ("none", 9, "no file")):
        with pytest.raises(AssertionError, match=why):
            read_bounded(tmp_path / name, most)


def test_a_folder_is_what_was_shipped(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").mkdir()
    sums = f"{sha256_of(tmp_path / 'a')}  a\n"
    assert pinned(tmp_path, sums) == tmp_path and additions(tmp_path, sums) == ["b"]
    (tmp_path / "a").write_bytes(b"2")
    with pytest.raises(BadDeliverable, match="a was changed"):
        pinned(tmp_path, sums)
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("b")
    with pytest.raises(BadDeliverable, match="a is missing"):
        pinned(tmp_path, sums)


def test_secrets_are_found_wherever_they_lie(tmp_path: Path) -> None:
    words = [secrets.token_bytes(32) for _ in range(4)]
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(64 * MIB)
        for at, word in zip((0, 4 * MIB - 7, 32 * MIB + 100), words, strict=False):
            file.seek(at)
            file.write(word)
    assert found_in(tmp_path / "disk", words) == set(words[:3])
    assert found_in(tmp_path / "disk", []) == set()


def test_a_part_of_a_file_is_hashed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a" * 9_000_000 + b"b" * 10)
    same = tmp_path / "same"
    same.write_bytes(b"b" * 10)
    assert sha256_of(path, 9_000_000) == sha256_of(path, 9_000_000, 10) == sha256_of(same)
    assert sha256_of(path, 9_000_000, 99) == sha256_of(same), "what is not there counts"
    assert sha256_of(path) != sha256_of(path, 0, 9_000_000)


def test_a_digest_is_of_bytes_and_not_of_holes(tmp_path: Path) -> None:
    full, holes = tmp_path / "full", tmp_path / "holes"
    data = secrets.token_bytes(5000)
    with full.open("wb") as file:
        file.write(bytes(20 * MIB + 7))
        for at in (0, 3 * MIB - 1000, 3 * MIB + 70_000, 20 * MIB):
            file.seek(at)
            file.write(data[:7] if at == 20 * MIB else data)
    with holes.open("wb") as file:
        file.truncate(20 * MIB + 7)
        for at in (0, 3 * MIB - 1000, 3 * MIB + 70_000, 20 * MIB):
            file.seek(at)
            file.write(data[:7] if at == 20 * MIB else data)
    assert full.read_bytes() == holes.read_bytes()
    assert sparse_digest(full) == sparse_digest(holes)
    for at in (0, 10 * MIB, 20 * MIB + 6):
        with holes.open("r+b") as file:
            file.seek(at)
            before = file.read(1)
            os.pwrite(file.fileno(), bytes([before[0] ^ 1]), at)
            assert sparse_digest(full) != sparse_digest(holes)
            os.pwrite(file.fileno(), before, at)
    with holes.open("r+b") as file:
        file.truncate(21 * MIB)
    assert sparse_digest(full) != sparse_digest(holes), "the size counts"


def test_the_digest_of_nothing_is_one_too(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert sparse_digest(tmp_path / "empty").startswith("0 ")


def test_a_secret_is_found_in_whatever_form() -> None:
    secret, noise = (hashlib.shake_128(word).digest(4096) for word in (b"secret", b"noise"))
    secret = secret[:32]
    for form in (
        secret,
        secret[::-1],
        bytes(byte ^ 0x5A for byte in secret),
        secret.hex().upper().encode(),
        base64.encodebytes(b"PEM, say, of which it is a part: " + secret + b"and so on"),
        gzip.compress(b"x" * 100 + secret),
        lzma.compress(gzip.compress(b"x" * 100 + base64.b64encode(secret))),
        zlib.compress(b"a block of squashfs" * 9 + secret),
    ):
        assert holds(unpacked(noise + form + noise), {"it": secret}).startswith("it, "), form
    assert holds([noise, secret[:16] + b"-" + secret[16:]], {"it": secret}) == ""


@pytest.mark.needs("time")
def test_a_bomb_is_unpacked_up_to_a_sum_of_bytes() -> None:
    bomb = gzip.compress(bytes(64 << 20), 1)
    found = list(unpacked(bomb * 8))
    assert sum(map(len, found)) <= len(bomb) * 8 + (192 << 20)
    assert list(all_unpacked([b"plain", b"text"])) == [b"plain", b"text"]
