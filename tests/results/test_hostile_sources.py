"""Whatever a source holds, reading it ends: bounded, nothing escapes, each fault is named."""

from __future__ import annotations

import json
import os
import struct
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobfolders import trial

from benchflow.results import safe_zip
from benchflow.results.collect import collect, steps
from benchflow.results.model import Verdict
from benchflow.results.readers import atif_document, atif_steps, jsonl
from benchflow.results.records import Collection

EVIL = "\x1b]0;owned\x07\x1b[2J\u202eevil\x9b31m\x00\ud800<b>"
LINE = {"agent": "a", "model": "m", "task": "t", "trial": "t.1", "resolved": True}


def write_list(path: Path, *lines: Any) -> Path:
    path.write_text("".join(f"{x if isinstance(x, str) else json.dumps(x)}\n" for x in lines))
    return path


def messages(collection: Collection) -> list[str]:
    return [problem.message for problem in collection.problems]


def write_log(
    path: Path, members: dict[str, Any], *, summary: dict[str, Any] | None = None
) -> Path:
    """A `.eval` with the least that one needs, its members as given."""
    header = {"status": "success", "eval": {"task": "sums", "model": "m", "run_id": "r"}}
    summary = {"id": "x", "epoch": 1, "scores": {"s": {"value": "C"}}, **(summary or {})}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", json.dumps(header))
        out.writestr("summaries.json", json.dumps([summary]))
        for name, value in members.items():
            out.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path


def test_no_name_carries_control_characters_or_directions(tmp_path: Path) -> None:
    line = {
        **LINE, "agent": EVIL, "model": EVIL, "task": EVIL, "trial": EVIL, "submission": EVIL,
        "failure_mode": EVIL, "topic": EVIL, "generator": EVIL, "skills": [EVIL],
        "tests": {EVIL: True}, "resolved": True,
    }  # fmt: skip
    found = collect([write_list(tmp_path / "a.jsonl", line)])
    text = repr(found.records[0])
    assert "evil" in text
    assert not set(text) & set("\x1b\x9b\u202e\x00\x07\ud800")
    assert found.records[0].who.isprintable()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"agent": "a", "task": "t", "trial": "x", "resolved": true', "cut off"),
        ("[1, 2]", "has no 'agent'"),
        ("null", "has no 'agent'"),
        ({**LINE, "resolved": "yes"}, "has resolved = 'yes'"),
        ({**LINE, "resolved": 1}, "has resolved = 1"),
        ({**LINE, "agent": ""}, "has no name in 'agent'"),
        ({**LINE, "task": {"a": 1}}, "has no name in 'task'"),
        ('{"agent": "a", "task": "t", "trial": "x", "resolved": true, "resolved": false}',
         "names 'resolved' twice"),
        ("\0\0\0", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"agent": ' + "9" * 5000 + "}", "not JSON"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_trial_is_named_and_the_others_count(
    tmp_path: Path, line: Any, why: str
) -> None:
    found = collect([write_list(tmp_path / "a.jsonl", LINE, line, {**LINE, "trial": "t.2"})])
    assert [record.trial for record in found.records] == ["t.1", "t.2"]
    (message,) = messages(found)
    assert message.startswith("line 2 ")
    assert why in message


def test_a_line_without_end_is_skipped_without_being_held(tmp_path: Path) -> None:
    path = write_list(tmp_path / "a.jsonl", LINE)
    with path.open("a") as file:
        file.write('{"agent": "' + "x" * (jsonl.MAX_LINE + 10) + '"}\n')
        file.write(json.dumps({**LINE, "trial": "after"}) + "\n")
    found = collect([path])
    assert [record.trial for record in found.records] == ["t.1", "after"]
    assert messages(found) == ["line 2 is longer than 4 MiB"]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400])
