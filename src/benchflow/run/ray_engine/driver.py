"""The driver: Harbor's job on this machine, whose trials run on a cluster's nodes.

What is infrastructure there (a node dies, its disk is full, its clock is wrong, it has another
version) costs a trial nothing but time: it begins again on another node, under another name, so
that an answer from the first one that comes late is nobody's. After `MOST_LOST` such losses it ends
as an error that names them.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from benchflow.errors import InfrastructureError, UsageError
from benchflow.results.jobs import journal
from benchflow.results.jobs.progress_events import NAME, Phase
from benchflow.run.job import stillborn
from benchflow.run.job.agents import EXPLOIT, VARIANT
from benchflow.run.job.engine import Running
from benchflow.run.models.gateway_access import is_metered
from benchflow.run.ray_engine import facts, meeting, nodes_log, parcel, placing
from benchflow.run.ray_engine.arrival import Arrival, coming, take_in
from benchflow.run.ray_engine.cluster import Cluster, Lost, Placed
from benchflow.run.ray_engine.nodes import Nodes
from benchflow.run.ray_engine.order import Models, Order
from benchflow.run.ray_engine.relay import relayed
from benchflow.tasks import Task

if TYPE_CHECKING:
    from harbor.models.job.config import JobConfig
    from harbor.models.trial.config import TrialConfig
    from harbor.models.trial.result import TrialResult

#: Losses of one trial, each by a node's death or fault, before it is an error.
MOST_LOST = 3
#: Agents that somebody works with on the driver's machine.
_HERE = ("benchflow.agents.external.agent:", "benchflow.agents.human")
_LOOK_SECONDS = 5.0


class Again(Exception):
    """A try came to nothing. `counts`: it had begun."""

    def __init__(self, why: str, *, counts: bool, came: str) -> None:
        super().__init__(why)
        self.counts = counts
        self.came = came


@dataclass
class Try:
    """One try of a trial. `node`: its id, once it has begun."""

    config: TrialConfig
    result: TrialResult
    node: str = ""
    host: str = ""
    begun: float = field(default_factory=time.time)


class RayEngine:
    """Runs the trials of one job on a cluster."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._running: Running
        self._cluster: Cluster | None = None
        self._nodes: Nodes
        self._url = ""
        self._meeting = meeting.Meeting()
        self._sent: dict[str, tuple[str, Any]] = {}
        self._looking: asyncio.Task[None] | None = None

    def preflight(self, config: JobConfig) -> None:
        """Agents that need this machine cannot go elsewhere. Raises UsageError."""
        for agent in config.agents:
            if (agent.import_path or "").startswith(_HERE):
                raise UsageError(
                    "an agent from outside works on the machine of its driver",
                    hint="leave --engine ray out",
                )

    def recover(self, job: Path) -> None:
        """Take in what a driver that was killed had received whole."""
        take_in(job)

    async def attach(self, running: Running) -> None:
        """Connect, take in what an earlier driver had received, and take over the trials."""
        self._running = running
        self._cluster = await asyncio.to_thread(Cluster, self._address)
        self._nodes = Nodes(self._cluster)
        self._meeting = meeting.begin(coming(running.job.job_dir))
        await self._nodes.look()
        if running.models is not None:
            client, host = running.models.client, self._cluster.host
            self._url = await asyncio.to_thread(client.outside, host)
        self._looking = asyncio.create_task(self._keep_looking())
        setattr(running.job._trial_queue, "_execute_trial_with_retries", self._execute)  # noqa: B010

    async def close(self) -> None:
        """Let go of the cluster."""
        if self._looking is not None:
            self._looking.cancel()
        if self._cluster is not None:
            await asyncio.to_thread(self._cluster.close)
        meeting.end(self._meeting)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self._nodes.look()

    async def _execute(self, config: TrialConfig) -> TrialResult:
        told: list[str] = []
        while True:
            task = self._task(config)
            try:
                async with self._nodes.room(placing.demand(task, self._nodes.offered)):
                    return await self._try(config)
            except Again as again:
                if again.counts:
                    told.append(str(again))
            if len(told) >= MOST_LOST:
                why = f"lost {len(told)} times: " + "; ".join(told)
                error = InfrastructureError(why, hint="benchflow resume --errors tries again")
                nodes_log.note(self._running.job.job_dir, config.trial_name, "given up", why=why)
                return await stillborn.end(self._running.job, config, error)
            config = _renamed(config)

    async def _try(self, config: TrialConfig) -> TrialResult:
        from harbor.trial.hooks import TrialEvent

        one = Try(config, stillborn.result_of(config))
        await self._tell(TrialEvent.START, one)  # it waits here while the budget is bound
        placed: Placed | None = None
        try:
            placed = await self._submit(one)
            result = await self._follow(one, placed)
            placed = None
            return result
        except Again as again:
            await self._forget(one, again)
            raise
        except asyncio.CancelledError:
            await self._tell(TrialEvent.CANCEL, one)
            raise
        finally:
            if placed is not None:
                placed.cancel()

    async def _submit(self, one: Try) -> Placed:
        config, task = one.config, self._task(one.config)
        assert self._cluster is not None
        folder = Path(str(config.task.path))
        digest, sent = await self._send(folder)
        parcels, source_digest = [sent], ""
        if config.agent.import_path in (EXPLOIT, VARIANT) or "sources" in config.agent.kwargs:
            source = Path(config.agent.kwargs["sources"][str(folder)])
            source_digest, sent = await self._send(source)
            parcels.append(sent)
        script = config.agent.kwargs.get("script")
        order = Order(
            trial=config.trial_name,
            config=pickle.dumps(config),
            task_name=folder.name,
            task_digest=digest,
            disk_mb=task.resources.storage_mb,
            common=facts.ours(),
            source_digest=source_digest,
            script=Path(str(script)).read_text() if script else None,
            models=await self._models(one),
            meeting=self._meeting,
        )
        demand = placing.demand(task, self._nodes.offered)
        return self._cluster.submit(order, parcels, demand, self._nodes.shunned())

    async def _models(self, one: Try) -> Models | None:
        """The trial's own way to the job's gateway: what counts and limits is there alone."""
        models, agent = self._running.models, one.config.agent
        if models is None or not is_metered(agent) or not agent.model_name:
            return None
        opened = await asyncio.to_thread(
            models.client.open, one.config.trial_name, agent.model_name
        )
        config = await asyncio.to_thread(relayed, models.job, agent.model_name, self._url)
        return Models(self._url, opened.token, config)

    async def _send(self, folder: Path) -> tuple[str, Any]:
        """The digest of a folder, and what Ray knows it by; each is sent once."""
        if str(folder) not in self._sent:
            assert self._cluster is not None
            digest = await asyncio.to_thread(parcel.digest_of, folder)
            data = await asyncio.to_thread(lambda: b"".join(parcel.pack(folder)))
            self._sent.setdefault(str(folder), (digest, self._cluster.put(data)))
        return self._sent[str(folder)]

    async def _follow(self, one: Try, placed: Placed) -> TrialResult:
        from harbor.trial.hooks import TrialEvent

        job = self._running.job.job_dir
        arrival = Arrival(job, one.config)
        events = self._events(one, placed)
        try:
            async for event, said in events:
                if event == "hello":
                    await self._welcome(one, said)
                elif event == "phase":
                    await self._tell(_phase(said, TrialEvent), one)
                elif event == "progress":
                    _append(job / one.config.trial_name / "verifier" / NAME, said["line"])
                elif event == "piece":
                    await asyncio.to_thread(arrival.take, said)
                elif event in ("whole", "placed"):
                    return await self._end(one, arrival, event, int(said))
                else:
                    raise self._came_to_nothing(one, event, said)
        except (Lost, parcel.BadParcel) as error:
            counts = bool(one.node)
            raise Again(f"{one.host or 'a node'}: {error}", counts=counts, came="lost") from error
        finally:
            arrival.discard()
            await events.aclose()
        raise Again(f"{one.host}: it ended without a word", counts=True, came="lost")

    async def _events(self, one: Try, placed: Placed) -> AsyncGenerator[tuple[str, Any]]:
        """What happens to a try; while it waits for a node, whether there can be one."""
        events = placed.events()
        task = self._task(one.config)
        waiting = time.monotonic()
        while True:
            coming = asyncio.ensure_future(anext(events))
            try:
                while not (await asyncio.wait({coming}, timeout=_LOOK_SECONDS))[0]:
                    if not one.node:
                        demand = placing.demand(task, self._nodes.offered)
                        self._nodes.check(demand, time.monotonic() - waiting)
                event = await coming
            except StopAsyncIteration:
                return
            finally:
                coming.cancel()
            yield event

    async def _welcome(self, one: Try, said: dict[str, Any]) -> None:
        one.node, one.host, one.begun = str(said["node"]), str(said["host"])[:200], time.time()
        off = float(said["clock"]) - time.time()
        if abs(off) > facts.MOST_SECONDS_OFF:
            why = f"its clock is {abs(off):,.0f} s {'ahead' if off > 0 else 'behind'}"
            self._nodes.shun(one.node, one.host, why)
            raise Again(f"{one.host}: {why}", counts=False, came="refused")
        folder = self._running.job.job_dir / one.config.trial_name
        (folder / "verifier").mkdir(parents=True, exist_ok=True)
        told = one.config.model_dump_json(indent=4, exclude_defaults=True)
        (folder / "config.json").write_text(told)

    def _came_to_nothing(self, one: Try, event: str, said: dict[str, Any]) -> Again:
        why = str(said.get("why") or event)[:2000]
        if event == "refused" or said.get("full"):
            self._nodes.shun(one.node, one.host, why)
        came = "refused" if event == "refused" else "lost"
        return Again(f"{one.host}: {why}", counts=came == "lost", came=came)

    async def _end(self, one: Try, arrival: Arrival, event: str, amount: int) -> TrialResult:
        from harbor.trial.hooks import TrialEvent

        finish = arrival.finish if event == "whole" else arrival.finish_placed
        one.result, left_out = await asyncio.to_thread(finish, amount)
        by = "ray" if event == "whole" else "shared folder"
        self._note(one, "done", by=by, left_out=left_out[:20])
        await self._tell(TrialEvent.END, one)
        return one.result

    async def _forget(self, one: Try, again: Again) -> None:
        """To the job it is as if the try had not been; what it spent stays in the ledger."""
        job, name = self._running.job, one.config.trial_name
        self._note(one, again.came, why=str(again))
        journal.enter(job.job_dir, name, Phase.LOST.value, 0.0)
        await asyncio.to_thread(shutil.rmtree, job.job_dir / name, ignore_errors=True)
        job._running_trial_names.discard(name)
        if self._running.gate is not None:
            self._running.gate.lost(name)
        models = self._running.models
        if models is not None and is_metered(one.config.agent):
            await asyncio.to_thread(models.client.close, name)

    def _note(self, one: Try, came: str, **more: Any) -> None:
        job, seconds = self._running.job.job_dir, round(time.time() - one.begun, 2)
        nodes_log.note(
            job, one.config.trial_name, came, node=one.node, host=one.host, seconds=seconds, **more
        )

    async def _tell(self, kind: Any, one: Try) -> None:
        await stillborn.tell(self._running.job, kind, one.config, one.result)

    def _task(self, config: TrialConfig) -> Task:
        return self._running.phases.tasks[str(config.task.path)]


def _phase(said: Any, kinds: Any) -> Any:
    try:
        return kinds(said["phase"])
    except (KeyError, TypeError, ValueError) as error:
        raise parcel.BadParcel(f"it told of no phase that there is: {said!r:.100}") from error


def _renamed(config: TrialConfig) -> TrialConfig:
    stem = config.trial_name.rpartition("__")[0] or config.trial_name
    return config.model_copy(update={"trial_name": f"{stem}__{uuid4().hex[:7]}"})


def _append(path: Path, line: str) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o644), "a") as file:
        file.write(line + "\n")
