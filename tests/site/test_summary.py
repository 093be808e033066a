"""A report says what the trials say: plain counts, both kinds of ±, and what is not decided."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchflow.errors import UsageError
from benchflow.report.document import in_terminal
from benchflow.results.collect import collect
from benchflow.study.findings import findings
from benchflow.study.summary import compare, summarize, to_json

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "terminal-bench-core-0.1.1.jsonl"


def write(path: Path, chances: dict[str, float], n_tasks: int = 60, attempts: int = 5) -> Path:
    """A list of trials in which each agent's chance on every task is as given."""
    generator = np.random.default_rng(1)
    lines = [
        json.dumps(
            {
                "agent": agent,
                "model": "m",
                "task": f"t{task}",
                "trial": f"t{task}.{attempt}",
                "resolved": bool(generator.random() < chance),
            }
        )
        for agent, chance in chances.items()
        for task in range(n_tasks)
        for attempt in range(attempts)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_clear_differences_are_said_and_unclear_ones_too(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", {"strong": 0.8, "twin": 0.8, "weak": 0.2})
    text = in_terminal(findings(collect([source])))
    supported, _, rest = text.partition("What it does not")
    assert "strong m beats weak m by" in supported
    assert "twin m beats weak m by" in supported
    assert "strong m and twin m" in rest or "twin m and strong m" in rest
    assert "such data sees differences from" in rest


def test_errors_are_counted_and_never_count_against_anybody(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", {"a": 1.0})
    lost = {"agent": "a", "model": "m", "task": "t0", "trial": "t0.9", "resolved": None}
    only = {**lost, "agent": "unlucky"}
    with source.open("a") as file:
        file.write(json.dumps(lost) + "\n" + json.dumps(only) + "\n")
    found = summarize(collect([source]))
    assert found.n_errors == 2
    assert found.entries[0].share == 1.0
    assert found.unknown == ("unlucky m",)
    assert "Only infrastructure errors, so nothing is known of: unlucky m" in in_terminal(
        findings(collect([source]))
    )


def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", {"a": 0.5})
    with source.open("a") as file:
        file.write('{"agent": "a", "task": "t0"\n{"agent": "a"}\n')
    table = collect([source])
    assert len(table.records) == 300
    assert [problem.message for problem in table.problems] == [
        "line 301 is cut off in the middle of a write",
        "line 302 has no 'task'",
    ]


def test_a_source_named_twice_counts_once_and_a_name_used_twice_counts_twice(
    tmp_path: Path,
) -> None:
    source = write(tmp_path / "a.jsonl", {"a": 0.5}, n_tasks=2, attempts=2)
    copy = tmp_path / "b.jsonl"
    copy.write_text(source.read_text())
    assert len(collect([source, copy]).records) == 4
    source.write_text(source.read_text() * 2)
    assert len(collect([source]).records) == 8


def test_a_path_that_is_no_source_says_what_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    for path in (tmp_path / "notes.txt", tmp_path / "nowhere", tmp_path):
        with pytest.raises(UsageError):
            collect([path])


def test_one_task_gives_a_count_and_no_interval(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", {"a": 0.5, "b": 0.5}, n_tasks=1)
    found = summarize(collect([source]))
    assert found.entries[0].rate is None
    assert "No comparison" in in_terminal(findings(collect([source])))
    with pytest.raises(UsageError, match="two common tasks"):
        compare(collect([source]), "a m", "b m")


def test_the_json_is_json(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", {"a": 0.6, "b": 0.5})
    data = json.loads(json.dumps(to_json(summarize(collect([source])))))
    assert data["entries"][0]["total"]["method"] == "t over tasks (ratio)"
    assert data["pairs"][0]["difference"]["n_tasks"] == 60


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published trials are not shipped")
def test_every_published_mean_is_the_plain_count_to_the_last_digit() -> None:
    counts: dict[str, list[bool]] = {}
    for line in PUBLISHED.read_text().splitlines():
        row = json.loads(line)
        counts.setdefault(f"{row['agent']} {row['model']}", []).append(row["resolved"])
    found = summarize(collect([PUBLISHED]))
    assert found.n_trials == 2352
    assert {entry.who: entry.share for entry in found.entries} == {
        who: sum(results) / len(results) for who, results in counts.items()
    }
    for entry in found.entries:
        assert entry.rate is not None
        assert entry.rate.total.value == entry.share
    assert found.entries[0].who == "droid claude-4-1-opus"
    assert found.entries[0].share == 0.5875
