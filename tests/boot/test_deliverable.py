"""A deliverable is hostile: it is refused by its metadata, before a byte of it is read."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect.deliverable import Deliverable, validate
from benchflow.boot.milestones import ChecksError


def wanted(path: Path, kind: str = "file", **limits: float) -> Deliverable:
    return Deliverable(str(path), kind, **({"max_mb": 64, "max_stored_mb": 16} | limits))


def refuse(path: Path, said: str, kind: str = "disk", **limits: float) -> None:
    with pytest.raises(BadDeliverable, match=said):
        validate(wanted(path, kind, **limits))


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk.img"
    path.write_bytes(b"data")
    return path


def test_a_regular_file_inside_its_limits_is_taken(disk: Path) -> None:
    assert validate(wanted(disk, "disk")) == disk


def test_missing(tmp_path: Path, disk: Path) -> None:
    refuse(tmp_path / "no.img", "was not delivered")
    refuse(tmp_path / "no" / "no.img", "was not delivered")
    refuse(disk / "below-a-file", "was not delivered")


def test_empty(disk: Path) -> None:
    disk.write_bytes(b"")
    refuse(disk, "is empty")


def test_a_directory_instead_of_a_file(tmp_path: Path) -> None:
    refuse(tmp_path, "is a directory")


def test_a_symlink_to_a_host_file(tmp_path: Path) -> None:
    link = tmp_path / "link.img"
    link.symlink_to("/etc/passwd")
    refuse(link, "is a symbolic link")


def test_a_symlink_anywhere_in_the_path(tmp_path: Path, disk: Path) -> None:
    (tmp_path / "etc").symlink_to("/etc")
    refuse(tmp_path / "etc" / "passwd", "behind the symbolic link")
    (tmp_path / "here").symlink_to(".")
    refuse(tmp_path / "here" / disk.name, "behind the symbolic link")


def test_a_terabyte_of_nothing_is_refused_at_once(disk: Path) -> None:
    os.truncate(disk, 1 << 40)
    start = time.monotonic()
    refuse(disk, "1048576 MiB large; the limit is 64 MiB")
    assert time.monotonic() - start < 10  # to read it takes minutes


def test_more_stored_than_allowed(disk: Path) -> None:
    disk.write_bytes(os.urandom(3 << 20))
    refuse(disk, "occupies 3 MiB; the limit is 1 MiB", max_stored_mb=1)


def test_a_sparse_file_inside_both_limits_is_taken(disk: Path) -> None:
    os.truncate(disk, 60 << 20)
    assert validate(wanted(disk, "disk", max_stored_mb=1)) == disk


def test_a_device_node(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        os.mknod(tmp_path / "null", 0o020666, os.makedev(1, 3))
        refuse(tmp_path / "null", "is a character device")
    refuse(Path("/dev/null"), "is a character device")


def test_a_pipe_and_a_socket_never_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refuse(tmp_path / "pipe", "is a named pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        refuse(tmp_path / "socket", "is a socket")


def test_an_author_may_not_ask_for_a_relative_path() -> None:
    for path in ("out/disk.img", "/app/../etc/passwd"):
        with pytest.raises(ChecksError, match="not an absolute path"):
            validate(Deliverable(path))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "sub" / "file").write_text("x")
    return root


def test_a_directory_with_links_inside_is_taken(tree: Path) -> None:
    (tree / "link").symlink_to("sub/file")
    (tree / "sub" / "up").symlink_to("../sub/deep")
    (tree / "sub" / "root").symlink_to("..")
    (tree / "dangling").symlink_to("nothing")
    assert validate(wanted(tree, "directory")) == tree


def test_a_file_instead_of_a_directory(disk: Path) -> None:
    refuse(disk, "is a regular file, not a directory", kind="directory")


def test_an_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refuse(tmp_path / "empty", "empty directory", kind="directory")


@pytest.mark.parametrize("target", ["/etc/passwd", "../../x", "..", "../tree2/x", "sub/../../x"])
def test_a_link_that_leaves_the_directory(tree: Path, target: str) -> None:
    (tree / "link").symlink_to(target)
    refuse(tree, "points out of", kind="directory")


def test_a_link_that_leaves_through_another_link(tree: Path) -> None:
    # By its text this ends inside; followed, `here` is the root and `..` leaves it.
    (tree / "here").symlink_to(".")
    (tree / "link").symlink_to("here/../sub")
    refuse(tree, "points out of", kind="directory")


def test_special_files_and_sizes_in_a_directory(tree: Path) -> None:
    os.mkfifo(tree / "sub" / "deep" / "pipe")
    refuse(tree, "is a named pipe", kind="directory")
    (tree / "sub" / "deep" / "pipe").unlink()
    (tree / "a").write_bytes(b"x")
    os.truncate(tree / "a", 40 << 20)
    (tree / "b").write_bytes(b"x")
    os.truncate(tree / "b", 40 << 20)
    refuse(tree, "80 MiB large", kind="directory")


def test_too_many_files(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchflow.boot.inspect.deliverable.MAX_FILES", 3)
    (tree / "one-more").touch()
    refuse(tree, "more than 3 files", kind="directory")
