"""Each format becomes the same record; the files were written by the programs that own them."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harbor.models.trajectories import (
    Agent,
    FinalMetrics,
    Metrics,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)
from jobfolders import trial
from msgspec.structs import asdict, replace

from benchflow.errors import UsageError
from benchflow.results.collect import collect, steps
from benchflow.results.model import Verdict
from benchflow.results.records import Collection, Format, Record
from benchflow.results.safe_zip import Archive
from benchflow.results.synthetic import Design, write_job
from benchflow.results.versions import apart

DATA = Path(__file__).parent / "data"
PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "terminal-bench-core-0.1.1.jsonl"


def only(collection: Collection) -> Record:
    (record,) = collection.records
    return record


def trajectory(*, done: bool = True, **more: Any) -> str:
    """As Harbor's own models write it."""
    calls = [ToolCall(tool_call_id="1", function_name="bash", arguments={"command": "make"})]
    result = ObservationResult(source_call_id="1", content="ok")
    made = Trajectory(
        session_id="s1",
        agent=Agent(name="terminus-2", version="2.0", model_name="provider/model"),
        steps=[
            Step(step_id=1, source="user", message="Do it.", timestamp="2026-01-01T10:00:00Z"),
            Step(
                step_id=2,
                source="agent",
                message="Building.",
                reasoning_content="It must be built.",
                timestamp="2026-01-01T10:00:30Z",
                tool_calls=calls,
                observation=Observation(results=[result]),
                metrics=Metrics(prompt_tokens=100, completion_tokens=10, cost_usd=0.5),
            ),
            Step(
                step_id=3,
                source="agent",
                message="Done." if done else "",
                metrics=Metrics(prompt_tokens=200, completion_tokens=20, cost_usd=0.25),
            ),
        ],
        **more,
    )
    return json.dumps(made.to_json_dict())


def test_the_published_trials_are_all_there_and_means_are_plain_counts() -> None:
    if not PUBLISHED.is_file():
        pytest.skip("the published trials are not part of this repository")
    found = collect([PUBLISHED])
    assert len(found.records) == 2352 == len({record.uid for record in found.records})
    assert found.problems == ()
    counts = Counter((record.who, record.verdict) for record in found.records)
    assert counts["droid claude-4-1-opus", Verdict.RESOLVED] == 235
    assert counts["droid claude-4-1-opus", Verdict.FAILED] == 165
    assert sum(len(record.milestones) for record in found.records) == 8994 + 2260
    assert sum(record.ended_itself is False for record in found.records) == 688
    # 0 and 0 is what the harness writes for agents that it cannot meter
    assert not any(record.usage.input_tokens == 0 for record in found.records)


def test_an_inspect_log_gives_samples_as_tasks_and_epochs_as_attempts() -> None:
    found = collect([DATA / "inspect" / "sums.eval"])
    assert found.problems == ()
    by_task = {record.task: record for record in found.records}
    assert {task: record.verdict for task, record in by_task.items()} == {
        "sums/one and one": Verdict.RESOLVED,
        "sums/one and two": Verdict.FAILED,
        "sums/broken": Verdict.ERROR,
    }
    good, broken = by_task["sums/one and one"], by_task["sums/broken"]
    assert (good.trial, good.agent, good.model) == (
        "one and one@1", "basic_agent_loop", "mockllm/model"
    )  # fmt: skip
    assert (good.usage.input_tokens, good.usage.output_tokens) == (2 * 130, 2 * 20)
    assert (good.steps, good.said_done, good.ended_itself) == (2, True, True)
    assert (broken.cause, broken.said_done) == ("SampleError", None)
    assert "the sandbox went away" in broken.cause_message


def test_the_steps_of_an_inspect_sample_have_their_calls_answers_tokens_and_times() -> None:
    record = collect([DATA / "inspect" / "sums.eval"]).records[0]
    found = list(steps(record))
    assert [step.role for step in found] == ["system", "user", "agent", "agent"]
    (call,) = found[2].calls
    assert (call.tool, json.loads(call.arguments), call.result) == ("add", {"x": 1, "y": 1}, "2")
    assert (found[2].input_tokens, found[2].output_tokens) == (130, 20)
    assert found[2].at is not None and found[3].at is not None
    assert 0 <= found[2].at <= found[3].at


def test_a_log_that_was_not_finished_gives_what_its_journal_has(tmp_path: Path) -> None:
    torn = tmp_path / "torn.eval"
    with Archive(DATA / "inspect" / "sums.eval") as whole, zipfile.ZipFile(torn, "w") as out:
        for name in whole.names:
            if name not in ("header.json", "summaries.json", "reductions.json"):
                out.writestr(name, whole.read(name))
    found = collect([torn])
    assert len(found.records) == 3
    assert {record.model for record in found.records} == {"mockllm/model"}
    assert [problem.message for problem in found.problems] == ["was not finished: no header.json"]


