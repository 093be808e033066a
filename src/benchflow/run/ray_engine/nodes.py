"""Which nodes there are, which are shunned and why, and how many trials they can take."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchflow.errors import InfrastructureError
from benchflow.run.ray_engine.cluster import Cluster, Lost, Node
from benchflow.run.ray_engine.placing import Demand

#: A node is asked again after so long: its disk may have been emptied, its clock set.
_SHUN_SECONDS = 300.0
#: How long no node need fit before the job ends: a cluster may grow, a head be restarted.
PATIENCE = "BENCHFLOW_RAY_PATIENCE"
_PATIENCE_SECONDS = 600.0
#: Trials that wait in Ray for each one that fits now: nodes that join find work at once.
_WAITING = 2
_LEAST = 8


class Nodes:
    """The nodes of a cluster, as far as is known."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._alive: list[Node] = []
        self._shunned: dict[str, tuple[float, str]] = {}
        self._flying = 0
        self._changed = asyncio.Condition()
        self.offered: frozenset[str] = frozenset()

    async def look(self) -> None:
        """Ask the head; where it does not answer, what was known stays."""
        try:
            self._alive = await asyncio.to_thread(self._cluster.nodes)
        except Lost:
            return
        self.offered = frozenset(name for node in self._alive for name in node.offers)
        async with self._changed:
            self._changed.notify_all()

    def shun(self, node: str, host: str, why: str) -> None:
        """Send nothing to a node for a while."""
        self._shunned[node] = (time.monotonic() + _SHUN_SECONDS, f"{host}: {why}")

    def shunned(self) -> set[str]:
        """Nodes that get nothing now."""
        now = time.monotonic()
        self._shunned = {node: each for node, each in self._shunned.items() if each[0] > now}
        return set(self._shunned)

    @asynccontextmanager
    async def room(self, demand: Demand) -> AsyncIterator[None]:
        """Wait until one trial more is worth sending, and count it until the block ends."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._flying < self._most(demand))
            self._flying += 1
        try:
            yield
        finally:
            async with self._changed:
                self._flying -= 1
                self._changed.notify_all()

    def check(self, demand: Demand, waited: float) -> None:
        """Raise InfrastructureError where no node can take a trial, and none is likely to."""
        fitting = [node for node in self._alive if demand.fits(node.offers)]
        shunned = self.shunned()
        if any(node.id not in shunned for node in fitting):
            return
        if fitting:
            told = "; ".join(sorted(self._shunned[node.id][1] for node in fitting))
            raise InfrastructureError(
                f"no node can run the trials: {told}",
                hint="repair one; then the same command again",
            )
        if waited > float(os.environ.get(PATIENCE, _PATIENCE_SECONDS)):
            raise InfrastructureError(
                f"none of {len(self._alive)} nodes has what a trial asks for: {demand}",
                hint="add a node, or start one with more: ray start --num-cpus … --resources …",
            )

    def _most(self, demand: Demand) -> int:
        fits = 0
        for node in self._alive:
            by_cpu = node.offers.get("CPU", 0.0) / demand.cpus
            by_memory = node.offers.get("memory", 0.0) / max(demand.memory, 1)
            fits += int(min(by_cpu, by_memory))
        return max(_LEAST, fits * _WAITING)
