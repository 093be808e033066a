"""Several attempts of one agent are told apart, and said once where they ended alike."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from benchflow.cli.live import Plain
from benchflow.cli.render import job_folder, print_job
from benchflow.cli.table import labels
from benchflow.errors import UsageError
from benchflow.results.jobs.progress_events import Phase
from benchflow.results.jobs.trials import read_job
from benchflow.results.synthetic import Design, write_job
from benchflow.run.live.progress import Board, TrialState


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_job(tmp_path_factory.mktemp("made") / "job", Design(attempts=2))


def test_attempts_are_numbered_and_single_ones_are_not(job: Path) -> None:
    trials = read_job(job).trials
    one, *_ = trials
    same = [t for t in trials if (t.task, t.agent, t.model) == (one.task, one.agent, one.model)]
    who = f"{one.agent} {one.model}".strip()
    assert list(labels(same).values()) == [f"{who} #1", f"{who} #2"]
    assert labels([one]) == {one.name: who}


def test_two_that_ended_alike_are_told_once(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = read_job(job)
    one = next(t for t in made.trials if any(m.first_failure for m in t.milestones))
    print_job(replace(made, trials=[one, structs.replace(one, name="another")]))
    stop = next(m.id for m in one.milestones if m.status == "failed")
    said = capsys.readouterr().out
    who = f"{one.agent} {one.model}".strip()
    assert said.count("stopped at") == 1
    assert f"{who} #1, {who} #2 stopped at {stop}:" in said


def test_plain_lines_number_the_second_attempt() -> None:
    out = io.StringIO()
    plain = Plain(out)
    made = Board(planned=2)
    for name in ("a", "b", "a"):
        state = made.trials.setdefault(name, TrialState(name, "task", "nop"))
        state.enter(Phase.AGENT)
        plain.phase(made, state)
    assert [line.split("  ")[-2:] for line in out.getvalue().splitlines()] == [
        ["nop", "agent"], ["nop #2", "agent"], ["nop", "agent"]
    ]  # fmt: skip


def test_a_quiet_minute_says_what_is_waited_for_and_a_busy_one_nothing() -> None:
    out = io.StringIO()
    plain = Plain(out)
    made = Board(planned=1)
    state = made.trials["a"] = TrialState("a", "task", "nop", note="check of the network")
    state.enter(Phase.BOOT)
    plain.tick(made)
    assert out.getvalue() == ""
    plain._said -= 61
    plain.tick(made)
    plain.tick(made)
    (line,) = out.getvalue().splitlines()
    assert re.search(r"nop  … boot, \S+ s so far: check of the network$", line)


def test_a_sweep_is_told_from_a_job(tmp_path: Path) -> None:
    for name in ("nightly-1", "nightly-2", "other"):
        (tmp_path / name).mkdir()
    with pytest.raises(UsageError) as raised:
        job_folder("nightly", tmp_path)
    assert raised.value.hint == "nightly is a sweep; its jobs: nightly-1, nightly-2"
