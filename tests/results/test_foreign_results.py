"""Results as other harnesses leave them are read by what they hold; what cannot be is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchflow.results.collect import collect
from benchflow.results.jobs.trials import read_job
from benchflow.results.model import Verdict
from benchflow.results.records import Collection
from benchflow.results.versions import apart
from benchflow.study.summary import comparable, summarize

HEAD = {
    "version": 2,
    "status": "success",
    "eval": {"run_id": "r", "task": "quiz", "task_version": 0, "model": "prov/m"},
    "results": {"total_samples": 4, "completed_samples": 4},
}
SAMPLE = {"id": 1, "epoch": 1, "messages": [], "scores": {"match": {"value": "C"}}}


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def said(found: Collection) -> str:
    return "\n".join(problem.message for problem in found.problems)


def summary(n: int = 5, **more: Any) -> dict[str, Any]:
    """What Terminal-Bench's harness sums up a run as; three are solved."""
    rows = [
        {
            "task_id": f"t{i}",
            "trial_name": f"t{i}.1-of-1.r",
            "is_resolved": i < 3,
            "failure_mode": "unset",
            "parser_results": {"a": "passed" if i < 3 else "failed"},
            "total_input_tokens": 0,
            "total_output_tokens": 0,
        }
        for i in range(n)
    ]
    return {"id": "r", "results": rows, "n_resolved": 3, "n_unresolved": n - 3, **more}


def trial(folder: Path, *, model: str | None = None, asked: str = "", **more: Any) -> Path:
    """A trial's result as Harbor writes it, and nothing else in its folder."""
    value = {
        "task_name": folder.name,
        "trial_name": folder.name,
        "task_checksum": "0" * 64,
        "config": {"task": {"path": f"/x/{folder.name}"}, "agent": {"model_name": asked}},
        "agent_info": {"name": "codex", "version": "1", "model_info": model and {"name": model}},
        "verifier_result": {"rewards": {"reward": 1.0}},
        "started_at": "2026-01-01T00:00:00",
        "finished_at": "2026-01-01T00:10:00",
        **more,
    }
    return written(folder / "result.json", value)


@pytest.mark.parametrize("name", ["2026-01-01_results.json", "results-final.json", "summary.json"])
def test_a_summary_under_another_name_is_the_run(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "tb" / name, summary())
    for source in (tmp_path / "tb", path):
        found = collect([source])
        assert [r.verdict for r in found.records].count(Verdict.RESOLVED) == 3
        assert len(found.records) == 5
        assert "does not say which agent and model" in said(found)


def test_two_summaries_without_an_agent_are_not_one_agent(tmp_path: Path) -> None:
    written(tmp_path / "one.json", summary())
    written(tmp_path / "two.json", summary())
    assert {r.agent for r in collect([tmp_path]).records} == {"? (one)", "? (two)"}


def test_metadata_beside_a_summary_name_its_agent(tmp_path: Path) -> None:
    written(tmp_path / "run" / "x.json", summary())
    written(tmp_path / "meta.json", {})
    beside = {"run_id": "r", "agent_name": "terminus", "model_name": "m"}
    written(tmp_path / "other" / "run_metadata.json", beside)
    path = written(tmp_path / "other" / "x.json", summary())
    found = collect([path])
    assert {r.who for r in found.records} == {"terminus m"}
    assert found.problems == ()


def test_a_summary_that_gainsays_its_list_is_named(tmp_path: Path) -> None:
    counted = collect([written(tmp_path / "a.json", summary(n_unresolved=7))])
    assert "counts 10 trials and lists 5" in said(counted)
    resolved = collect([written(tmp_path / "b.json", summary(n_resolved=4, n_unresolved=1))])
    assert "counts 4 resolved and lists 3" in said(resolved)


def test_a_harbor_trial_needs_no_more_than_its_result(tmp_path: Path) -> None:
    trial(tmp_path / "job" / "t1", model="m")
    trial(tmp_path / "job" / "t2", model="m")
    for source, n in ((tmp_path / "job", 2), (tmp_path / "job" / "t1", 1), (tmp_path, 2)):
        found = collect([source])
        assert len(found.records) == n
        assert found.problems == ()
    assert len(read_job(tmp_path / "job").trials) == 2


