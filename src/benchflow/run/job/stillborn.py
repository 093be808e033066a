"""A trial that cannot begin is its own error: the other trials of its job run.

Harbor reads a task and makes agent and environment before a trial has a result. What is raised
there would end the whole job, and for ever: each resume meets the same. So the trial gets
its result here, with what was raised as its cause, and everybody who listens is told.
"""

from __future__ import annotations

import errno
import traceback
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.errors import InfrastructureError
from benchflow.tasks.digest import digest_of
from benchflow.tasks.load import SCORED_PARTS

if TYPE_CHECKING:
    from harbor.job import Job
    from harbor.models.trial.config import TrialConfig
    from harbor.models.trial.result import TrialResult
    from harbor.trial.hooks import TrialEvent

#: Where nothing can be written, no result can be either: the job ends, and is resumed with room.
_NOWHERE_TO_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


def attach(job: Job) -> None:
    """Let trials of `job` that cannot begin end by themselves."""
    from harbor.trial.trial import Trial

    _let_links_be()
    queue = job._trial_queue

    async def execute(config: TrialConfig) -> TrialResult:
        try:
            trial = await Trial.create(config)
        except InfrastructureError:
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _NOWHERE_TO_WRITE:
                raise
            return await end(job, config, error)
        queue._setup_hooks(trial)
        try:
            return await trial.run()
        except Exception as error:
            if trial._result is not None:
                raise
            return await end(job, config, error)  # it could not even be written down

    # Harbor's own also tries again, which no job of ours asks for (`plan.assemble`).
    setattr(queue, "_execute_trial_with_retries", execute)  # noqa: B010


@cache
def _let_links_be() -> None:
    """Harbor's digest of a task follows links, and ends a trial at one in a circle or to nowhere,
    which a build context may hold: there ours stands for it."""
    from harbor.models.task.task import Task

    harbors = vars(Task)["checksum"].fget

    def checksum(task: Task) -> str:
        try:
            return str(harbors(task))
        except Exception:  # of the library that makes it, one of its own
            return digest_of(task.task_dir, SCORED_PARTS, links=True)

    setattr(Task, "checksum", property(checksum))  # noqa: B010


async def end(job: Job, config: TrialConfig, error: Exception) -> TrialResult:
    """End a trial with `error` as its cause, and tell everybody who listens."""
    from harbor.trial.hooks import TrialEvent

    result = result_of(config, error)
    folder = config.trials_dir / config.trial_name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(config.model_dump_json(indent=4, exclude_defaults=True))
    (folder / "exception.txt").write_text("".join(traceback.format_exception(error)))
    (folder / "result.json").write_text(result.model_dump_json(indent=4))
    for kind in (TrialEvent.START, TrialEvent.END):
        await tell(job, kind, config, result)
    return result


async def tell(job: Job, kind: TrialEvent, config: TrialConfig, result: TrialResult) -> None:
    """Tell all who listen to a job what has become of a trial that does not run in this process."""
    from harbor.models.job.lock import build_trial_lock
    from harbor.trial.hooks import TrialHookEvent

    downloaded = job._task_download_results[config.task.get_task_id()]
    lock = build_trial_lock(trial_config=config, task_download_result=downloaded)
    told = TrialHookEvent(
        event=kind, task_name=result.task_name, config=config, result=result, lock=lock
    )
    for hook in job._trial_queue._hooks[kind]:
        await hook(told)


def result_of(config: TrialConfig, error: Exception | None = None) -> TrialResult:
    """The result of a trial of which nobody knows more than that it begins, or what it met."""
    from harbor.models.trial.result import AgentInfo, ExceptionInfo, ModelInfo, TrialResult

    provider, _, model = (config.agent.model_name or "").rpartition("/")
    now = datetime.now(UTC)
    return TrialResult(
        task_name=Path(str(config.task.path)).name,
        trial_name=config.trial_name,
        trial_uri=(config.trials_dir / config.trial_name).resolve().as_uri(),
        task_id=config.task.get_task_id(),
        task_checksum="",  # nobody read the task
        config=config,
        agent_info=AgentInfo(
            name=config.agent.name or config.agent.import_path or "",
            version="unknown",
            model_info=ModelInfo(name=model, provider=provider or None) if model else None,
        ),
        exception_info=None
        if error is None
        else ExceptionInfo(
            exception_type=type(error).__name__,
            exception_message=str(error),
            exception_traceback="".join(traceback.format_exception(error)),
            occurred_at=now,
        ),
        started_at=now,
        finished_at=now if error else None,
    )
