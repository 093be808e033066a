"""Verifies a file made by anyone: no agent, no Harbor, the same verifier as in a run."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchflow.base.atomic import write_json
from benchflow.base.numbers import duration
from benchflow.errors import UsageError
from benchflow.results.jobs.partial import NAME as PARTIAL
from benchflow.results.jobs.partial import Partial, read_partial
from benchflow.results.jobs.progress_events import Phase
from benchflow.results.jobs.sandboxes import crowded
from benchflow.results.jobs.trials import read_verification
from benchflow.results.model import Phases, Trial, Verdict
from benchflow.results.safe_files import UnreadableRecord, read_bytes
from benchflow.run.host import recorded
from benchflow.run.live.progress import Board, Listener, TrialState
from benchflow.run.verify.verify_places import Attempt, on_host, sandboxed
from benchflow.tasks import Task, stage
from benchflow.tasks.model import Begun
from benchflow.tasks.stage import verifier_on

#: What each phase took, beside the verifier's own folder.
_PHASES = "phases.json"


@dataclass(frozen=True)
class VerifyRequest:
    """`given` maps the task's deliverable paths to files of the host; `folder` is a new folder.

    `label`: what is shown for it while it runs, in place of the files' names. `release`: of Debian,
    for the verifier's image, where it is to be another than usual. `milestones`: those to verify,
    with what they require, by `verify_partly`; empty for all, by `verify`. `begun`: what a sequel
    was begun with, where that is not the authors'.
    """

    task: Task
    given: dict[str, Path]
    folder: Path
    step: str = ""
    sandboxed: bool = True
    keep: bool = False
    label: str = ""
    release: str = ""
    milestones: tuple[str, ...] = ()
    begun: Begun | None = None


@dataclass(frozen=True)
class Outcome:
    """What a verification came to. `kept`: the state of a sandbox that was asked to stay."""

    trial: Trial
    notes: tuple[str, ...]
    kept: Path | None


@dataclass(frozen=True)
class PartOutcome:
    """What a verification of some milestones came to; see `Outcome`."""

    partial: Partial
    notes: tuple[str, ...]
    kept: Path | None


def match(task: Task, only: Path | None, named: dict[str, Path]) -> dict[str, Path]:
    """Which file is which deliverable of `task`. Raises UsageError where that is not clear.

    A file may be anything at all (a link, a directory, a device): that is for the verifier to
    judge. It only has to be there.
    """
    if not task.is_benchflow:
        raise UsageError(
            f"{task.name} is a plain Harbor task", hint=f"try it: benchflow run {task.path}"
        )
    paths = [deliverable.path for deliverable in task.deliverables]
    given = dict(named)
    if only is not None:
        left = [path for path in paths if path not in given]
        if len(left) != 1:
            raise UsageError(
                f"{task.name} has {len(paths)} deliverables",
                hint="say which is which: " + " ".join(f"-d {path}=FILE" for path in paths),
            )
        given[left[0]] = only
    if not given:
        raise UsageError("nothing to verify", hint=f"name a file for {', '.join(paths)}")
    for path, file in given.items():
        if path not in paths:
            raise UsageError(
                f"{task.name} has no deliverable {path}", hint=f"it has: {', '.join(paths)}"
            )
        if not os.path.lexists(file):
            raise UsageError(
                f"{file}: no such file",
                hint=f"a finished trial has it as jobs/JOB/TRIAL/artifacts{path}",
            )
    return given


def free_folder(task: Task, top: Path) -> Path:
    """A folder below `top` that nobody has taken yet, named after the task and the time."""
    stem = f"{task.slug}__{time.strftime('%Y-%m-%d__%H-%M-%S')}"
    folder, n = top / stem, 1
    while folder.exists():
        n += 1
        folder = top / f"{stem}-{n}"
    return folder


def verify(request: VerifyRequest, listener: Listener) -> Outcome:
    """Boots and questions what was given; leaves the evidence in `request.folder`.

    Raises UsageError, TaskError, and InfrastructureError when nothing could be started. A verifier
    that broke on the way is an outcome: its verdict is `error`.
    """
    if request.milestones:
        raise ValueError("some milestones alone come to no verdict: verify_partly")
    attempt, phases = _verified(request, listener)
    state = attempt.state
    state.result = trial = _read(request, attempt.status, state.agent, phases)
    state.ladder = {m.id: m.status for m in trial.milestones} or state.ladder
    attempt.enter(Phase.DONE)
    share = crowded(request.folder)
    if share is not None and trial.verdict is Verdict.FAILED:
        attempt.notes.append(
            f"others had {share:.0%} of this host's processors meanwhile: where a limit in seconds "
            "was missed, verify again with less beside it"
        )
    return Outcome(trial, tuple(attempt.notes), attempt.kept)


def verify_partly(request: VerifyRequest, listener: Listener) -> PartOutcome:
    """As `verify`, of `request.milestones` and what they require: no verdict and no reward."""
    known = _rungs(request)
    for name in request.milestones:
        if name not in known:
            raise UsageError(
                f"{request.task.name} has no milestone {name!r}", hint=f"it has: {', '.join(known)}"
            )
    attempt, phases = _verified(request, listener)
    partial = read_partial(request.folder, attempt.status, phases.total)
    passed = [name for name in partial.asked if name in partial.named("passed")]
    attempt.state.said = partial.cause or (
        f"{len(passed)} of {', '.join(partial.asked)} passed, others left out, "
        f"in {duration(phases.total)}"
    )
    attempt.enter(Phase.DONE)
    return PartOutcome(partial, tuple(attempt.notes), attempt.kept)


def _verified(request: VerifyRequest, listener: Listener) -> tuple[Attempt, Phases]:
    started = time.monotonic()
    task = request.task
    staged = stage(task, begun=request.begun).folder
    if task.sequel and not request.sandboxed:
        raise UsageError(
            f"{task.name} is a sequel: what it begins from lies in its verifier's image",
            hint="leave --sandbox none out",
        )
    paths = list(request.given.values())
    shown = request.label or ", ".join(path.name for path in paths)
    state = TrialState(task.slug, task.name, shown, ladder=dict.fromkeys(_rungs(request), ""))
    board = Board(1, trials={state.name: state})
    attempt = Attempt(
        task=task,
        tests=_tests(staged, request),
        given=request.given,
        logs=request.folder / "verifier",
        board=board,
        state=state,
        listener=listener,
        arguments=tuple(part for name in request.milestones for part in ("--milestone", name)),
        keep=request.keep,
    )
    try:
        attempt.logs.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"{request.folder} exists", hint="name a new folder") from None
    recorded.begin(request.folder)
    (sandboxed if request.sandboxed else on_host)(attempt)
    recorded.end(request.folder)
    phases = _phases(request, attempt, time.monotonic() - started)
    write_json(request.folder / _PHASES, msgspec.to_builtins(phases))
    return attempt, phases


def _rungs(request: VerifyRequest) -> list[str]:
    steps = {step.name: step.milestones for step in request.task.steps}
    return [m.id for m in steps.get(request.step, request.task.milestones)]


def _tests(staged: Path, request: VerifyRequest) -> Path:
    task, step = request.task, request.step
    names = [each.name for each in task.steps]
    if step and step not in names:
        raise UsageError(f"{task.name} has no step {step!r}", hint=f"it has: {', '.join(names)}")
    if names and not step:
        raise UsageError(f"{task.name} has several steps", hint=f"--step {'|'.join(names)}")
    tests = staged / "steps" / step / "tests" if step else staged / "tests"
    return verifier_on(tests, request.release) if request.release else tests


def read_again(request: VerifyRequest) -> Trial | None:
    """What an earlier verification in `request.folder` came to; None when it did not finish."""
    if not (request.folder / "verifier" / "reward.json").is_file():
        return None
    return _read(request, 0, "", _phases_of(request.folder))


def read_partly_again(folder: Path) -> Partial | None:
    """What an earlier `verify_partly` in `folder` came to; None when it did not finish."""
    if not (folder / "verifier" / PARTIAL).is_file():
        return None
    return read_partial(folder, 0, _phases_of(folder).total)


def _phases_of(folder: Path) -> Phases:
    try:
        return msgspec.json.decode(read_bytes(folder / _PHASES, 1 << 16), type=Phases)
    except (UnreadableRecord, msgspec.DecodeError):
        return Phases()


def _read(request: VerifyRequest, status: int | None, agent: str, phases: Phases) -> Trial:
    return read_verification(request.folder, request.task.name, agent, status, phases)


def _phases(request: VerifyRequest, attempt: Attempt, seconds: float) -> Phases:
    return Phases(
        environment=attempt.seconds.get(Phase.IMAGE) if request.sandboxed else None,
        hand_over=attempt.seconds.get(Phase.HAND_OVER),
        verifier=attempt.seconds.get(Phase.BOOT),
        total=seconds,
    )
