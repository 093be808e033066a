"""Builds that hold although what judges them has changed: they are verified again, not made again.

What a script of the task builds depends on the environment's image, on the scripts, and on what
`task.toml` says of the agent's side, but on no check. A job of a gate keeps these as one key in
`build.json`. Where a check, `boot` or `bench` changed since, the trials of an earlier job with the
same key stand for the building, and their deliverables are verified as they lie there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchflow.agents import scripts
from benchflow.authoring.built import delivered
from benchflow.authoring.meaning import key
from benchflow.base.atomic import write_json
from benchflow.results.jobs.script_end import script_end
from benchflow.results.jobs.trials import is_built, read_job
from benchflow.results.json_values import mapping
from benchflow.results.model import Phases, Trial
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run.verify.verification import VerifyRequest, read_again
from benchflow.tasks import Exploit, Task, Variant, stage
from benchflow.tasks.digest import digest_of

_KEY = "build.json"
_BUILT = "built.json"
#: What later gates read of a trial beside its verdict.
_KEPT = ("artifacts", scripts.InTurnAgent.RUNGS)


def build_key(task: Task, gate: str) -> str:
    """What the building of a gate's trials depends on, as sixteen hexadecimal digits.

    `task` is one of ours. The environment's image is built where it is not here yet.
    """
    from benchflow import sandbox

    staged = stage(task).folder
    told = {part: said for part, said in key.told(task.path).items() if part != "verifier"}
    parts = {
        "given": digest_of(staged, ["environment", "solution"]),
        "image": [str(layer) for layer in sandbox.build(staged / "environment").layers],
        "scripts": digest_of(task.path, [gate]) if (task.path / gate).is_dir() else "",
        "told": told,
        "agent": digest_of(Path(scripts.__file__).parent, [Path(scripts.__file__).name]),
        "harbor": metadata.version("harbor"),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def note(job: Path, gate: str, task: Task) -> None:
    """Says in a job's folder what its builds depend on, so that they are found again."""
    if not (job / _KEY).exists():
        write_json(job / _KEY, {"schema": 1, "gate": gate, "key": build_key(task, gate)})


def forget(job: Path) -> None:
    """The builds of a job no longer stand for others."""
    (job / _KEY).unlink(missing_ok=True)


def find(job: Path, gate: str, task: Task, labels: Sequence[str]) -> list[Trial]:
    """Trials of the newest earlier job beside `job` that built what the trials `labels` would.

    One for each label, in order; none at all where one is missing, its script did not end well,
    other scripts were run in its sandbox, or in another order, or what it delivered is no longer
    as it was when the trial ended.
    """
    noted = [path for path in job.parent.glob(f"{task.slug}-*/{_KEY}") if path.parent != job]
    ours = [path for path in noted if _said(path).get("gate") == gate]
    if not ours:
        return []
    wanted = build_key(task, gate)
    for path in sorted(ours, key=lambda path: path.stat().st_mtime, reverse=True):
        if _said(path).get("key") != wanted:
            continue
        if found := _chosen(path.parent, labels, _in_turn(task, gate)):
            return found
    return []


def _said(path: Path) -> dict[str, Any]:
    try:
        return dict(read_object(path))
    except UnreadableRecord:
        return {}


def _in_turn(task: Task, gate: str) -> list[str]:
    """What a sandbox of the gate runs in turn: no part of the key, as task.toml and the checks say
    it."""
    if gate == "ladder":
        return [milestone.id for milestone in task.milestones]
    shipped: dict[str, tuple[Exploit | Variant, ...]] = {
        "exploits": task.exploits,
        "variants": task.variants,
    }
    return [script.name for script in shipped.get(gate, ()) if script.incremental]


def _chosen(job: Path, labels: Sequence[str], in_turn: list[str]) -> list[Trial]:
    left = [trial for trial in read_job(job).trials if _can_stand(trial, in_turn)]
    chosen = []
    for label in labels:
        trial = next((each for each in left if each.agent == label), None)
        if trial is None:
            return []
        left.remove(trial)
        chosen.append(trial)
    return chosen


def _can_stand(trial: Trial, in_turn: list[str]) -> bool:
    well = is_built(trial) and not trial.exception and not script_end(trial)
    together = trial.agent.endswith(":*")
    kept = scripts.InTurnAgent.RUNGS if together else "artifacts"
    if not well or not (trial.path / kept).is_dir() or not _as_it_was(trial.path):
        return False
    return not together or _ran_in_turn(trial.path) == in_turn


def _ran_in_turn(trial: Path) -> list[str] | None:
    given = mapping(mapping(_said(trial / "config.json").get("agent")).get("kwargs"))
    lists = (given.get(name) for name in ("milestones", "exploits", "variants"))
    return next((each for each in lists if isinstance(each, list)), None)


def _as_it_was(trial: Path) -> bool:
    """Whether nothing of what was delivered has been touched since the trial's result was written:
    an image that somebody booted where it lies is no longer what a script built."""
    ended = (trial / "result.json").stat().st_mtime_ns
    tops = [trial / name for name in _KEPT if (trial / name).is_dir()]
    paths = [
        Path(folder, name)
        for top in tops
        for folder, folders, files in os.walk(top)
        for name in (".", *folders, *files)
    ]
    return all(path.lstat().st_ctime_ns <= ended for path in paths)


def request(task: Task, built: Trial, top: Path) -> VerifyRequest:
    """How to verify what `built` delivered, in a folder of `top` with its name."""
    given = delivered(task, built.path / "artifacts")
    return VerifyRequest(task, given, top / built.name, label=built.agent)


def joined(built: Trial, verified: Trial) -> Trial:
    """One trial of both: what was built then, as it was judged now. Read again by `known`."""
    for name in _KEPT:
        here = verified.path / name
        if (built.path / name).is_dir() and not here.is_symlink():
            here.symlink_to((built.path / name).resolve())
    seconds = built.phases.agent
    write_json(
        verified.path / _BUILT,
        {"schema": 1, "agent": built.agent, "agent_seconds": seconds, "in": str(built.path)},
    )
    return _as_of(verified, built.agent, seconds)


def known(task: Task, top: Path) -> tuple[Trial, ...]:
    """Trials that `joined` has left below `top`, by name."""
    found = []
    for path in sorted(top.glob(f"*/{_BUILT}")):
        said = _said(path)
        agent, seconds = said.get("agent"), said.get("agent_seconds")
        trial = read_again(VerifyRequest(task, {}, path.parent))
        if trial is not None and isinstance(agent, str):
            found.append(_as_of(trial, agent, seconds if isinstance(seconds, float) else None))
    return tuple(found)


def _as_of(trial: Trial, agent: str, seconds: float | None) -> Trial:
    phases = Phases(agent=seconds, verifier=trial.phases.verifier, total=trial.phases.total)
    return replace(trial, agent=agent, phases=phases)
