"""Whether verdicts depend on the host: answered where two judged the same, refused elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from made_up import collection, record

from benchflow.report import hosts as told
from benchflow.report.document import as_markdown
from benchflow.results.model import Host
from benchflow.results.records import Record
from benchflow.site.build import build
from benchflow.site.study import Study
from benchflow.site.urls import trial_page
from benchflow.study.arrays import Trials
from benchflow.study.findings import findings, findings_json
from benchflow.study.hosts import hosts
from benchflow.study.statistics import Refused

ONE = Host(id="aaaa", qemu="7.2", cpu="A", kernel="6.1", accelerator="tcg", speed=0.5, steal=0.1)
TWO = Host(id="bbbb", qemu="10.0", cpu="B", kernel="6.12", accelerator="kvm", speed=1.5)


def tried(n_tasks: int, chance: dict[str, float], times: int = 1) -> list[Record]:
    """Each task by two agents on both hosts; chances are of being resolved, by host."""
    drawn = np.random.default_rng(7)
    return [
        record(f"t{task}", bool(drawn.random() < chance[host.id]), agent=agent, host=host)
        for task in range(n_tasks)
        for agent in ("a", "b")
        for host in (ONE, TWO)
        for _ in range(times)
    ]


def test_one_host_is_refused_with_what_is_needed() -> None:
    found = hosts(Trials.of([record("x", True, host=ONE), record("y", False, host=ONE)]))
    assert isinstance(found.effect, Refused)
    assert "run the sweep on another machine too" in found.effect.refused
    assert (found.cells, found.missed) == (0, None)
    assert [(seen.name, seen.n_trials, seen.resolved) for seen in found.seen] == [
        ("aaaa, QEMU 7.2", 2, 1)
    ]


def test_hosts_that_were_given_other_tasks_are_not_compared() -> None:
    found = hosts(Trials.of([record("x", True, host=ONE), record("y", False, host=TWO)]))
    assert isinstance(found.effect, Refused)
    assert "no host judged what another did" in found.effect.refused


def test_other_agents_at_the_same_task_are_not_compared_either() -> None:
    trials = [record("x", True, agent="a", host=ONE), record("x", False, agent="b", host=TWO)]
    assert hosts(Trials.of(trials)).cells == 0


def test_two_qemus_on_one_machine_are_two_hosts() -> None:
    newer = Host(id="aaaa", qemu="10.0")
    found = hosts(Trials.of([record("x", True, host=ONE), record("x", True, host=newer)]))
    assert [seen.name for seen in found.seen] == ["aaaa, QEMU 10.0", "aaaa, QEMU 7.2"]
    assert (found.cells, found.alike) == (1, 1)


def test_where_all_agree_it_says_what_may_have_been_missed() -> None:
    trials = [
        record(f"t{task}", task % 2 == 0, host=host) for task in range(10) for host in (ONE, TWO)
    ]
    found = hosts(Trials.of(trials))
    assert (found.cells, found.alike, found.n_units) == (10, 10, 10)
    # Clopper and Pearson: none of 10 seen.
    assert found.missed == pytest.approx(1 - 0.025 ** (1 / 10))
    assert "no difference was seen in 10 tasks or generators" in " ".join(told.said(found))


def test_a_host_that_fails_more_often_is_shown_to() -> None:
    found = hosts(Trials.of(tried(40, {"aaaa": 0.2, "bbbb": 0.8}, times=2)))
    assert not isinstance(found.effect, Refused)
    effects = found.effect.effects
    assert effects.names == ("aaaa, QEMU 7.2", "bbbb, QEMU 10.0")
    assert effects.effect[0] == pytest.approx(-effects.effect[1])
    assert effects.effect[0] == pytest.approx(-0.3, abs=0.1)
    assert effects.low[0] < effects.effect[0] < effects.high[0] < 0
    assert effects.decided() == (True, True)
    assert found.effect.basis.n_tasks == 80, "pairs of a task and an agent"


def test_which_tasks_a_host_was_given_moves_nothing() -> None:
    """One host gets twenty hard tasks more; on those that both judged, they are alike."""
    shared = tried(20, {"aaaa": 0.5, "bbbb": 0.5}, times=2)
    hard = [record(f"hard{n}", False, host=ONE) for n in range(20)]
    before, after = hosts(Trials.of(shared)), hosts(Trials.of([*shared, *hard]))
    assert not isinstance(before.effect, Refused)
    assert not isinstance(after.effect, Refused)
    assert before.effect.effects.effect.tolist() == after.effect.effects.effect.tolist()
    assert before.effect.effects.low.tolist() == after.effect.effects.low.tolist()


def test_errors_are_clustered_by_generator_where_tasks_share_one() -> None:
    def drawn(generator: bool) -> list[Record]:
        more = [{"generator": f"g{n // 10}"} if generator else {} for n in range(20)]
        return [
            record(f"t{n}", n % 10 < 5 if host is ONE else n % 3 == 0, host=host, **more[n])
            for n in range(20)
            for host in (ONE, TWO)
        ]

    alone, shared = hosts(Trials.of(drawn(False))), hosts(Trials.of(drawn(True)))
    assert (alone.n_units, shared.n_units) == (20, 2)
    assert not isinstance(alone.effect, Refused)
    assert not isinstance(shared.effect, Refused)
    assert shared.effect.effects.p[0] != alone.effect.effects.p[0]


def test_trials_without_a_record_are_counted_and_in_no_figure() -> None:
    found = hosts(Trials.of([record("x", True), record("x", False, host=ONE)]))
    assert (found.unknown, len(found.seen)) == (1, 1)


def test_report_json_and_site_show_it(tmp_path: Path) -> None:
    table = collection(*tried(30, {"aaaa": 0.2, "bbbb": 0.9}))
    found = findings(table)
    page = as_markdown(found, [Path("jobs")])
    assert "## Do verdicts depend on the host?" in page
    assert "aaaa, QEMU 7.2: −" in page
    assert "it differs" in page
    assert "| bbbb, QEMU 10.0 | B | 6.12 | kvm | 1.50 to 1.50 |" in page
    dumped = json.loads(json.dumps(findings_json(found)))["hosts"]
    assert dumped["effect"]["effects"]["names"] == ["aaaa, QEMU 7.2", "bbbb, QEMU 10.0"]
    build(Study("made up", table), tmp_path / "site")
    shown = (tmp_path / "site" / "hosts.html").read_text()
    assert "aaaa, QEMU 7.2" in shown
    assert "Against the mean host" in shown
    one = (tmp_path / "site" / trial_page(table.records[0].uid)).read_text()
    assert "Guests ran under" in one
    assert "Stolen by its own host" in one


def test_a_report_of_trials_without_hosts_does_not_speak_of_them() -> None:
    page = as_markdown(findings(collection(record("x", True), record("y", False))), [Path("jobs")])
    assert "depend on the host" not in page
