"""Whether a task can be run here, found out before anything starts: file, key, what to do.

    unusable    nobody can run it as it is: `run` refuses it, before it starts anything
    doubtful    it runs, but not as its author means it: `tasks validate` names it, too

Harbor's own reader of task.toml decides what is right; what it would let pass and then turn against
the agent (a limit of nan, a misspelt key that is silently left out) is found beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from benchflow.errors import TaskError
from benchflow.run.fitness import environment, files, keys, limits, machine, reading
from benchflow.run.fitness.findings import Finding
from benchflow.tasks import Problem, Task

NAMESPACE = "namespace"
MACHINE = "vm"


@dataclass(frozen=True)
class Fitness:
    """What was found out about one task."""

    task: Task
    unusable: tuple[Problem, ...] = field(default=())
    doubtful: tuple[Problem, ...] = field(default=())

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All of it."""
        return self.unusable + self.doubtful


def examine(task: Task, sandbox: str = NAMESPACE) -> Fitness:
    """Read `task` as Harbor will, and as `sandbox` will. Builds nothing and asks no network."""
    config, found = reading.read(task.path)
    raw = reading.raw(task.path)
    if not task.is_benchflow:
        found += keys.check(raw)
        found += files.check(task.path, config)
    if config is not None:
        found += limits.check(config)
        found += machine.variables(config)
        if sandbox != MACHINE:
            found += machine.needs(task.needs, sandbox)
        elif not task.is_benchflow:  # ours are staged with a verifier of their own
            found += machine.shared_verifier(config)
        if sandbox in (NAMESPACE, MACHINE):
            found += machine.check(config)
            found += environment.check(task.path, config)
    return _sorted(task, found)


def sandbox_for(task: Task) -> str:
    """Where a task can be run: in a machine, where it needs what only that has."""
    return MACHINE if machine.NEEDS.keys() & set(task.needs) else NAMESPACE


def refuse(tasks: list[Task], sandbox: str) -> None:
    """Raise a TaskError that names every problem of each task that cannot be run in `sandbox`."""
    bad = [each for task in tasks if (each := examine(task, sandbox)).unusable]
    if not bad:
        return
    names = ", ".join(str(each.task.path) for each in bad)
    others = "; the others can run without " + ("it" if len(bad) == 1 else "them")
    raise TaskError(
        "\n".join(told(each.task, each.unusable) for each in bad),
        hint=f"fix or leave out: {names}{others if len(bad) < len(tasks) else ''}",
    )


def told(task: Task, problems: tuple[Problem, ...]) -> str:
    """The problems of one task, one a line, below its folder."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return "\n".join([f"{task.path}: {count}", *(f"  {problem}" for problem in problems)])


def _sorted(task: Task, found: list[Finding]) -> Fitness:
    def chosen(*, is_fatal: bool) -> tuple[Problem, ...]:
        return tuple(dict.fromkeys(f.problem for f in found if f.is_fatal is is_fatal))

    return Fitness(task, chosen(is_fatal=True), chosen(is_fatal=False))