@pytest.mark.parametrize(
    ("model", "asked", "shown"),
    [
        (None, "model-big", "model-big"),
        (None, "provider/model-big", "model-big"),
        (None, "provider/family/model", "family/model"),
        ("known", "provider/other", "known"),
        (
            "/127.0.0.1:8000/v1#mine",
            "http://127.0.0.1:8000/v1#mine",
            "http://127.0.0.1:8000/v1#mine",
        ),
        (None, "", ""),
    ],
)
def test_the_model_that_was_asked_for_counts_where_none_is_recorded(
    model: str | None, asked: str, shown: str, tmp_path: Path
) -> None:
    trial(tmp_path / "job" / "t1", model=model, asked=asked)
    (record,) = collect([tmp_path / "job"]).records
    assert record.model == shown


@pytest.mark.parametrize(
    ("head", "samples", "message"),
    [
        (HEAD, [SAMPLE], "3 of 4 samples are missing"),
        (HEAD, None, "4 of 4 samples are missing"),
        (HEAD, [], "4 of 4 samples are missing"),
        ({**HEAD, "results": {"total_samples": 1}}, [SAMPLE], ""),
        ({**HEAD, "results": None}, [SAMPLE], ""),
        (
            {**HEAD, "results": {"total_samples": 1}},
            [SAMPLE, {**SAMPLE, "epoch": 2}],
            "holds 2 samples; its results count 1",
        ),
    ],
)
def test_a_log_that_holds_less_than_it_promises_says_so(
    head: dict[str, Any], samples: Any, message: str, tmp_path: Path
) -> None:
    found = collect([written(tmp_path / "log.json", {**head, "samples": samples})])
    assert len(found.records) == len(samples or [])
    assert message in said(found)
    assert bool(message) == bool(found.problems)


def test_times_that_run_backwards_are_left_out_and_named(tmp_path: Path) -> None:
    backwards = {"started_at": "2026-01-01T00:05:00", "finished_at": "2026-01-01T00:01:00"}
    trial(tmp_path / "job" / "t1", agent_execution=backwards)
    trial(tmp_path / "job" / "t2", **backwards)
    found = collect([tmp_path / "job"])
    assert {record.phases.agent for record in found.records} == {None}
    assert found.records[1].phases.total is None
    assert "agent_execution: finished_at lies before started_at" in said(found)
    row = summary()["results"][0] | {
        "trial_started_at": "2026-01-02T00:00:00+00:00",
        "trial_ended_at": "2026-01-01T00:00:00+00:00",
    }
    run = collect([written(tmp_path / "x.json", {"results": [row]})])
    assert run.records[0].phases.total is None
    assert "trial_ended_at lies before trial_started_at" in said(run)


@pytest.mark.parametrize("value", [-5, "1000", float("nan"), True, 1e400])
def test_numbers_that_cannot_be_are_left_out_and_named(value: Any, tmp_path: Path) -> None:
    trial(tmp_path / "job" / "t1", agent_result={"n_input_tokens": value, "cost_usd": value})
    line = {"agent": "a", "task": "t", "trial": "1", "resolved": True, "agent_seconds": value}
    row = summary()["results"][0] | {"total_input_tokens": value}
    log = {**HEAD, "results": None, "samples": [{**SAMPLE, "working_time": value}]}
    sources = {
        "n_input_tokens": tmp_path / "job",
        "agent_seconds": written(tmp_path / "list.jsonl", line),
        "total_input_tokens": written(tmp_path / "tb.json", {"results": [row]}),
        "working_time": written(tmp_path / "log.json", log),
    }
    for key, source in sources.items():
        found = collect([source])
        (record,) = found.records
        assert f"{key} = " in said(found)
        assert "is no amount: left out" in said(found)
        usage = record.usage
        assert (usage.input_tokens, usage.cost_usd, record.phases.agent) == (None, None, None)


