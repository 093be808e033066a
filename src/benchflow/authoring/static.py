"""Gates that only read: schema, coverage, leaks into what the agent is given, sizes stated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchflow.authoring.gate import GateResult, judged, not_applicable
from benchflow.errors import TaskError
from benchflow.tasks import Task, load
from benchflow.tasks.digest import files_below

#: What docs/design.md asks of a hand-written task.
LEAST_MILESTONES, LEAST_CHECKS, LEAST_EXPLOITS = 10, 25, 4
#: A run of this many equal lines in two files is no coincidence.
_SHINGLE = 3
_LEAST_LETTERS = 12


@dataclass(frozen=True)
class Row:
    """One line of the coverage matrix: a check, its milestone, the requirements it proves."""

    check: str
    milestone: str
    proves: tuple[str, ...]


def schema(task_path: Path) -> GateResult:
    """The task loads, and has as many milestones, checks, cheats and hints as are asked for."""
    try:
        task = load(task_path)
    except TaskError as error:
        return judged("schema", "does not load", error.message.splitlines())
    if not task.is_benchflow:
        return not_applicable("schema", "a plain Harbor task: Harbor validates it")
    counts = [
        (len(task.milestones), LEAST_MILESTONES, "milestones"),
        (task.n_checks, LEAST_CHECKS, "checks"),
        (len(task.exploits), LEAST_EXPLOITS, "cheats in exploits/"),
        (len(task.hints), 3, "hints"),
    ]
    findings = [
        f"{have} {what}, {least} are asked for" for have, least, what in counts if have < least
    ]
    summary = ", ".join(f"{have} {what}" for have, _, what in counts)
    return judged("schema", summary, findings)


def matrix(task: Task) -> list[Row]:
    """Every check with what it proves, in file order, steps last."""
    milestones = [*task.milestones, *(m for step in task.steps for m in step.milestones)]
    return [
        Row(check.name, milestone.id, tuple(check.proves))
        for milestone in milestones
        for check in milestone.checks
    ]


def coverage(task: Task) -> GateResult:
    """Every [R…] is proved by a check, and every check proves one."""
    if not task.is_benchflow:
        return not_applicable("coverage", "a plain Harbor task numbers no requirements")
    rows = matrix(task)
    proved = {name for row in rows for name in row.proves}
    findings = [
        f"[{name}] is proved by no check: write one, or take the demand out"
        for name in task.requirements
        if name not in proved
    ]
    findings += [
        f"{row.check} ({row.milestone}) proves nothing: name its requirement in proves=[…]"
        for row in rows
        if not row.proves
    ]
    if not task.requirements:
        findings.append("instruction.md numbers no demands: write [R1], [R2] …")
    return judged("coverage", f"{len(task.requirements)} demands, {len(rows)} checks", findings)


def leaks(task: Task) -> GateResult:
    """Nothing of the solution, the checks or the cheats is in what the agent is given.

    Compares whole lines, white space aside: three equal lines in a row that are long enough to
    say something. Looks at the instruction, the hints and the build context of the environment;
    what its Dockerfile makes of that is searched by the image gate.
    """
    secret = _shingles(task.path, ("solution", "tests", "exploits", "steps"))
    findings = []
    for path in _given(task):
        for shingle, line in _file_shingles(path):
            if shingle in secret:
                where = path.relative_to(task.path).as_posix()
                findings.append(f"{where}:{line} repeats {secret[shingle]}: move it out of reach")
                break
    return judged("leaks", f"{len(_given(task))} files against the answers", findings)


def _given(task: Task) -> list[Path]:
    top = [task.path / "instruction.md"]
    return [p for p in top if p.is_file()] + files_below(task.path / "environment")


def _shingles(root: Path, parts: tuple[str, ...]) -> dict[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for part in parts:
        if not (root / part).is_dir():
            continue
        for path in files_below(root / part):
            if part == "steps" and path.name == "instruction.md":
                continue
            for shingle, line in _file_shingles(path):
                found.setdefault(shingle, f"{path.relative_to(root).as_posix()}:{line}")
    return found


def _file_shingles(path: Path) -> list[tuple[tuple[str, ...], int]]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    lines = [
        (" ".join(line.split()), number)
        for number, line in enumerate(text.splitlines(), 1)
        if len(re.sub(r"\W", "", line)) >= _LEAST_LETTERS
    ]
    return [
        (tuple(line for line, _ in lines[i : i + _SHINGLE]), lines[i][1])
        for i in range(len(lines) - _SHINGLE + 1)
    ]
