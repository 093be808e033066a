"""Result folders of the original Terminal-Bench harness (PyPI terminal-bench, 0.2).

A run is `run_metadata.json`, a `results.json` that sums up, and `<task>/<trial>/results.json`, one
a trial, which the harness itself calls the truth (terminal_bench/harness/models.py, TrialResults).
A trial that nobody judged (`is_resolved` null: tests that timed out or could not be parsed) is an
`error` here; the harness's own accuracy counts it as unresolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchflow.results.impossible import amounts, spans
from benchflow.results.jobs.evidence import holds_something
from benchflow.results.json_values import count, mapping, seconds_between, sequence, truth, word
from benchflow.results.model import Phases, Problem, Verdict
from benchflow.results.readers.harbor import contradiction
from benchflow.results.readers.jsonl import cause, ended_itself, usage
from benchflow.results.records import Format, Milestone, Record
from benchflow.results.safe_files import UnreadableRecord, read_object

_EVIDENCE = (
    "sessions/agent.cast",
    "sessions/tests.cast",
    "panes/post-agent.txt",
    "panes/post-test.txt",
    "commands.txt",
    "agent-logs",
)


def is_run(folder: Path) -> bool:
    """A folder that the harness kept a run in, whole or torn."""
    if (folder / "run_metadata.json").is_file():
        return True
    try:
        return is_results(read_object(folder / "results.json"))
    except UnreadableRecord:
        return False


def is_results(data: Any) -> bool:
    """Whether a JSON value is the harness's summary of a run."""
    trials = sequence(mapping(data).get("results"))
    return bool(trials) and {"task_id", "is_resolved"} <= mapping(trials[0]).keys()


def read(source: Path, folder: Path) -> tuple[list[Record], list[Problem]]:
    """The trials of the run in `folder`: from their own files, else from the summary."""
    problems: list[Problem] = []
    metadata = _load(folder / "run_metadata.json", problems)
    summary = {
        (word(item.get("task_id")), word(item.get("trial_name"), 200)): item
        for item in map(mapping, sequence(_load(folder / "results.json", problems).get("results")))
    }
    records: list[Record] = []
    for path in _trial_files(folder, problems):
        try:
            data: Mapping[str, Any] = read_object(path)
        except UnreadableRecord as error:
            problems.append(Problem(path, str(error)))
            continue
        summed = summary.pop((word(data.get("task_id")), word(data.get("trial_name"), 200)), data)
        if truth(summed.get("is_resolved")) is not truth(data.get("is_resolved")):
            problems.append(Problem(path, "gainsays the run's results.json: the trial's counts"))
        records += _checked(
            _record(source, folder, metadata, data, path.parent), data, problems, path
        )
    for data in summary.values():
        records += _checked(
            _record(source, folder, metadata, data, None), data, problems, folder / "results.json"
        )
    return records, problems


def read_summary(source: Path, path: Path) -> tuple[list[Record], list[Problem]]:
    """The trials that a summary lists, wherever it was put and whatever it is called; what their
    own files would add is not known."""
    problems: list[Problem] = []
    data = _load(path, problems)
    metadata = {"run_id": path.stem, "agent_name": f"? ({path.stem})", **_beside(path)}
    if str(metadata["agent_name"]).startswith("?"):
        problems.append(
            Problem(path, "does not say which agent and model it is of: named after it")
        )
    records: list[Record] = []
    for number, listed in enumerate(map(mapping, sequence(data.get("results"))), 1):
        # Lists made from several runs leave the trial's name out.
        item = {"trial_name": f"{word(listed.get('task_id'))}.{number}", **listed}
        records += _checked(
            _record(source, path.parent, metadata, item, None), item, problems, path
        )
    _say_difference(data, records, path, problems)
    return records, problems


def _beside(path: Path) -> Mapping[str, Any]:
    """What the run was, where its metadata lie beside a summary that is called otherwise."""
    try:
        return read_object(path.with_name("run_metadata.json"))
    except UnreadableRecord:
        return {}