def listed(path: Path, agent: str, version: str, solved: int, n_tasks: int = 8) -> Path:
    lines = [
        {
            "agent": agent,
            "task": f"t{task}",
            "trial": f"{agent}-{task}-{n}",
            "resolved": task < solved,
            **({"task_version": version} if version else {}),
        }
        for task in range(n_tasks)
        for n in range(2)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_trials_of_an_unknown_version_stand_alone_and_say_so(tmp_path: Path) -> None:
    a = listed(tmp_path / "a.jsonl", "a", "1.0", 8)
    b = listed(tmp_path / "b.jsonl", "b", "1.0", 1)
    c = listed(tmp_path / "c.jsonl", "c", "", 4)
    assert collect([a, b]).problems == ()
    assert collect([c]).problems == ()
    apart_ = collect([a, b, c])
    assert "16 trials of 8 tasks do not say which version was tried" in said(apart_)
    assert "--assume-version" in said(apart_)
    assert apart_.problems[0].path == c
    assert len({record.task for record in apart(apart_.records)}) == 16
    # Those that say it keep their tiers.
    tiers = {entry.who: entry.tier for entry in summarize(apart_).entries}
    assert tiers == {"a": 1, "b": 2, "c": None}


def test_assumed_versions_join(tmp_path: Path) -> None:
    a = listed(tmp_path / "a.jsonl", "a", "1.0", 8)
    c = listed(tmp_path / "c.jsonl", "c", "", 1)
    joined = collect([a, c], assume_version=True)
    assert joined.problems == ()
    assert {record.task_version for record in joined.records} == {"1.0"}
    assert {entry.tier for entry in summarize(joined).entries} == {1, 2}


def test_where_several_versions_are_known_nothing_is_joined(tmp_path: Path) -> None:
    a = listed(tmp_path / "a.jsonl", "a", "1.0", 8)
    b = listed(tmp_path / "b.jsonl", "b", "2.0", 8)
    c = listed(tmp_path / "c.jsonl", "c", "", 1)
    found = collect([a, b, c], assume_version=True)
    assert "may be of several that stand here" in said(found)
    assert {r.task_version for r in found.records if r.agent == "c"} == {""}


def test_who_is_compared_with_nobody_has_no_tier_and_the_others_keep_theirs() -> None:
    assert comparable(["a", "b", "c"], [("a", "b")]) == ["a", "b"]
    assert comparable(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")]) == ["a", "b", "c"]
    assert comparable(["a", "b", "c", "d"], [("a", "b"), ("c", "d"), ("b", "c")]) == ["a", "b"]
    assert len(comparable(["a", "b"], [])) == 1


def test_a_summary_whose_rows_name_no_trial_is_read(tmp_path: Path) -> None:
    rows = [{"task_id": f"t{i % 2}", "is_resolved": i < 3} for i in range(4)]
    (tmp_path / "final.json").write_text(json.dumps({"results": rows}))
    found = collect([tmp_path])
    assert [r.trial for r in found.records] == ["t0.1", "t1.2", "t0.3", "t1.4"]
    assert sum(r.verdict is Verdict.RESOLVED for r in found.records) == 3


@pytest.mark.parametrize("name", ["list.jsonl", "summary.json"])
def test_a_byte_order_mark_hides_nothing(name: str, tmp_path: Path) -> None:
    line = {"agent": "a", "task": "t", "trial": "1", "resolved": True}
    summary = {"results": [{"task_id": "t", "trial_name": "1", "is_resolved": True}]}
    text = json.dumps(line if name.endswith("l") else summary)
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")
    assert [r.verdict for r in collect([tmp_path]).records] == [Verdict.RESOLVED]


def test_thousands_of_the_same_complaint_are_one_line(tmp_path: Path) -> None:
    rows = [{"task_id": "t", "trial_name": "1", "is_resolved": True}, *[{}] * 2000]
    (tmp_path / "x.json").write_text(json.dumps({"results": rows}))
    (tmp_path / "y.jsonl").write_text('{"agent": "a"}\n' * 40)
    command = [str(Path(sys.executable).parent / "benchflow"), "export", ".", "-o", "table"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "is no result of a Terminal-Bench trial (2,000 times)" in done.stderr
    assert len(done.stderr.splitlines()) == 21
    assert "more problems: table/problems.csv" in done.stderr
    assert done.stdout.startswith("table: 1 trial, ")
