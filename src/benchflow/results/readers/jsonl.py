"""Lists of trials: a `.jsonl` file, one object a line (docs/results.md has the keys)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchflow.base.text import one_line
from benchflow.results import adjudication
from benchflow.results.impossible import amounts
from benchflow.results.jobs import host
from benchflow.results.jobs.ladder import STATUSES
from benchflow.results.json_values import (
    amount,
    count,
    mapping,
    number,
    sequence,
    truth,
    word,
    words,
)
from benchflow.results.model import Phases, Problem, Usage, Verdict
from benchflow.results.readers.harbor import contradiction
from benchflow.results.records import Format, Milestone, Record
from benchflow.results.safe_files import UnreadableRecord, decode, read_lines

MAX_LINE = 4 << 20
_AMOUNTS = ("n_input_tokens", "n_output_tokens", "cost_usd", "agent_seconds", "steps")
_NEEDED = ("agent", "task", "trial", "resolved")
#: Terminal-Bench's words for a run that was cut off or broke down; `unset` and `none`: it ended.
CUT_OFF = frozenset(
    {
        "agent_installation_failed",
        "agent_timeout",
        "context_length_exceeded",
        "fatal_llm_parse_error",
        "output_length_exceeded",
        "unknown_agent_error",
    }
)
ENDED = frozenset({"unset", "none"})


def is_list(path: Path) -> bool:
    """Whether the first line that is not blank is an object that a trial's line could be."""
    for _, line in read_lines(path, MAX_LINE):
        try:
            return bool({"agent", "task", "trial"} & mapping(decode(line or b"")).keys())
        except UnreadableRecord:
            return path.suffix == ".jsonl"
    return path.suffix == ".jsonl"


def read(path: Path) -> tuple[list[Record], list[Problem]]:
    """The trials of a list; each line that is none is named by its number."""
    records: list[Record] = []
    problems: list[Problem] = []
    for line_number, line in read_lines(path, MAX_LINE):
        try:
            if line is None:
                raise UnreadableRecord(f"is longer than {MAX_LINE >> 20} MiB")
            data = decode(line)
            record = _record(path, data)
        except UnreadableRecord as error:
            problems.append(Problem(path, f"line {line_number} {error}"))
            continue
        records.append(record)
        said = amounts(mapping(data), _AMOUNTS)
        problems += [Problem(path, f"line {line_number}: {each}") for each in said]
        if fault := contradiction(record):
            problems.append(Problem(path, f"line {line_number}: {fault}"))
    return records, problems


def _record(path: Path, data: Any) -> Record:
    line = mapping(data)
    for key in _NEEDED:
        if key not in line:
            raise UnreadableRecord(f"has no {key!r}")
    for key in _NEEDED[:3]:
        if not word(line[key]):
            raise UnreadableRecord(f"has no name in {key!r}")
    if line["resolved"] is not None and truth(line["resolved"]) is None:
        raise UnreadableRecord(f"has resolved = {one_line(repr(line['resolved']), 40)}")
    milestones = tuple(_milestones(line)) or tuple(_tests(line))
    failure_mode = word(line.get("failure_mode"), 80)
    return Record(
        uid="",
        source=path,
        format=Format.LIST,
        job=word(line.get("submission") or line.get("job")),
        trial=word(line["trial"], 200),
        agent=word(line["agent"], 80),
        model=word(line.get("model"), 80),
        agent_version=word(line.get("agent_version"), 80),
        task=word(line["task"]),
        task_version=word(line.get("task_version"), 40),
        topic=word(line.get("topic") or line.get("family"), 80),
        generator=word(line.get("generator"), 80),
        skills=words(line.get("skills")),
        authors=words(line.get("authors"), 120),
        reviewers=words(line.get("reviewers"), 120),
        expert_minutes=number(line.get("expert_minutes")),
        hint=count(line.get("hint")),
        verdict=_verdict(line["resolved"]),
        reward=number(line.get("reward")),
        cause=word(line.get("cause"), 80) or cause(line["resolved"], failure_mode),
        failure_mode=failure_mode,
        said_done=truth(line.get("said_done")),
        ended_itself=_ended_itself(line, failure_mode),
        milestones=milestones,
        milestone_kind=_kind(line, milestones),
        phases=Phases(agent=amount(line.get("agent_seconds"))),
        steps=count(line.get("steps")),
        usage=usage(line.get("n_input_tokens"), line.get("n_output_tokens"), line.get("cost_usd")),
        started_at=word(line.get("started_at"), 40),
        host=host.of(mapping(line.get("host"))),
        adjudication=adjudication.of(mapping(line.get("adjudication"))),
    )


def usage(tokens_in: Any, tokens_out: Any, usd: Any = None) -> Usage:
    """Terminal-Bench writes 0 and 0 for agents that it cannot meter: that is "not recorded"."""
    if count(tokens_in) == 0 and count(tokens_out) == 0:
        tokens_in = tokens_out = None
    return Usage(count(tokens_in), count(tokens_out), amount(usd))


def cause(resolved: bool | None, failure_mode: str) -> str:
    """Why nobody judged a trial, or what ended its agent, in the source's word for it."""
    if resolved is None:
        return failure_mode or "NotJudged"
    return "" if failure_mode in ENDED else failure_mode


def ended_itself(failure_mode: str) -> bool | None:
    """From Terminal-Bench's failure mode. Its test and parse errors say nothing of the agent."""
    if failure_mode in CUT_OFF:
        return False
    return True if failure_mode in ENDED else None


def _ended_itself(line: Mapping[str, Any], failure_mode: str) -> bool | None:
    told = truth(line.get("ended_itself"))
    return ended_itself(failure_mode) if told is None else told


def _verdict(resolved: bool | None) -> Verdict:
    if resolved is None:
        return Verdict.ERROR
    return Verdict.RESOLVED if resolved else Verdict.FAILED


def _kind(line: Mapping[str, Any], milestones: tuple[Milestone, ...]) -> str:
    if not milestones:
        return ""
    return "milestone" if sequence(line.get("milestones")) else "test"


def _milestones(line: Mapping[str, Any]) -> Iterator[Milestone]:
    for item in map(mapping, sequence(line.get("milestones"))):
        status = word(item.get("status"), 20)
        yield Milestone(
            id=word(item.get("id"), 80) or "?",
            status=status if status in STATUSES else "not reached",
            title=word(item.get("title"), 160),
            weight=number(item.get("weight")) or 1.0,
            requires=words(item.get("requires")),
            message=word(item.get("message"), 400),
            minutes=number(item.get("minutes")),
            by_minutes=number(item.get("by_minutes")),
        )


def _tests(line: Mapping[str, Any]) -> Iterator[Milestone]:
    for name, value in mapping(line.get("tests")).items():
        yield Milestone(word(name, 160), "passed" if value is True else "failed")
