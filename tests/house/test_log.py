"""The log of measurements can be read, and is about tasks and scripts that exist."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from benchflow.reference.log import WrongRecord, read, span
from benchflow.reference.markdown import sections
from benchflow.tasks.catalogue import names

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "benchmarks/log").glob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_record_is_about_something_that_exists(path: Path) -> None:
    entries = read(path)
    assert entries
    tasks = set(names(ROOT / "tasks"))
    for entry in entries:
        datetime.date.fromisoformat(entry.date)
        if path.stem == "benchmarks":
            assert (ROOT / "benchmarks" / entry.subject).is_file(), entry.subject
        else:
            assert entry.subject in tasks
            assert entry.subject.replace("/", "-") == path.stem


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("no", "no JSON"),
        ("[]", "an object"),
        ('{"what": "oracle", "version": "1", "date": "2026-01-01"}', "neither task"),
        ('{"task": "a/b", "what": "x", "version": "1", "date": "2026-01-01"}', "one of"),
        (
            '{"task": "a/b", "what": "nop", "version": "1", "date": "2026-01-01", "host": {"x": 1}}',  # noqa: E501
            "host has x",
        ),
        (
            '{"task": "a/b", "what": "nop", "version": "1", "date": "2026-01-01", "s": [1, 2, 3]}',
            "a pair",
        ),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(WrongRecord, match=rf"log\.jsonl:1: .*{why}"):
        read(path)


def test_spans_and_conditions_read_as_words(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"task": "a/b", "what": "oracle", "version": "1.0.0", "date": "2026-01-01",'
        ' "work_s": [3, 1200], "host": {"speed": 0.5, "load": [3, 6], "beside": "nothing"}}\n'
    )
    [entry] = read(path)
    assert span(entry.values["work_s"], "s") == "3 to 1,200 s"
    assert entry.conditions == "0.5 times the reference's speed, load 3 to 6, idle otherwise"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs/families").glob("[!R]*.md")), ids=lambda p: p.stem
)
def test_a_topic_page_keeps_no_diary(path: Path) -> None:
    """What was run when is a line in benchmarks/log, from which the task's page is made."""
    for task, text in sections(path.read_text(), 2).items():
        assert list(sections(text, 3)) == [
            "What it measures",
            "Why it is hard",
            "How it is proved",
            "What it does not prove",
        ], f"{task}: say what was run in benchmarks/log/{task.replace('/', '-')}.jsonl"
