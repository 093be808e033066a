"""Images are opened as what they are said to be, never as what they say they are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from starting import Start

from benchflow.boot.errors import BadDeliverable, CheckMisuse, ToolMissing
from benchflow.boot.machine.disks import Disk, Overlay, virtual_size
from guests import SHELL_INIT, modules


def qemu_img(*arguments: object) -> None:
    subprocess.run(["qemu-img", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.raw"
    path.write_bytes(b"host secret".ljust(1 << 20, b"\0"))
    return path


@pytest.mark.needs("qemu", "guests")
def test_a_qcow2_header_in_a_raw_image_is_data(tmp_path: Path, secret: Path) -> None:
    image = tmp_path / "deliverable.img"
    qemu_img("create", "-f", "qcow2", "-b", secret, "-F", "raw", image, "1M")
    overlay = Overlay(Disk(image), tmp_path / "overlay.qcow2")
    flat = overlay.flatten(tmp_path / "flat.raw").read_bytes()
    assert flat.startswith(b"QFI\xfb")
    assert b"host secret" not in flat[: len("host secret")]
    assert flat.rstrip(b"\0") == image.read_bytes().rstrip(b"\0")


@pytest.mark.needs("qemu", "guests")
def test_a_qcow2_image_that_refers_to_other_files_is_refused(tmp_path: Path, secret: Path) -> None:
    backed, split = tmp_path / "backed.qcow2", tmp_path / "split.qcow2"
    qemu_img("create", "-f", "qcow2", "-b", secret, "-F", "raw", backed, "1M")
    qemu_img("create", "-f", "qcow2", "-o", f"data_file={secret},data_file_raw=on", split, "1M")
    for path, reason in (
        (backed, "backing file"),
        (split, "another file"),
        (secret, "not a qcow2"),
    ):
        with pytest.raises(BadDeliverable, match=reason):
            virtual_size(Disk(path, format="qcow2"))


@pytest.mark.needs("qemu", "guests")
def test_a_plain_qcow2_image_is_taken(tmp_path: Path, secret: Path) -> None:
    image = tmp_path / "image.qcow2"
    qemu_img("convert", "-f", "raw", "-O", "qcow2", secret, image)
    overlay = Overlay(Disk(image, format="qcow2"), tmp_path / "overlay.qcow2")
    assert overlay.flatten(tmp_path / "flat.raw").read_bytes() == secret.read_bytes()


def test_what_is_no_image_is_the_deliverables_fault(tmp_path: Path, secret: Path) -> None:
    link, empty, pipe = tmp_path / "link", tmp_path / "empty", tmp_path / "pipe"
    link.symlink_to(secret)
    empty.touch()
    os.mkfifo(pipe)
    for path in (link, empty, pipe, tmp_path, tmp_path / "missing"):
        with pytest.raises(BadDeliverable):
            virtual_size(Disk(path))


@pytest.mark.needs("qemu", "guests")
def test_a_sparse_terabyte_costs_nothing(tmp_path: Path) -> None:
    image = tmp_path / "huge.img"
    with image.open("wb") as file:
        file.truncate(1 << 40)
    overlay = Overlay(Disk(image), tmp_path / "overlay.qcow2")
    assert overlay.size == 1 << 40
    assert overlay.path.stat().st_blocks * 512 < 10 << 20


def test_a_size_that_is_no_multiple_of_a_sector_is_rounded_up(tmp_path: Path) -> None:
    image = tmp_path / "odd.img"
    image.write_bytes(b"x" * 1000)
    assert virtual_size(Disk(image)) == 1024


def test_a_disk_is_described_with_known_words(tmp_path: Path) -> None:
    with pytest.raises(CheckMisuse, match="bus"):
        Disk(tmp_path, bus="mfm")  # type: ignore[arg-type]
    with pytest.raises(CheckMisuse, match="format"):
        Disk(tmp_path, format="vmdk")  # type: ignore[arg-type]


def test_missing_qemu_img_is_infrastructure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk.empty(tmp_path / "disk.img", 1)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolMissing, match="qemu-img"):
        Overlay(disk, tmp_path / "overlay.qcow2")


def test_a_disk_of_files_gives_the_guest_a_nonce(start: Start, tmp_path: Path) -> None:
    disk = Disk.of_files(
        tmp_path / "probe.img",
        {"nonce": b"5eed\n", "probe": b"#!/bin/sh\necho ran by the guest\n"},
        serial="probe",
    )
    files = modules("virtio_pci", "virtio_blk")
    machine = start(SHELL_INIT, files=files, disks=[disk], append="console=ttyS0 quiet")
    shell = machine.attach()
    shell.run("mount -t ext4 -o ro /dev/vda /mnt", check=True)
    assert shell.run("cat /mnt/nonce; /mnt/probe").stdout == "5eed\nran by the guest\n"
    assert shell.run("cat /sys/block/vda/serial /sys/block/vda/ro").stdout == "probe1\n"
    with pytest.raises(CheckMisuse):
        Disk.of_files(tmp_path / "x.img", {"a/b": b""})
