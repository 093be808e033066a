"""The gateway's process: `python -m benchflow.gateway.__main__ FOLDER`.

FOLDER holds `config.json` (`benchflow.gateway.config.Config`, and where the ledger is). The process
writes `gateway.json` there once it answers: {"url", "pid", "started", "secret"}. The keys come in
its environment, and stay in its memory: it makes itself unreadable for others (not dumpable). When
it ends by itself or is told to, `gateway.json` and its secret go with it; after a kill they stay,
so that the next one continues with the same tokens.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import secrets
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from aiohttp import web

from benchflow.base.atomic import write_json
from benchflow.base.process_identity import Process
from benchflow.gateway.accounts import ledger
from benchflow.gateway.accounts.trial_accounts import Trials
from benchflow.gateway.calls.forwarder import Forwarder
from benchflow.gateway.config import Config, Place
from benchflow.gateway.doors.admin_api import Control
from benchflow.gateway.doors.admin_protocol import PREFIX
from benchflow.gateway.doors.agent_api import Gateway
from benchflow.gateway.doors.netns_listener import Doors
from benchflow.gateway.models.providers import PROVIDERS
from benchflow.gateway.redact import Redactor, is_key
from benchflow.gateway.translation.litellm_bridge import Translator

SECRET, ADDRESS = "secret", "gateway.json"
_PR_SET_DUMPABLE = 4  # <linux/prctl.h>
_SWEEP = 2.0


def take_keys(config: Config) -> dict[str, str]:
    """The keys that the routes name, taken out of the environment; and all others too, but those
    by which LiteLLM finds its way to a provider whose key has a name that only it knows."""
    places = [(route, place) for route in config.routes for place in route.places]
    names = {place.key_env for _, place in places if place.key_env}
    found = {name: os.environ.pop(name, "") for name in names}
    finds_itself = any(not route.protocols and not place.key_env for route, place in places)
    known = {name for provider in PROVIDERS.values() for name in provider.key_envs}
    for name in [*os.environ]:
        if name in known or (is_key(name) and not finds_itself):
            del os.environ[name]
    return found


async def serve(folder: Path) -> None:
    """Serve until told to stop, or until nobody is left who needs it."""
    given: dict[str, Any] = json.loads((folder / "config.json").read_text())
    config, book = Config.model_validate(given["config"]), Path(given["ledger"])
    config, scripted = await _serve_policies(config)
    keys = take_keys(config)
    secret = _secret(folder)
    trials = Trials(config, book, secret)
    forwarder = Forwarder(config, keys)
    # Bound before anything answers: what is translated comes back by this address.
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    redact = Redactor([*keys.values(), secret])
    translator = Translator(url, keys, walled=all(route.protocols for route in config.routes))
    gateway = Gateway(config, trials, forwarder, translator, redact)
    doors = Doors(gateway.handle)
    control = Control(trials, doors, secret, keys)

    async def handle(asked: web.BaseRequest) -> web.StreamResponse:
        if asked.path.startswith(PREFIX):
            return await control.handle(asked)
        return await gateway.handle(asked)

    loop = asyncio.get_running_loop()
    front = web.Server(handle, access_log=None)
    listening = await loop.create_server(front, sock=listener)
    await _reopen(book, trials, doors)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, control.stopped.set)
    _announce(folder, url, secret)
    await _until_nobody_needs_it(control, config.linger)
    listening.close()
    await front.shutdown(1)
    await forwarder.close()
    if scripted is not None:
        await scripted.cleanup()
    # Tokens are made from the secret: with nobody left who has one, it is of no use but a thief's.
    for name in (SECRET, ADDRESS):
        (folder / name).unlink(missing_ok=True)


async def _serve_policies(config: Config) -> tuple[Config, web.AppRunner | None]:
    """Serve the scripted models of the routes; returns the routes with the place where they are."""
    files = {route.upstream: Path(route.policy) for route in config.routes if route.policy}
    if not files:
        return config, None
    from benchflow.scripted_model.policy_file import load
    from benchflow.scripted_model.server import ScriptedServer

    server = ScriptedServer({name: load(path) for name, path in files.items()})
    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    place = Place(url=f"http://127.0.0.1:{runner.addresses[0][1]}")
    routes = [
        route.model_copy(update={"places": (place,)}) if route.policy else route
        for route in config.routes
    ]
    return config.model_copy(update={"routes": tuple(routes)}), runner


def _secret(folder: Path) -> str:
    """The gateway's own secret, kept over restarts: trials' tokens are made from it."""
    path = folder / SECRET
    try:
        return path.read_text()
    except FileNotFoundError:
        secret = secrets.token_hex(32)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secret)
        return secret


async def _reopen(book: Path, trials: Trials, doors: Doors) -> None:
    """After a restart: give living sandboxes their doors back."""
    last = {
        record["trial"]: Process(record["pid"], record["started"])
        for record in ledger.read(book)
        if isinstance(record, dict) and record["event"] == "door"
    }
    for trial, inhabitant in last.items():
        if inhabitant.alive and not trials.meter.tallies[trial].closed:
            await doors.open(trial, inhabitant)


def _announce(folder: Path, url: str, secret: str) -> None:
    me = Process.of(os.getpid())
    assert me is not None
    facts = {"schema": 1, "url": url, "pid": me.pid, "started": me.started, "secret": secret}
    write_json(folder / ADDRESS, facts, mode=0o600, lasting=False)


async def _until_nobody_needs_it(control: Control, linger: float) -> None:
    loop = asyncio.get_running_loop()
    last_needed = loop.time()
    while not control.stopped.is_set():
        try:
            await asyncio.wait_for(control.stopped.wait(), min(_SWEEP, linger))
        except TimeoutError:
            if control.needed():
                last_needed = loop.time()
            elif loop.time() - last_needed >= linger:
                return


def main() -> int:
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    folder = Path(sys.argv[1]).resolve()
    os.chdir("/")
    asyncio.run(serve(folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
