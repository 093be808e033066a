"""Folders on their way between machines: what a node sends comes back whole, and nothing else."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from benchflow.run.ray_engine import arrival, nodes_log, parcel
from benchflow.run.ray_engine.placing import Demand


def packed(folder: Path, archive: Path) -> Path:
    archive.write_bytes(b"".join(parcel.pack(folder)))
    return archive


def made(archive: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(archive, "w:gz") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return archive


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def test_a_folder_comes_back_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "trial"
    (folder / "agent" / "empty").mkdir(parents=True)
    (folder / "agent" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "agent" / "run.sh").chmod(0o755)
    (folder / "agent" / "link").symlink_to("run.sh")
    (folder / "\udcff name\n").write_bytes(os.urandom(3 << 20))
    with (folder / "disk.img").open("wb") as disk:
        disk.truncate(256 << 20)
        disk.seek(100 << 20)
        disk.write(b"something")
    os.mkfifo(folder / "pipe")
    left_out = parcel.unpack(packed(folder, tmp_path / "a"), tmp_path / "there")
    assert left_out == []
    assert parcel.digest_of(tmp_path / "there") == parcel.digest_of(folder)
    assert not (tmp_path / "there" / "pipe").exists()
    assert (tmp_path / "there" / "disk.img").stat().st_blocks * 512 < 1 << 20


def test_the_digest_tells_contents_names_links_and_bits(tmp_path: Path) -> None:
    def digest(name: str = "a", data: str = "x", mode: int = 0o644, link: str = "a") -> str:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / name).write_text(data)
        (folder / name).chmod(mode)
        (folder / "l").symlink_to(link)
        return parcel.digest_of(folder)

    assert digest() == digest()
    assert len({digest(), digest("b"), digest(data="y"), digest(mode=0o755), digest(link="b")}) == 5


def test_links_that_lead_outside_are_left_out(tmp_path: Path) -> None:
    archive = made(
        tmp_path / "a",
        (member("up", tarfile.SYMTYPE, "../../etc"), b""),
        (member("root", tarfile.SYMTYPE, "/etc"), b""),
        (member("hard", tarfile.LNKTYPE, "up"), b""),
        (member("null", tarfile.CHRTYPE), b""),
        (member("fine"), b"fine"),
    )
    assert parcel.unpack(archive, tmp_path / "t") == ["up", "root", "hard", "null"]
    assert names(tmp_path / "t") == ["fine"]


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/tmp/x"])
def test_a_name_never_leads_outside(tmp_path: Path, name: str) -> None:
    archive = made(tmp_path / "a", (member(name), b"x"))
    with pytest.raises(parcel.BadParcel):
        parcel.unpack(archive, tmp_path / "t")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [archive]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    archive = made(
        tmp_path / "a",
        (member("d", tarfile.DIRTYPE), b""),
        (member("d/l", tarfile.SYMTYPE, "../file"), b""),
        (member("d/l"), b"x"),
    )
    with pytest.raises(parcel.BadParcel, match="FileExistsError"):
        parcel.unpack(archive, tmp_path / "t")
    assert not (tmp_path / "t" / "file").exists()


def test_a_torn_archive_is_none(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "x").write_bytes(os.urandom(100_000))
    archive = packed(tmp_path / "f", tmp_path / "a")
    archive.write_bytes(archive.read_bytes()[:50_000])
    with pytest.raises(parcel.BadParcel):
        parcel.unpack(archive, tmp_path / "t")


def test_a_bomb_is_no_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcel, "MOST_BYTES", 1 << 20)
    archive = made(tmp_path / "a", (member("x"), bytes(2 << 20)))
    with pytest.raises(parcel.BadParcel, match="larger than any trial"):
        parcel.unpack(archive, tmp_path / "t")


def test_what_was_whole_when_the_driver_died_is_taken_in(tmp_path: Path) -> None:
    job = tmp_path / "jobs" / "s-1"
    (job / "one").mkdir(parents=True)  # begun: it has no result yet
    (job / "two").mkdir()
    (job / "two" / "result.json").write_text("first")
    for name, result in {"one": "whole", "two": "second", "three.draft": "half"}.items():
        folder = arrival.coming(job) / name
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(result)
    (arrival.coming(job) / "four.tar.gz.part").write_text("half")
    assert arrival.take_in(job) == ["one"]
    assert (job / "one" / "result.json").read_text() == "whole"
    assert (job / "two" / "result.json").read_text() == "first"
    assert names(job) == ["one", "two"]
    assert names(arrival.coming(job)) == []


def test_a_demand_fits_where_all_of_it_is(tmp_path: Path) -> None:
    demand = Demand(2, 4 << 30, (("disk", 1000.0),))
    offers = {"CPU": 4.0, "memory": float(8 << 30), "disk": 5000.0}
    assert demand.fits(offers)
    for name in offers:
        assert not demand.fits({**offers, name: 1.0})


def test_reasons_are_counted_and_made_harmless(tmp_path: Path) -> None:
    for came, why in (("done", ""), ("lost", "died"), ("lost", "died"), ("refused", "\x1b[2J")):
        nodes_log.note(tmp_path, "t", came, host="n", why=why)
    found = nodes_log.reasons(tmp_path)
    assert found["lost, n: died"] == 2 and len(found) == 2
    assert "\x1b" not in "".join(found)
