"""A trial's trajectory is read once: its steps are written while the figures are made."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchflow.results.collect import collect
from benchflow.results.readers import atif
from benchflow.results.records import Collection
from benchflow.results.synthetic import Design, write_job
from benchflow.site.build import Built, begin, build, finish
from benchflow.site.study import Study

Reads = list[Path]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """The trajectories that were opened."""
    seen: Reads = []
    real: Callable[..., bytes] = atif.read_bytes

    def read_bytes(path: Path, limit: int) -> bytes:
        seen.append(path)
        return real(path, limit)

    monkeypatch.setattr(atif, "read_bytes", read_bytes)
    return seen


def _tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _at_once(sources: list[Path], folder: Path) -> tuple[Collection, Built]:
    with begin(folder) as site:
        found = collect(sources, keeper=site.keeper)
        return found, finish(site, Study("t", found))


def test_steps_are_written_when_they_are_read_and_the_site_is_the_same(
    tmp_path: Path, reads: Reads
) -> None:
    job = write_job(tmp_path / "job", Design(agents=2, tasks=2, attempts=2, steps=600))
    found, once = _at_once([job], tmp_path / "once")
    with_steps = [record for record in found.records if record.trajectories]
    assert sorted(reads) == sorted(p for record in with_steps for p in record.trajectories)
    # Three pieces of steps; a recording as data and as text.
    assert all(record.kept and record.kept.files == 5 for record in with_steps)
    twice = build(Study("t", collect([job])), tmp_path / "twice")
    assert _tree(once.folder) == _tree(twice.folder)
    assert (once.n_files, once.n_bytes) == (twice.n_files, twice.n_bytes)


def test_trials_that_share_their_names_do_not_share_their_steps(tmp_path: Path) -> None:
    one = write_job(tmp_path / "one" / "job", Design(agents=1, tasks=1, attempts=3, steps=600))
    first, second, _ = sorted(path for path in one.iterdir() if path.is_dir())
    (second / "result.json").write_bytes((first / "result.json").read_bytes())
    other = write_job(tmp_path / "two" / "job", Design(agents=1, tasks=1, attempts=3, steps=9))
    for number, sources in enumerate([[one], [one, other], [other, one]]):
        _, built = _at_once(sources, tmp_path / f"once-{number}")
        plain = build(Study("t", collect(sources)), tmp_path / f"twice-{number}")
        assert _tree(built.folder) == _tree(plain.folder)


def test_a_site_that_was_not_finished_leaves_nothing(tmp_path: Path) -> None:
    job = write_job(tmp_path / "job", Design(agents=1, tasks=1, attempts=1))
    with pytest.raises(RuntimeError), begin(tmp_path / "out" / "site") as site:
        collect([job], keeper=site.keeper)
        assert list(site.new.rglob("*.steps-0.js"))
        raise RuntimeError
    assert not list((tmp_path / "out").iterdir())


def test_a_folder_in_place_of_a_trajectory_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    job = write_job(tmp_path / "job", Design(agents=1, tasks=1, attempts=1))
    (path,) = job.glob("*/agent/trajectory.json")
    path.unlink()
    path.mkdir()
    found, built = _at_once([job], tmp_path / "site")
    assert [(p.path, p.message) for p in found.problems] == [(path, "is not a regular file")]
    data = json.loads(next(built.folder.glob("trials/*/*.json")).read_text())
    assert "trajectory" not in data["sections"]