def test_a_terminal_bench_run_is_read_and_what_nobody_judged_is_an_error() -> None:
    found = collect([DATA / "terminal-bench"])
    assert found.problems == ()
    assert {(r.task, r.verdict, r.cause) for r in found.records} == {
        ("hello-world", Verdict.RESOLVED, ""),
        ("hello-world", Verdict.FAILED, "agent_timeout"),
        ("fix-git", Verdict.ERROR, "parse_error"),
        ("fix-git", Verdict.ERROR, "test_timeout"),
    }
    good = next(r for r in found.records if r.verdict is Verdict.RESOLVED)
    assert (good.who, good.job) == ("terminus-2 demo/model", "2026-01-05__10-00-00")
    assert [(milestone.id, milestone.passed) for milestone in good.milestones] == [
        ("test_file_exists", True), ("test_content", True)
    ]  # fmt: skip
    assert (good.phases.agent, good.phases.verifier, good.usage.input_tokens) == (180, 60, None)
    assert "panes/post-test.txt" in good.evidence


def test_a_terminal_bench_trial_that_gainsays_the_summary_counts_itself(tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(next((DATA / "terminal-bench").iterdir()), run)
    path = next((run / "hello-world").glob("*1-of-2*/results.json"))
    path.write_text(path.read_text().replace('"is_resolved": true', '"is_resolved": false'))
    lost = next((run / "fix-git").glob("*1-of-2*"))
    (lost / "results.json").unlink()
    found = collect([run])
    assert len(found.records) == 4  # the lost one stands in the summary
    assert sum(record.verdict is Verdict.RESOLVED for record in found.records) == 0
    messages = {problem.path: problem.message for problem in found.problems}
    assert "no results.json" in messages[lost]
    texts = [problem.message for problem in found.problems if problem.path == path]
    assert texts == [
        "gainsays the run's results.json: the trial's counts",
        f"{path.parent.name} failed, yet every test passed",
    ]


def test_a_trajectory_alone_was_judged_by_nobody(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    path.write_text(trajectory())
    record = only(collect([path]))
    assert (record.format, record.verdict, record.cause) == (
        Format.ATIF, Verdict.ERROR, "NotJudged"
    )  # fmt: skip
    assert (record.agent, record.agent_version, record.model) == (
        "terminus-2", "2.0", "provider/model"
    )  # fmt: skip
    assert (record.steps, record.said_done) == (2, True)
    assert asdict(record.usage) == {"input_tokens": 300, "output_tokens": 30, "cost_usd": 0.75}
    user, build, last = steps(record)
    assert (user.role, build.role, build.reasoning) == ("user", "agent", "It must be built.")
    assert (build.at, build.calls[0].tool, build.calls[0].result) == (30.0, "bash", "ok")
    assert (last.text, last.n, last.calls) == ("Done.", 3, ())


def test_a_continued_trajectory_is_one_and_its_running_totals_are_not_added_up(
    tmp_path: Path,
) -> None:
    first = trajectory(
        final_metrics=FinalMetrics(total_prompt_tokens=300),
        continued_trajectory_ref="trajectory.cont-1.json",
    )
    second = trajectory(final_metrics=FinalMetrics(total_prompt_tokens=700))
    folder = trial(tmp_path / "job", rewards={"reward": 0})
    (folder / "agent").mkdir()
    (folder / "agent" / "trajectory.json").write_text(first)
    (folder / "agent" / "trajectory.cont-1.json").write_text(second)
    record = only(collect([tmp_path / "job"]))
    assert (record.steps, record.usage.input_tokens) == (4, 700)
    assert [step.n for step in steps(record)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("exception", "said"), [("", True), ("AgentTimeoutError", False)])
def test_an_agent_that_was_cut_off_did_not_say_that_it_was_done(
    tmp_path: Path, exception: str, said: bool
) -> None:
    folder = trial(tmp_path / "job", rewards={"reward": 0}, exception=exception)
    (folder / "agent").mkdir()
    (folder / "agent" / "trajectory.json").write_text(trajectory())
    record = only(collect([tmp_path / "job"]))
    assert (record.said_done, record.ended_itself) == (said, not exception)
    assert only(collect([tmp_path / "job"], trajectories=False)).said_done is None


def test_a_milestone_has_an_upper_bound_on_the_agents_clock_and_the_verifiers_own(
    tmp_path: Path,
) -> None:
    folder = trial(
        tmp_path / "job",
        rewards={"reward": 0.5, "milestone.kernel": 1},
        milestones=[{"id": "kernel", "status": "passed"}, {"id": "login", "status": "failed"}],
    )
    events = [
        {"t": 0.5, "event": "check", "name": "test_kernel"},
        {"t": 2.5, "event": "milestone", "id": "kernel", "status": "passed"},
    ]
    (folder / "verifier" / "progress.jsonl").write_text(
        "\n".join(map(json.dumps, events)) + '\n{"t": 9.0, "event": "mile'
    )
    found = collect([tmp_path / "job"])
    kernel, login = only(found).milestones
    assert (kernel.minutes, kernel.by_minutes, kernel.verified_seconds) == (None, 0.5, 2.5)
    assert (login.by_minutes, login.verified_seconds) == (None, None)
    assert ["cut off" in problem.message for problem in found.problems] == [True]


def test_in_a_task_of_several_steps_the_bound_is_the_end_of_the_step(tmp_path: Path) -> None:
    def step(name: str, start: str, end: str) -> dict[str, Any]:
        return {
            "step_name": name,
            "agent_execution": {"started_at": start, "finished_at": end},
            "verifier_result": {"rewards": {"reward": 1, "milestone.a": 1}},
        }

    trial(
        tmp_path / "job",
        rewards={"reward": 1},
        step_results=[
            step("one", "2026-01-01T10:00:00Z", "2026-01-01T10:02:00Z"),
            step("two", "2026-01-01T10:05:00Z", "2026-01-01T10:08:00Z"),
        ],
    )
    milestones = only(collect([tmp_path / "job"])).milestones
    assert [(milestone.id, milestone.by_minutes) for milestone in milestones] == [
        ("one/a", 2.0),
        ("two/a", 5.0),
    ]


def test_a_list_may_carry_milestones_with_measured_minutes(tmp_path: Path) -> None:
    line = {
        "submission": "s", "agent": "a", "model": "m", "task": "t", "trial": "t.1",
        "resolved": False, "topic": "repair", "skills": ["boot"], "hint": 1, "said_done": True,
        "cost_usd": 1.5, "agent_seconds": 90, "steps": 7,
        "milestones": [
            {"id": "kernel", "status": "passed", "weight": 2, "minutes": 12.5},
            {"id": "login", "status": "failed", "requires": ["kernel"]},
        ],
    }  # fmt: skip
    path = tmp_path / "trials.jsonl"
    path.write_text(json.dumps(line) + "\n")
    record = only(collect([path]))
    assert (record.topic, record.skills, record.hint, record.steps) == ("repair", ("boot",), 1, 7)
    assert (record.milestone_kind, record.furthest, record.n_passed) == ("milestone", "kernel", 1)
    assert (record.milestones[0].minutes, record.milestones[0].weight) == (12.5, 2)
    assert (record.phases.agent, record.usage.cost_usd, record.said_done) == (90, 1.5, True)


def test_our_job_says_version_topic_skills_and_hint_of_its_tasks(tmp_path: Path) -> None:
    job, task = tmp_path / "job", tmp_path / "staged"
    task.mkdir()
    (task / "task.toml").write_text(
        '[task]\nversion = "9"\n[metadata.benchflow]\ntopic = "repair"\n'
        'skills = ["boot"]\nexpert_minutes = 90\n'
    )
    trial(job, rewards={"reward": 1}, config={"task": {"path": str(task)}})
    entry = {"name": "repair/x", "version": "1.2", "staged": str(task), "hint": 2}
    (job / "benchflow.json").write_text(json.dumps({"schema": 1, "tasks": [entry]}))
    record = only(collect([job]))
    assert (record.format, record.task, record.task_version) == (
        Format.BENCHFLOW, "repair/x", "1.2"
    )  # fmt: skip
    assert (record.topic, record.skills, record.expert_minutes) == ("repair", ("boot",), 90)
    assert record.hint == 2


def test_two_contents_of_a_task_in_anybodys_job_are_two_tasks(tmp_path: Path) -> None:
    for at, checksum in enumerate(("aaaaaaaaaa", "bbbbbbbbbb")):
        trial(tmp_path / f"job{at}", f"x__{at}", rewards={"reward": at}, task_checksum=checksum)
    records = collect([tmp_path / "job0", tmp_path / "job1"]).records
    assert [record.task_digest for record in records] == ["aaaaaaaaaa", "bbbbbbbbbb"]
    assert {record.task for record in apart(records)} == {
        "benchflow/task#aaaaaaaa", "benchflow/task#bbbbbbbb"
    }  # fmt: skip


def test_a_folder_of_everything_is_read_through_and_the_rest_is_named(tmp_path: Path) -> None:
    trial(tmp_path / "jobs" / "one", rewards={"reward": 1})
    shutil.copytree(DATA / "terminal-bench", tmp_path / "tb")
    shutil.copy(DATA / "inspect" / "sums.eval", tmp_path)
    (tmp_path / "trajectory.json").write_text(trajectory())
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "notes").mkdir()
    (tmp_path / "README.md").write_text("# Results\n")
    found = collect([tmp_path])
    assert Counter(record.format for record in found.records) == {
        Format.HARBOR: 1, Format.TERMINAL_BENCH: 4, Format.INSPECT: 3, Format.ATIF: 1
    }  # fmt: skip
    assert {problem.path.name for problem in found.problems} == {"package.json", "notes"}


def test_what_the_gateway_counted_goes_before_what_the_agent_says(tmp_path: Path) -> None:
    said = {"n_input_tokens": 1, "n_output_tokens": 1, "cost_usd": 0.01}
    folder = trial(tmp_path / "job", rewards={"reward": 0}, agent_result=said)
    assert only(collect([tmp_path / "job"])).usage.input_tokens == 1
    totals: dict[str, Any] = {
        "schema": 1, "usage": {"input": 100, "cache_read": 900, "output": 50}, "usd": 2.5,
        "unpriced_answers": 0, "budget_exhausted": "usd",
    }  # fmt: skip
    (folder / "model.json").write_text(json.dumps(totals))
    record = only(collect([tmp_path / "job"]))
    assert asdict(record.usage) == {"input_tokens": 1000, "output_tokens": 50, "cost_usd": 2.5}
    assert (record.metered, record.ended_itself) == (True, False)
    (folder / "model.json").write_text(json.dumps({**totals, "unpriced_answers": 1}))
    assert only(collect([tmp_path / "job"])).usage.cost_usd is None


def test_one_trial_can_be_a_source(tmp_path: Path) -> None:
    folder = trial(tmp_path / "job", rewards={"reward": 1})
    assert only(collect([folder])).uid == only(collect([tmp_path / "job"])).uid


def test_the_same_trial_has_the_same_uid_wherever_it_lies(tmp_path: Path) -> None:
    job = write_job(tmp_path / "a" / "job", Design(agents=1, tasks=2, attempts=1))
    shutil.copytree(job, tmp_path / "b" / "job")
    both = collect([tmp_path / "a", tmp_path / "b"])
    assert len(both.records) == 2
    assert both.problems == ()
    (result,) = (tmp_path / "b" / "job").glob("*task-01*/result.json")
    record = json.loads(result.read_text())
    record["verifier_result"] = {"rewards": {"reward": 0.5}}
    result.write_text(json.dumps(record))
    differing = collect([tmp_path / "a", tmp_path / "b"])
    assert differing.records == both.records
    assert any("differs" in problem.message for problem in differing.problems)


def test_trials_that_were_not_finished_are_named(tmp_path: Path) -> None:
    trial(tmp_path / "job", rewards={"reward": 1})
    (trial(tmp_path / "job", "lost") / "result.json").unlink()
    found = collect([tmp_path / "job"])
    assert [problem.path.name for problem in found.problems] == ["lost"]


def test_a_verdict_that_its_milestones_gainsay_is_kept_and_named(tmp_path: Path) -> None:
    ladder = [{"id": "a", "status": "passed"}, {"id": "b", "status": "failed"}]
    trial(tmp_path / "job", rewards={"reward": 1}, milestones=ladder)
    found = collect([tmp_path / "job"])
    assert only(found).verdict is Verdict.RESOLVED
    assert "'b' did not pass" in found.problems[0].message


def test_the_synthetic_job_is_the_same_each_time_and_says_what_it_is(tmp_path: Path) -> None:
    one, two = (
        collect([write_job(tmp_path / name / "demo", Design())]).records for name in ("a", "b")
    )
    plain = [replace(r, source=Path(), folder=None, evidence={}, trajectories=()) for r in one]
    assert plain == [
        replace(r, source=Path(), folder=None, evidence={}, trajectories=()) for r in two
    ]
    assert len(one) == 72
    assert {record.verdict for record in one} == set(Verdict)
    assert all(record.who.count("synthetic") == 2 for record in one)
    assert all(record.topic.startswith("synthetic") for record in one)
    assert all(len(record.skills) == 2 and record.expert_minutes for record in one)


@pytest.mark.parametrize("name", ["nowhere", "notes.txt", "empty", "photo.zip"])
def test_what_is_no_source_is_refused_with_what_would_be_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("hello\n")
    (tmp_path / "empty").mkdir()
    with zipfile.ZipFile(tmp_path / "photo.zip", "w") as archive:
        archive.writestr("photo.jpg", "x")
    with pytest.raises(UsageError) as refused:
        collect([tmp_path / name])
    assert "Terminal-Bench" in refused.value.hint
