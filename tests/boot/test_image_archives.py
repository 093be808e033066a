"""Archives, initramfs, kernels and programs are read within hard limits."""

from __future__ import annotations

import gzip
import lzma
import random
import resource
import struct
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from hostile import images as hostile
from hypothesis import given, settings
from hypothesis import strategies as st

import guests
from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.archive import Tar, decompress, is_compressed
from benchflow.boot.inspect.cpio import Initramfs
from benchflow.boot.inspect.elf import Elf, strings
from benchflow.boot.inspect.kernel_image import kernel_banner, kernel_release, unpack_kernel

MIB = 1 << 20
COMPRESSORS = [
    ("gzip", "gzip -9 -c"),
    ("bzip2", "bzip2 -c"),
    ("xz-utils", "xz -c"),
    ("xz-utils", "xz -T2 --block-size=65536 -c"),
    ("xz-utils", "xz --format=lzma -c"),
    ("zstd", "zstd -q -19 -c"),
    ("lz4", "lz4 -q -c"),
    ("lz4", "lz4 -q -l -c"),
    ("lzop", "lzop -q -c"),
]


@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=pytest.mark.needs(needed)) for needed, each in COMPRESSORS]
)
def test_every_format_is_unpacked_up_to_its_limit(command: str) -> None:
    data = bytes(3 * MIB) + bytes(range(256)) * 100
    done = subprocess.run(command.split(), input=data, capture_output=True, check=True)
    packed = done.stdout
    assert is_compressed(packed)
    assert decompress(packed, len(data)) == data
    with pytest.raises(BadDeliverable):
        decompress(packed, len(data) - 1)
    with pytest.raises(BadDeliverable):
        decompress(packed[: len(packed) // 2], len(data))


@pytest.mark.parametrize(
    "bomb",
    [hostile.gzip_bomb, hostile.gzip_bomb_one_stream, hostile.xz_with_a_huge_dictionary],
)
def test_a_bomb_is_refused_early_and_small(bomb, tmp_path: Path) -> None:
    (tmp_path / "bomb.tar").write_bytes(bomb())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    with pytest.raises(BadDeliverable):
        Tar(tmp_path / "bomb.tar", limit=32 * MIB)
    assert time.process_time() - start < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_data_that_is_not_compressed_is_taken_as_it_is() -> None:
    assert decompress(b"plain", 5) == b"plain"
    with pytest.raises(BadDeliverable):
        decompress(b"plain", 4)


@settings(max_examples=200)
@given(
    st.binary(max_size=200), st.sampled_from([b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"\x5d\0\0"])
)
def test_random_streams_are_read_or_refused(data: bytes, magic: bytes) -> None:
    with pytest.raises(BadDeliverable):
        decompress(magic + data, 1000)


def archive(tmp_path: Path, members: list) -> Tar:
    (tmp_path / "x.tar").write_bytes(hostile.tar(members))
    return Tar(tmp_path / "x.tar")


def test_a_tar_reads_like_a_file_system(tmp_path: Path) -> None:
    files = archive(tmp_path, [
        hostile.member("./usr/lib/os-release", b"ID=mine\n", mode=0o644, uid=5),
        hostile.member("etc/", type=tarfile.DIRTYPE, mode=0o755),
        hostile.member("etc/os-release", type=tarfile.SYMTYPE, linkname="../usr/lib/os-release"),
        hostile.member("etc/hard", type=tarfile.LNKTYPE, linkname="usr/lib/os-release"),
        hostile.member("dev/null", type=tarfile.CHRTYPE, devmajor=1, devminor=3),
        hostile.member("etc/twice", b"old"),
        hostile.member("etc/twice", b"newer"),
        hostile.member(".", type=tarfile.DIRTYPE),
    ])  # fmt: skip
    assert {(e.path, e.kind) for e in files.walk()} == {
        ("/usr", "directory"), ("/usr/lib", "directory"), ("/usr/lib/os-release", "file"),
        ("/etc", "directory"), ("/etc/os-release", "symlink"), ("/etc/hard", "file"),
        ("/dev", "directory"), ("/dev/null", "device"), ("/etc/twice", "file"),
    }  # fmt: skip
    assert files.read_text("/etc/os-release") == files.read_text("/etc/hard") == "ID=mine\n"
    assert files.stat("/usr/lib/os-release").uid == 5
    assert files.read("/etc/twice") == b"newer"


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([hostile.member("../../etc/passwd", b"x")], "impossible name"),
        ([hostile.member("a/../../b", b"x")], "impossible name"),
        ([hostile.member("x", type=tarfile.LNKTYPE, linkname="/etc/passwd")], "hard link"),
        ([hostile.member("x", type=b"Z")], "unknown type"),
        ([hostile.member("d/f", b""), hostile.member("d", b"x")], "twice"),
    ],
)
def test_a_tar_that_leaves_its_place_is_refused(tmp_path: Path, members, said: str) -> None:
    with pytest.raises(BadDeliverable, match=said):
        archive(tmp_path, members)