def test_a_number_that_is_none_is_not_recorded(tmp_path: Path, value: str) -> None:
    text = json.dumps(LINE)[:-1] + "".join(
        f', "{key}": {value}'
        for key in ("reward", "cost_usd", "n_input_tokens", "steps", "expert_minutes", "hint")
    )
    found = collect([write_list(tmp_path / "a.jsonl", text + "}")])
    record = found.records[0]
    assert (record.reward, record.steps, record.expert_minutes, record.hint) == (None,) * 4
    assert (record.usage.cost_usd, record.usage.input_tokens) == (None, None)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "9" * 400, '"1"'])
def test_a_reward_that_is_no_number_judges_nothing(tmp_path: Path, value: str) -> None:
    folder = trial(tmp_path / "job", rewards={"reward": 1, "milestone.a": 1})
    path = folder / "result.json"
    path.write_text(path.read_text().replace('"reward": 1', f'"reward": {value}'))
    found = collect([tmp_path / "job"])
    assert (found.records[0].verdict, found.records[0].cause) == (
        Verdict.ERROR, "UnusableReward"
    )  # fmt: skip
    assert messages(found) == ["the reward 'reward' is no finite number"]


def test_a_record_larger_than_any_real_one_is_not_read(tmp_path: Path) -> None:
    folder = trial(tmp_path / "job", rewards={"reward": 1})
    os.truncate(folder / "result.json", 65 << 20)
    found = collect([tmp_path / "job"])
    assert found.records == ()
    assert messages(found) == ["is 65 MiB long: no record of ours"]


def test_a_problem_is_safe_to_print_whatever_its_file_is_called(tmp_path: Path) -> None:
    folder = trial(tmp_path / "job", "x\x1b[2J\n\u202ey", rewards={"reward": 1})
    (folder / "result.json").write_text("")
    (problem,) = collect([tmp_path / "job"]).problems
    assert str(problem).isprintable()
    assert "cut off in the middle of a write" in str(problem)


def test_a_result_that_says_two_things_is_refused(tmp_path: Path) -> None:
    folder = trial(tmp_path / "job", rewards={"reward": 1})
    trial(tmp_path / "job", "good", rewards={"reward": 1})
    path = folder / "result.json"
    path.write_text(path.read_text().replace('"reward": 1', '"reward": 0, "reward": 1'))
    found = collect([tmp_path / "job"])
    assert [record.trial for record in found.records] == ["good"]
    assert messages(found) == ["names 'reward' twice, with different values"]


@pytest.mark.parametrize("name", ["../../elsewhere", "..", "/etc"])
def test_a_step_whose_name_climbs_has_no_ladder(tmp_path: Path, name: str) -> None:
    verifier = tmp_path / "elsewhere" / "verifier"
    verifier.mkdir(parents=True)
    ladder = {"milestones": [{"id": "stolen", "status": "passed"}]}
    (verifier / "milestones.json").write_text(json.dumps(ladder))
    step = {"step_name": name, "verifier_result": {"rewards": {"reward": 0}}}
    trial(tmp_path / "job", rewards={"reward": 0}, step_results=[step])
    found = collect([tmp_path / "job"])
    assert found.records[0].milestones == ()
    assert messages(found) == [f"the step {name!r} is no folder's name"]


def test_a_zip_bomb_is_not_blown_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_zip, "MAX_MEMBER", 1 << 20)
    bomb = write_log(tmp_path / "bomb.eval", {"samples/x_epoch_1.json": bytes(64 << 20)})
    assert bomb.stat().st_size < 1 << 20
    found = collect([bomb])
    assert found.records[0].verdict is Verdict.RESOLVED  # the summary is small and was read
    assert found.records[0].steps is None
    assert messages(found) == ["samples/x_epoch_1.json is 64 MiB long: too much to read"]
    assert list(steps(found.records[0])) == []


