"""Tasks exported with their images named: what `benchflow tasks export --images` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchflow.authoring.publish import card, pair
from benchflow.authoring.publish.datasheet import datasheet
from benchflow.authoring.publish.pair import Pinned
from benchflow.sandbox.image.registry import check_prefix
from benchflow.tasks import Task, export, stage
from benchflow.tasks.model import Begun, Staged

OnProgress = Callable[[str], None]


@dataclass
class Dataset:
    """What was exported. `images`: of each task by its name; `missing`: what the registry lacks."""

    folders: list[Path] = field(default_factory=list)
    images: dict[str, list[Pinned]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def write(
    tasks: list[Task],
    destination: Path,
    hint: int = 0,
    *,
    begun: Mapping[str, Begun | None] | None = None,
    images: str = "",
    push: bool = False,
    hub: bool = False,
    on_progress: OnProgress = lambda line: None,
) -> Dataset:
    """Export `tasks` below `destination`, a datasheet in each, with references below `images`.

    `hub`: in the layout of the Hugging Face Hub's data sets: below `destination`/tasks, and a card.

    `begun`: what sequels begin with, by their names, where that is not the authors'.

    References are by digest and stand only where the registry has both images of a task. Tasks are
    exported one after another: where one fails, those before it are whole, and calling it again
    continues. Raises UsageError (as `export` does; a task that changed since its push, without
    `push`), TaskError, InfrastructureError.
    """
    prefix = check_prefix(images) if images else ""
    made = Dataset()
    if hub:
        card.check_place(destination)
    for task in tasks:
        start = (begun or {}).get(task.name)

        def finish(task: Task, folder: Path, start: Begun | None = start) -> None:
            (folder / "DATASHEET.md").write_text(datasheet(task), encoding="utf-8")
            if prefix:
                staged = stage(task, hint, packed=True, begun=start)
                _name_images(staged, folder, prefix, push, made, on_progress)

        below = destination / "tasks" if hub else destination
        made.folders += export([task], below, hint, packed=bool(prefix), finish=finish, begun=start)
    if hub:
        card.write(destination)
    return made


def _name_images(
    staged: Staged,
    folder: Path,
    prefix: str,
    push: bool,
    made: Dataset,
    on_progress: OnProgress,
) -> None:
    task = staged.task
    wanted = pair.wanted(task, staged.folder, prefix)
    found = pair.push(wanted, on_progress) if push else pair.have(wanted)
    if found is None:
        pair.refuse_changed(task, wanted)
        made.missing += [one.reference for one in wanted]
        return
    made.images[task.name] = found
    for one in wanted:
        if text := pair.packages(one):
            (folder / "sbom").mkdir(exist_ok=True)
            (folder / "sbom" / f"{one.role}.spdx.json").write_text(text, encoding="utf-8")
    _write_references(folder / "task.toml", {one.role: one.reference for one in found})


def _write_references(path: Path, references: dict[str, str]) -> None:
    import tomlkit

    data: Any = tomlkit.parse(path.read_text(encoding="utf-8"))
    data["environment"]["docker_image"] = references["agent"]
    data["verifier"]["environment"]["docker_image"] = references["verifier"]
    path.write_text(tomlkit.dumps(data), encoding="utf-8")
