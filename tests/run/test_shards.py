"""Parts of a sweep, run apart and merged: every attempt in exactly one part, each trial once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import warm_command
from tests.run.test_sweep import FILE, words

from benchflow.errors import UsageError
from benchflow.results.jobs.merging import merge
from benchflow.results.jobs.trials import read_job
from benchflow.results.synthetic import Design, write_job
from benchflow.run.sweep.shard import Shard, read, share
from benchflow.run.sweep.sweepfile import SweepFile


@given(cells=st.integers(1, 40), attempts=st.integers(1, 7), count=st.integers(1, 50))
def test_each_attempt_is_in_exactly_one_part(cells: int, attempts: int, count: int) -> None:
    parts = [
        [Shard(index, count).attempts_of(cell, cells, attempts) for cell in range(cells)]
        for index in range(1, count + 1)
    ]
    assert [sum(part[cell] for part in parts) for cell in range(cells)] == [attempts] * cells
    sizes = [sum(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("text", ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b", "1/999999"])
def test_what_is_no_part_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="is no part of a sweep"):
        read(text)


def file_of(**keys: Any) -> SweepFile:
    entry = [{"agent": "nop"}]
    return SweepFile.model_validate({"name": "s", "tasks": ["t"], "entry": entry, **keys})


def test_parts_share_what_the_whole_may_spend() -> None:
    file = file_of(max_usd=10, max_tokens=1001, limit=[{"rpm": 50}, {"model": "m", "tpm": 9}])
    part = share(file, Shard(2, 4))
    assert (part.max_usd, part.max_tokens) == (2.5, 250)
    assert (part.limit[0].rpm, part.limit[1].tpm, part.limit[0].tpm) == (12, 2, None)
    assert share(file, Shard(1, 1)) is file
    with pytest.raises(UsageError, match=r"tpm = 9 cannot be shared by 10 parts"):
        share(file, Shard(1, 10))


def call(command: str, folder: Path, *options: str, status: int = 0) -> dict[str, Any]:
    done = warm_command.run([command, *options, "--json"], cwd=folder)
    assert done.returncode == status, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.needs("sandbox")
def test_two_machines_run_the_halves_of_a_sweep(tmp_path: Path) -> None:
    for machine in ("one", "two"):
        (tmp_path / machine).mkdir()
        words(tmp_path / machine)
        (tmp_path / machine / "first.toml").write_text(FILE.replace("attempts = 2", "attempts = 3"))
    halves = [
        call("sweep", tmp_path / machine, "first.toml", "--shard", part)
        for machine, part in (("one", "1/2"), ("two", "2/2"))
    ]
    assert [(half["planned"], half["finished"]) for half in halves] == [(3, 3), (3, 3)]
    assert [cell["attempts"] for half in halves for cell in half["cells"]] == [2, 1, 1, 2]
    # Again, the same part has nothing left to do.
    again = call("sweep", tmp_path / "one", "first.toml", "--shard", "1/2")
    assert again["jobs"] == halves[0]["jobs"]
    first = call("merge", tmp_path, "one/jobs", "-o", "all", status=1)
    assert (first["trials"], first["added"]) == (3, 3)
    assert first["missing"] == ["of 2 parts of the sweep, 1 are not here: 2"]
    whole = call("merge", tmp_path, "one/jobs", "two/jobs", "-o", "all")
    assert (whole["trials"], whole["added"], whole["planned"], whole["missing"]) == (6, 3, 6, [])
    assert len(read_job(tmp_path / "all").trials) == 6
    # In one folder of jobs, the whole sweep knows what its parts have done.
    for job in (tmp_path / "two" / "jobs").glob("first-*"):
        shutil.copytree(job, tmp_path / "one" / "jobs" / job.name)
    plan = call("sweep", tmp_path / "one", "first.toml", "--plan")
    assert (plan["planned"], plan["finished"], plan["shard"]) == (6, 6, "1/1")
    resumed = warm_command.run(["resume", str(tmp_path / "all")], cwd=tmp_path)
    assert resumed.returncode == 2
    assert "was made by benchflow merge" in resumed.stderr


def part_of(folder: Path, seed: int, *, versions: str = "1", digest: str = "d") -> Path:
    """A job of three trials with a record, as if a machine had run it."""
    job = write_job(folder, Design(agents=1, tasks=1, attempts=3, steps=1, seed=seed))
    names = [trial.name for trial in read_job(job).trials]
    for name in names:
        (job / name).rename(job / f"{name}-{seed}")
    task = {"name": "synthetic", "hint": 0, "digest": digest, "staged": "/s/k/t"}
    record = {
        "schema": 1,
        "benchflow": versions,
        "created": f"2026-01-0{seed}",
        "tasks": [task],
        "agents": ["a"],
        "models": [],
        "attempts": 3,
        "n_trials": 4,
        "shard": f"{seed}/3",
        "host": {"harbor": "0.24"},
    }
    (job / "benchflow.json").write_text(json.dumps(record))
    return job


def test_a_merge_can_be_repeated_and_says_what_is_missing(tmp_path: Path) -> None:
    one, two = part_of(tmp_path / "one", 1), part_of(tmp_path / "two", 2)
    found = merge([one], tmp_path / "all")
    assert (found.trials, found.added, found.planned) == (3, 3, 4)
    assert found.missing == (
        f"{one.name}: 1 of 4 trials have no result",
        "of 3 parts of the sweep, 2 are not here: 2, 3",
    )
    (tmp_path / "all" / ".coming-torn").mkdir()  # a merge that was killed
    again = merge([one, two, one], tmp_path / "all")
    assert (again.trials, again.added, again.planned) == (6, 3, 8)
    assert not (tmp_path / "all" / ".coming-torn").exists()
    assert merge([two], tmp_path / "all").added == 0
    assert len(read_job(tmp_path / "all").trials) == 6


@pytest.mark.parametrize(
    ("other", "said"),
    [({"versions": "2"}, "was run by benchflow 2"), ({"digest": "e"}, "is not the same task")],
)
def test_mixtures_are_refused_before_anything_is_written(
    tmp_path: Path, other: dict[str, str], said: str
) -> None:
    one, two = part_of(tmp_path / "one", 1), part_of(tmp_path / "two", 2, **other)
    with pytest.raises(UsageError, match=said):
        merge([one, two], tmp_path / "all")
    assert not (tmp_path / "all").exists()
    merge([one], tmp_path / "all")
    with pytest.raises(UsageError, match=said):
        merge([two], tmp_path / "all")


def test_what_cannot_be_merged_is_said(tmp_path: Path) -> None:
    one, two = part_of(tmp_path / "one", 1), part_of(tmp_path / "two", 2)
    trial = next(one.glob("*/result.json")).parent
    shutil.copytree(trial, two / trial.name)
    (two / trial.name / "result.json").write_text("{}")
    with pytest.raises(UsageError, match="have one name and differ"):
        merge([one, two], tmp_path / "all")
    with pytest.raises(UsageError, match="was not made by benchflow merge"):
        merge([two], one)
    with pytest.raises(UsageError, match="no job here"):
        merge([tmp_path / "nothing"], tmp_path / "all")
    (two / "benchflow.json").unlink()
    with pytest.raises(UsageError, match="is missing"):
        merge([two], tmp_path / "all")
