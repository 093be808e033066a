"""The program on a node that runs trials, one after the other: a job of one trial each.

It is a process of its own beside Ray's worker, which starts it once: sandboxes belong to it, so
they end when it does, and it ends when the worker does. Orders come on standard input; what happens
goes out as one JSON object a line.

    {"event": "refused", "why"}     this node cannot run it; nothing was begun
    {"event": "phase", "phase"}     one of Harbor's events
    {"event": "progress", "line"}   what the verifier has told
    {"event": "ended", "folder"}    the trial's folder is whole; it is kept until the next word
    {"event": "broken", "why", "full"}   the infrastructure failed here; `full`: for want of room
    {"event": "stopped"}            it was asked to stop
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import queue
import shutil
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from benchflow.base.home import home
from benchflow.errors import BenchflowError
from benchflow.gateway import client as process
from benchflow.results.jobs import lock
from benchflow.results.jobs.progress_events import NAME
from benchflow.results.jobs.tail import Tail
from benchflow.results.jobs.trials import read_trial
from benchflow.results.model import Verdict
from benchflow.run.host import recorded
from benchflow.run.job import harbor_job, jobs, layers, prebuild, stillborn
from benchflow.run.job.engine import Running
from benchflow.run.job.worker import Interrupted
from benchflow.run.live.journal_writer import Phases
from benchflow.run.models import job_gateway
from benchflow.run.ray_engine import facts
from benchflow.run.ray_engine.node import jobs_dir, place_of
from benchflow.run.ray_engine.order import UPSTREAM_KEY, Models, Order, receive
from benchflow.run.ray_engine.parcel import digest_of

if TYPE_CHECKING:
    from harbor.models.job.config import JobConfig
    from harbor.models.trial.config import TrialConfig
    from harbor.trial.hooks import TrialHookEvent

_LOOK_SECONDS = 0.5
#: A network that is gone for a moment is no fault of the node's.
_REACH_SECONDS, _PAUSE_SECONDS = 60.0, 2.0


class Refused(Exception):
    """This node cannot run the trial."""


class Speaker:
    """Tells Ray's worker what happens."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._turn = threading.Lock()

    def say(self, event: str, **facts: object) -> None:
        """One event."""
        with self._turn:
            self._out.write(json.dumps({"event": event, **facts}) + "\n")
            self._out.flush()


class OneTrial:
    """The engine of a job of one trial: this machine, with nothing kept for a later process."""

    def __init__(self, trial: str, speaker: Speaker) -> None:
        self._trial = trial
        self._speaker = speaker
        self._telling: asyncio.Task[None] | None = None

    def preflight(self, config: JobConfig) -> None:
        """Whether the sandbox can be had here."""
        from benchflow.run.job.engine import LOCAL

        LOCAL.preflight(config)

    def recover(self, job: Path) -> None:
        """A trial that was cut off begins again, on whichever node."""

    async def attach(self, running: Running) -> None:
        """Give the trial its name, and tell of it."""
        job = running.job
        prebuild.prepare(job.config)
        (config,) = job._remaining_trial_configs
        config.trial_name = self._trial
        for subscribe in (
            job.on_environment_started,
            job.on_agent_started,
            job.on_agent_ended,
            job.on_verification_started,
        ):
            subscribe(self._tell)
        recorded.attach(job)
        stillborn.attach(job)
        self._telling = asyncio.create_task(self._tell_progress(job.job_dir / self._trial))

    async def close(self) -> None:
        """Tell no more."""
        if self._telling is not None:
            self._telling.cancel()

    async def _tell(self, event: TrialHookEvent) -> None:
        self._speaker.say("phase", phase=event.event.value)

    async def _tell_progress(self, trial: Path) -> None:
        tail = Tail(trial / "verifier" / NAME)
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for event in tail.events():
                self._speaker.say("progress", line=json.dumps(event))


def main() -> int:
    """Run orders until there are no more."""
    harbor_job.keep_quiet()
    speaker = Speaker(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(2, 1)
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, orders), daemon=True).start()
    _tidy_up()
    while True:
        order = orders.get()
        if isinstance(order, Order):
            _play(order, speaker, orders)


def _listen(pipe: Any, orders: queue.SimpleQueue[Any]) -> None:
    while (order := receive(pipe)) is not None:
        orders.put(order)
    os._exit(0)  # Ray's worker is gone: whatever runs here is nobody's


