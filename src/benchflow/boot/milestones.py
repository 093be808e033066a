"""Milestones and checks: the decorators, the graph of prerequisites, and the score.

Nothing here needs pytest: `scan` reads the same declarations without executing them, `plugin` runs
them. Rules that both enforce are in `build_ladder`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from .errors import CheckMisuse

CheckStatus = Literal["passed", "failed", "crashed", "not run"]
MilestoneStatus = Literal["passed", "failed", "not reached"]

_ID = re.compile(r"[a-z][a-z0-9-]*\Z")
_REQUIREMENT = re.compile(r"R[1-9][0-9]*[a-z]?\Z")
_Function = TypeVar("_Function", bound=Callable[..., object])
DECLARATION = "__benchflow_declaration__"


class ChecksError(CheckMisuse):
    """The checks of a task contradict themselves; the message names the file, line and fix."""

    def __init__(self, problem: str, *, file: str = "", line: int = 0, fix: str = "") -> None:
        where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(f"{where}{problem}" + (f" ({fix})" if fix else ""))
        self.problem = problem
        self.file = file
        self.line = line
        self.fix = fix


@dataclass(frozen=True)
class Declaration:
    """What one `@milestone` (opens=True) or `@check` says about the function below it."""

    milestone: str
    opens: bool
    weight: float = 1
    requires: tuple[str, ...] = ()
    proves: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class CheckSpec:
    """One test function: `name` is the function's, `line` where it is defined."""

    name: str
    milestone: str
    proves: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class MilestoneSpec:
    """One milestone: its checks in file order, the first of which is the one that declares it."""

    id: str
    title: str
    weight: float
    requires: tuple[str, ...]
    checks: tuple[CheckSpec, ...]
    line: int


def declare(
    kind: str,
    id: object,
    *,
    weight: object = 1,
    requires: object = (),
    proves: object = (),
    title: object = "",
) -> Declaration:
    """Check the arguments of one decorator (`kind` is `milestone` or `check`).

    Raises ChecksError, without a file or line, when one of them is wrong.
    """
    if not isinstance(id, str) or not _ID.match(id):
        raise ChecksError(
            f"{kind} id {id!r} is not allowed", fix="use lower-case letters, digits and -: boot-ok"
        )
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < 1e6:
        raise ChecksError(f"weight {weight!r} of {id!r} is not a number above 0")
    if not isinstance(title, str):
        raise ChecksError(f"title {title!r} of {id!r} is not a string")
    required = _strings(id, "requires", requires)
    proved = _strings(id, "proves", proves)
    for requirement in proved:
        if not _REQUIREMENT.match(requirement):
            raise ChecksError(
                f"{requirement!r} in proves of {id!r} is not a requirement",
                fix="write R and a number, and a letter if need be: R1, R12b",
            )
    return Declaration(id, kind == "milestone", weight, required, proved, title)


