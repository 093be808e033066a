"""Starts a job, and resumes one. Harbor runs the trials; the folder is Harbor's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.base.atomic import write_json
from benchflow.errors import TaskError, UsageError
from benchflow.gateway.config import Config
from benchflow.results.jobs import lock
from benchflow.results.jobs.trials import is_built, read_job, read_trial
from benchflow.results.jobs.verdict import CANCELLED
from benchflow.results.model import Job, Problem, Verdict
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run.job import engine as engines
from benchflow.run.job import harbor_job, job_record, worker
from benchflow.run.job.agent_secrets import Given, give_again
from benchflow.run.job.plan import Plan
from benchflow.run.job.worker import Interrupted
from benchflow.run.live.follow import Watch
from benchflow.run.live.journal_writer import Phases
from benchflow.run.live.progress import Board, Listener
from benchflow.run.models import job_gateway
from benchflow.run.models.job_gateway import Models
from benchflow.run.resume import session_resume
from benchflow.run.sweep.sweep_budget import BudgetSpent, Gate
from benchflow.tasks import Task, load, stage

if TYPE_CHECKING:
    from harbor.models.job.config import JobConfig


def start(
    plan: Plan, listener: Listener, gate: Gate | None = None, *, in_front: bool = False
) -> Job:
    """Runs a new job to its end and reads it back. `gate`: the budget of the job's sweep.

    The job has a process of its own (`run.worker`), unless it is to run `in_front`: in this
    process, where an agent may use the terminal and nothing is shown.

    Raises UsageError when a job of that name exists, else what `engine.run` and `worker.run` raise.
    """
    clean_up()
    job = plan.job_dir
    try:
        job.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(
            f"{job}: this job exists",
            hint=f"continue it with: benchflow resume {job.name}; or choose another --job-name",
        ) from None
    with lock.hold(job) as held:
        job_gateway.prepare(job, plan.gateway)
        job_record.write(plan)
        phases = Phases(job, {str(planned.folder): planned.task for planned in plan.tasks})
        engine = _engine(plan.request.engine)

        def work() -> None:
            _play(plan.config, phases, job_gateway.start(job, plan.gateway), gate, engine)

        if in_front:
            work()
        else:
            watch = Watch(job, Board(plan.n_trials, job=job), listener)
            worker.run(job, held, work, watch.look)
    return read_job(job)


def _play(
    config: JobConfig,
    phases: Phases,
    gateway: Models | None,
    gate: Gate | None,
    engine: engines.Engine,
) -> None:
    """Runs the job; its gateway ends with it, and stays when it is only interrupted."""
    try:
        harbor_job.run(config, phases, gateway, gate, engine)
    except BudgetSpent:
        if gateway is not None:
            gateway.close()
        raise
    if gateway is not None:
        gateway.close()


def resume(
    job: Path,
    listener: Listener,
    *,
    retry_errors: bool = False,
    gate: Gate | None = None,
    change: Callable[[Config], Config] = lambda config: config,
    variables: Given = lambda agent: {},
    on_mended: Callable[[Problem], None] = lambda problem: None,
    engine: str = "",
) -> Job:
    """Runs what is left of a job: trials without a result, cut off or cancelled.

    Of those, an agent that can take up its session again continues in its sandbox, which was kept.
    With `retry_errors` those whose verdict is `error` too. Finished trials are never run again.
    `gate`: the budget of the job's sweep; `change`: what its gateway is to do otherwise from now
    on; `variables`: see `run.variables`. A job that a process works on is left to it, and
    we follow it to its end. `on_mended` is told, before anything runs, what was torn or cut off,
    and what becomes of it. `engine`: the same cluster at another address, if it has one.

    Raises UsageError, Interrupted when somebody stopped a job that we followed, and what
    `engine.run` and `worker.run` raise.
    """
    session_resume.forget_lost(job.parent)
    clean_up()
    saved = job_record.read(job)
    runs_on = engines.same(job, str(saved.get("engine") or ""), engine)
    if saved.get("merged"):
        raise UsageError(
            f"{job}: was made by benchflow merge and cannot be resumed",
            hint="resume the job on the machine that ran it, then merge again",
        )
    try:
        with lock.hold(job) as held:
            _engine(runs_on).recover(job)
            job_gateway.settle(job)
            config, mended = _mend(job, saved, retry_errors=retry_errors)
            for problem in mended:
                on_mended(problem)
            if len([*job.glob("*/result.json")]) < int(saved["n_trials"]):
                give_again(config, variables)
            _go_on(config, held, saved, listener, gate, change, _engine(runs_on))
    except lock.JobInUse:
        return _look_on(job, saved, listener)
    return read_job(job)


def _go_on(
    config: JobConfig,
    held: int,
    saved: dict[str, Any],
    listener: Listener,
    gate: Gate | None,
    change: Callable[[Config], Config],
    engine: engines.Engine,
) -> None:
    job = config.jobs_dir / config.job_name
    phases = Phases(job, _restage(saved))

    def work() -> None:
        _play(config, phases, job_gateway.again(job, change), gate, engine)

    worker.run(job, held, work, Watch(job, _board(job, saved), listener).look)


def _look_on(job: Path, saved: dict[str, Any], listener: Listener) -> Job:
    board = _board(job, saved)
    worker.look_on(job, lambda: Watch(job, board, listener).look)
    found = read_job(job)
    if sum(trial.cause != CANCELLED for trial in found.trials) < board.planned:
        raise Interrupted(
            f"{job}: the process that worked on this job has stopped; finished trials are kept",
            hint=f"continue with: benchflow resume {job.name}",
        )
    return found


def _board(job: Path, saved: dict[str, Any]) -> Board:
    finished = len(read_job(job).trials)
    return Board(int(saved.get("n_trials", 0)), finished_before=finished, job=job)


def clean_up() -> None:
    """Removes what commands that were killed left behind: sandboxes, mounts, their scratch."""
    from benchflow.sandbox import gc

    gc()


def _engine(name: str) -> engines.Engine:
    """The engine of that name (`engines.name`)."""
    if not name:
        return engines.LOCAL
    from benchflow.run.ray_engine.driver import RayEngine

    return RayEngine(name.partition(":")[2])


def torn_folder(job: Path) -> Path:
    """Where what was cut off is moved: beside the job, because Harbor owns all inside it."""
    return job.parent / ".torn" / job.name


def _mend(
    job: Path, saved: dict[str, Any], *, retry_errors: bool
) -> tuple[JobConfig, list[Problem]]:
    from harbor.models.job.config import JobConfig

    mended: list[Problem] = []
    try:
        config = JobConfig.model_validate(read_object(job / "config.json"))
    except (UnreadableRecord, ValueError) as error:
        config = JobConfig.model_validate(saved["harbor"])
        if (job / "config.json").exists():
            mended.append(Problem(job / "config.json", f"{error}; written again"))
        write_json(job / "config.json", saved["harbor"])
    if config.jobs_dir != job.parent.resolve() or config.job_name != job.name:
        raise UsageError(
            f"{job}: the job was moved; it was made as {config.jobs_dir / config.job_name}",
            hint="move it back to resume it; benchflow results reads it anywhere",
        )
    for name in ("result.json", "lock.json"):
        path = job / name
        try:
            if path.exists():
                read_object(path)
        except UnreadableRecord as error:
            mended.append(Problem(path, f"{error}; moved to {_set_aside(path, job)}"))
    for trial in sorted(path for path in job.iterdir() if path.is_dir()):
        if (trial / "result.json").exists():
            mended += _mend_trial(trial, job, retry_errors=retry_errors)
        else:
            mended.append(_cut_off(trial, job))
    return config, mended


def _cut_off(trial: Path, job: Path) -> Problem:
    how = _settle(trial)
    _discard(trial, job)
    return Problem(trial, f"was cut off; {how}")


def _settle(trial: Path) -> str:
    how = session_resume.settle(trial)
    if how in (session_resume.SESSION, session_resume.ENDED):
        session_resume.keep_checkpoints(trial)
    return how


def _mend_trial(trial: Path, job: Path, *, retry_errors: bool) -> list[Problem]:
    from harbor.models.trial.config import TrialConfig
    from harbor.models.trial.result import TrialResult

    path = trial / "result.json"
    try:
        finished, _ = read_trial(trial)
        result = TrialResult.model_validate(read_object(path))
    except (UnreadableRecord, ValueError) as error:
        why = str(error) if isinstance(error, UnreadableRecord) else "is not a trial's result"
        return [Problem(path, f"{why}; moved to {_set_aside(trial, job)}, to run again")]
    if finished.cause == CANCELLED:
        return [_cut_off(trial, job)]
    is_good = result.config.verifier.disable and is_built(finished)
    if retry_errors and finished.verdict is Verdict.ERROR and not is_good:
        how = _settle(trial)
        why = f"ended with {finished.cause}; moved to {_set_aside(trial, job)}"
        return [Problem(path, f"{why}; {how}")]
    try:
        TrialConfig.model_validate(read_object(trial / "config.json"))
    except (UnreadableRecord, ValueError) as error:
        write_json(
            trial / "config.json", result.config.model_dump(mode="json", exclude_defaults=True)
        )
        return [Problem(trial / "config.json", f"{error}; written again from result.json")]
    return []


def _discard(trial: Path, job: Path) -> None:
    """Removes a trial that was not finished.

    After a kill −9 its folders may hold directories of the sandbox's ids, which a plain user can
    move but not empty; those are set aside.
    """
    try:
        shutil.rmtree(trial)
    except PermissionError:
        _set_aside(trial, job)


def _set_aside(path: Path, job: Path) -> Path:
    folder = torn_folder(job)
    folder.mkdir(parents=True, exist_ok=True)
    target, n = folder / path.name, 1
    while target.exists():
        n += 1
        target = folder / f"{path.name}.{n}"
    path.rename(target)
    return target


def is_current(folder: Path) -> bool:
    """Whether the job's tasks are, to the byte, those that it was started with: else it cannot be
    resumed. Raises UsageError for a folder that is no job of ours."""
    saved = job_record.read(folder)
    try:
        _restage(saved)
    except (UsageError, TaskError):
        return False
    return True


def _restage(saved: dict[str, Any]) -> dict[str, Task]:
    """Makes sure that the folders which the job runs are still there, and the same."""
    tasks: dict[str, Task] = {}
    for entry in saved["tasks"]:
        task = load(entry["source"])
        staged = stage(task, int(entry["hint"]), begun=job_record.begun(entry)).folder
        if str(staged) != entry["staged"] or task.digest != entry["digest"]:
            raise UsageError(
                f"{entry['name']} has changed since this job was started",
                hint="start a new job: the trials of one job must face the same task",
            )
        tasks[str(staged)] = task
    return tasks
