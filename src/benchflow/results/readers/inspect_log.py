"""Inspect's logs: `.eval` (a zip of JSON) and `.json`.

Format: inspect_ai 0.3, log version 2 (`inspect_ai.log.EvalLog`, `EvalSample`; the members of a
`.eval` are laid down in inspect_ai/log/_recorders/eval.py). inspect_ai itself is not used: it
brings some ninety packages. A sample is a task here, an epoch an attempt, the solver the agent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.results.impossible import amounts
from benchflow.results.json_values import amount, count, mapping, sequence, word
from benchflow.results.model import Phases, Problem, Usage
from benchflow.results.readers.atif_summary import DONE, repeats
from benchflow.results.readers.inspect_score import judge
from benchflow.results.records import Format, Record
from benchflow.results.safe_files import UnreadableRecord, read_bytes
from benchflow.results.safe_zip import MAX_MEMBER, Archive

_SUMMARIES, _HEADER, _START = "summaries.json", "header.json", "_journal/start.json"


@dataclass(frozen=True)
class _Log:
    """What the samples of one log share."""

    source: Path
    path: Path
    header: Mapping[str, Any]

    @property
    def spec(self) -> Mapping[str, Any]:
        return mapping(self.header.get("eval"))

    @property
    def solver(self) -> str:
        steps = sequence(mapping(self.header.get("plan")).get("steps"))
        last = mapping(steps[-1]).get("solver") if steps else ""
        return word(self.spec.get("solver"), 80) or word(last, 80) or "?"

    @property
    def scorer(self) -> str:
        headline = mapping(mapping(self.header.get("results")).get("headline"))
        return word(headline.get("score") or headline.get("scorer"))


def is_log(data: Any) -> bool:
    """Whether a JSON value is an Inspect log in its `.json` form."""
    found = mapping(data)
    has_part = bool({"samples", "results", "status"} & found.keys())
    return has_part and {"task", "model"} <= mapping(found.get("eval")).keys()


def read(source: Path, path: Path, trajectories: bool) -> tuple[list[Record], list[Problem]]:
    """The samples of a `.eval` log; of one that was not finished, those that its journal has."""
    problems: list[Problem] = []
    records: list[Record] = []
    try:
        with Archive(path) as archive:
            problems += [
                Problem(path, f"holds {word(name)!r} twice; the last counts")
                for name in archive.repeated
            ]
            log = _Log(source, path, _header(archive, path, problems))
            for summary in _summaries(archive, path, problems):
                member = _member(summary)
                sample: Mapping[str, Any] = {}
                if member not in archive:
                    problems.append(Problem(path, f"sample {word(member)!r} is missing"))
                    member = ""
                elif trajectories:
                    sample = _member_object(archive, member, path, problems)
                records += _record(log, summary, sample, member, problems)
            _say_missing(log, len(records), problems)
    except UnreadableRecord as error:
        problems.append(Problem(path, str(error)))
    return records, problems


def read_json(source: Path, path: Path) -> tuple[list[Record], list[Problem]]:
    """The samples of a `.json` log."""
    problems: list[Problem] = []
    records: list[Record] = []
    header = _parse(read_bytes(path, MAX_MEMBER))
    _say_status(header, path, problems)
    log = _Log(source, path, header)
    for place, sample in enumerate(map(mapping, sequence(header.get("samples")))):
        records += _record(log, sample, sample, str(place), problems)
    _say_missing(log, len(records), problems)
    return records, problems


def sample_of(path: Path, member: str) -> Mapping[str, Any]:
    """The sample that a record's `member` names. Raises UnreadableRecord."""
    if member.isdigit():
        samples = sequence(_parse(read_bytes(path, MAX_MEMBER)).get("samples"))
        return mapping(samples[int(member)]) if int(member) < len(samples) else {}
    with Archive(path) as archive:
        return _parse(archive.read(member))


def _header(archive: Archive, path: Path, problems: list[Problem]) -> Mapping[str, Any]:
    if _HEADER in archive:
        header = _member_object(archive, _HEADER, path, problems)
        _say_status(header, path, problems)
        return header
    problems.append(Problem(path, "was not finished: no header.json"))
    return _member_object(archive, _START, path, problems)


def _say_status(header: Mapping[str, Any], path: Path, problems: list[Problem]) -> None:
    if header.get("status") != "success":
        problems.append(Problem(path, f"the evaluation's status is {word(header.get('status'))!r}"))
    if header.get("invalidated") is True:
        problems.append(Problem(path, "was declared invalid by its owner"))


def _say_missing(log: _Log, n_here: int, problems: list[Problem]) -> None:
    """`EvalResults.total_samples` counts the dataset's samples times the epochs."""
    promised = count(mapping(log.header.get("results")).get("total_samples"))
    if promised is not None and promised > n_here:
        missing = f"{promised - n_here} of {promised} samples are missing"
        problems.append(Problem(log.path, f"{missing}: its results count them, it holds {n_here}"))
    elif promised is not None and promised < n_here:
        problems.append(Problem(log.path, f"holds {n_here} samples; its results count {promised}"))


