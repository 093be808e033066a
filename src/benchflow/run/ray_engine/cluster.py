"""The Ray cluster as the driver sees it: its nodes, what they offer, and one trial on one of them.

Nothing else of ours imports Ray.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from benchflow.errors import InfrastructureError, MissingTool
from benchflow.run.ray_engine.order import Order
from benchflow.run.ray_engine.placing import Demand

#: Pieces of a folder that are on their way at once: the driver takes them as it writes them.
_UNDER_WAY = 8
_CONNECT_SECONDS = 10
_START = (
    "ray start --head --port 6379 here, ray start --address HEAD:6379 on each other node; "
    "--address names the head where Ray does not find it"
)


class Lost(Exception):
    """A trial's node, or its worker there, is gone."""


@dataclass(frozen=True)
class Node:
    """A node that is alive. `offers`: what it has when it is idle."""

    id: str
    address: str
    offers: dict[str, float]


class Placed:
    """One trial on its way: events as `node.play` yields them."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    async def events(self) -> AsyncIterator[tuple[str, Any]]:
        """What happens, as it happens. Raises Lost."""
        import ray

        try:
            async for reference in self._generator:
                event: tuple[str, Any] = await reference
                yield event
        except ray.exceptions.RayError as error:
            raise Lost(_told(error)) from error

    def cancel(self) -> None:
        """Take it back; its node stops the trial as at Ctrl-C."""
        import ray

        with suppress(ray.exceptions.RayError, ValueError):
            ray.cancel(self._generator, force=False)


def _is_there(address: str) -> None:
    """Raises InfrastructureError where nothing listens at HOST:PORT: Ray would wait for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or "//" in address or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InfrastructureError(f"nothing listens at {address}: {error}", hint=_START) from error


class Cluster:
    """A connection to a cluster. Of one process, once; not of its main thread, where Ray would take
    over the signal that stops a job."""

    def __init__(self, address: str) -> None:
        """Raises MissingTool and InfrastructureError."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise MissingTool(
                "Ray is not installed",
                hint="~/.cache/benchflow/tools/uv/bin/uv sync --frozen --inexact --no-dev "
                "--extra ray, on each node too (docs/scale.md)",
            ) from error
        logging.getLogger("ray").setLevel(logging.ERROR)
        _is_there(address)
        try:
            ray.init(
                address=address,
                namespace="benchflow",
                log_to_driver=False,
                configure_logging=False,
                logging_level="ERROR",
            )
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise InfrastructureError(
                f"no Ray cluster answers at {address!r}: {_told(error)}", hint=_START
            ) from error
        self._ray = ray
        self._play = ray.remote(_play)
        here = ray.get_runtime_context().get_node_id()
        self.host = next(node.address for node in self.nodes() if node.id == here)

    def nodes(self) -> list[Node]:
        """Those that are alive. Raises Lost where the head does not answer."""
        try:
            return [
                Node(each["NodeID"], each["NodeManagerAddress"], dict(each["Resources"]))
                for each in self._ray.nodes()
                if each["Alive"]
            ]
        except self._ray.exceptions.RayError as error:
            raise Lost(_told(error)) from error

    def put(self, data: bytes) -> Any:
        """Bytes that trials are given, kept once a node."""
        return self._ray.put(data)

    def submit(
        self, order: Order, parcels: list[Any], demand: Demand, shunned: Collection[str]
    ) -> Placed:
        """Send a trial to a node that has what it asks for, and is none of those `shunned`."""
        options: dict[str, Any] = {
            "num_cpus": demand.cpus,
            "memory": demand.memory,
            "resources": dict(demand.custom),
            "max_retries": 0,  # a second try has a name of its own, and is counted
            "num_returns": "streaming",
            "scheduling_strategy": "SPREAD",
            "_generator_backpressure_num_objects": _UNDER_WAY,
        }
        if shunned:
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(sorted(shunned))})"}
        return Placed(self._play.options(**options).remote(order, *parcels))

    def close(self) -> None:
        """Let go of it; trials that are under way there are ended by Ray."""
        self._ray.shutdown()


def _play(order: Order, *parcels: bytes) -> Iterator[tuple[str, Any]]:
    import ray

    from benchflow.run.ray_engine.node import play

    yield from play(ray.get_runtime_context().get_node_id(), order, *parcels)


def _told(error: BaseException) -> str:
    """The first lines of what Ray says; a worker's traceback comes behind them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kind = type(error).__name__
    if kind.startswith("RayTaskError") and lines:
        return lines[-1]
    return f"{kind}: {lines[0] if lines else 'no message'}"[:300]
