"""bench.service_machine: where sources lie on a disk."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchflow.bench.service_machine import filesystems, with_sources

START = 2048


def _disk(path: Path, *trees: dict[str, str]) -> Path:
    """A disk with one partition of 16 MiB for each tree, an ext4 with these files."""
    with path.open("wb") as file:
        file.truncate((len(trees) * 16 + 2) << 20)
    table = "label: dos\n" + "".join(
        f"start={START + number * 32768}, size=32768, type=83\n" for number in range(len(trees))
    )
    subprocess.run(["sfdisk", "--quiet", path], input=table, text=True, check=True)
    for number, files in enumerate(trees):
        root = path.parent / f"root-{number}"
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        offset = (START + number * 32768) * 512
        command = ["mke2fs", "-q", "-t", "ext4", "-d", root, "-E", f"offset={offset}", path, "16M"]
        subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.mark.needs("e2fsprogs", "fdisk")
def test_sources_below_srv_of_the_root(tmp_path: Path) -> None:
    disk = _disk(tmp_path / "disk", {"etc/hostname": "a"}, {"srv/it/go.mod": "m", "etc/x": ""})
    files, top = with_sources(filesystems(disk), "it/go.mod")
    assert top == "/srv/"
    assert files.read("/srv/it/go.mod") == b"m"


@pytest.mark.needs("e2fsprogs", "fdisk")
def test_sources_where_srv_is_a_file_system_of_its_own(tmp_path: Path) -> None:
    disk = _disk(tmp_path / "disk", {"etc/hostname": "a"}, {"it/go.mod": "m"})
    files, top = with_sources(filesystems(disk), "it/go.mod")
    assert top == "/"
    assert files.read("/it/go.mod") == b"m"


@pytest.mark.needs("e2fsprogs", "fdisk")
def test_no_sources_are_the_deliverables_fault(tmp_path: Path) -> None:
    disk = _disk(tmp_path / "disk", {"etc/hostname": "a"})
    with pytest.raises(AssertionError, match="/srv/it/go"):
        with_sources(filesystems(disk), "it/go.mod")