def _say_difference(
    data: Mapping[str, Any], records: list[Record], path: Path, problems: list[Problem]
) -> None:
    resolved = sum(record.verdict is Verdict.RESOLVED for record in records)
    said = count(data.get("n_resolved")), count(data.get("n_unresolved"))
    if said[0] is not None and said[1] is not None and sum(filter(None, said)) != len(records):
        counted = sum(filter(None, said))
        problems.append(Problem(path, f"counts {counted} trials and lists {len(records)}"))
    elif said[0] is not None and said[0] != resolved:
        problems.append(Problem(path, f"counts {said[0]} resolved and lists {resolved}"))


def _load(path: Path, problems: list[Problem]) -> Mapping[str, Any]:
    try:
        return read_object(path)
    except UnreadableRecord as error:
        problems.append(Problem(path, str(error)))
        return {}


def _trial_files(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    for task in sorted(path for path in folder.iterdir() if path.is_dir()):
        if task.is_symlink() or task.name.startswith("."):
            continue
        for trial in sorted(path for path in task.iterdir() if path.is_dir()):
            if (trial / "results.json").exists():
                yield trial / "results.json"
            elif (trial / "panes").is_dir() or (trial / "sessions").is_dir():
                problems.append(Problem(trial, "was not finished: no results.json"))


def _impossible(data: Mapping[str, Any]) -> Iterator[str]:
    times = ("trial_started_at", "agent_started_at", "agent_ended_at", "test_started_at")
    last = ("agent_started_at", "agent_ended_at", "test_started_at", "test_ended_at")
    yield from spans(data, zip(times, last, strict=True))
    yield from spans(data, [("trial_started_at", "trial_ended_at")])
    yield from amounts(data, ("total_input_tokens", "total_output_tokens"))


def _checked(
    record: Record | None, data: Mapping[str, Any], problems: list[Problem], path: Path
) -> list[Record]:
    if record is None:
        problems.append(Problem(path, "is no result of a Terminal-Bench trial"))
        return []
    problems += [Problem(path, f"{record.trial}: {said}") for said in _impossible(data)]
    if fault := contradiction(record):
        problems.append(Problem(path, fault))
    return [record]


def _record(
    source: Path,
    folder: Path,
    metadata: Mapping[str, Any],
    data: Mapping[str, Any],
    trial: Path | None,
) -> Record | None:
    if not word(data.get("task_id")) or not word(data.get("trial_name")):
        return None
    resolved = truth(data.get("is_resolved"))
    failure_mode = word(data.get("failure_mode"), 80)
    milestones = tuple(
        Milestone(word(name, 160), "passed" if status == "passed" else "failed")
        for name, status in mapping(data.get("parser_results")).items()
    )
    verdict = Verdict.RESOLVED if resolved else Verdict.FAILED
    return Record(
        uid="",
        source=source,
        format=Format.TERMINAL_BENCH,
        job=word(metadata.get("run_id")) or word(folder.resolve().name),
        trial=word(data["trial_name"], 200),
        agent=word(metadata.get("agent_name"), 80) or "?",
        model=word(metadata.get("model_name"), 80),
        task=word(data["task_id"]),
        task_version=word(metadata.get("dataset_version"), 40),
        verdict=Verdict.ERROR if resolved is None else verdict,
        cause=cause(resolved, failure_mode),
        failure_mode=failure_mode,
        ended_itself=ended_itself(failure_mode),
        milestones=milestones,
        milestone_kind="test" if milestones else "",
        phases=_phases(data),
        usage=usage(data.get("total_input_tokens"), data.get("total_output_tokens")),
        started_at=word(data.get("trial_started_at"), 40),
        folder=trial,
        evidence={name: trial / name for name in _EVIDENCE if holds_something(trial / name)}
        if trial
        else {},
    )


def _phases(data: Mapping[str, Any]) -> Phases:
    def span(first: str, last: str) -> float | None:
        return seconds_between(data.get(first), data.get(last))

    return Phases(
        environment=span("trial_started_at", "agent_started_at"),
        agent=span("agent_started_at", "agent_ended_at"),
        hand_over=span("agent_ended_at", "test_started_at"),
        verifier=span("test_started_at", "test_ended_at"),
        total=span("trial_started_at", "trial_ended_at"),
    )
