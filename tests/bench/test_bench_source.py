"""Delivered source: what is text, packed or known; how it is built; recorded disks."""

from __future__ import annotations

import base64
import gzip
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from benchflow.bench import source_builder, source_fingerprints
from benchflow.bench.delivered_source import MOST_TABLES, Source
from benchflow.bench.recorded_disk import RecordedDisk
from benchflow.boot import BadDeliverable, VerifierBroken

BENCH = Path(source_fingerprints.__file__).parent
PROGRAMS = Path(__file__).parents[2] / "tasks/own/kernel/tests/image/programs"


def source_of(**files: bytes) -> Source:
    return Source({name.replace("_", "."): data for name, data in files.items()})


def test_what_was_packed_is_no_text_that_somebody_wrote() -> None:
    packed = gzip.compress(random.Random(1).randbytes(60_000))
    assert source_of(a_txt=base64.encodebytes(packed)).packed()
    assert source_of(a_txt=packed.hex().encode()).packed()
    table = b",".join(b"0x%02x" % byte for byte in packed)
    told = source_of(a_c=table)
    assert not told.packed() and told.tables() > MOST_TABLES
    written = (PROGRAMS / "files.c").read_bytes()
    honest = source_of(a_c=written)
    assert not honest.packed() and not honest.tables() and not honest.no_text()


def test_what_was_packed_is_seen_in_files_of_any_size_and_at_their_ends() -> None:
    packed = base64.encodebytes(gzip.compress(random.Random(1).randbytes(60_000)))
    pieces = {f"part{n:02}_txt": packed[n * 2000 : (n + 1) * 2000] for n in range(20)}
    assert source_of(**pieces).packed() == [
        found for found in source_of(**pieces).packed() if found.startswith("its short files at ")
    ]
    assert source_of(**pieces).packed()
    written = (PROGRAMS / "files.c").read_bytes()[:9000]
    assert source_of(a_c=written + packed[:4096]).packed()
    # A page of prose alone is denser than 55 %, and is nobody's fault.
    assert not source_of(README_md=packed[:2500]).packed()


@pytest.mark.parametrize("data", [b"int a;\0", b"\xff", b"a\x7f", "a\x85".encode(), b"\x1b[2J"])
def test_control_characters_are_no_text(data: bytes) -> None:
    assert source_of(a_c=data).no_text()
    assert not source_of(a_c="\tß\r\n\f".encode()).no_text()
    assert Source({"ß.c": b"int a;\n"}).no_text()


