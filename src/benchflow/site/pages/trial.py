"""A trial: its ladder with the evidence, its consoles, what the agent did, cost and versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import to_builtins

from benchflow.base import numbers
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.site.page_model import (
    Block,
    Cell,
    Facts,
    Inline,
    Ladder,
    Link,
    Page,
    Proof,
    Prose,
    Section,
    Step,
)
from benchflow.site.pages import adjudicated
from benchflow.site.pages.common import OVERVIEW, Put, number, seconds_cell
from benchflow.site.pages.hosts import of_trial
from benchflow.site.pages.machines import versions
from benchflow.site.pages.trial_folder import own_of, unpacked
from benchflow.site.urls import Addresses, trial_page


def make(at: Addresses, tried: Cell, record: Record, put: Put) -> Page:
    """The page of one trial; recordings and steps are `put` beside it, where that was not done when
    the trial was read (`record.kept`).

    `tried`: all trials of the same agent and model at the same task.
    """
    own = unpacked(record.kept.rest) if record.kept else own_of(record, put)
    sections = [
        Section("outcome", "", (_headline(record), *_why(record))),
        Section("ladder", _ladder_title(record), _ladder(record, own.proofs)),
        Section("console", "Console", own.consoles),
        Section("trajectory", "What the agent did", own.trajectory),
        Section("cost", "Time and cost", (_phases(record), _usage(record))),
        Section("resources", "Resources granted and used", own.resources),
        Section("host", "The machine", of_trial(record)),
        Section("versions", "Exact versions", (*versions(record), *own.boots)),
        Section("more", "Other attempts", _others(tried, record)),
    ]
    return Page(
        path=trial_page(record.uid),
        title=record.task,
        tone=record.verdict.value,
        kicker=record.trial,
        lede=(*_lede(at, record), *filter(None, (adjudicated.in_lede(record),))),
        crumbs=(OVERVIEW, Link(record.task, at.task(record.task))),
        sections=tuple(section for section in sections if section.blocks),
        nav="trials.html",
        scripts=("list.js", "console.js", "trajectory.js")
        if own.consoles
        else ("list.js", "trajectory.js"),
        about={"trial": _about(record)},
    )


def _lede(at: Addresses, record: Record) -> tuple[Inline, ...]:
    who = Link(record.who, at.entry(record.who))
    noun = f"{record.milestone_kind or 'milestone'}s"
    if record.verdict is Verdict.RESOLVED:
        return (
            who,
            f" resolved it: all {len(record.milestones)} {noun} passed."
            if record.milestones
            else " resolved it.",
        )
    if record.verdict is Verdict.ERROR:
        why = record.cause or "the infrastructure failed"
        return (who, f" was not judged: {why}. This counts against nobody.")
    if not record.milestones:
        return (who, " did not resolve it.")
    reached = f" passed {record.n_passed} of {len(record.milestones)} {noun}"
    first = next(
        (milestone for milestone in record.milestones if milestone.status == "failed"), None
    )
    stop = (
        f" and stopped at “{first.title or first.id}”."
        if first and record.milestone_kind == "milestone"
        else "."
    )
    return (who, reached + stop)


def _headline(record: Record) -> Facts:
    usage = record.usage
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    items = [
        (
            f"{(record.milestone_kind or 'milestone').capitalize()}s",
            Cell(record.n_passed, f"{record.n_passed} / {len(record.milestones)}"),
        )
        if record.milestones
        else None,
        ("Reward", Cell(record.reward, f"{record.reward:.2f}"))
        if record.reward is not None
        else None,
        ("Agent's time", seconds_cell(record.phases.agent))
        if record.phases.agent is not None
        else None,
        ("Tokens", number(tokens)) if tokens else None,
        ("Cost", Cell(usage.cost_usd, numbers.dollars(usage.cost_usd)))
        if usage.cost_usd is not None
        else None,
    ]
    return Facts(tuple(item for item in items if item), "headline")


def _why(record: Record) -> Iterator[Block]:
    if said_by_review := adjudicated.paragraphs(record):
        yield Prose(tuple((said,) for said in said_by_review), "note")
    parts = [record.cause, record.cause_message]
    said = ": ".join(part for part in parts if part)
    if said:
        whose = "How the work crossed" if not record.cause else "How the agent ended"
        whose = "Infrastructure" if record.verdict is Verdict.ERROR else whose
        yield Prose(((f"{whose}: {said}",),), "note")
    if record.failure_mode and record.failure_mode not in ("unset", record.cause):
        yield Prose(((f"The source calls it: {record.failure_mode}.",),), "note")
    cleared = record.adjudication is not None and record.adjudication.clears_agent
    if record.said_done and record.verdict is Verdict.FAILED and not cleared:
        yield Prose((("The agent said that it was done. The verifier disagrees.",),), "note")


def _ladder_title(record: Record) -> str:
    return "The tests" if record.milestone_kind == "test" else "The ladder"


def _ladder(record: Record, proofs: Mapping[str, tuple[Proof, ...]]) -> tuple[Block, ...]:
    if not record.milestones:
        return ()
    return (
        Ladder(
            record.milestone_kind,
            tuple(
                Step(r.id, r.title, r.status, r.weight, r.requires, r.message, proofs.get(r.id, ()))
                for r in record.milestones
            ),
        ),
    )


def _phases(record: Record) -> Facts:
    phases = record.phases
    items = (
        ("Sandbox made ready", phases.environment),
        ("Agent set up", phases.agent_setup),
        ("Agent at work" + (f", in {phases.parts} parts" * (phases.parts > 1)), phases.agent),
        ("Handing over", phases.hand_over),
        ("Verifying", phases.verifier),
        ("In all", phases.total),
    )
    known = tuple((label, seconds_cell(value)) for label, value in items if value is not None)
    return Facts(
        (*known, ("Started", Cell(record.started_at, numbers.moment(record.started_at))))
        if record.started_at
        else known
    )


def _usage(record: Record) -> Facts:
    usage = record.usage
    return Facts(
        (
            ("Input tokens, as reported", number(usage.input_tokens)),
            ("Output tokens, as reported", number(usage.output_tokens)),
            ("Cost, as reported", Cell(usage.cost_usd, numbers.dollars(usage.cost_usd))),
            ("Steps by the agent", number(record.steps)),
        )
    )


def _others(tried: Cell, record: Record) -> tuple[Block, ...]:
    n_trials = len(tried.value)
    if n_trials < 2:
        return ()
    return (
        Prose(((f"{record.who} tried this task {n_trials} times.",),)),
        Facts((("Attempts", tried),)),
    )


def _about(record: Record) -> dict[str, object]:
    return {
        "uid": record.uid,
        "name": record.trial,
        "job": record.job,
        "source": str(record.source),
        "format": record.format.value,
        "folder": str(record.folder) if record.folder else None,
        "task": record.task,
        "task_version": record.task_version,
        "task_digest": record.task_digest,
        "agent": record.agent,
        "agent_version": record.agent_version,
        "model": record.model,
        "verdict": record.verdict.value,
        "reward": record.reward,
        "cause": record.cause,
        "cause_message": record.cause_message,
        "failure_mode": record.failure_mode,
        "said_done": record.said_done,
        "adjudication": to_builtins(record.adjudication),
        "hint": record.hint,
        "began_from": record.began_from,
        "began_digest": record.began_digest,
        "trajectories": [str(path) for path in record.trajectories],
    }
