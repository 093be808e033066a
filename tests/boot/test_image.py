"""Images are looked into as they are: nothing is mounted, nothing that they hold is executed."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from hostile import images as hostile
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.needs import needs

from benchflow.boot.errors import BadDeliverable, ToolMissing, VerifierBroken
from benchflow.boot.inspect.bounded_run import run_tool
from benchflow.boot.inspect.ext4 import Ext4
from benchflow.boot.inspect.image import Image

MIB = 1 << 20
MTOOLS = {**os.environ, "MTOOLSRC": "/dev/null", "MTOOLS_SKIP_CHECK": "1"}
TABLE = """\
label: gpt
size=8M, type=uefi, name="EFI \\x22system\\x22"
size=16M, type=linux, name="root\\x1b[31m", attrs=LegacyBIOSBootable
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for folder in ("etc", "usr/bin", "usr/lib", "srv/a b", "srv/$(touch own3d)", "-rf"):
        (root / folder).mkdir(parents=True)
    (root / "usr/lib/os-release").write_text("ID=mine\n")
    (root / "etc/os-release").symlink_to("../usr/lib/os-release")
    (root / "bin").symlink_to("usr/bin")
    (root / "abs").symlink_to("/etc/os-release")
    (root / "out").symlink_to("/../../../../etc/passwd")
    (root / "loop").symlink_to("loop")
    (root / "longlink").symlink_to("x" * 200)
    (root / "usr/bin/tool").write_bytes(b"\x7fELF" + bytes(100_000))
    (root / "usr/bin/tool").chmod(0o4755)
    (root / "srv/a b/<12>").write_text("brackets")
    (root / 'srv/"quoted"\t\x1b[31m').write_text("quoted")
    (root / "srv/none").write_text("")
    os.link(root / "usr/bin/tool", root / "usr/bin/same")
    os.mkfifo(root / "srv/fifo")
    return root


@pytest.fixture(scope="module")
@needs("e2fsprogs", "fdisk", "mtools")
def disk(tmp_path_factory: pytest.TempPathFactory, tree: Path) -> Path:
    """A GPT disk with a FAT and an ext4 partition, as an appliance would have."""
    path = tmp_path_factory.mktemp("disk") / "disk.img"
    with path.open("wb") as stream:
        stream.truncate(32 * MIB)
    subprocess.run(["sfdisk", "-q", str(path)], input=TABLE.encode(), check=True)
    fat = f"{path}@@1M"
    subprocess.run(
        ["mformat", "-i", fat, "-T", "16384", "-h", "64", "-s", "32", "::"], env=MTOOLS, check=True
    )
    subprocess.run(["mmd", "-i", fat, "::/EFI", "::/EFI/BOOT"], env=MTOOLS, check=True)
    for source, name in (
        ("usr/bin/tool", "EFI/BOOT/BOOTX64.EFI"),
        ("etc/os-release", "a löng name.text"),
    ):
        subprocess.run(
            ["mcopy", "-i", fat, str(tree / source), f"::/{name}"], env=MTOOLS, check=True
        )
    return hostile.ext4(path, tree, 16 * MIB, offset=9 * MIB)


def test_partitions_are_listed_in_bytes(disk: Path) -> None:
    image = Image(disk)
    first, second = image.partitions()
    assert (first.number, first.start, first.size, first.table) == (1, MIB, 8 * MIB, "gpt")
    assert first.name == 'EFI "system"'
    assert (second.number, second.start, second.size) == (2, 9 * MIB, 16 * MIB)
    assert second.bootable and not first.bootable
    assert image.has_boot_signature()
    assert [image.filesystem(p) for p in (None, first, second)] == ["", "fat", "ext4"]
    assert image.partition(2) == second
    with pytest.raises(BadDeliverable, match="no partition 3"):
        image.partition(3)


@pytest.mark.needs("fdisk")
def test_a_file_without_a_table_has_no_partitions(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(MIB))
    assert Image(tmp_path / "x").partitions() == []
    assert not Image(tmp_path / "x").has_boot_signature()
    (tmp_path / "tiny").write_bytes(b"x")
    with pytest.raises(BadDeliverable, match="ends before"):
        Image(tmp_path / "tiny").boot_sector()


def test_an_ext4_partition_reads_like_the_tree_it_was_made_from(disk: Path, tree: Path) -> None:
    files = Image(disk).ext4(Image(disk).partition(2))
    found = {entry.path: entry for entry in files.walk() if entry.path != "/lost+found"}
    expected = {f"/{path.relative_to(tree)}" for path in tree.rglob("*")}
    assert set(found) == expected
    assert found["/usr/bin/tool"].mode == 0o4755
    assert found["/usr/bin/tool"].uid == os.getuid()
    assert found["/srv/fifo"].kind == "fifo"
    assert found["/bin"].kind == "symlink"
    for path, entry in found.items():
        if entry.kind == "file":
            assert files.read(path) == (tree / path[1:]).read_bytes()
    contents = {entry.path: data for entry, data in files.contents()}
    assert contents == {
        p: (tree / p[1:]).read_bytes() for p, e in found.items() if e.kind == "file"
    }
    assert sorted(files.listdir("/srv")) == sorted(p.name for p in (tree / "srv").iterdir())