def _play(order: Order, speaker: Speaker, orders: queue.SimpleQueue[Any]) -> None:
    job = jobs_dir() / order.trial
    try:
        config = _prepared(order)
        job.mkdir(parents=True)
        with lock.hold(job):
            _run(order, config, job, speaker)
            orders.get()  # the folder has been sent
    except Refused as no:
        speaker.say("refused", why=str(no))
    except Interrupted:
        speaker.say("stopped")
    except BenchflowError as error:
        speaker.say("broken", why=error.message, full=_is_full())
    except Exception as error:  # of Harbor, of the disk: the trial has no result
        speaker.say("broken", why=f"{type(error).__name__}: {error}", full=_is_full())
    finally:
        shutil.rmtree(job, ignore_errors=True)
        _script(order).unlink(missing_ok=True)


def _script(order: Order) -> Path:
    return jobs_dir().parent / f"{order.trial}.script"


def _prepared(order: Order) -> TrialConfig:
    """The trial as it is run here. Raises Refused."""
    if told := facts.difference(order.common):
        raise Refused(told)
    room, needed = facts.free_mb(), facts.LEAST_FREE_MB + order.disk_mb
    if room < needed:
        raise Refused(f"{room:,} MiB are free in {home()}, and the trial needs {needed:,}")
    task = _checked(order.task_digest, order.task_name)
    if order.models is not None:
        _reach(order.models)
    config: TrialConfig = pickle.loads(order.config)
    kwargs = dict(config.agent.kwargs)
    if order.source_digest:
        source = _checked(order.source_digest, "source")
        kwargs["sources"] = {str(task): str(source)}
    if order.script is not None:
        script = _script(order)
        script.write_text(order.script)
        kwargs["script"] = str(script)
    agent = config.agent.model_copy(update={"kwargs": kwargs})
    placed = config.task.model_copy(update={"path": task})
    return config.model_copy(update={"agent": agent, "task": placed})


def _checked(digest: str, name: str) -> Path:
    """A folder that was sent, and is still what it was."""
    folder = place_of(digest) / name
    found = digest_of(folder)
    if found != digest:
        raise Refused(
            f"{folder} holds another task than the driver's: digest {found[:12]}, not {digest[:12]}"
        )
    return folder


def _reach(models: Models) -> None:
    asked = urllib.request.Request(
        f"{models.url}/v1/models", headers={"Authorization": f"Bearer {models.token}"}
    )
    end = time.monotonic() + _REACH_SECONDS
    while True:
        try:
            with urllib.request.urlopen(asked, timeout=_REACH_SECONDS):
                return
        except (urllib.error.URLError, OSError) as error:
            if time.monotonic() > end:
                why = f"the model gateway at {models.url} cannot be reached: {error}"
                raise Refused(why) from error
            time.sleep(_PAUSE_SECONDS)


def _run(order: Order, trial: TrialConfig, job: Path, speaker: Speaker) -> None:
    from harbor.models.job.config import JobConfig, RetryConfig

    config = JobConfig(
        job_name=job.name,
        jobs_dir=job.parent,
        n_attempts=1,
        n_concurrent_trials=1,
        timeout_multiplier=trial.timeout_multiplier,
        agent_timeout_multiplier=trial.agent_timeout_multiplier,
        verifier_timeout_multiplier=trial.verifier_timeout_multiplier,
        environment_build_timeout_multiplier=trial.environment_build_timeout_multiplier,
        quiet=True,
        retry=RetryConfig(max_retries=0),
        environment=trial.environment,
        agents=[trial.agent],
        tasks=[trial.task],
    )
    jobs.clean_up()
    layers.provide([trial.agent])
    models = None
    if order.models is not None:
        keys = {UPSTREAM_KEY: order.models.token}
        models = job_gateway.start(job, order.models.config, keys)
    try:
        harbor_job.run(config, Phases(job, {}), models, None, OneTrial(order.trial, speaker))
    finally:
        if models is not None:
            with suppress(BenchflowError):
                models.close()
    folder = job / order.trial
    found, _ = read_trial(folder)
    if found.verdict is Verdict.ERROR and _is_full():
        speaker.say("broken", why=f"{found.cause}: {found.cause_message}", full=True)
    else:
        speaker.say("ended", folder=str(folder))


def _is_full() -> bool:
    return facts.free_mb() < facts.FULL_MB


def _tidy_up() -> None:
    """Remove what runners that were killed left behind."""
    top = jobs_dir()
    top.mkdir(parents=True, exist_ok=True)
    jobs.clean_up()
    for job in top.iterdir():
        if not job.name.startswith(".") and not lock.is_held(job):
            shutil.rmtree(job, ignore_errors=True)
    for gateway in (top / ".gateway").glob("*/"):
        if not (top / gateway.name).exists() and process.find(gateway) is None:
            shutil.rmtree(gateway, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
