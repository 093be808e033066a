"""A folder that node and driver both see: found out by a word, and read with care."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchflow.run.ray_engine import meeting, parcel


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    made = tmp_path / "node" / "words__abc"
    made.mkdir(parents=True)
    (made / "result.json").write_text("{}")
    return made


def test_an_archive_is_handed_over_where_both_see_the_folder(tmp_path: Path, trial: Path) -> None:
    begun = meeting.begin(tmp_path / "coming" / "job")
    size = meeting.hand_over(begun, "words__abc", trial)
    archive = meeting.archive_of(tmp_path / "coming" / "job", "words__abc")
    assert size and archive.stat().st_size == size
    meeting.wait_for(archive, size)
    assert parcel.unpack(archive, tmp_path / "draft") == []
    assert (tmp_path / "draft" / "result.json").read_text() == "{}"
    archive.unlink()
    meeting.end(begun)
    assert not (tmp_path / "coming" / "job").exists()


@pytest.mark.parametrize("what", ["elsewhere", "another word", "no word", "read only"])
def test_a_folder_that_is_not_the_drivers_is_not_written_to(
    what: str, tmp_path: Path, trial: Path
) -> None:
    folder = tmp_path / "coming"
    begun = meeting.begin(folder)
    if what == "elsewhere":
        begun = replace(begun, folder=str(tmp_path / "not-here"))
    elif what == "another word":
        (folder / ".meeting").write_text("another")
    elif what == "no word":
        (folder / ".meeting").write_text("")
        begun = replace(begun, word="")
    else:
        (folder / "words__abc.tar.gz.part").mkdir()
    before = sorted(path.name for path in folder.iterdir())
    assert meeting.hand_over(begun, "words__abc", trial) is None
    assert sorted(path.name for path in folder.iterdir()) == before


def test_nodes_do_not_look_where_that_is_not_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHFLOW_SHARED_FOLDER", "never")
    begun = meeting.begin(tmp_path / "coming")
    assert begun.place() is None and not (tmp_path / "coming").exists()


@pytest.mark.parametrize("what", ["short", "a link", "missing"])
def test_what_is_not_what_the_node_wrote_is_no_trial(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meeting, "_SEEN_SECONDS", 0.3)
    archive = tmp_path / "words__abc.tar.gz.part"
    if what == "short":
        archive.write_bytes(b"123")
    elif what == "a link":
        (tmp_path / "other").write_bytes(b"1234")
        archive.symlink_to(tmp_path / "other")
    with pytest.raises(parcel.BadParcel, match="4 bytes"):
        meeting.wait_for(archive, 4)