def test_links_are_followed_inside_the_image_only(disk: Path) -> None:
    files = Image(disk).ext4(Image(disk).partition(2))
    assert files.read_text("/etc/os-release") == "ID=mine\n"
    assert files.read_text("/abs") == "ID=mine\n"
    assert files.stat("/bin/tool").path == "/usr/bin/tool"
    assert files.stat("/srv/../etc/./os-release", follow=False).kind == "symlink"
    assert files.readlink("/longlink") == "x" * 200
    assert not files.exists("/out")
    for path, said in (("/loop", "loop"), ("/out", "not in the image"), ("/bin/no", "not in"),
                       ("/etc", "is a directory"), ("/srv/fifo", "is a fifo")):  # fmt: skip
        with pytest.raises(BadDeliverable, match=said):
            files.read(path)


def test_a_read_is_bounded(disk: Path) -> None:
    files = Image(disk).ext4(Image(disk).partition(2))
    with pytest.raises(BadDeliverable, match="limit is 1000"):
        files.read("/usr/bin/tool", 1000)
    with pytest.raises(BadDeliverable, match="limit is 1000"):
        list(files.contents(limit=1000))


def test_a_fat_partition(disk: Path, tree: Path) -> None:
    files = Image(disk).fat(Image(disk).partition(1))
    assert {(e.path, e.kind) for e in files.walk()} == {
        ("/EFI", "directory"), ("/EFI/BOOT", "directory"), ("/EFI/BOOT/BOOTX64.EFI", "file"),
        ("/a löng name.text", "file"),
    }  # fmt: skip
    assert files.read("/efi/Boot/bootx64.efi") == (tree / "usr/bin/tool").read_bytes()
    assert files.read_text("/a löng name.text") == "ID=mine\n"
    assert not files.exists("/EFI/BOOT/*.EFI")


@pytest.mark.needs("xorriso")
def test_an_iso(tmp_path: Path, tree: Path) -> None:
    path = tmp_path / "x.iso"
    subprocess.run(
        ["xorriso", "-as", "mkisofs", "-quiet", "-R", "-J", "-o", str(path), str(tree)],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    assert Image(path).filesystem() == "iso9660"
    files = Image(path).iso()
    found = {entry.path: entry for entry in files.walk()}
    assert set(found) == {f"/{p.relative_to(tree)}" for p in tree.rglob("*")}
    for name, entry in found.items():
        if entry.kind == "file":
            assert files.read(name) == (tree / name[1:]).read_bytes()
    assert files.read_text("/abs") == "ID=mine\n"
    assert found["/usr/bin/tool"].mode == 0o4755


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("ext4", marks=pytest.mark.needs("e2fsprogs")),
        pytest.param("fat", marks=pytest.mark.needs("mtools")),
        pytest.param("iso", marks=pytest.mark.needs("xorriso")),
    ],
)
@pytest.mark.parametrize("content", [b"", b"x", bytes(MIB), os.urandom(3 * MIB)])
def test_garbage_is_a_bad_deliverable(tmp_path: Path, kind: str, content: bytes) -> None:
    path = tmp_path / "x.img"
    path.write_bytes(content)
    with pytest.raises(BadDeliverable):
        list(getattr(Image(path), kind)().walk())


