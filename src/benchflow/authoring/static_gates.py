"""Gates that only read: schema, coverage, leaks into what the agent is given, sizes stated."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchflow.authoring.gate import GateResult, judged, not_applicable
from benchflow.authoring.last_stage import copied_last
from benchflow.authoring.similarity import Secrets
from benchflow.base import shell_pieces
from benchflow.base.numbers import plural
from benchflow.errors import TaskError
from benchflow.tasks import Task, load
from benchflow.tasks.digest import files_below
from benchflow.tasks.skills import unknown

#: What docs/design.md asks of a hand-written task.
LEAST_MILESTONES, LEAST_CHECKS, LEAST_EXPLOITS = 10, 25, 4


@dataclass(frozen=True)
class Row:
    """One line of the coverage matrix: a check, its milestone, the requirements it proves."""

    check: str
    milestone: str
    proves: tuple[str, ...]


def schema(task_path: Path) -> GateResult:
    """The task loads, and has as many milestones, checks, exploits and hints as are asked for;
    its skills are words of the vocabulary."""
    try:
        task = load(task_path)
    except TaskError as error:
        return judged("schema", "does not load", error.message.splitlines())
    if not task.is_benchflow:
        return not_applicable("schema", "a plain Harbor task: Harbor validates it")
    counts = [
        (len(task.milestones), LEAST_MILESTONES, "milestone"),
        (task.n_checks, LEAST_CHECKS, "check"),
        (len(task.exploits), LEAST_EXPLOITS, "exploit"),
        (len(task.hints), 3, "hint"),
    ]
    findings = [
        f"{plural(have, what)}, {least} are asked for"
        for have, least, what in counts
        if have < least
    ]
    findings += unknown(task.skills)
    findings += [
        f"{where} fixes memory_mb={task.machine_memory_mb}, which task.toml says already: leave it "
        "out, or determinism's quarter more reaches no machine"
        for where in _fixed_memory(task)
    ]
    summary = ", ".join(plural(have, what) for have, _, what in counts)
    return judged("schema", summary, findings)


def _fixed_memory(task: Task) -> Iterator[str]:
    """Where the checks give a machine, by a number, the memory that it has anyway."""
    for path in sorted((task.path / "tests").rglob("*.py")):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):  # checks.py has been read; what it needs may be generated
            continue
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            for given in call.keywords:
                value = given.value.value if isinstance(given.value, ast.Constant) else None
                if given.arg == "memory_mb" and value == task.machine_memory_mb:
                    yield f"{path.relative_to(task.path).as_posix()}:{given.value.lineno}"


def matrix(task: Task) -> list[Row]:
    """Every check with what it proves, in file order, steps last."""
    milestones = [*task.milestones, *(m for step in task.steps for m in step.milestones)]
    return [
        Row(check.name, milestone.id, tuple(check.proves))
        for milestone in milestones
        for check in milestone.checks
    ]


def grid(task: Task) -> list[str]:
    """The coverage matrix as text: a line a check under its milestone, a column a requirement."""
    rows = matrix(task)
    names = list(dict.fromkeys([*task.requirements, *(n for row in rows for n in row.proves)]))
    width = max((len(row.check) for row in rows), default=0) + 2
    short = [name.removeprefix("R") for name in names]
    lines = [f"  {'[R…]':<{width}}{' '.join(short)}"]
    milestone = ""
    for row in rows:
        if row.milestone != milestone:
            milestone = row.milestone
            lines.append(milestone)
        marks = (
            ("●" if name in row.proves else "·").center(len(s))
            for name, s in zip(names, short, strict=True)
        )
        lines.append(f"  {row.check:<{width}}{' '.join(marks)}".rstrip())
    counts = [sum(name in row.proves for row in rows) for name in names]
    totals = (str(n).center(len(s)) for s, n in zip(short, counts, strict=True))
    lines.append(f"  {'checks':<{width}}{' '.join(totals)}".rstrip())
    return lines


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
    return judged(
        "coverage",
        f"{plural(len(task.requirements), 'requirement')}, {plural(len(rows), 'check')}",
        findings,
    )


def leaks(task: Task) -> GateResult:
    """Nothing of solution, checks, exploits and variants is in what the agent is given.

    Looks at the instruction and the build context of the environment, by the rules of `likeness`;
    what its Dockerfile makes of that is searched by the gate `image`. Of a drawn task's context
    what the last stage copies counts: the stages before bring the faults about.
    """
    secrets = Secrets.of(task.path)
    findings = []
    given = _given(task)
    for path in given:
        if hit := secrets.repeated_by(shell_pieces.read(path, task.path), given=path.as_posix()):
            where = path.relative_to(task.path).as_posix() + (f":{hit[0]}" if hit[0] else "")
            findings.append(f"{where} repeats {hit[1]}: move it out of reach")
    return judged(
        "leaks",
        f"{plural(len(given), 'file')} of the environment compared with the answers",
        findings,
    )


def _given(task: Task) -> list[Path]:
    top = [task.path / "instruction.md", *sorted(task.path.glob("steps/*/instruction.md"))]
    environment = task.path / "environment"
    below = files_below(environment, links=not task.is_benchflow)
    if task.generator:
        kept = copied_last(environment)
        below = [path for path in below if any(path.is_relative_to(one) for one in kept)]
    return [p for p in top if p.is_file()] + [p for p in below if not p.is_symlink()]
