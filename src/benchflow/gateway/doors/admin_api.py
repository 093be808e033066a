"""What the orchestrator asks of a running gateway: open and close trials, totals, stop."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from benchflow.base.process_identity import Process
from benchflow.errors import BenchflowError, InfrastructureError, UsageError
from benchflow.gateway.accounts.trial_accounts import Trials
from benchflow.gateway.config import Budget
from benchflow.gateway.doors.admin_protocol import HEADER, PREFIX, digest
from benchflow.gateway.doors.netns_listener import Doors

type _Verb = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Control:
    """Answers below `/benchflow/`, to those alone who know the gateway's secret. Never by a door:
    the gateway gives doors to agents."""

    def __init__(self, trials: Trials, doors: Doors, secret: str, keys: Mapping[str, str]) -> None:
        self._trials = trials
        self._doors = doors
        self._keys = keys
        self._secret = secret.encode()
        self._watchers: set[Process] = set()
        self.stopped = asyncio.Event()

    async def handle(self, asked: web.BaseRequest) -> web.StreamResponse:
        """One request of the orchestrator: POST a JSON object to the verb's address."""
        given = asked.headers.get(HEADER, "").encode()
        if not hmac.compare_digest(given, self._secret):
            return web.json_response({"error": "wrong secret"}, status=403)
        verb = self._verbs().get(asked.path.removeprefix(PREFIX))
        if verb is None:
            return web.json_response({"error": f"no {asked.path}"}, status=404)
        try:
            body = json.loads(await asked.content.read() or b"{}")
            return web.json_response(await verb(body))
        except BenchflowError as error:
            fault = {"error": error.message, "hint": error.hint}
            return web.json_response(fault, status=400 if isinstance(error, UsageError) else 503)
        except (KeyError, TypeError, ValueError) as error:
            return web.json_response({"error": f"bad request: {error!r}"}, status=400)

    def _verbs(self) -> dict[str, _Verb]:
        return {
            "health": self._health,
            "keys": self._has_keys,
            "open": self._open,
            "door": self._door,
            "outside": self._listen_outside,
            "close": self._close,
            "trial": self._trial,
            "totals": self._totals,
            "stop": self._stop,
        }

    def needed(self) -> bool:
        """Whether somebody alive still needs the gateway: an orchestrator, or a sandbox."""
        self._watchers = {watcher for watcher in self._watchers if watcher.alive}
        return bool(self._doors.sweep() or self._watchers)

    async def _health(self, body: dict[str, Any]) -> dict[str, Any]:
        watcher = Process.of(int(body["pid"])) if "pid" in body else None
        if watcher is not None:
            self._watchers.add(watcher)
        return {"schema": 1, "models": [*self._trials.routes]}

    async def _has_keys(self, body: dict[str, Any]) -> dict[str, Any]:
        given, secret = body["keys"], self._secret.decode()
        return {"same": all(digest(secret, self._keys.get(n, "")) == given[n] for n in given)}

    async def _open(self, body: dict[str, Any]) -> dict[str, Any]:
        budget = Budget.model_validate(body["budget"]) if body.get("budget") else None
        return {"token": self._trials.open(body["trial"], body["model"], budget)}

    async def _door(self, body: dict[str, Any]) -> dict[str, Any]:
        trial, inhabitant = body["trial"], Process.of(int(body["pid"]))
        if trial not in self._trials.meter.tallies:
            return {"url": ""}
        if inhabitant is None:
            raise InfrastructureError(f"the sandbox of {trial} is gone")
        url = await self._doors.open(trial, inhabitant)
        self._trials.door(trial, pid=inhabitant.pid, started=inhabitant.started)
        return {"url": url}

    async def _listen_outside(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"url": await self._doors.outside(str(body["host"]))}
        except OSError as error:
            raise InfrastructureError(f"cannot listen on {body['host']}: {error}") from error

    async def _close(self, body: dict[str, Any]) -> dict[str, Any]:
        self._trials.close(body["trial"])
        self._doors.close(body["trial"])
        return self._trials.summary(body["trial"])

    async def _trial(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._trials.summary(body["trial"])

    async def _totals(self, body: dict[str, Any]) -> dict[str, Any]:
        names = self._trials.meter.tallies
        torn = [{"line": torn.line, "why": torn.why} for torn in self._trials.meter.torn]
        return {"schema": 1, "trials": [self._trials.summary(n) for n in names], "torn": torn}

    async def _stop(self, body: dict[str, Any]) -> dict[str, Any]:
        self.stopped.set()
        return {}