@pytest.mark.needs("fdisk")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (hostile.overlapping_mbr(), "overlaps"),
        (hostile.mbr_beyond_the_end(), "beyond the end"),
    ],
)
def test_a_table_that_lies(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(BadDeliverable, match=said):
        Image(tmp_path / "x").partitions()


@pytest.mark.needs("fdisk")
def test_a_table_that_loops_ends(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(hostile.looping_logical_partitions())
    start = time.monotonic()
    try:
        assert len(Image(tmp_path / "x").partitions()) < 256
    except BadDeliverable as error:
        assert "partition" in str(error)
    assert time.monotonic() - start < 10


@pytest.fixture
@needs("e2fsprogs")
def small(tmp_path: Path) -> Path:
    tree = tmp_path / "small"
    (tree / "dir").mkdir(parents=True)
    (tree / "0123456789012345678901234567").write_text("x")
    (tree / "dir" / "file").write_text("y" * 5000)
    return hostile.ext4(tmp_path / "small.img", tree, 4 * MIB)


@pytest.mark.parametrize(
    "name",
    [
        b"x\n/15/100755/0/0/init12345//",
        b"x\n\n\n/15/100755/0/0/i/5/\n\n\n\n\n",
        b"../../../../../../etc/passwd",
        b"debugfs: ls -p <12>\nabcdefgh",
        b"yz/1/\n/15/100644/0/0/forged1",
        b"yzyzyz/1/\n/15/100644/0/0/dir",
        b"x\0yzxyzxyzxyzxyzxyzxyzxyzxyz",
    ],
)
def test_a_name_that_forges_a_listing_is_refused(small: Path, name: bytes) -> None:
    hostile.rename_entry(small, b"0123456789012345678901234567", name)
    with pytest.raises(BadDeliverable, match="name"):
        list(Ext4(small).walk())


def test_a_check_of_the_file_system_finds_what_a_listing_does_not(small: Path) -> None:
    assert Ext4(small).problems() == ""
    hostile.rename_entry(small, b"0123456789012345678901234567", b"x\0" + b"y" * 26)
    assert "illegal characters" in Ext4(small).problems()


def test_a_journal_that_was_not_replayed_is_a_problem(small: Path) -> None:
    hostile.debugfs(small, "feature needs_recovery")
    assert "journal" in Ext4(small).problems()


def test_a_directory_that_holds_itself_ends(small: Path) -> None:
    hostile.debugfs(small, "link dir dir/again")
    with pytest.raises(BadDeliverable, match="linked twice"):
        list(Ext4(small).walk())


def test_a_file_that_claims_a_terabyte_is_refused_unread(small: Path) -> None:
    hostile.debugfs(small, "sif dir/file size 1099511627776")
    start = time.monotonic()
    for read in (lambda: Ext4(small).read("/dir/file"), lambda: list(Ext4(small).contents())):
        with pytest.raises(BadDeliverable, match="1099511627776 bytes"):
            read()
    assert time.monotonic() - start < 5


def test_a_damaged_file_system_says_so(small: Path) -> None:
    data = bytearray(small.read_bytes())
    data[2048:200_000] = b"\xff" * (200_000 - 2048)
    small.write_bytes(data)
    with pytest.raises(BadDeliverable):
        list(Ext4(small).walk())


@pytest.mark.needs("e2fsprogs")
@settings(max_examples=25)
@given(data=st.data())
def test_random_damage_is_never_the_verifiers_fault(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    (folder / "tree" / "dir").mkdir(parents=True)
    (folder / "tree" / "dir" / "file").write_text("x" * 3000)
    image = bytearray(hostile.ext4(folder / "x.img", folder / "tree", MIB).read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        at = data.draw(st.integers(1024, 100_000))
        image[at : at + 4] = data.draw(st.binary(min_size=4, max_size=4))
    (folder / "x.img").write_bytes(image)
    try:
        for entry, content in Ext4(folder / "x.img").contents():
            assert len(content) == entry.size
    except BadDeliverable:
        pass


def test_a_missing_tool_is_the_verifiers_fault() -> None:
    with pytest.raises(ToolMissing, match="no-such-tool is not installed"):
        run_tool(["no-such-tool"])


@pytest.mark.alone
@pytest.mark.needs("time")
def test_a_tool_is_bounded_in_output_time_and_files(tmp_path: Path) -> None:
    with pytest.raises(BadDeliverable, match="printed more than 1000000 bytes"):
        run_tool(["yes"], limit=1_000_000)
    with pytest.raises(BadDeliverable, match="processor time"):
        run_tool(["sh", "-c", "while :; do :; done"], cpu_seconds=1)
    with pytest.raises(BadDeliverable, match="larger than allowed"):
        run_tool(["dd", "if=/dev/zero", f"of={tmp_path}/x"], max_file=4096)
    assert (tmp_path / "x").stat().st_size <= 4096
    assert run_tool(["cat"], stdin=b"x" * 3_000_000).stdout == b"x" * 3_000_000
    assert run_tool(["true"], stdin=b"x" * 3_000_000).status == 0


def test_a_tool_that_only_waits_is_the_verifiers_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchflow.boot.inspect.bounded_run._WALL_FACTOR", 0.5)
    with pytest.raises(VerifierBroken, match="stalled"):
        run_tool(["sleep", "60"], cpu_seconds=1)


def test_no_process_of_a_tool_is_left_behind(tmp_path: Path) -> None:
    run_tool(["sh", "-c", f"sleep 300 >/dev/null 2>&1 & echo $! >{tmp_path}/pid"])
    pid = int((tmp_path / "pid").read_text())
    state = Path(f"/proc/{pid}/stat")
    end = time.monotonic() + 30
    while state.exists() and state.read_text().split()[2] != "Z":
        assert time.monotonic() < end, "it lives on"
        time.sleep(0.1)


def test_more_bytes_than_there_can_be_are_refused(disk: Path) -> None:
    for offset, count in ((0, 1 << 62), (1 << 62, 1), (disk.stat().st_size, 1)):
        with pytest.raises(BadDeliverable, match="ends before"):
            Image(disk).bytes_at(offset, count)