def test_a_folder_is_read_within_bounds(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/a.c").write_text("int a;\n")
    assert Source.of(tmp_path).files == {"below/a.c": b"int a;\n"}
    for most in ({"most_bytes": 6}, {"most_files": 0}):
        with pytest.raises(AssertionError, match="at most"):
            Source.of(tmp_path, **most)
    (tmp_path / "link").symlink_to("below")
    with pytest.raises(AssertionError, match="no links: link"):
        Source.of(tmp_path)


def test_renaming_does_not_hide_where_source_is_from(tmp_path: Path) -> None:
    """The table is made as an image makes it, by the module alone."""
    known = tmp_path / "known"
    known.mkdir()
    theirs = (PROGRAMS / "signals.c").read_text()
    (known / "theirs.c").write_text(
        theirs + 'void f(void) { pr_err("a message that is long enough: %d\\n", 1); }'
    )
    program = tmp_path / "source_fingerprints.py"
    program.write_bytes((BENCH / "source_fingerprints.py").read_bytes())
    table, words = tmp_path / "table", tmp_path / "words"
    subprocess.run([sys.executable, program, known, table, words], check=True)
    assert words.read_text() == "a message that is long enough:\n"
    assert len(table.read_bytes()) // 4 > 100
    renamed = theirs
    for name in ("child", "status", "count", "SIGUSR1", "kill", "sigaction", "info"):
        renamed = renamed.replace(name, f"my_{name[::-1]}")
    renamed = "/* mine */\n" + renamed.replace("\t", "  ").replace(";\n", "; // so\n")
    share, whole = source_of(mine_c=renamed.encode()).known(table)
    assert share > 0.9 and whole
    other = (PROGRAMS / "writes.c").read_bytes()
    share, whole = source_of(other_c=other).known(table)
    assert share < 0.02 and not whole


# --- what is built -------------------------------------------------------------------------------


def taken(path: Path, head: bytes, *files: bytes) -> Path:
    with path.open("wb") as file:
        file.write(head.ljust(512, b"\0") + b"the log")
        for n, data in enumerate(files):
            file.seek(source_builder.AT + n * source_builder.MOST)
            file.write(data)
        file.truncate(source_builder.AT + 2 * source_builder.MOST)
    return path


def test_what_was_built_is_read_off_its_disk(tmp_path: Path) -> None:
    disk = taken(tmp_path / "disk", b"status=0 seconds=7 sizes=3 0\nold", b"one", b"two")
    built = source_builder.read(disk, ["a", "b"])
    assert (built.status, built.seconds, built.log) == (0, 7, "the log")
    assert built.files == {"a": b"one"}
    too_large = b"status=2 seconds=7 sizes=99999999999 3\n"
    built = source_builder.read(taken(tmp_path / "disk", too_large, b"one", b"two"), ["a", "b"])
    assert built.status == 2 and built.files == {"b": b"two"}
    for head in (
        b"",
        b"status=0",
        b"status=0 seconds=7 sizes=3\n",
        b"status=0 seconds=7 sizes=a b",
    ):
        with pytest.raises(AssertionError, match="left no word"):
            source_builder.read(taken(tmp_path / "disk", head), ["a", "b"])


@pytest.mark.needs("e2fsprogs")
def test_a_source_of_any_shape_fits_its_disk(tmp_path: Path) -> None:
    source = tmp_path / "made"
    for n in range(9000):
        (source / f"d{n % 90}/e{n}").mkdir(parents=True)
    deep = source / "/".join(["x"] * 400)
    deep.mkdir(parents=True)
    (deep / "a.c").write_text("int a;\n")
    for n in range(1999):
        (source / f"d{n % 90}/f{n}").write_bytes(b"x" * 1030)
    disk = source_builder.source_disk(source, tmp_path)
    told = subprocess.run(
        ["debugfs", "-R", "stat source/d1/f1", disk], capture_output=True, text=True, check=True
    ).stdout
    assert "Size: 1030" in told


def test_a_source_that_fits_no_disk_is_the_deliverables_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(command: list[str]) -> str:
        raise VerifierBroken("mke2fs failed", evidence="a name")

    (tmp_path / "made").mkdir()
    monkeypatch.setattr(source_builder, "run_tool", refused)
    with pytest.raises(BadDeliverable):
        source_builder.source_disk(tmp_path / "made", tmp_path)


# --- recorded disks ------------------------------------------------------------------------------


def test_a_cut_keeps_what_was_flushed(tmp_path: Path) -> None:
    image = tmp_path / "disk"
    image.write_bytes(bytes(4096))
    disk = RecordedDisk(image)
    try:
        disk.log += [(0, b"one"), None, (0, b"two"), (512, b"new"), None, (1024, b"end")]
        rng = random.Random(3)
        for _ in range(20):
            cut = disk.after_cut(2, rng)
            assert cut[:3] == b"one" and not any(cut[3:])
            cut = disk.after_cut(6, rng)
            assert cut[:3] == b"two" and cut[512:515] == b"new"
        ends = {disk.after_cut(6, rng)[1024:1027] for _ in range(40)}
        starts = {disk.after_cut(4, rng)[:3] for _ in range(40)}
        assert ends == {b"end", bytes(3)} and starts == {b"one", b"two"}
    finally:
        disk.close()


def test_what_was_not_flushed_may_be_torn(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(64 << 10))
    disk = RecordedDisk(image, torn=0.15)
    try:
        disk.log += [(0, b"a" * 4096), None, (4096, b"b" * 4096), (8192, b"c" * 4096)]
        rng, seen = random.Random(3), set()
        for _ in range(400):
            after = disk.after_cut(4, rng)
            assert after[:4096] == b"a" * 4096 and after[12288:] == bytes(len(after) - 12288)
            for at, letter in ((4096, b"b"), (8192, b"c")):
                piece = after[at : at + 4096]
                sectors = {piece[n : n + 512] for n in range(0, 4096, 512)}
                assert sectors <= {letter * 512, bytes(512)}
                seen.add((letter, len(sectors)))
        assert len(seen) == 4
        assert disk.after_cut(0, rng) == bytes(64 << 10)
    finally:
        disk.close()


def test_what_a_machine_writes_is_remembered_in_its_order(tmp_path: Path) -> None:
    """A client of its protocol, as QEMU is one."""
    import json
    import socket

    image = tmp_path / "image"
    image.write_bytes(bytes(64 << 10))
    disk = RecordedDisk(image)
    path = json.loads(disk.arguments[1])["server"]["path"]
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        assert peer.recv(18, socket.MSG_WAITALL)[:16] == b"NBDMAGICIHAVEOPT"
        peer.sendall(struct.pack(">I", 1) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
        size, _ = struct.unpack(">QH", peer.recv(134, socket.MSG_WAITALL)[:10])
        assert size == 64 << 10

        def asks(kind: int, at: int, length: int, data: bytes = b"") -> bytes:
            peer.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, 7, at, length) + data)
            magic, error, handle = struct.unpack(">IIQ", peer.recv(16, socket.MSG_WAITALL))
            assert (magic, error, handle) == (0x67446698, 0, 7)
            return peer.recv(length, socket.MSG_WAITALL) if kind == 0 else b""

        asks(1, 512, 3, b"abc")
        asks(3, 0, 0)
        assert asks(0, 511, 5) == b"\0abc\0"
    disk.close()
    assert disk.log == [(512, b"abc"), None]
    assert disk.base == bytes(64 << 10)
