"""Trials that have no result yet: where each is, from what its folder holds so far.

Nobody has judged them: they are in no figure. What their files say is as hostile as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.results.jobs import journal
from benchflow.results.jobs.evidence import verifier_folders
from benchflow.results.jobs.lock import is_held
from benchflow.results.jobs.progress_events import MAX_BYTES, NAME, Phase, reached, told
from benchflow.results.jobs.task_facts import TaskFacts
from benchflow.results.json_values import mapping, word
from benchflow.results.safe_files import UnreadableRecord, read_object, read_objects

_MAX_MILESTONES = 500
#: Agents whose name says what they run, and the option that holds it.
_ARGUMENTS = {
    "ladder": "stop_after",
    "exploit": "exploit",
    "variant": "variant",
    "scripted": "script",
    "external": "external",
}


@dataclass(frozen=True)
class Unfinished:
    """A trial without a result. `running`: a process works on its job at this moment.

    `phase`: as the job's journal has it (`benchflow.results.jobs.journal`). Where there is none, it
    is judged by what the folder holds: `image` (its sandbox is made ready, or the agent has written
    nothing yet), `agent`, `hand-over`, `verifier`.
    `milestones`: (id, status) in ladder order, as far as the verifier has told; "": not yet known.
    `started` and `changed` are seconds since 1970; None where the folder does not say.
    """

    path: Path
    job: str
    trial: str
    task: str
    agent: str
    model: str
    phase: str
    running: bool
    started: float | None
    changed: float | None
    milestones: tuple[tuple[str, str], ...] = ()
    note: str = ""

    @property
    def who(self) -> str:
        """Agent and model, as reports name them."""
        return f"{self.agent} {self.model}".strip()

    @property
    def n_passed(self) -> int:
        """How many milestones are known to have passed."""
        return sum(status == "passed" for _, status in self.milestones)


def look(
    job: Path, trials: Iterable[Path], tasks: Mapping[str, TaskFacts]
) -> tuple[Unfinished, ...]:
    """Unfinished trials of a job, by their folders; `tasks` by the folder that each is run from."""
    is_running, phases = is_held(job), journal.read(job)
    return tuple(
        _look(trial, tasks, is_running, word(phases.get(trial.name, {}).get("phase"), 20))
        for trial in trials
    )


def _look(trial: Path, tasks: Mapping[str, TaskFacts], is_running: bool, phase: str) -> Unfinished:
    try:
        config = read_object(trial / "config.json")
    except UnreadableRecord:
        config = {}
    staged = str(mapping(config.get("task")).get("path") or "")
    task = tasks.get(staged, TaskFacts())
    milestones, note = _progress(trial, task.milestones)
    agent = mapping(config.get("agent"))
    return Unfinished(
        path=trial,
        job=word(trial.parent.name),
        trial=word(trial.name),
        task=task.name or word(Path(staged).name) or "?",
        agent=word(agent_of(agent), 80),
        model=word(agent.get("model_name"), 80).rpartition("/")[2],
        phase=phase or _phase(trial),
        running=is_running,
        started=_when(trial / "config.json"),
        changed=max(
            (at for path in _signs(trial) if (at := _when(path)) is not None), default=None
        ),
        milestones=milestones,
        note=note,
    )


def state(trial: Path) -> tuple[object, ...]:
    """What changes when there is something new to see of an unfinished trial."""
    watched = (trial.parent / journal.NAME, *_signs(trial))
    return (is_held(trial.parent), *(_when(path) for path in watched))


def agent_of(config: Mapping[str, Any]) -> str:
    """The agent of a configuration as Harbor writes it, as `benchflow run -a` would name it. (Its
    own name is in its result, at the end.) The text may be hostile."""
    given = mapping(config.get("kwargs"))
    name = str(config.get("name") or config.get("import_path") or "oracle").rpartition(":")[2]
    name = str(given.get("layer") or name).partition("/")[0]
    for kind, key in _ARGUMENTS.items():
        if key in given:
            name = f"{kind}:{Path(str(given[key])).name}".removesuffix(":")
    return name


def _signs(trial: Path) -> Iterator[Path]:
    yield from (trial / "config.json", trial / "agent", trial / "artifacts")
    for folder, _ in verifier_folders(trial):
        yield from (folder, folder / NAME)


def _phase(trial: Path) -> Phase:
    if any(_names(folder) for folder, _ in verifier_folders(trial)):
        return Phase.VERIFIER
    if _names(trial / "artifacts") - {"logs"}:
        return Phase.HAND_OVER
    if _names(trial / "agent") or (trial / "model.json").exists():
        return Phase.AGENT
    return Phase.IMAGE


def _names(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir()}
    except OSError:
        return set()


def _progress(trial: Path, known: tuple[str, ...]) -> tuple[tuple[tuple[str, str], ...], str]:
    found = dict.fromkeys(known, "")
    note = ""
    for folder, _ in verifier_folders(trial):
        prefix = "" if folder.parent == trial else f"{word(folder.parent.name)}/"
        with suppress(UnreadableRecord):
            for _, event in read_objects(folder / NAME, MAX_BYTES):
                if isinstance(event, UnreadableRecord):
                    continue  # the last line may be under way
                if decided := reached(event):
                    found[prefix + decided.id] = decided.status
                note = told(event) or note
    return tuple(found.items())[:_MAX_MILESTONES], note


def _when(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except OSError:
        return None
