"""The export says what the records say, in three forms, and is made anew by one command."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from benchflow.cli.app import benchflow
from benchflow.errors import UsageError
from benchflow.results import schema
from benchflow.results.collect import collect, steps
from benchflow.results.index import export
from benchflow.results.model import Problem, Usage, Verdict
from benchflow.results.records import Collection, Format, Milestone, Record
from benchflow.results.synthetic import Design, write_job

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return write_job(tmp_path / "demo", Design(agents=2, tasks=3, attempts=2, steps=5))


def test_the_tables_hold_every_trial_milestone_and_step(job: Path, tmp_path: Path) -> None:
    collection = collect([job])
    made = export(collection, tmp_path / "out")
    n_steps = sum(1 for record in collection.records for _ in steps(record))
    n_milestones = sum(len(record.milestones) for record in collection.records)
    assert made.rows == {"trials": 12, "milestones": n_milestones, "steps": n_steps, "problems": 0}
    with duckdb.connect(str(tmp_path / "out" / "index.duckdb"), read_only=True) as index:
        found = index.execute(
            "SELECT uid, verdict, milestones_passed, cost_usd FROM trials"
        ).fetchall()
        assert sorted(found) == sorted(
            (r.uid, r.verdict.value, r.n_passed, r.usage.cost_usd) for r in collection.records
        )
        joined = index.execute(
            "SELECT count(*) FROM steps JOIN trials USING (uid) WHERE role = 'agent'"
        ).fetchone()
        assert joined == (sum(record.steps or 0 for record in collection.records),)


def test_parquet_csv_and_index_agree_column_by_column(job: Path, tmp_path: Path) -> None:
    out = tmp_path / "it's here"
    export(collect([job]), out)
    with duckdb.connect(str(out / "index.duckdb"), read_only=True) as index:
        for table in schema.TABLES:
            names = [column.name for column in table.columns]
            types = [column.type for column in table.columns]
            relation = index.table(table.name)
            assert (relation.columns, [str(t) for t in relation.types]) == (names, types)
            parquet = duckdb.read_parquet(str(out / f"{table.name}.parquet"))
            assert parquet.fetchall() == relation.fetchall()
            with (out / f"{table.name}.csv").open(newline="") as file:
                header, *rows = csv.reader(file)
            assert header == names
            assert len(rows) == len(relation.fetchall())


def test_not_recorded_and_empty_stay_apart_and_hostile_text_stays_text(tmp_path: Path) -> None:
    evil = 'x","y\n=cmd()|\'; DROP TABLE trials;--\\'
    record = Record(
        uid="0" * 12, source=Path("a\nb\udcff"), format=Format.LIST, job="", trial=evil, agent=evil,
        model="", task="NULL", verdict=Verdict.ERROR, usage=Usage(0, None, None),
        milestones=(Milestone("", "failed", message=evil),), milestone_kind="test",
    )  # fmt: skip
    made = export(Collection((record,), (Problem(Path("p"), evil),)), tmp_path / "out")
    assert made.rows == {"trials": 1, "milestones": 1, "steps": 0, "problems": 1}
    with duckdb.connect(str(tmp_path / "out" / "index.duckdb"), read_only=True) as index:
        row = index.execute(
            "SELECT trial, model, task, said_done, input_tokens, output_tokens, folder, source "
            "FROM trials"
        ).fetchone()
    assert row == (evil, "", "NULL", None, 0, None, None, "a b")


def test_a_count_of_any_size_that_is_read_can_be_written(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    line = {"agent": "a", "task": "t", "trial": "t.1", "resolved": True}
    source.write_text(json.dumps({**line, "hint": 2**40, "steps": 2**50}) + "\n")
    export(collect([source]), tmp_path / "out")
    with duckdb.connect(str(tmp_path / "out" / "index.duckdb"), read_only=True) as index:
        assert index.execute("SELECT hint, steps FROM trials").fetchone() == (2**40, 2**50)


@pytest.mark.needs("time")
def test_a_step_with_a_million_calls_is_still_one_row(tmp_path: Path) -> None:
    calls = [{"tool_call_id": str(n), "function_name": "x" * 80} for n in range(300_000)]
    document = {
        "schema_version": "ATIF-v1.7", "agent": {"name": "a"},
        "steps": [
            {"step_id": 1, "source": "agent", "message": "", "tool_calls": calls,
             "observation": {"results": [{"source_call_id": str(n)} for n in range(300_000)]}}
        ],
    }  # fmt: skip
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps(document))
    assert export(collect([path]), tmp_path / "out").rows["steps"] == 1
    (row,) = duckdb.read_parquet(str(tmp_path / "out" / "steps.parquet")).fetchall()
    assert 300_000 in row


def test_a_second_export_replaces_the_first_and_leaves_nothing_behind(
    job: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(collect([job]), out)
    made = export(Collection((), ()), out)
    assert set(made.rows.values()) == {0}
    assert sorted(path.name for path in out.iterdir()) == sorted(p.name for p in made.files)
    assert len(made.files) == 10


def test_a_failed_export_leaves_the_old_one(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    export(collect([job]), out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def broken(record: Record) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(schema, "milestone_rows", broken)
    with pytest.raises(OSError, match="no space"):
        export(collect([job]), out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError):
        export(Collection((), ()), tmp_path / "file" / "out")


def test_many_trajectories_are_read_by_several_processes_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchflow.results.index._CHUNK", 3)
    job = write_job(tmp_path / "demo", Design(agents=2, tasks=3, attempts=2, steps=5))
    collection = collect([job])
    export(collection, tmp_path / "out")
    wanted = [(r.uid, step.n) for r in collection.records for step in steps(r)]
    found = duckdb.read_parquet(str(tmp_path / "out" / "steps.parquet"))
    assert found.project("uid, n").fetchall() == wanted


def test_the_dictionary_in_the_docs_is_the_schemas() -> None:
    assert (DOCS / "data-dictionary.md").read_text() == schema.dictionary()


def test_the_verb_says_how_much_and_what_it_could_not_read(job: Path, tmp_path: Path) -> None:
    (next(job.glob("*/result.json"))).write_text('{"torn')
    out = str(tmp_path / "out")
    text = CliRunner().invoke(benchflow, ["export", str(job), "-o", out])
    assert text.exit_code == 0
    assert "11 trials" in text.stdout
    assert "cut off in the middle of a write" in text.stderr
    data = json.loads(
        CliRunner().invoke(benchflow, ["export", str(job), "-o", out, "--json"]).stdout
    )
    assert data["rows"]["trials"] == 11
    assert data["rows"]["problems"] == 1
    bare = CliRunner().invoke(benchflow, ["export", str(job), "-o", out, "--no-steps", "--json"])
    assert json.loads(bare.stdout)["rows"]["steps"] == 0
