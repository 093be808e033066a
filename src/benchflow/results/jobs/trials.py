"""Reads job folders: Harbor's own layout, ours or anybody's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchflow.base.text import one_line
from benchflow.results.impossible import in_harbor
from benchflow.results.jobs import continued, host, task_facts, verdict
from benchflow.results.jobs import left_out as handed
from benchflow.results.jobs.evidence import evidence_in
from benchflow.results.jobs.faults import first_fault
from benchflow.results.jobs.ladder import read_with_host
from benchflow.results.jobs.layout import layout, read_planned
from benchflow.results.jobs.lock import is_held
from benchflow.results.jobs.metered import exhausted, totals
from benchflow.results.jobs.sandboxes import used_up
from benchflow.results.json_values import (
    amount,
    count,
    mapping,
    number,
    seconds_between,
    sequence,
    word,
)
from benchflow.results.model import Job, Milestone, Phases, Problem, Trial, Usage, Verdict
from benchflow.results.safe_files import UnreadableRecord, read_object


def read_job(path: Path) -> Job:
    """The job in folder `path`. What cannot be read is listed in `problems`, never dropped."""
    tasks, problems = task_facts.of_job(path)
    here = layout(path)
    trials, faults = read_trials(here.finished, {at: task.name for at, task in tasks.items()})
    planned, torn = read_planned(path)
    order = in_order([(t.task, t.agent, t.model, t.started_at, t.name) for t in trials])
    return Job(
        path=path,
        trials=tuple(trials[at] for at in order),
        unfinished=here.unfinished,
        planned=planned,
        running=is_held(path),
        problems=(*torn, *problems, *here.problems, *faults),
    )


def read_trials(
    folders: Iterable[Path], names: Mapping[str, str]
) -> tuple[list[Trial], list[Problem]]:
    """The finished trials in `folders`; see `read_trial`."""
    trials: list[Trial] = []
    problems: list[Problem] = []
    for folder in folders:
        try:
            trial, faults = read_trial(folder, names)
        except UnreadableRecord as error:
            problems.append(Problem(folder / "result.json", str(error)))
            continue
        trials.append(trial)
        problems += faults
    return trials, problems


def in_order(rows: Sequence[tuple[str, str, str, str, str]]) -> list[int]:
    """The places of (task, agent, model, started at, name) in the order to show them in.

    By task; in a task, agents in the order in which they were first started; then by start.
    """
    by_start = sorted(range(len(rows)), key=lambda at: (rows[at][0], *rows[at][3:]))
    agents: dict[tuple[str, str, str], int] = {}
    for at in by_start:
        agents.setdefault(rows[at][:3], len(agents))
    return sorted(by_start, key=lambda at: agents[rows[at][:3]])


def read_trial(path: Path, names: Mapping[str, str] | None = None) -> tuple[Trial, list[Problem]]:
    """One finished trial. Raises UnreadableRecord when its result.json is torn or foreign.

    `names` maps a task folder's path, as the trial was given it, to the name to show.
    """
    record = read_object(f"{path}/result.json")
    if "trial_name" not in record or "agent_info" not in record:
        raise UnreadableRecord("is not a trial's result")
    rewards = _rewards(record)
    exception, message = _exception(record)
    raised = exception
    steps = [step for step in sequence(record.get("step_results")) if isinstance(step, dict)]
    unjudged = [s for s in steps if _rewards(s) is None and s.get("exception_info")]
    if unjudged:
        # Harbor leaves such a step out of the mean; the trial as a whole was not judged.
        exception, message = _exception(unjudged[0])
        rewards = None
    unusable = [problem for part in [record, *steps] for problem in _unusable(path, part)]
    if unusable:
        exception, rewards = exception or "UnusableReward", None
    fault = first_fault(path)
    budget = exhausted(totals(path))
    decision, cause = verdict.decide(
        rewards,
        exception,
        fault[0] if fault else "",
        spent=bool(budget),
        shared=record.get("verifier_environment_mode") == "shared",
    )
    if cause == verdict.BUDGET_EXHAUSTED:
        message = f"the trial's budget of {budget} was used up"
    if fault and rewards and decision is Verdict.ERROR:
        message = fault[1]
    if not rewards and decision is Verdict.FAILED:
        rewards, message = {"reward": 0.0}, f"{verdict.IN_THE_AGENTS_SANDBOX}: {message}"
    if rewards is None:
        told = used_up(path) or broken_verifier(path)
        cause, message = told or (cause, message)
    if decision is Verdict.FAILED and (left_out := handed.told(path)):
        message = f"{message}; {left_out}" if message else left_out
    milestones, measured, problems = _ladder(path, rewards or {}, steps)
    machine, torn = host.read(path, measured)
    agent = mapping(record.get("agent_info"))
    trial = _judged(
        path,
        rewards or {},
        Judgement(decision, cause, message),
        milestones,
        name=one_line(str(record["trial_name"]), 120),
        task=_task_name(record, names or {}),
        agent=one_line(str(agent.get("name", "?")), 80),
        model=_model(record),
        exception=one_line(raised, 80),
        started_at=word(record.get("started_at"), 40),
        agent_version=word(agent.get("version"), 80),
        task_folder=_task_folder(record),
        task_checksum=word(record.get("task_checksum"), 64),
        phases=_phases(record, steps, path),
        usage=_usage(record, steps),
        host=machine,
    )
    faults = (Problem(path / "result.json", said) for said in in_harbor(record))
    return trial, [*unusable, *problems, *torn, *faults]


def is_built(trial: Trial) -> bool:
    """Whether what a trial delivered could be judged, though nobody did: its job verifies nothing.

    A script that did not end well has delivered, too; a fault of the infrastructure's has not, nor
    has what was cut off as its job was stopped.
    """
    if trial.exception == verdict.CANCELLED:
        return False
    fault = first_fault(trial.path)
    judged, _ = verdict.decide({"reward": 0.0}, trial.exception, fault[0] if fault else "")
    return judged is not Verdict.ERROR


def read_verification(path: Path, task: str, who: str, status: int | None, phases: Phases) -> Trial:
    """A verification without Harbor, in folder `path`; the verifier ended with `status`.

    `who` stands in the agent's place. A verifier that ended badly gave no reward, whatever it left.
    """
    logs = path / "verifier"
    rewards: dict[str, float] | None = None
    if status == 0:
        try:
            rewards = _rewards({"verifier_result": {"rewards": read_object(logs / "reward.json")}})
        except UnreadableRecord:
            rewards = None
    cause, message = "", ""
    if rewards is None:
        ended = f"the verifier ended with status {status} and without a reward"
        cause, message = used_up(path) or broken_verifier(path) or ("NoReward", ended)
    decision, cause = verdict.decide(rewards, cause)
    milestones, measured, _ = read_with_host(logs, rewards or {})
    found = Judgement(decision, cause, message)
    return _judged(
        path,
        rewards or {},
        found,
        milestones,
        name=path.name,
        task=task,
        agent=who,
        model="",
        phases=phases,
        host=host.read(path, measured)[0],
    )


class Judgement(NamedTuple):
    """A verdict, with its cause and what is said of it."""

    verdict: Verdict
    cause: str
    message: str


def _judged(
    path: Path,
    rewards: Mapping[str, float],
    found: Judgement,
    milestones: tuple[Milestone, ...],
    **known: Any,
) -> Trial:
    """The only place that makes a trial of what a verifier said; `known`: the other fields."""
    return Trial(
        path=path,
        verdict=found.verdict,
        reward=verdict.reward(rewards),
        cause=one_line(found.cause, 80),
        cause_message=found.message,
        milestones=milestones,
        metrics={
            one_line(key.removeprefix("metric."), 80): value
            for key, value in rewards.items()
            if key.startswith("metric.")
        },
        evidence=evidence_in(path),
        **known,
    )


def _ladder(
    path: Path, rewards: Mapping[str, float], steps: list[dict[str, Any]]
) -> tuple[tuple[Milestone, ...], Mapping[str, Any], list[Problem]]:
    """Of several steps, the host is what the last verifier that knew it says."""
    if not steps:
        return read_with_host(path / "verifier", rewards)
    milestones: list[Milestone] = []
    measured: Mapping[str, Any] = {}
    problems: list[Problem] = []
    for step in steps:
        name = one_line(str(step.get("step_name", "?")), 80)
        if "/" in name or name in (".", ".."):
            problems.append(Problem(path / "result.json", f"the step {name!r} is no folder's name"))
            continue
        folder = path / "steps" / name / "verifier"
        found, said, faults = read_with_host(folder, _rewards(step) or {}, f"{name}/")
        milestones += found
        measured = said or measured
        problems += faults
    return tuple(milestones), measured, problems


def _model(record: Mapping[str, Any]) -> str:
    """As Harbor names it; older releases left that out where no provider stood before the name.

    An endpoint's address is no provider: Harbor cuts `http://HOST/v1#NAME` behind `http:`.
    """
    known = mapping(mapping(record.get("agent_info")).get("model_info")).get("name")
    asked = str(mapping(mapping(record.get("config")).get("agent")).get("model_name") or "")
    if "://" in asked:
        return one_line(asked, 80)
    return one_line(str(known or asked.partition("/")[2] or asked), 80)


def _task_folder(record: Mapping[str, Any]) -> str:
    return str(mapping(mapping(record.get("config")).get("task")).get("path") or "")


def _task_name(record: Mapping[str, Any], names: Mapping[str, str]) -> str:
    source = _task_folder(record)
    return one_line(names.get(source) or str(record.get("task_name") or source or "?"), 120)


def _rewards(record: Mapping[str, Any]) -> dict[str, float] | None:
    rewards = mapping(record.get("verifier_result")).get("rewards")
    if not isinstance(rewards, dict):
        return None
    known = {str(key): _reward(value) for key, value in rewards.items()}
    return {key: value for key, value in known.items() if value is not None}


def _reward(value: Any) -> float | None:
    return float(value) if isinstance(value, bool) else number(value)


def _unusable(path: Path, record: Mapping[str, Any]) -> list[Problem]:
    rewards = mapping(mapping(record.get("verifier_result")).get("rewards"))
    return [
        Problem(path / "result.json", f"the reward {word(key, 60)!r} is no finite number")
        for key, value in rewards.items()
        if _reward(value) is None
    ]


def _exception(record: Mapping[str, Any]) -> tuple[str, str]:
    info = mapping(record.get("exception_info"))
    return str(info.get("exception_type") or ""), one_line(
        str(info.get("exception_message") or ""), 400
    )


def broken_verifier(trial: Path) -> tuple[str, str] | None:
    """Why our own verifier gave no reward: it says so itself, better than Harbor can."""
    for path in [*trial.glob("verifier/broken.json"), *trial.glob("steps/*/verifier/broken.json")]:
        try:
            record = read_object(path)
        except UnreadableRecord:
            continue
        if record.get("reason"):
            return str(record["reason"]), one_line(str(record.get("message") or ""), 400)
    return None


def _phases(record: Mapping[str, Any], steps: list[dict[str, Any]], trial: Path) -> Phases:
    n_parts, before = continued.parts(trial)
    parts: list[Mapping[str, Any]] = [*steps] or [record]
    agent = _sum(*parts, keys=["agent_execution"])
    total = seconds_between(record.get("started_at"), record.get("finished_at"))
    return Phases(
        environment=_sum(record, keys=["environment_setup"]),
        agent_setup=_sum(record, keys=["agent_setup"]),
        agent=None if agent is None else agent + before,
        hand_over=_hand_over(parts),
        verifier=_sum(*parts, keys=["verifier"]),
        total=None if total is None else total + before,
        parts=n_parts,
    )


def _sum(*records: Mapping[str, Any], keys: list[str]) -> float | None:
    spans = [
        span
        for record in records
        for key in keys
        if (timing := mapping(record.get(key)))
        and (span := seconds_between(timing.get("started_at"), timing.get("finished_at")))
        is not None
    ]
    return sum(spans) if spans else None


def _hand_over(parts: list[Mapping[str, Any]]) -> float | None:
    spans = [
        seconds_between(
            mapping(part.get("agent_execution")).get("finished_at"),
            mapping(part.get("verifier")).get("started_at"),
        )
        for part in parts
    ]
    known = [span for span in spans if span is not None]
    return sum(known) if known else None


def _usage(record: Mapping[str, Any], steps: list[dict[str, Any]]) -> Usage:
    parts: list[Mapping[str, Any]] = [*steps] or [record]
    contexts = [mapping(part.get("agent_result")) for part in parts]

    def tokens(key: str) -> int | None:
        known = [n for context in contexts if (n := count(context.get(key))) is not None]
        return sum(known) if known else None

    spent = [usd for context in contexts if (usd := amount(context.get("cost_usd"))) is not None]
    return Usage(
        input_tokens=tokens("n_input_tokens"),
        output_tokens=tokens("n_output_tokens"),
        cost_usd=sum(spent) if spent else None,
    )