def _strings(id: str, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ChecksError(f"{key} of {id!r} is {value!r}", fix=f'write a list: {key}=["…"]')
    if len(set(value)) != len(value):
        raise ChecksError(f"{key} of {id!r} names something twice", fix="remove the repetition")
    return tuple(value)


def milestone(
    id: str,
    *,
    weight: float = 1,
    requires: Sequence[str] = (),
    proves: Sequence[str] = (),
    title: str = "",
) -> Callable[[_Function], _Function]:
    """Declare a milestone; the decorated function is its first check.

    `weight` is its share of the reward, `requires` the milestones that must have passed before any
    of its checks is run, `proves` the requirements that this one check proves. All arguments must
    be literals, because the ladder is also read without executing the file.
    """
    declaration = declare(
        "milestone", id, weight=weight, requires=requires, proves=proves, title=title
    )
    return lambda function: _attach(function, declaration)


def check(milestone_id: str, *, proves: Sequence[str] = ()) -> Callable[[_Function], _Function]:
    """Add one more check to a milestone that is declared above."""
    declaration = declare("check", milestone_id, proves=proves)
    return lambda function: _attach(function, declaration)


def _attach(function: _Function, declaration: Declaration) -> _Function:
    if hasattr(function, DECLARATION):
        raise ChecksError(
            f"{getattr(function, '__name__', function)} is declared twice",
            fix="keep one @milestone or @check: a check belongs to one milestone",
        )
    setattr(function, DECLARATION, declaration)
    return function


def build_ladder(
    file: str, declared: Iterable[tuple[str, int, Declaration]]
) -> list[MilestoneSpec]:
    """The milestones of `file` from its (function name, line, declaration) triples in file order.

    Raises ChecksError on duplicate ids or function names, a check of an unknown milestone, unknown
    or cyclic prerequisites, and on checks that stand after a milestone that needs them.
    """
    rows = list(declared)
    opened: dict[str, tuple[int, Declaration]] = {}
    names: dict[str, int] = {}
    for name, line, declaration in rows:
        if name in names:
            raise ChecksError(
                f"{name} is defined twice (first on line {names[name]})",
                file=file,
                line=line,
                fix="rename one: Python keeps only the last",
            )
        names[name] = line
        if not declaration.opens:
            continue
        if declaration.milestone in opened:
            raise ChecksError(
                f"milestone {declaration.milestone!r} is declared twice "
                f"(first on line {opened[declaration.milestone][0]})",
                file=file,
                line=line,
                fix=f'use @check("{declaration.milestone}") for its further checks',
            )
        opened[declaration.milestone] = (line, declaration)
    checks: dict[str, list[CheckSpec]] = {id: [] for id in opened}
    for name, line, declaration in rows:
        if declaration.milestone not in opened:
            raise ChecksError(
                f"{name} is a check of the unknown milestone {declaration.milestone!r}",
                file=file,
                line=line,
                fix="declare it with @milestone on its first check",
            )
        checks[declaration.milestone].append(
            CheckSpec(name, declaration.milestone, declaration.proves, line)
        )
    _check_graph(file, opened)
    ladder = [
        MilestoneSpec(id, d.title, d.weight, d.requires, tuple(checks[id]), line)
        for id, (line, d) in opened.items()
    ]
    _check_order(file, ladder)
    if not ladder:
        raise ChecksError("no milestone is declared", file=file, fix="add @milestone to a check")
    return ladder


def _check_graph(file: str, opened: dict[str, tuple[int, Declaration]]) -> None:
    for id, (line, declaration) in opened.items():
        for required in declaration.requires:
            if required not in opened:
                raise ChecksError(
                    f"milestone {id!r} requires the unknown milestone {required!r}",
                    file=file,
                    line=line,
                    fix="known: " + ", ".join(opened),
                )
    finished: set[str] = set()
    for start, (line, _) in opened.items():
        path: list[str] = []
        stack: list[tuple[str, bool]] = [(start, False)]
        while stack:
            id, leaving = stack.pop()
            if leaving:
                path.pop()
                finished.add(id)
            elif id in path:
                cycle = " → ".join([*path[path.index(id) :], id])
                raise ChecksError(
                    f"milestones require each other: {cycle}",
                    file=file,
                    line=line,
                    fix="remove one of the prerequisites",
                )
            elif id not in finished:
                path.append(id)
                stack.append((id, True))
                stack.extend((required, False) for required in opened[id][1].requires)


def _check_order(file: str, ladder: list[MilestoneSpec]) -> None:
    first_line = {m.id: min(c.line for c in m.checks) for m in ladder}
    last = {m.id: max(m.checks, key=lambda c: c.line) for m in ladder}
    for spec in ladder:
        if first_line[spec.id] != spec.line:
            raise ChecksError(
                f"a check of {spec.id!r} stands above the @milestone that declares it",
                file=file,
                line=first_line[spec.id],
                fix="put @milestone on the first check",
            )
        for required in spec.requires:
            if last[required].line > spec.line:
                raise ChecksError(
                    f"{last[required].name}, a check of {required!r}, stands below milestone "
                    f"{spec.id!r} that requires {required!r}",
                    file=file,
                    line=last[required].line,
                    fix=f"move it above line {spec.line}: checks run in file order",
                )


@dataclass
class CheckRun:
    """One executed (or not executed) check; parametrized functions have several."""

    name: str
    spec: CheckSpec
    status: CheckStatus = "not run"
    seconds: float = 0.0
    message: str = ""
    started: float = 0.0


@dataclass
class Ladder:
    """The state of a run: which checks ended how, and what follows for the milestones."""

    milestones: list[MilestoneSpec]
    runs: dict[str, list[CheckRun]] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._specs = {spec.id: spec for spec in self.milestones}
        self.runs = {spec.id: [] for spec in self.milestones}

    def add(self, name: str, spec: CheckSpec) -> CheckRun:
        """Enter a check that is going to be run; its status is `not run` until it was."""
        run = CheckRun(name, spec)
        self.runs[spec.milestone].append(run)
        return run

    def blocked_by(self, id: str) -> str | None:
        """The first prerequisite of milestone `id` that has not passed, or None."""
        return next((r for r in self._specs[id].requires if self.status(r) != "passed"), None)

    def status(self, id: str) -> MilestoneStatus:
        """`not reached` as long as no check of it ran; `passed` needs all its checks to pass."""
        if self.blocked_by(id) is not None:
            return "not reached"
        statuses = [run.status for run in self.runs[id]]
        if "failed" in statuses or "crashed" in statuses:
            return "failed"
        return "passed" if statuses and "not run" not in statuses else "not reached"

    def complete(self, id: str) -> bool:
        """Whether every check of the milestone was run."""
        return all(run.status != "not run" for run in self.runs[id])

    @property
    def reward(self) -> float:
        """The weighted share of milestones that passed, 0 to 1, to six decimals.

        1 is for all of them and 0 for none: what rounds there stays one millionth away.
        """
        total = sum(spec.weight for spec in self.milestones)
        passed = sum(s.weight for s in self.milestones if self.status(s.id) == "passed")
        if self.resolved or not passed:
            return float(self.resolved)
        return min(max(round(passed / total, 6), 1e-6), 1 - 1e-6)

    @property
    def resolved(self) -> bool:
        """Whether every milestone passed."""
        return all(self.status(spec.id) == "passed" for spec in self.milestones)
