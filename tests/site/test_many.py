"""Large jobs are read and shown by several processes, and nothing comes out otherwise for it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from benchflow.results.collect import collect
from benchflow.results.readers import harbor
from benchflow.results.synthetic import Design, write_job
from benchflow.site import writer
from benchflow.site.build import build
from benchflow.site.study import Study


def _tree(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


@pytest.mark.needs("time")
def test_several_processes_read_and_write_what_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = write_job(tmp_path / "job", Design(agents=2, tasks=3, attempts=2, steps=6))
    torn = sorted(path for path in job.iterdir() if path.is_dir())[4] / "result.json"
    torn.write_text(torn.read_text()[:-40])
    alone = collect([job])
    one = build(Study("t", alone), tmp_path / "one")
    monkeypatch.setattr(harbor, "_CHUNK", 3)
    monkeypatch.setattr(writer, "_ALONE_BELOW", 0)
    monkeypatch.setattr(writer, "_A_TIME", 4)
    monkeypatch.setattr(writer, "processors", lambda: 2)
    together = collect([job], workers=2)
    assert together == alone
    assert [problem.path for problem in together.problems] == [torn]
    many = build(Study("t", together), tmp_path / "many")
    assert _tree(many.folder) == _tree(one.folder)
    assert (many.n_pages, many.n_files, many.n_bytes) == (one.n_pages, one.n_files, one.n_bytes)