@pytest.mark.parametrize("content", [b"", b"x" * 100, bytes(10_000), b"\x1f\x8bxxxx"])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(BadDeliverable):
        Tar(tmp_path / "x.tar")


def test_what_a_tar_says_to_hold_is_bounded_before_it_is_made(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (tmp_path / "x.tar").write_bytes(hostile.sparse_tar(1 << 44))
    with pytest.raises(BadDeliverable, match="more than allowed"):
        Tar(tmp_path / "x.tar")
    (tmp_path / "x.tar").write_bytes(hostile.sparse_tar(600 * MIB, pax=True))
    with pytest.raises(BadDeliverable, match="more than allowed"):
        Tar(tmp_path / "x.tar")
    links = [hostile.member(f"l{n}", type=tarfile.LNKTYPE, linkname="f") for n in range(40)]
    with pytest.raises(BadDeliverable, match="hard links"):
        archive(tmp_path, [hostile.member("f", bytes(16 * MIB)), *links])
    archive(tmp_path, [hostile.member("f", bytes(16 * MIB)), *links[:30]])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


@pytest.mark.parametrize("pax", [False, True])
def test_a_sparse_file_in_a_tar_is_read_like_any_other(tmp_path: Path, pax: bool) -> None:
    (tmp_path / "x.tar").write_bytes(hostile.sparse_tar(3 * MIB, pax=pax))
    assert Tar(tmp_path / "x.tar").read("/build") == bytes(3 * MIB)


def test_an_archive_larger_than_its_limit_is_not_even_read(tmp_path: Path) -> None:
    with (tmp_path / "x.tar").open("wb") as file:
        file.truncate(1 << 43)
    with pytest.raises(BadDeliverable, match="more than"):
        Tar(tmp_path / "x.tar")


def test_a_tar_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    data = hostile.tar([hostile.member("big", b"x" * 100_000)])
    (tmp_path / "x.tar").write_bytes(data[:50_000])
    with pytest.raises(BadDeliverable):
        Tar(tmp_path / "x.tar").read("/big")


FILES = {
    "bin": (0o040755, b""),
    "bin/sh": (0o100755, b"#!"),
    "init": (0o120777, b"bin/sh"),
    "dev/console": (0o020600, b"5 1"),
}


def test_an_initramfs_of_several_archives_is_one_tree() -> None:
    early = guests.cpio({"kernel/x86/microcode/x.bin": (0o100644, b"microcode")})
    later = guests.cpio({"etc/issue": (0o100644, b"mine")})
    data = early + bytes(512) + gzip.compress(guests.cpio(FILES)) + bytes(3) + lzma.compress(later)
    files = Initramfs(data)
    assert files.segments == 3
    assert files.read("/init") == b"#!"
    assert files.read("/kernel/x86/microcode/x.bin") == b"microcode"
    assert files.read("/etc/issue") == b"mine"
    assert files.stat("/dev/console").kind == "device"


@pytest.mark.needs("zstd")
@pytest.mark.parametrize("size", [0, 1, 100, 70_000, 3 * MIB])
@pytest.mark.parametrize("options", [(), ("-19", "--no-check"), ("--no-content-size",)])
def test_a_zstd_initramfs_may_be_followed_by_another(size: int, options: tuple[str, ...]) -> None:
    noise = random.Random(size).randbytes(size // 2) + bytes(size - size // 2)
    main = guests.cpio({**FILES, "noise": (0o100644, noise)})
    command = ["zstd", "-q", "-c", *options]
    packed = [
        subprocess.run(command, input=part, capture_output=True, check=True).stdout
        for part in (main, guests.cpio({"etc/issue": (0o100644, b"mine")}))
    ]
    skippable = b"\x53\x2a\x4d\x18\x03\0\0\0abc"
    own = guests.cpio({"etc/own": (0o100644, b"too")})
    data = skippable.join([packed[0], packed[1]]) + bytes(6) + own + packed[1] + bytes(2)
    files = Initramfs(data)
    assert files.read("/noise") == noise
    assert files.read("/etc/issue") == b"mine"
    assert files.read("/etc/own") == b"too"
    for cut in (5, 9, len(packed[0]) // 2, len(packed[0]) - 1):
        with pytest.raises(BadDeliverable):
            Initramfs(packed[0][:cut])


@pytest.mark.needs("cpio")
def test_an_initramfs_made_by_cpio_keeps_hard_links(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("content")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    done = subprocess.run(
        ["cpio", "-o", "-H", "newc", "--quiet"],
        input=b"a\nb\n", cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    files = Initramfs(done.stdout)
    assert files.read("/a") == files.read("/b") == b"content"


def test_a_hostile_initramfs_is_refused() -> None:
    good = guests.cpio(FILES)
    for data, said in (
        (b"", "empty"),
        (bytes(1000), "empty"),
        (good[:-200], "damaged|cut off"),
        (b"garbage" + good, "damaged"),
        (guests.cpio({"../x": (0o100644, b"")}), "impossible name"),
        (guests.cpio({"x": (0o000644, b"")}), "impossible mode"),
        (good.replace(b"070701", b"070701zz"), "damaged"),
        (gzip.compress(bytes(MIB) + good), None),
        (good * 100, "more than 64"),
    ):
        if said is None:
            assert Initramfs(data).exists("/init")
            continue
        with pytest.raises(BadDeliverable, match=said):
            Initramfs(data)
    with pytest.raises(BadDeliverable, match=r"more than|holds"):
        Initramfs(gzip.compress(guests.cpio({"x": (0o100644, bytes(MIB))})) * 3, limit=2 * MIB)


@given(st.binary(max_size=400))
def test_random_initramfs_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        Initramfs(b"070701" + data)
    except BadDeliverable:
        return


@pytest.mark.needs("guests")
@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_a_kernel_says_who_built_it(arch: str) -> None:
    data = guests.debian_kernel(arch).read_bytes()
    release = kernel_release(data)
    assert "cloud" in release and release.startswith("6.")
    assert kernel_banner(data).startswith(f"{release} (debian-kernel@")
    assert "gcc" in kernel_banner(data)
    proper = unpack_kernel(data)
    if arch == "x86_64":
        assert Elf(proper).machine == "x86_64"
        assert len(Elf(proper).build_id) == 40


@pytest.mark.needs("guest-kernel")
def test_a_hostile_kernel_is_refused() -> None:
    kernel = guests.kernel_at_hand()
    assert kernel is not None
    data = bytearray(kernel.read_bytes())
    cut = bytes(data[: len(data) // 2])
    struct.pack_into("<I", data, 0x24C, 0xFFFFFFFF)
    for hostile_kernel in (bytes(data), cut, cut[:0x210], b"MZ\0\0zimg", b"x", b""):
        with pytest.raises(BadDeliverable):
            kernel_banner(hostile_kernel)


@settings(max_examples=200)
@given(st.binary(max_size=700))
def test_random_kernels_are_refused(data: bytes) -> None:
    header = data[:0x202].ljust(0x202, b"\1") + b"HdrS" + data[0x206:]
    for kernel in (header, b"MZ\0\0zimg" + data):
        with pytest.raises(BadDeliverable):
            kernel_banner(kernel)


@pytest.mark.needs("binutils", "busybox-static")
def test_a_program_says_who_built_it() -> None:
    found = Elf(Path("/usr/bin/env").read_bytes())
    shown = subprocess.run(
        ["readelf", "-n", "-d", "/usr/bin/env"], capture_output=True, text=True, check=True
    ).stdout
    assert f"Build ID: {found.build_id}\n" in shown
    assert found.needed == ["libc.so.6"]
    assert found.interpreter == "/lib64/ld-linux-x86-64.so.2"
    assert found.machine == "x86_64"
    static = Elf(guests.busybox().read_bytes())
    assert static.interpreter == "" and static.needed == []
    assert any("BusyBox v1." in text for text in strings(static.data))


@pytest.mark.needs("binutils")
def test_compiler_comments_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.s").write_text('.ident "MyCC 1.0"\n.ident "MyCC 1.0"\n.ident "other"\n')
    subprocess.run(["as", "-o", str(tmp_path / "x.o"), str(tmp_path / "x.s")], check=True)
    found = Elf((tmp_path / "x.o").read_bytes())
    assert found.comments == ["MyCC 1.0", "other"]
    assert found.section(".nothing") is None
    assert found.build_id == ""


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=8)), max_size=6))
def test_a_damaged_program_is_read_or_refused(damage: list[tuple[int, bytes]]) -> None:
    data = bytearray(Path("/usr/bin/env").read_bytes())
    for at, piece in damage:
        data[at : at + len(piece)] = piece
    try:
        found = Elf(bytes(data))
        assert isinstance(found.build_id + found.interpreter, str)
        assert isinstance(found.comments + found.needed, list)
    except BadDeliverable:
        return


def test_a_tar_that_leads_back_into_itself_is_refused(tmp_path: Path) -> None:
    head = bytearray(tarfile.TarInfo("./").tobuf(tarfile.USTAR_FORMAT))
    head[124:136] = b"\xff" + (256**11 - 512).to_bytes(11, "big")
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    (tmp_path / "x.tar").write_bytes(tarfile.TarInfo("a").tobuf() + head + bytes(1024))
    # Newer releases of Python end at such a header, silently.
    with pytest.raises(BadDeliverable, match=r"leads back|damaged at byte 512"):
        Tar(tmp_path / "x.tar")


def test_a_tar_with_a_damaged_header_is_refused(tmp_path: Path) -> None:
    whole = tarfile.TarInfo("a").tobuf() + tarfile.TarInfo("b").tobuf()
    (tmp_path / "x.tar").write_bytes(whole + bytes(1024))
    assert Tar(tmp_path / "x.tar").exists("/b")
    (tmp_path / "x.tar").write_bytes(whole[:512] + b"z" + whole[513:] + bytes(1024))
    with pytest.raises(BadDeliverable, match="damaged at byte 512"):
        Tar(tmp_path / "x.tar")


@pytest.mark.parametrize("field", [b"-0000070", b"0_000000", b" +000000"])
def test_an_initramfs_of_strange_numbers_is_refused(field: bytes) -> None:
    data = bytearray(guests.cpio({".": (0o040755, b"")}))
    data[54:62] = field  # its size
    with pytest.raises(BadDeliverable, match="damaged at byte 0"):
        Initramfs(bytes(data))
