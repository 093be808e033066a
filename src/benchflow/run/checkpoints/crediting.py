"""Verifies the checkpoints of a finished trial, and writes what came of it: `<trial>/credit.json`.

Oldest first and each of them: a milestone may be lost again, so halving the time would only be
right where nothing ever is. A state that was verified is never verified again, within a trial and
at the next call; what infrastructure spoilt is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.base.atomic import write_json
from benchflow.base.numbers import duration
from benchflow.errors import InfrastructureError, UsageError
from benchflow.results.jobs import credits, lock
from benchflow.results.jobs.trials import read_trial
from benchflow.results.json_values import mapping, number, sequence, word
from benchflow.results.model import Trial, Verdict
from benchflow.results.readers import atif
from benchflow.results.readers.harbor import trajectories_in
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run.checkpoints import store
from benchflow.run.checkpoints.gains import Point, Steps, first_held, gained
from benchflow.run.checkpoints.store import Checkpoint
from benchflow.run.job import job_record
from benchflow.run.live.progress import Listener
from benchflow.run.verify.verification import VerifyRequest, match, verify
from benchflow.tasks import Task, load, stage
from benchflow.tasks.model import Begun

#: Where the evidence of each verification lies, below the trial's folder.
EVIDENCE = "credit"

#: What a verification came to, as it stands in credit.json.
type Judged = dict[str, Any]


@dataclass(frozen=True)
class Tried:
    """What a trial tried: the task as it is now, which is as it was then.

    `verifier` names the task together with benchflow's own part of its verifier, which may have
    changed since (`is_same_verifier`).
    """

    task: Task
    trial: Trial
    verifier: str
    is_same_verifier: bool
    begun: Begun | None = None


def find(folder: Path) -> Tried:
    """The trial in `folder`. Raises UsageError where it cannot be verified as it was then, and what
    loading its task raises."""
    saved = job_record.read(folder.parent)
    names = {str(entry["staged"]): str(entry["name"]) for entry in saved["tasks"]}
    try:
        trial, _ = read_trial(folder, names)
    except UnreadableRecord as error:
        raise UsageError(
            f"{folder}: result.json {error}", hint=f"benchflow resume {folder.parent.name}"
        ) from error
    entries = [each for each in saved["tasks"] if str(each["staged"]) == trial.task_folder]
    if not entries:
        raise UsageError(f"{folder}: the record of its job does not have its task")
    entry = entries[0]
    if not entry["benchflow"]:
        raise UsageError(f"{trial.task} is a plain Harbor task: only its own job can verify it")
    task = load(entry["source"])
    if (task.version, task.digest) != (entry["version"], entry["digest"]):
        now = f"version {task.version}" if task.version != entry["version"] else "other files"
        raise UsageError(
            f"{task.name} has changed since this trial: it was version {entry['version']}, now it "
            f"has {now}",
            hint=f"check out the commit that has the task's digest {entry['digest'][:12]}",
        )
    begun = job_record.begun(entry)
    staged = stage(task, int(entry["hint"]), begun=begun).folder
    return Tried(task, trial, staged.parent.name, str(staged) == trial.task_folder, begun)


def credit(
    tried: Tried, listener: Listener, on_start: Callable[[int, int], None]
) -> dict[str, Any]:
    """Verifies what is left of a trial's checkpoints; returns what credit.json then holds.

    `on_start` is told how many states the deliverable had, and how many of them are to be verified.
    Raises UsageError without checkpoints, JobInUse where another process is at it, and TaskError.
    """
    folder = tried.trial.path
    checkpoints = store.read(folder)
    if not checkpoints:
        raise UsageError(
            f"{folder.name} has no checkpoints",
            hint=f"let it be tried again: benchflow run {tried.task.name} --checkpoints 10 …",
        )
    with lock.hold(folder, f"benchflow credit {folder.parent.name}/{folder.name}"):
        known = _known(folder, tried.verifier)
        waiting: dict[str, Checkpoint] = {}
        for each in checkpoints:
            if each.files(folder) and each.digest not in known:
                waiting.setdefault(each.digest, each)
        on_start(len(checkpoints), len(waiting))
        for each in waiting.values():
            known[each.digest] = _verify(tried, each, folder, listener)
            _write(tried, checkpoints, known)
        return _write(tried, checkpoints, known)


def _known(folder: Path, verifier: str) -> dict[str, Judged]:
    """What earlier calls verified, by digest."""
    try:
        record = read_object(folder / credits.NAME)
    except UnreadableRecord:
        return {}
    if record.get("verifier") != verifier:
        return {}
    found: dict[str, Judged] = {}
    for each in map(mapping, sequence(record.get("checkpoints"))):
        if each.get("state") == "verified" and number(each.get("reward")) is not None:
            found.setdefault(word(each.get("digest"), 64), {key: each.get(key) for key in _JUDGED})
    return found


_JUDGED = ("state", "verdict", "reward", "milestones", "error", "evidence")


def _verify(tried: Tried, checkpoint: Checkpoint, trial: Path, listener: Listener) -> Judged:
    files = checkpoint.files(trial)
    gone = [path for path, file in files.items() if not os.path.lexists(file)]
    if gone:
        return _judgement("missing", error=f"the copy of {gone[0]} is gone")
    request = VerifyRequest(
        task=tried.task,
        given=match(tried.task, None, files),
        folder=_evidence(trial, checkpoint.number),
        label=f"checkpoint {checkpoint.number}, {duration(checkpoint.seconds)} after the start",
        begun=tried.begun,
    )
    try:
        found = verify(request, listener).trial
    except InfrastructureError as error:
        return _judgement("error", error=error.message)
    evidence = request.folder.relative_to(trial).as_posix()
    if found.verdict is Verdict.ERROR:
        why = f"{found.cause}: {found.cause_message}".rstrip(": ")
        return _judgement("error", error=why, evidence=evidence)
    return _judgement(
        "verified",
        verdict=found.verdict.value,
        reward=found.reward,
        milestones=[{"id": m.id, "status": m.status} for m in found.milestones],
        evidence=evidence,
    )


def _evidence(trial: Path, number: int) -> Path:
    """A folder that is not there yet; what a call that was cut off left in it is removed."""
    folder = trial / EVIDENCE / f"{number:03}"
    shutil.rmtree(folder, ignore_errors=True)
    n = 1
    while folder.exists():  # a plain user cannot remove what a sandbox's ids own
        n += 1
        folder = folder.with_name(f"{number:03}.{n}")
    return folder


def _judgement(state: str, **known: Any) -> Judged:
    empty: Judged = {"verdict": None, "reward": None, "milestones": [], "error": "", "evidence": ""}
    return {"state": state, **empty, **known}


def _write(
    tried: Tried, checkpoints: tuple[Checkpoint, ...], known: dict[str, Judged]
) -> dict[str, Any]:
    record = _record(tried, checkpoints, known)
    write_json(tried.trial.path / credits.NAME, record)
    return record


def _record(
    tried: Tried, checkpoints: tuple[Checkpoint, ...], known: dict[str, Judged]
) -> dict[str, Any]:
    trial, steps = tried.trial, _steps(tried.trial.path)
    lines, points = [], []
    for each in checkpoints:
        line = _line(each, steps, known)
        lines.append(line)
        if line["reward"] is not None:
            statuses = {m["id"]: m["status"] for m in line["milestones"]}
            reward = float(line["reward"])
            points.append(Point(each.number, each.seconds, line["step"], reward, statuses))
    final = None
    if trial.verdict is not Verdict.ERROR and trial.reward is not None:
        statuses = {m.id: m.status for m in trial.milestones}
        points.append(Point(None, trial.phases.agent, steps.last, trial.reward, statuses))
        final = {"seconds": points[-1].seconds, "step": steps.last,
                 "verdict": trial.verdict.value, "reward": trial.reward}  # fmt: skip
    weights = {m.id: m.weight for m in tried.task.milestones}
    weights |= {m.id: m.weight for m in trial.milestones}
    return {
        "schema": credits.SCHEMA,
        "trial": trial.name,
        "task": {
            "name": tried.task.name,
            "version": tried.task.version,
            "digest": tried.task.digest,
        },
        "verifier": tried.verifier,
        "is_same_verifier": tried.is_same_verifier,
        "taking": store.index(trial.path),
        "is_complete": all(line["state"] in _SETTLED for line in lines),
        "checkpoints": lines,
        "final": final,
        "milestones": [
            {"id": name, "weight": weight, **first_held(name, points)}
            for name, weight in weights.items()
        ],
        "credited": gained(points),
    }


#: States of a checkpoint that a further call would not change.
_SETTLED = ("verified", "nothing delivered", "missing")


def _line(checkpoint: Checkpoint, steps: Steps, known: dict[str, Judged]) -> dict[str, Any]:
    if checkpoint.missing:
        judged = _judgement("missing", error=checkpoint.missing)
    elif checkpoint.is_empty:
        judged = _judgement("nothing delivered", reward=0.0)
    else:
        judged = known.get(checkpoint.digest) or _judgement("not verified")
    return {
        "checkpoint": checkpoint.number,
        "seconds": round(checkpoint.seconds, 3),
        "last_seconds": round(checkpoint.last_seconds, 3),
        "taken": checkpoint.taken.isoformat(timespec="milliseconds"),
        "step": steps.at(checkpoint.taken),
        "digest": checkpoint.digest,
        **judged,
    }


def _steps(trial: Path) -> Steps:
    chains = atif.load(trajectories_in(trial)).chains
    return Steps(document for chain in chains for document in chain)
