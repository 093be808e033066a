"""Trials as messages with rewards: what a trainer loads says what the records say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
from click.testing import CliRunner

from benchflow.cli.app import benchflow
from benchflow.results import conversations
from benchflow.results.collect import collect
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.results.synthetic import Design, write_job

ROOT = Path(__file__).parents[2]


def trajectory(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    numbered = [{"step_id": n, **step} for n, step in enumerate(steps, 1)]
    agent = {"name": "a", "version": "1"}
    return {"schema_version": "ATIF-v1.6", "session_id": "s", "agent": agent, "steps": numbered,
            **more}  # fmt: skip


def record_of(folder: Path, document: dict[str, Any]) -> Record:
    path = folder / "trajectory.json"
    path.write_text(json.dumps(document))
    (record,) = collect([path]).records
    return record


def test_a_call_its_result_and_what_nobody_called_for(tmp_path: Path) -> None:
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}
    long = "x" * 300_000 + "\x1b[0m\ud800"
    record = record_of(
        tmp_path,
        trajectory(
            {"source": "system", "message": "be good"},
            {"source": "user", "message": [{"type": "text", "text": "do it"}]},
            {"source": "agent", "message": "so", "reasoning_content": "hm", "tool_calls": [call],
             "observation": {"results": [{"source_call_id": "c1", "content": long},
                                         {"source_call_id": None, "content": "late"}]},
             "metrics": {"prompt_token_ids": [1, 2], "completion_token_ids": [3],
                         "logprobs": [-0.5]}},
            {"source": "agent", "message": "again", "is_copied_context": True},
            {"source": "agent", "message": "done"},
        ),
    )  # fmt: skip
    (row,) = conversations.conversations(record)
    messages = row["messages"]
    assert [(m["role"], m["step"]) for m in messages] == [
        ("system", 1), ("user", 2), ("assistant", 3), ("tool", 3), ("tool", 3), ("assistant", 5),
    ]  # fmt: skip
    assert messages[1]["content"] == "do it"
    said = messages[2]
    assert (said["content"], said["reasoning_content"]) == ("so", "hm")
    (called,) = said["tool_calls"]
    assert called["function"]["name"] == "bash"
    assert json.loads(called["function"]["arguments"]) == {"command": "ls"}
    assert (said["prompt_token_ids"], said["completion_token_ids"]) == ([1, 2], [3])
    assert said["logprobs"] == [-0.5]
    # What the model saw is whole; only what UTF-8 cannot hold is replaced.
    assert messages[3]["content"] == "x" * 300_000 + "\x1b[0m?"
    assert messages[3]["tool_call_id"] == "c1"


def test_two_results_of_two_calls_and_one_of_none(tmp_path: Path) -> None:
    calls = [{"tool_call_id": n, "function_name": "f", "arguments": {}} for n in ("a", "b")]
    results = [{"source_call_id": n, "content": f"of {n}"} for n in ("b", "a", "ghost")]
    step = {"source": "agent", "message": "", "tool_calls": calls,
            "observation": {"results": results}}  # fmt: skip
    (row,) = conversations.conversations(record_of(tmp_path, trajectory(step)))
    seen = [(m["role"], m["tool_call_id"], m["content"]) for m in row["messages"][1:]]
    assert seen == [("tool", "b", "of b"), ("tool", "a", "of a"), ("user", None, "of ghost")]


def test_token_ids_that_are_none_are_not_guessed(tmp_path: Path) -> None:
    metrics = {"prompt_token_ids": [1, "2"], "completion_token_ids": {"0": 1}, "logprobs": [True]}
    step = {"source": "agent", "message": "m", "metrics": metrics}
    (row,) = conversations.conversations(record_of(tmp_path, trajectory(step)))
    (message,) = row["messages"]
    assert {message[name] for name in metrics} == {None}


def test_a_subagent_has_a_conversation_of_its_own(tmp_path: Path) -> None:
    child = trajectory({"source": "user", "message": "part"}, trajectory_id="helper")
    parent = trajectory({"source": "user", "message": "all"}, subagent_trajectories=[child])
    rows = list(conversations.conversations(record_of(tmp_path, parent)))
    told = [(r["conversation"], r["subagent"], r["messages"][0]["content"]) for r in rows]
    assert told == [(1, "", "all"), (2, "helper", "part")]


def test_an_error_is_no_reward(tmp_path: Path) -> None:
    job = write_job(tmp_path / "demo", Design(steps=5))
    collection = collect([job])
    errors = sum(record.verdict is Verdict.ERROR for record in collection.records)
    assert errors  # else this test shows nothing
    written = conversations.write(collection, tmp_path)
    assert written.left_out["without a verdict"] == errors
    rows = [json.loads(line) for line in written.files[0].read_text().split("\n") if line]
    judged = {r.uid: r for r in collection.records if r.verdict is not Verdict.ERROR}
    assert {row["uid"] for row in rows} <= set(judged) and len(rows) == written.rows > 0
    for row in rows:
        of = judged[row["uid"]]
        assert (row["reward"], row["resolved"]) == (of.reward, of.verdict is Verdict.RESOLVED)
        assert [each["status"] for each in row["milestones"]] == [m.status for m in of.milestones]


def test_both_files_hold_the_same_and_probes_are_left_out(tmp_path: Path) -> None:
    job = write_job(tmp_path / "demo", Design(agents=2, tasks=2, attempts=2, steps=3))
    out = tmp_path / "out"
    done = CliRunner().invoke(
        benchflow,
        ["export", str(job), str(ROOT / "results"), "-o", str(out), "--conversations", "--json"],
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    with duckdb.connect() as connection:
        found = connection.execute(
            f'SELECT uid, conversation, len(messages), reward, messages[1]."role" '
            f"FROM read_parquet('{out}/conversations.parquet') ORDER BY ALL"
        ).fetchall()
    text = (out / "conversations.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.split("\n") if line]
    rows = [
        (r["uid"], r["conversation"], len(r["messages"]), r["reward"], r["messages"][0]["role"])
        for r in lines
    ]
    assert sorted(rows) == found
    assert told["rows"]["conversations"] == len(rows)
    assert {row["agent"] for row in lines}.isdisjoint({"oracle", "nop"})


def test_what_credit_found_is_carried_by_the_agents_own_conversation(tmp_path: Path) -> None:
    job = write_job(tmp_path / "demo", Design(agents=1, tasks=1, attempts=8, steps=3))
    judged = [r for r in collect([job]).records if r.verdict is not Verdict.ERROR and r.folder]
    (*_, credited, torn, odd) = judged
    ids = [milestone.id for milestone in credited.milestones]
    assert credited.folder and torn.folder and odd.folder
    held = {"checkpoint": 1, "seconds": 60.0, "step": 2}
    gains = [{"step": 2, "reward_gained": 0.25}, {"step": 3, "reward_gained": -0.25}]
    document = {
        "schema": 1,
        "milestones": [{"id": ids[0], "first_held": held}, {"id": ids[1], "first_held": None}],
        "credited": gains,
    }
    (credited.folder / "credit.json").write_text(json.dumps(document))
    (torn.folder / "credit.json").write_text('{"schema": 1, "mile')
    hostile = {
        "schema": 1,
        "milestones": [7, {"id": ids[0], "first_held": {"step": -1}}],
        "credited": [{"step": "2", "reward_gained": 1}],
    }
    (odd.folder / "credit.json").write_text(json.dumps(hostile))
    # A subagent of the same trial: its steps are its own.
    (path,) = credited.trajectories
    trajectory = json.loads(path.read_text())
    trajectory["subagent_trajectories"] = [{**trajectory, "trajectory_id": "child"}]
    path.write_text(json.dumps(trajectory))

    written = conversations.write(collect([job]), tmp_path)
    text = written.files[0].read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.split("\n") if line]
    found = {(r["uid"], r["subagent"]): r for r in rows}
    own = found.pop((credited.uid, ""))
    assert (own["schema"], own["credited"]) == (2, gains)
    assert [m["first_step"] for m in own["milestones"]] == [2] + [None] * (len(ids) - 1)
    assert (credited.uid, "child") in found and (odd.uid, "") in found
    for row in found.values():
        assert row["credited"] is None
        assert {m["first_step"] for m in row["milestones"]} == {None}
    # Where no other row shows a column's type, the one that does is among the first.
    assert own in rows[:3] and len(rows) > 5
    with duckdb.connect() as connection:
        relation = connection.read_parquet(str(written.files[1]))
        kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
        assert kinds["credited"] == "STRUCT(step BIGINT, reward_gained DOUBLE)[]"
        assert "first_step BIGINT" in kinds["milestones"]
        some = relation.filter("credited IS NOT NULL").project("uid, credited").fetchall()
    assert some == [(credited.uid, gains)]


def test_a_continuations_steps_are_counted_on(tmp_path: Path) -> None:
    said = {"source": "agent", "message": "m"}
    more = trajectory({**said, "is_copied_context": True}, {"source": "agent", "message": "n"})
    (tmp_path / "more.json").write_text(json.dumps(more))
    whole = trajectory({"source": "user", "message": "do"}, said,
                       continued_trajectory_ref="more.json")  # fmt: skip
    (row,) = conversations.conversations(record_of(tmp_path, whole))
    assert [(m["content"], m["step"]) for m in row["messages"]] == [("do", 1), ("m", 2), ("n", 4)]


def test_a_probe_has_no_row(tmp_path: Path) -> None:
    job = write_job(tmp_path / "demo", Design(agents=1, tasks=1, attempts=1, steps=3))
    collection = collect([job])
    written = conversations.write(collection, tmp_path, left_out=collection.records)
    assert (written.rows, written.left_out) == (0, {"by probes of the tasks": 1})
