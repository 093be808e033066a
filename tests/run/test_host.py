"""Each trial says which machine it ran on, and nothing of whose it is."""

from __future__ import annotations

import json
from pathlib import Path

import ours
import pytest
from plain import benchflow, run_json

from benchflow.run.host import recorded
from benchflow.run.host.identity import cpu_facts, facts, host_id
from benchflow.run.host.recorded import share_stolen

X86 = "processor\t: 0\nmodel name\t: A 1\nflags\t\t: sse fpu\n\nprocessor\t: 1\nmodel name\t: B\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd\n\nHardware\t: board\nModel\t\t: Board 4\n"


def test_an_id_is_the_same_for_a_machine_and_does_not_show_the_machines_own(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("0123456789abcdef0123456789abcdef\n")
    other.write_text("0123456789abcdef0123456789abcdee\n")
    assert host_id(one) == host_id(one) != host_id(other)
    assert len(host_id(one)) == 12
    assert host_id(one) not in one.read_text()


def test_where_the_machine_has_no_id_one_is_drawn_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "machine-id"
    empty.write_text("uninitialized\n")
    monkeypatch.setenv("BENCHFLOW_HOME", str(tmp_path / "one"))
    first = host_id(empty)
    assert host_id(empty) == first == host_id(tmp_path / "missing")
    monkeypatch.setenv("BENCHFLOW_HOME", str(tmp_path / "other"))
    assert host_id(empty) != first
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["host-id"]


def test_a_processor_is_read_on_either_architecture() -> None:
    assert cpu_facts(X86) == ("A 1", "fpu sse")
    assert cpu_facts(ARM) == ("Board 4", "asimd fp")
    assert cpu_facts("") == ("", "")


def test_stolen_time_is_a_share_of_all_processors() -> None:
    before = {"up_seconds": 100.0, "steal_seconds": 5.0}
    stolen = share_stolen(before, {"up_seconds": 110.0, "steal_seconds": 6.0})
    assert stolen is not None
    assert 0 < stolen <= 0.1
    assert share_stolen(before, {"up_seconds": 110.0, "steal_seconds": 5.0}) == 0
    assert share_stolen(before, {"up_seconds": 10.0, "steal_seconds": 0.0}) is None
    assert share_stolen(before, {"up_seconds": 110.0, "steal_seconds": None}) is None


def test_arithmetic_takes_as_long_again_within_reason() -> None:
    speeds = [recorded.speed() for _ in range(5)]
    assert min(speeds) > 0.02
    assert max(speeds) < 2 * min(speeds)


def test_a_record_that_cannot_be_written_costs_no_trial(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    recorded.begin(tmp_path / "file" / "trial")
    recorded.end(tmp_path / "file" / "trial")
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.needs("sandbox")
def test_a_trial_of_a_job_has_its_machine_before_and_after(tmp_path: Path) -> None:
    ours.words(tmp_path)
    job = run_json("run", "test/words", "-a", "oracle", cwd=tmp_path)
    (trial,) = job["trials"]
    record = json.loads((Path(trial["path"]) / "host.json").read_text())
    assert {key: record[key] for key in facts()} == dict(facts())
    assert 0 < record["after"]["up_seconds"] - record["before"]["up_seconds"] < 600
    host = trial["host"]
    assert (host["id"], host["kernel"]) == (facts()["id"], facts()["kernel"])
    assert host["speed_before"] > 0 < host["speed_after"]
    told = benchflow("results", "--details", cwd=tmp_path).stdout
    assert f"host: {facts()['id']}, " in told


@pytest.mark.needs("sandbox")
def test_a_verification_without_a_job_has_it_too(tmp_path: Path) -> None:
    ours.words(tmp_path)
    (tmp_path / "good").write_text("one two three\n")
    done = benchflow(
        "verify", "test/words", "good", "--sandbox", "none", "--json", cwd=tmp_path, status=0
    )
    trial = json.loads(done.stdout)["trial"]
    assert trial["host"]["id"] == facts()["id"]
    assert trial["host"]["steal"] is not None
