"""The trials in which nothing is done, of several tasks in one job."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from benchflow.authoring.trials import Trials
from benchflow.authoring.whole_jobs import put_aside, whole_job
from benchflow.base.home import home
from benchflow.results.model import Trial
from benchflow.run.fitness import NAMESPACE, sandbox_for
from benchflow.run.live.progress import Listener
from benchflow.tasks import Task, stage


class Nops:
    """One such trial for each of `tasks`; all are run when the first is asked for. `again`: even
    where they have been run.

    A job takes longer to be on its way than such a trial needs, and one trial alone leaves
    processors idle (benchmarks/README.md, `check --fast`).
    """

    def __init__(self, tasks: Sequence[Task], *, again: bool = False) -> None:
        # One job has one sandbox; the few that need another are jobs of their own.
        self._tasks = [task for task in tasks if sandbox_for(task) == NAMESPACE]
        self._again = again
        self._found: dict[Path, Trial] | None = None

    def of(self, task: Task, listener: Listener) -> tuple[Trial, ...]:
        """The trial of `task`; a job of its own where it is none of several.

        Raises what `benchflow.run` raises when nothing can be run at all.
        """
        if self._found is None:
            self._found = self._run(listener) if len(self._tasks) > 1 else {}
        trial = self._found.get(task.path)
        return (trial,) if trial else Trials(task, listener).nop()

    def _run(self, listener: Listener) -> dict[Path, Trial]:
        from benchflow.run.job.plan import Plan, plan
        from benchflow.run.job.request import RunRequest

        keys = sorted(Trials(task, listener).key for task in self._tasks)
        name = f"nops-{hashlib.sha256(' '.join(keys).encode()).hexdigest()[:12]}"
        folder = home() / "checks" / name
        if self._again:
            put_aside(folder)

        def prepare() -> Plan:
            paths = tuple(str(task.path) for task in self._tasks)
            request = RunRequest(paths, agents=("nop",), job_name=name, jobs_dir=folder.parent)
            return plan(request)

        job = whole_job(folder, prepare, len(self._tasks), listener)
        trials = {trial.task_folder: trial for trial in job.trials}
        staged = {task.path: str(stage(task).folder) for task in self._tasks}
        # One that was staged otherwise, by an earlier version of ours, is tried again by itself.
        return {path: trials[place] for path, place in staged.items() if place in trials}