def _summaries(
    archive: Archive, path: Path, problems: list[Problem]
) -> Iterator[Mapping[str, Any]]:
    names = [_SUMMARIES] if _SUMMARIES in archive else []
    names = names or sorted(n for n in archive.names if n.startswith("_journal/summaries/"))
    if not names:
        problems.append(Problem(path, "holds no finished sample"))
    for name in names:
        try:
            found = json.loads(archive.read(name))
        except (UnreadableRecord, ValueError, RecursionError) as error:
            problems.append(Problem(path, f"{word(name)}: {error}"))
            continue
        yield from map(mapping, sequence(found))


def _member(summary: Mapping[str, Any]) -> str:
    return f"samples/{summary.get('id')}_epoch_{summary.get('epoch')}.json"


def _member_object(
    archive: Archive, name: str, path: Path, problems: list[Problem]
) -> Mapping[str, Any]:
    try:
        return _parse(archive.read(name))
    except UnreadableRecord as error:
        problems.append(Problem(path, f"{word(name)} {error}"))
        return {}


def _parse(data: bytes) -> Mapping[str, Any]:
    try:
        return mapping(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise UnreadableRecord(f"is torn or no JSON ({type(error).__name__})") from error


def _record(
    log: _Log,
    summary: Mapping[str, Any],
    sample: Mapping[str, Any],
    member: str,
    problems: list[Problem],
) -> list[Record]:
    name, epoch = word(summary.get("id")), count(summary.get("epoch"))
    if not name or epoch is None:
        problems.append(Problem(log.path, "a sample without id or epoch"))
        return []
    said = amounts(summary, ("working_time", "total_time"))
    problems += [Problem(log.path, f"{name}@{epoch}: {each}") for each in said]
    invalid = log.header.get("invalidated") is True or bool(sample.get("invalidation"))
    judged = judge(summary, log.scorer, invalid=invalid)
    limit = summary.get("limit")
    stopped = word(mapping(limit).get("type") or limit, 40)
    broken = bool(summary.get("error"))
    task = word(log.spec.get("task"))
    return [
        Record(
            uid="",
            source=log.source,
            format=Format.INSPECT,
            job=word(log.spec.get("run_id")) or word(log.path.stem),
            trial=f"{name}@{epoch}",
            agent=log.solver,
            model=word(log.spec.get("model"), 80),
            agent_version=word(mapping(log.spec.get("packages")).get("inspect_ai"), 40),
            task=word(f"{task}/{name}"),
            task_version=word(log.spec.get("task_version"), 40),
            topic=task,
            verdict=judged.verdict,
            reward=judged.reward,
            cause=judged.cause,
            cause_message=judged.message,
            failure_mode="error" if broken else f"limit: {stopped}" if stopped else "",
            said_done=_said_done(sample) if sample else None,
            ended_itself=False if stopped else None if broken else True,
            milestones=judged.milestones,
            milestone_kind="test" if judged.milestones else "",
            phases=Phases(
                agent=amount(summary.get("working_time")), total=amount(summary.get("total_time"))
            ),
            steps=_turns(sample) if sample else count(summary.get("turn_count")),
            repeats=repeats(_asked(sample)) if sample else None,
            usage=_usage(mapping(summary.get("model_usage"))),
            started_at=word(summary.get("started_at"), 40),
            trajectories=(log.path,) if member else (),
            member=member,
        )
    ]


def _usage(by_model: Mapping[str, Any]) -> Usage:
    """Over all models. Inspect counts cached input apart; here input is all that was sent."""
    parts = [mapping(part) for part in by_model.values()]
    if not parts:
        return Usage()
    inputs = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    dollars = [usd for part in parts if (usd := amount(part.get("total_cost"))) is not None]
    return Usage(
        input_tokens=sum(count(part.get(key)) or 0 for part in parts for key in inputs),
        output_tokens=sum(count(part.get("output_tokens")) or 0 for part in parts),
        cost_usd=sum(dollars) if dollars else None,
    )


def _turns(sample: Mapping[str, Any]) -> int:
    roles = [mapping(message).get("role") for message in sequence(sample.get("messages"))]
    return roles.count("assistant")


def _asked(sample: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    for message in map(mapping, reversed(sequence(sample.get("messages")))):
        if message.get("role") == "assistant":
            for call in map(mapping, reversed(sequence(message.get("tool_calls")))):
                yield call.get("function"), call.get("arguments")


def _said_done(sample: Mapping[str, Any]) -> bool | None:
    if sample.get("error"):
        return None
    if sample.get("limit"):
        return False
    own = [
        message
        for message in map(mapping, sequence(sample.get("messages")))
        if message.get("role") == "assistant"
    ]
    if not own:
        return None
    calls = [mapping(call).get("function") for call in sequence(own[-1].get("tool_calls"))]
    return not calls or any(call in DONE for call in calls)
