"""A trial: its ladder with the evidence, its consoles, what the agent did, cost and versions."""

from __future__ import annotations

from collections.abc import Iterator

from benchflow.results.ladder import read_checks
from benchflow.results.model import Check, Verdict
from benchflow.results.records import Record, steps
from benchflow.site import recording, words
from benchflow.site import steps as trajectory
from benchflow.site.addresses import Addresses, steps_of, trial_file, trial_page
from benchflow.site.content import (
    Block,
    Cell,
    Console,
    Facts,
    Inline,
    Ladder,
    Link,
    Page,
    Proof,
    Prose,
    Section,
    Step,
    Trajectory,
)
from benchflow.site.pages.common import OVERVIEW, Put, number, seconds_cell
from benchflow.site.pages.machines import resources, versions


def make(at: Addresses, tried: Cell, record: Record, put: Put) -> Page:
    """The page of one trial; recordings and steps are `put` beside it, but for steps that
    `record.kept` says are there.

    `tried`: all trials of the same agent and model at the same task.
    """
    consoles = list(_consoles(record, put))
    sections = [
        Section("outcome", "", (_headline(record), *_why(record))),
        Section("ladder", _ladder_title(record), _ladder(record)),
        Section("console", "Console", tuple(consoles)),
        Section("trajectory", "What the agent did", _trajectory(record, put)),
        Section("cost", "Time and cost", (_phases(record), _usage(record))),
        Section("resources", "Resources granted and used", resources(record)),
        Section("versions", "Exact versions", versions(record)),
        Section("more", "Other attempts", _others(tried, record)),
    ]
    return Page(
        path=trial_page(record.uid),
        title=record.task,
        tone=record.verdict.value,
        kicker=record.trial,
        lede=_lede(at, record),
        crumbs=(OVERVIEW, Link(record.task, at.task(record.task))),
        sections=tuple(section for section in sections if section.blocks),
        nav="trials.html",
        scripts=("list.js", "console.js", "trajectory.js")
        if consoles
        else ("list.js", "trajectory.js"),
        about={"trial": _about(record)},
    )


def _lede(at: Addresses, record: Record) -> tuple[Inline, ...]:
    who = Link(record.who, at.entry(record.who))
    noun = f"{record.rung_kind or 'rung'}s"
    if record.verdict is Verdict.RESOLVED:
        return (
            who,
            f" resolved it: all {len(record.rungs)} {noun} passed."
            if record.rungs
            else " resolved it.",
        )
    if record.verdict is Verdict.ERROR:
        why = record.cause or "the infrastructure failed"
        return (who, f" was not judged: {why}. This counts against nobody.")
    if not record.rungs:
        return (who, " did not resolve it.")
    reached = f" passed {record.n_passed} of {len(record.rungs)} {noun}"
    first = next((rung for rung in record.rungs if rung.status == "failed"), None)
    stop = (
        f" and stopped at “{first.title or first.id}”."
        if first and record.rung_kind == "milestone"
        else "."
    )
    return (who, reached + stop)


def _headline(record: Record) -> Facts:
    usage = record.usage
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    items = [
        (
            f"{(record.rung_kind or 'rung').capitalize()}s",
            Cell(record.n_passed, f"{record.n_passed} / {len(record.rungs)}"),
        )
        if record.rungs
        else None,
        ("Reward", Cell(record.reward, f"{record.reward:.2f}"))
        if record.reward is not None
        else None,
        ("Agent's time", seconds_cell(record.phases.agent))
        if record.phases.agent is not None
        else None,
        ("Tokens", number(tokens)) if tokens else None,
        ("Cost", Cell(usage.cost_usd, words.dollars(usage.cost_usd)))
        if usage.cost_usd is not None
        else None,
    ]
    return Facts(tuple(item for item in items if item), "headline")


def _why(record: Record) -> Iterator[Block]:
    parts = [record.cause, record.cause_message]
    said = ": ".join(part for part in parts if part)
    if said:
        whose = "Infrastructure" if record.verdict is Verdict.ERROR else "How the agent ended"
        yield Prose(((f"{whose}: {said}",),), "note")
    if record.failure_mode and record.failure_mode not in ("unset", record.cause):
        yield Prose(((f"The source calls it: {record.failure_mode}.",),), "note")
    if record.said_done and record.verdict is Verdict.FAILED:
        yield Prose((("The agent said that it was done. The verifier disagrees.",),), "note")


def _ladder_title(record: Record) -> str:
    return "The tests" if record.rung_kind == "test" else "The ladder"


def _ladder(record: Record) -> tuple[Block, ...]:
    if not record.rungs:
        return ()
    # What cannot be read was named among the problems when the record was made.
    found = read_checks(record.folder) if record.folder else {}
    proofs = {rung: tuple(map(_proof, checks)) for rung, checks in found.items()}
    return (
        Ladder(
            record.rung_kind,
            tuple(
                Step(r.id, r.title, r.status, r.weight, r.requires, r.message, proofs.get(r.id, ()))
                for r in record.rungs
            ),
        ),
    )


def _proof(check: Check) -> Proof:
    return Proof(check.name, check.status, check.proves, check.seconds, check.message)


def _consoles(record: Record, put: Put) -> Iterator[Console]:
    casts = sorted(name for name in record.evidence if name.endswith(".cast"))
    for number_, name in enumerate(casts):
        found = recording.read(record.evidence[name])
        if found is None:
            continue
        machine = name.removeprefix("verifier/").removesuffix(".console.cast")
        stem = trial_file(record.uid, f"console-{number_}")
        put(f"{stem}.js", recording.script(f"{stem}.js", found))
        put(f"{stem}.txt", recording.plain(found))
        yield Console(
            key=str(number_),
            machine=machine,
            data=f"{stem}.js",
            text=f"{stem}.txt",
            seconds=found.seconds,
            n_lines=len(found.lines),
            truncated=found.truncated,
            markers=found.markers,
        )


def _trajectory(record: Record, put: Put) -> tuple[Block, ...]:
    if not record.trajectories:
        return ()
    name = steps_of(record.uid)
    n_steps = record.kept.steps if record.kept else 0
    if record.kept is None:
        for file, script, length in trajectory.scripts(name, steps(record)):
            put(file, script)
            n_steps += length
    return (Trajectory("steps", n_steps, trajectory.CHUNK, name),) if n_steps else ()


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
        (*known, ("Started", Cell(record.started_at, words.moment(record.started_at))))
        if record.started_at
        else known
    )


def _usage(record: Record) -> Facts:
    usage = record.usage
    return Facts(
        (
            ("Input tokens, as reported", number(usage.input_tokens)),
            ("Output tokens, as reported", number(usage.output_tokens)),
            ("Cost, as reported", Cell(usage.cost_usd, words.dollars(usage.cost_usd))),
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
        "hint": record.hint,
        "trajectories": [str(path) for path in record.trajectories],
    }
