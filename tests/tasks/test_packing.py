"""Deliverables that cross as one archive: honest ones arrive, hostile ones do no harm."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchflow.errors import UsageError
from benchflow.tasks import Deliverable, Task, find, packing, stage, unpack_deliverables

MIB = 1 << 20


@dataclass
class Crossing:
    """An agent's and a verifier's machine in one: `out` is where the deliverables lie."""

    task: Task
    out: Path
    archive: Path

    def pack(self) -> None:
        command = packing.pack_command(self.task, str(self.archive))
        subprocess.run(["sh", "-c", command], check=True)

    def unpack(self) -> str:
        """In a process of its own, as in the verifier; returns what it said."""
        folder = self.archive.parent
        (folder / "unpack.py").write_text(packing.unpack_script())
        told = {
            "archive": str(self.archive),
            "deliverables": [vars(each) for each in self.task.deliverables],
        }
        (folder / "task.json").write_text(json.dumps(told))
        done = subprocess.run(
            [sys.executable, "-I", folder / "unpack.py"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert not self.archive.exists()
        return done.stderr

    def hostile(self, write: Callable[[tarfile.TarFile, str], object]) -> None:
        """An archive that an agent wrote; `write` gets the archive and its name of the disk."""
        self.archive.parent.mkdir(exist_ok=True)
        with tarfile.open(self.archive, "w:gz", compresslevel=1) as tar:
            write(tar, str(self.out / "disk.img").lstrip("/"))


@pytest.fixture(scope="module")
def server() -> Task:
    return find("repair/dead-server")


@pytest.fixture
def crossing(server: Task, tmp_path: Path) -> Crossing:
    out = tmp_path / "app" / "out"
    out.mkdir(parents=True)
    delivered = (
        Deliverable(str(out / "disk.img"), "disk", 64, 4),
        Deliverable(str(out / "tree"), "tree", 4, 4),
    )
    task = replace(server, deliverables=delivered)
    return Crossing(task, out, tmp_path / "crossing" / "deliverables.tar.gz")


def test_what_was_delivered_arrives_as_it_was(crossing: Crossing) -> None:
    disk, tree = crossing.out / "disk.img", crossing.out / "tree"
    with disk.open("wb") as file:
        file.seek(50 * MIB)
        file.write(os.urandom(MIB))
        file.truncate(60 * MIB)
    (tree / "a b").mkdir(parents=True)
    (tree / "a b" / "f").write_text("x")
    (tree / "a b" / "f").chmod(0o640)
    (tree / "link").symlink_to("a b/f")
    (crossing.out / "not declared").write_text("stays")
    content = disk.read_bytes()
    crossing.pack()
    assert crossing.archive.stat().st_size < 2 * MIB
    subprocess.run(["rm", "-rf", crossing.out], check=True)

    assert crossing.unpack() == ""
    assert disk.read_bytes() == content
    assert disk.stat().st_blocks * 512 < 3 * MIB
    assert (tree / "a b" / "f").stat().st_mode & 0o7777 == 0o640
    assert (tree / "link").readlink() == Path("a b/f")
    assert sorted(each.name for each in crossing.out.iterdir()) == ["disk.img", "tree"]


def test_what_the_image_had_there_gives_way(crossing: Crossing) -> None:
    tree = crossing.out / "tree"
    tree.mkdir()
    (tree / "new").touch()
    crossing.pack()
    (tree / "new").rename(tree / "old")
    assert crossing.unpack() == ""
    assert [each.name for each in tree.iterdir()] == ["new"]


def test_nothing_delivered_is_no_error(crossing: Crossing) -> None:
    crossing.pack()
    assert crossing.unpack() == ""
    assert list(crossing.out.iterdir()) == []


def test_more_than_is_allowed_stays_behind(crossing: Crossing) -> None:
    (crossing.out / "disk.img").write_bytes(os.urandom(30 * MIB))
    crossing.pack()
    assert crossing.archive.stat().st_size == 0
    (crossing.out / "disk.img").unlink()
    assert "it is empty" in crossing.unpack()
    assert list(crossing.out.iterdir()) == []


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, link, 0o755
    return made


def test_an_archive_that_is_none(crossing: Crossing) -> None:
    crossing.archive.parent.mkdir()
    crossing.archive.write_text("what?")
    assert "it is no gzip file" in crossing.unpack()
    crossing.archive.symlink_to("/etc/passwd")
    assert "it is not a file" in crossing.unpack()
    (crossing.archive / "folder").mkdir(parents=True)
    assert "it is not a file" in crossing.unpack()
    os.mkfifo(crossing.archive)
    assert "it is not a file" in crossing.unpack()
    with crossing.archive.open("wb") as file:
        file.truncate(100 * MIB)
    assert "it is larger than 74 MiB" in crossing.unpack()


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_lies_in_the_archives_place_gives_way(crossing: Crossing, kind: str) -> None:
    (crossing.out / "disk.img").write_text("disk")
    crossing.archive.parent.mkdir()
    if kind == "folder":
        (crossing.archive / "x").mkdir(parents=True)
    elif kind == "pipe":
        os.mkfifo(crossing.archive)
    else:
        crossing.archive.symlink_to(crossing.out / "disk.img")
    crossing.pack()
    (crossing.out / "disk.img").unlink()
    assert crossing.unpack() == ""
    assert (crossing.out / "disk.img").read_text() == "disk"


@pytest.mark.parametrize("where", ["declared", "beside"])
def test_folders_deeper_than_any_call_stack(crossing: Crossing, where: str) -> None:
    deep = "a/" * 1500

    def write(tar: tarfile.TarFile, name: str) -> None:
        tree = name.replace("disk.img", "tree")
        tar.addfile(_member(f"{tree}/{deep}f" if where == "declared" else f"{tree}/../../{deep}f"))
        if where == "declared":  # too much, so that it has to be removed again
            member = _member(name)
            member.size = 100 * MIB
            tar.addfile(member, io.BytesIO(bytes(member.size)))

    crossing.hostile(write)
    said = crossing.unpack()
    assert ("it holds more than 74 MiB" in said) == (where == "declared")
    assert list(crossing.out.iterdir()) == []


@pytest.mark.needs("time")
def test_folders_do_not_fill_the_disk(crossing: Crossing) -> None:
    """Each takes 512 bytes of an archive and 4096 of the disk."""
    blocks = (crossing.out.stat().st_blocks or 8) * 512
    if blocks < 4096:
        pytest.skip("a folder takes no block of this file system")

    def write(tar: tarfile.TarFile, name: str) -> None:
        for number in range(20_000):
            tree = name.replace("disk.img", "tree")
            tar.addfile(_member(f"{tree}/{number // 500}/{number}", tarfile.DIRTYPE))

    crossing.hostile(write)
    assert "it takes more than 74 MiB of disk" in crossing.unpack()
    assert list(crossing.out.iterdir()) == []


def test_files_without_content_do_not_use_up_the_inodes(
    crossing: Crossing, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = packing.unpack_script()
    assert "_MOST_ENTRIES = 250_000" in script
    fewer = script.replace("_MOST_ENTRIES = 250_000", "_MOST_ENTRIES = 2_000")
    monkeypatch.setattr(packing, "unpack_script", lambda: fewer)

    def write(tar: tarfile.TarFile, name: str) -> None:
        for number in range(2_500):
            tar.addfile(_member(f"{name.replace('disk.img', 'tree')}/{number}"))

    crossing.hostile(write)
    assert "it holds more than 2000 files and folders" in crossing.unpack()
    assert list(crossing.out.iterdir()) == []


def test_a_full_disk_is_not_the_agents_failure(tmp_path: Path) -> None:
    unpack_deliverables._blame_the_disk(0, tmp_path)
    unpack_deliverables._blame_the_disk(2, tmp_path)
    with pytest.raises(OSError, match="from outside"):
        unpack_deliverables._blame_the_disk(-9, tmp_path)
    if Path("/dev/full").exists() and os.statvfs("/proc").f_bavail == 0:
        with pytest.raises(OSError, match="No space left"):
            unpack_deliverables._blame_the_disk(2, Path("/proc"))


def test_odd_trees_arrive_as_they_were(crossing: Crossing) -> None:
    tree = crossing.out / "tree"
    (tree / "empty").mkdir(parents=True)
    (tree / "-rf").write_text("dash")
    (tree / "new\nline").write_text("line")
    (tree / "back\\slash*").write_text("back")
    Path(os.fsdecode(os.fsencode(tree) + b"/\xff\xfe")).write_text("no UTF-8")
    deep = tree / ("n" * 200) / ("m" * 200)
    deep.mkdir(parents=True)
    (deep / ("o" * 255)).write_text("long")
    (tree / "one").write_text("linked")
    (tree / "two").hardlink_to(tree / "one")
    (tree / "one").chmod(0o4751)
    os.utime(tree / "one", (1, -5))
    (tree / "dangling").symlink_to("../nowhere")
    os.utime(tree / "empty", (1, 1_000_000_000))

    def listed() -> list[tuple[bytes, int, float, int, bytes]]:
        found = []
        for path in sorted(os.fsencode(each) for each in tree.rglob("*")):
            told = os.lstat(path)
            content = Path(os.fsdecode(path)).read_bytes() if told.st_mode >> 12 == 8 else b""
            found.append((path, told.st_mode, int(told.st_mtime), told.st_nlink, content))
        return found

    before = listed()
    crossing.pack()
    subprocess.run(["rm", "-rf", tree], check=True)
    assert crossing.unpack() == ""
    assert listed() == before
    assert (tree / "one").stat().st_ino == (tree / "two").stat().st_ino


@pytest.mark.parametrize("name", ["-leading", "a b", "it's", 'a"b', "$HOME;x", "a*", "a\\b"])
def test_paths_that_a_shell_would_take_apart(crossing: Crossing, name: str) -> None:
    place = crossing.out / name / "f"
    place.parent.mkdir()
    place.write_text("it")
    crossing.task = replace(crossing.task, deliverables=(Deliverable(str(place), "file", 4, 4),))
    crossing.pack()
    place.unlink()
    assert crossing.unpack() == ""
    assert place.read_text() == "it"


def test_an_archive_that_grows_without_end(crossing: Crossing) -> None:
    crossing.archive.parent.mkdir()

    def write(tar: tarfile.TarFile, name: str) -> None:
        member = _member(name)
        member.size = 100 * MIB
        tar.addfile(member, io.BytesIO(bytes(member.size)))

    crossing.hostile(write)
    assert crossing.archive.stat().st_size < MIB
    assert "it holds more than 74 MiB" in crossing.unpack()
    assert list(crossing.out.iterdir()) == []


def test_a_file_of_crumbs_does_not_fill_the_disk(crossing: Crossing) -> None:
    """Each byte between two holes takes 512 bytes of an archive and 4096 of the disk."""
    crumbs = 120_000
    table = [str(crumbs)]
    for place in range(crumbs):
        table += [str(place * 4096), "1"]
    content = ("\n".join(table) + "\n").encode()
    content += bytes(-len(content) % 512) + (b"x" + bytes(511)) * crumbs

    def write(tar: tarfile.TarFile, name: str) -> None:
        member = _member(name)
        member.size = len(content)
        member.pax_headers = {
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.name": name,
            "GNU.sparse.realsize": str(crumbs * 4096),
        }
        tar.addfile(member, io.BytesIO(content))

    crossing.hostile(write)
    free = os.statvfs(crossing.out)
    said = crossing.unpack()
    assert "MiB of disk" in said
    assert list(crossing.out.iterdir()) == []
    lost = free.f_bfree - os.statvfs(crossing.out).f_bfree
    assert lost * free.f_frsize < 300 * MIB


@pytest.mark.parametrize("way", ["link", "folder-link", "fifo", "hard-link", "above"])
def test_what_leads_elsewhere_is_not_followed(crossing: Crossing, tmp_path: Path, way: str) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "disk.img").write_text("before")

    def write(tar: tarfile.TarFile, name: str) -> None:
        parent = name.rpartition("/")[0]
        if way == "link":
            tar.addfile(_member(name, tarfile.SYMTYPE, str(victim / "disk.img")))
        elif way == "folder-link":
            tar.addfile(_member(parent, tarfile.SYMTYPE, str(victim)))
            tar.addfile(_member(name))
        elif way == "fifo":
            tar.addfile(_member(name, tarfile.FIFOTYPE))
        elif way == "hard-link":
            tar.addfile(_member(name, tarfile.LNKTYPE, str(victim / "disk.img")))
        else:
            tar.addfile(_member(f"{parent}/../../victim/disk.img"))

    crossing.hostile(write)
    crossing.unpack()
    # Where tar replaced the link by a folder, a plain empty file may have arrived.
    arrived = crossing.out / "disk.img"
    assert not arrived.is_symlink()
    assert not os.path.lexists(arrived) or (arrived.is_file() and arrived.read_bytes() == b"")
    assert (victim / "disk.img").read_text() == "before"


def test_without_an_archive_deliverables_stay_where_they_are(crossing: Crossing) -> None:
    (crossing.out / "disk.img").write_text("here")
    unpack_deliverables.main({"archive": str(crossing.archive), "deliverables": []})
    assert (crossing.out / "disk.img").read_text() == "here"


def test_a_packed_task_says_what_is_collected_and_unpacks_it_first(server: Task) -> None:
    plain, packed = stage(server).folder, stage(server, packed=True).folder
    assert plain != packed
    told = tomllib.loads((packed / "task.toml").read_text())
    assert told["artifacts"] == [packing.ARCHIVE]
    (hook,) = told["verifier"]["collect"]
    assert "app/out/server.img" in hook["command"]
    before = tomllib.loads((plain / "task.toml").read_text())
    more = told["verifier"]["environment"]["storage_mb"]
    assert more - before["verifier"]["environment"]["storage_mb"] == packing.most_mb(server) == 816
    script = (packed / "tests" / "test.sh").read_text().splitlines()
    assert [line.split()[2] for line in script if line.startswith(("python3", "exec"))] == [
        "/tests/unpack.py",
        "-I",
    ]
    assert json.loads((packed / "tests" / "task.json").read_text())["archive"] == packing.ARCHIVE


def test_a_task_of_several_steps_is_not_packed(server: Task) -> None:
    task = replace(server, steps=server.milestones[:1])
    with pytest.raises(UsageError, match="several steps"):
        stage(task, packed=True)


def test_an_archive_that_ends_in_the_middle(crossing: Crossing) -> None:
    disk = crossing.out / "disk.img"
    disk.write_bytes(os.urandom(MIB))
    crossing.pack()
    disk.unlink()
    os.truncate(crossing.archive, crossing.archive.stat().st_size // 2)
    assert "it ends in the middle" in crossing.unpack()
    assert not disk.exists()