def test_a_member_that_lies_about_its_size_is_damaged(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.eval", {"samples/x_epoch_1.json": bytes(4 << 20)})
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as whole:
        start = whole.start_dir
        names = [info.filename for info in whole.infolist()]
    for name in names:  # the sizes in the central directory: 24 bytes into each entry
        length = struct.unpack_from("<H", data, start + 28)[0]
        if name.startswith("samples/"):
            struct.pack_into("<I", data, start + 24, 10)
        start += 46 + length
    path.write_bytes(data)
    found = collect([path])
    assert len(found.records) == 1
    assert "samples/x_epoch_1.json is damaged" in messages(found)[0]


def test_many_large_members_are_not_all_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_zip, "MAX_TOTAL", 1 << 20)
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", '{"status": "success", "eval": {"task": "t", "model": "m"}}')
        samples = [{"id": n, "epoch": 1, "scores": {"s": {"value": 1}}} for n in range(10)]
        out.writestr("summaries.json", json.dumps(samples))
        for n in range(10):
            out.writestr(f"samples/{n}_epoch_1.json", b" " * (200 << 10) + b"{}")
    found = collect([path])
    assert len(found.records) == 10
    assert sum("too much to read" in message for message in messages(found)) == 5


def test_members_with_paths_that_climb_are_names_and_nothing_is_written(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    climbing = "../../../../tmp/owned"
    path = write_log(
        inside / "a.eval",
        {f"samples/{climbing}_epoch_1.json": {"messages": []}, "/etc/owned": {}, "../owned": {}},
        summary={"id": climbing},
    )
    found = collect([path])
    assert found.records[0].task == f"sums/{climbing}"
    assert messages(found) == []
    assert list(steps(found.records[0])) == []
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.eval", "inside"]


def test_a_member_that_stands_twice_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    write_log(path, {})
    header = {"status": "error", "eval": {"task": "sums", "model": "other"}}
    with (
        zipfile.ZipFile(path, "a") as out,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        out.writestr("header.json", json.dumps(header))
    found = collect([path])
    assert found.records[0].model == "other"
    assert "holds 'header.json' twice; the last counts" in messages(found)
    assert "the evaluation's status is 'error'" in messages(found)


@pytest.mark.parametrize(
    ("value", "verdict", "cause"),
    [
        ("C", Verdict.RESOLVED, ""),
        ("P", Verdict.FAILED, ""),
        (True, Verdict.RESOLVED, ""),
        (0.99, Verdict.FAILED, ""),
        ({"a": 1, "b": 1.0}, Verdict.RESOLVED, ""),
        ({"a": 1, "b": "I"}, Verdict.FAILED, ""),
        (7, Verdict.ERROR, "UnusableScore"),
        (float("nan"), Verdict.ERROR, "UnusableScore"),
        ("maybe", Verdict.ERROR, "UnusableScore"),
        ({}, Verdict.ERROR, "UnusableScore"),
        (None, Verdict.ERROR, "UnusableScore"),
    ],
)
def test_a_score_becomes_a_verdict_or_says_why_not(
    tmp_path: Path, value: Any, verdict: Verdict, cause: str
) -> None:
    summary = {"scores": {"judge": {"value": value}}}
    path = write_log(tmp_path / "a.eval", {"samples/x_epoch_1.json": {}}, summary=summary)
    record = collect([path]).records[0]
    assert (record.verdict, record.cause) == (verdict, cause)


@pytest.mark.parametrize("cut", [0, 3, 40, -1])
def test_a_log_cut_off_anywhere_is_named(tmp_path: Path, cut: int) -> None:
    path = write_log(tmp_path / "a.eval", {"samples/x_epoch_1.json": {}})
    path.write_bytes(path.read_bytes()[:cut])
    found = collect([path])
    assert found.records == ()
    assert "is no whole zip file" in messages(found)[0]


def test_a_trajectory_cannot_lead_out_of_its_folder(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    document = {
        "schema_version": "ATIF-v1.7",
        "agent": {"name": "a", "version": "1"},
        "steps": [{"step_id": 1, "source": "agent", "message": "secret"}],
    }
    secret.write_text(json.dumps(document))
    folder = tmp_path / "here"
    folder.mkdir()
    path = folder / "trajectory.json"
    document["steps"] = [{"step_id": 1, "source": "agent", "message": "mine"}]
    for name in ("../secret.json", str(secret), "..", "x\0y"):
        path.write_text(json.dumps({**document, "continued_trajectory_ref": name}))
        found = collect([path])
        assert [step.text for step in steps(found.records[0])] == ["mine"]
        assert "outside its folder" in messages(found)[0]
    (folder / "link.json").symlink_to(secret)
    path.write_text(json.dumps({**document, "continued_trajectory_ref": "link.json"}))
    found = collect([path])
    assert [step.text for step in steps(found.records[0])] == ["mine"]
    assert messages(found) == ["is not a regular file"]


def test_a_trajectory_that_goes_on_where_no_file_can_be_is_read_and_named(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    step = {"step_id": 1, "source": "agent", "message": "mine"}
    document = {"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}}
    path.write_text(json.dumps({**document, "steps": [step], "continued_trajectory_ref": "\ud800"}))
    found = collect([path])
    assert [step.text for step in steps(found.records[0])] == ["mine"]
    assert messages(found) == ["has a name that no file can have"]


def test_a_trajectory_of_countless_objects_is_refused_before_it_is_held(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    empty = ",".join(["{}"] * (atif_document.MAX_OBJECTS + 1))
    path.write_text('{"schema_version": "ATIF-v1.7", "steps": [' + empty + "]}")
    assert "objects" in messages(collect([trial_with(tmp_path / "job", path)]))[0]


def trial_with(job: Path, trajectory: Path) -> Path:
    """A job of one trial with this trajectory."""
    (trial(job, rewards={"reward": 1}) / "agent").mkdir()
    trajectory.rename(job / "task__abc" / "agent" / "trajectory.json")
    return job


def test_progress_without_end_is_one_problem(tmp_path: Path) -> None:
    ladder = [{"id": "a", "status": "passed"}]
    folder = trial(tmp_path / "job", rewards={"reward": 1}, milestones=ladder)
    path = folder / "verifier" / "progress.jsonl"
    path.write_text(
        "x\n" * 3000 + '{"t": 2, "event": "milestone", "id": "a", "status": "passed"}\n'
    )
    found = collect([tmp_path / "job"])
    assert found.records[0].milestones[0].verified_seconds == 2
    (said,) = messages(found)
    assert said.startswith("line 1 ") and said.endswith("and 2999 lines more")
    with path.open("r+b") as file:
        file.truncate(3 << 30)
    assert messages(collect([tmp_path / "job"])) == ["is 3072 MiB long: no record of ours"]


def test_an_archive_whose_member_has_no_readable_name_is_no_source(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        out.writestr("é", "x")
    path = tmp_path / "a.json"
    path.write_bytes((tmp_path / "a.zip").read_bytes().replace("é".encode(), b"\xff\xff"))
    write_list(tmp_path / "b.jsonl", LINE)
    found = collect([tmp_path])
    assert len(found.records) == 1
    assert messages(found) == ["is nothing that we can read results from"]


def test_a_trajectory_that_continues_in_itself_ends(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    document = {
        "schema_version": "ATIF-v1.7", "agent": {"name": "a"},
        "steps": [{"step_id": 1, "source": "agent", "message": "x"}],
        "continued_trajectory_ref": "trajectory.json",
    }  # fmt: skip
    path.write_text(json.dumps(document))
    assert len(list(steps(collect([path]).records[0]))) == 1


def test_a_nest_of_subagents_is_followed_only_so_deep(tmp_path: Path) -> None:
    document: dict[str, Any] = {}
    for _ in range(50):
        document = {
            "schema_version": "ATIF-v1.7", "agent": {"name": "a"}, "trajectory_id": "child",
            "steps": [{"step_id": 1, "source": "agent", "message": "x"}],
            "subagent_trajectories": [document] if document else [],
        }  # fmt: skip
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps(document))
    found = list(steps(collect([path]).records[0]))
    assert len(found) == atif_steps.MAX_DEPTH + 1
    assert [step.n for step in found] == list(range(1, len(found) + 1))
    assert found[0].subagent == "" and found[1].subagent == "child"


def test_offences_against_the_trajectory_format_are_named_once_a_kind(tmp_path: Path) -> None:
    odd = {"step_id": 9, "source": "ghost", "message": EVIL,
           "observation": {"results": [{"source_call_id": "none", "content": EVIL}]}}  # fmt: skip
    document = {"schema_version": "ATIF-v1.7", "agent": {}, "steps": [odd, odd, 7, None]}
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps(document))
    found = collect([path])
    assert len(found.problems) == 4
    seen = list(steps(found.records[0]))
    assert [step.role for step in seen] == ["ghost", "ghost"]
    assert not set(repr(seen)) & set("\x1b\x9b\u202e\ud800")


def test_a_trial_whose_agent_left_a_pipe_or_a_link_is_still_read(tmp_path: Path) -> None:
    for name in ("pipe", "link"):
        folder = trial(tmp_path / "job", name, rewards={"reward": 1})
        (folder / "agent").mkdir()
        if name == "pipe":
            os.mkfifo(folder / "agent" / "trajectory.json")
        else:
            (folder / "agent" / "trajectory.json").symlink_to("/etc/passwd")
    started = time.monotonic()
    found = collect([tmp_path / "job"])
    assert time.monotonic() - started < 20
    assert len(found.records) == 2
    assert messages(found) == ["is not a regular file"] * 2
    assert [list(steps(record)) for record in found.records] == [[], []]


def test_links_and_what_lies_too_deep_are_named_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    trial(outside / "job", rewards={"reward": 1})
    source = tmp_path / "source"
    trial(source / "job", "mine", rewards={"reward": 1})
    (source / "linked").symlink_to(outside / "job")
    (source / "loop").symlink_to(source)
    trial(source / "1" / "2" / "3" / "4" / "5" / "job", rewards={"reward": 1})
    trial(source / "1" / "near", rewards={"reward": 1})
    found = collect([source])
    assert sorted(record.job for record in found.records) == ["job", "near"]
    assert {problem.path.name: problem.message.split(":")[0] for problem in found.problems} == {
        "linked": "is a link",
        "loop": "is a link",
        "2": "is nothing that we can read results from",
    }


def test_names_of_files_may_be_anything(tmp_path: Path) -> None:
    job = tmp_path / "jo\x1b[2Jb\nx"
    trial(job, "tri\x1bal", rewards={"reward": 1})
    raw = os.fsencode(str(job)) + b"/bad-\xff-name"
    os.mkdir(raw)  # noqa: PTH102 - a name that is no UTF-8
    record = collect([job]).records[0]
    assert record.job.isprintable()
    assert collect([job]).problems[0].path.name.startswith("bad-")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["agent", "model", "task", "trial", "resolved", "tests", "milestones", "steps",
             "source", "message", "tool_calls", "observation", "results", "metrics", "id",
             "status", "weight", "schema_version", "eval", "samples", "scores", "value", "skills"]
        ),
        inner,
        max_size=6,
    ),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=200)
@given(value=json_values)
@pytest.mark.needs("time")
def test_no_json_whatever_breaks_a_reader(
    value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any", numbered=True)
    base = value if isinstance(value, dict) else {"steps": value}
    write_list(folder / "list.jsonl", {**LINE, **base}, value)
    (folder / "trajectory.json").write_text(json.dumps({**base, "schema_version": "ATIF-v1.7"}))
    log = {**base, "eval": {"task": "t", "model": "m"}, "samples": [base, value]}
    (folder / "log.json").write_text(json.dumps(log))
    write_log(folder / "a.eval", {"samples/x_epoch_1.json": value}, summary=base)
    found = collect([folder])
    for record in found.records:
        assert record.verdict in Verdict
        for step in steps(record):
            assert step.n >= 1


def test_reading_a_zip_that_is_none_raises_nothing_else(tmp_path: Path) -> None:
    whole = write_log(tmp_path / "a.eval", {"samples/x_epoch_1.json": {"messages": []}})
    data = whole.read_bytes()
    for place in range(0, len(data), 7):
        broken = bytearray(data)
        broken[place] ^= 0xFF
        whole.write_bytes(broken)
        found = collect([whole])
        assert len(found.records) <= 1
