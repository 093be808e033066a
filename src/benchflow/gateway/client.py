"""Starting the gateway of a job, finding a running one, and talking to it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.base.process_identity import Process
from benchflow.errors import InfrastructureError, UsageError
from benchflow.gateway.config import Budget, Config
from benchflow.gateway.doors.admin_protocol import HEADER, PREFIX, digest
from benchflow.model_apis.protocols import base_urls

_START_TIMEOUT = 60.0
_LOG = "gateway.log"


@dataclass(frozen=True, slots=True)
class Opened:
    """A trial that may call its model: the URLs and the token that its agent is given.

    `urls` has "openai", "anthropic" and "gemini"; they hold where the trial's agent runs.
    """

    trial: str
    token: str
    urls: dict[str, str]


@dataclass(frozen=True, slots=True)
class GatewayClient:
    """A running gateway, as the orchestrator talks to it. `url` is on the host's loopback."""

    url: str
    pid: int
    secret: str

    def open(self, trial: str, model: str, budget: Budget | None = None) -> Opened:
        """Open a trial (or open it again) for an agent that runs on this host."""
        body: dict[str, Any] = {"trial": trial, "model": model}
        if budget is not None:
            body["budget"] = budget.model_dump(exclude_none=True)
        return Opened(trial, self._ask("open", body)["token"], base_urls(self.url))

    def door(self, opened: Opened, pid: int) -> Opened:
        """Give the sandbox whose process 1 is `pid` a door; returns what holds inside it."""
        url = self.door_for(opened.trial, pid)
        return Opened(opened.trial, opened.token, base_urls(url))

    def door_for(self, trial: str, pid: int) -> str:
        """The same for a trial by name. A trial that was not opened, because its agent uses no
        model, gets none. Returns the URL that holds inside, or ""."""
        return str(self._ask("door", {"trial": trial, "pid": pid})["url"])

    def outside(self, host: str) -> str:
        """The URL by which agents on other machines reach the gateway at `host`, an address of this
        machine."""
        return str(self._ask("outside", {"host": host})["url"])

    def close(self, trial: str) -> dict[str, Any]:
        """End a trial and return its totals (`meter.Tally.summary`)."""
        return self._ask("close", {"trial": trial})

    def trial(self, trial: str) -> dict[str, Any]:
        """A trial's totals so far, with `under_way` and `moved`."""
        return self._ask("trial", {"trial": trial})

    def totals(self) -> dict[str, Any]:
        """All trials' totals, and the ledger's torn lines."""
        return self._ask("totals", {})

    def has(self, keys: Mapping[str, str]) -> bool:
        """Whether these are the providers' keys that the gateway was started with."""
        told = {name: digest(self.secret, key) for name, key in keys.items()}
        return bool(self._ask("keys", {"keys": told})["same"])

    def watch(self) -> None:
        """Keep the gateway alive for as long as this process lives."""
        self._ask("health", {"pid": os.getpid()})

    def stop(self, timeout: float = 10.0) -> None:
        """End the gateway and wait for its end."""
        process = Process.of(self.pid)
        self._ask("stop", {})
        end = time.monotonic() + timeout
        while process is not None and process.alive and time.monotonic() < end:
            time.sleep(0.02)

    def _ask(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        asked = urllib.request.Request(
            f"{self.url}{PREFIX}{verb}",
            data=json.dumps(body).encode(),
            headers={HEADER: self.secret, "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            with error:
                told = _told(error.read())
            kind = UsageError if error.code == 400 else InfrastructureError
            raise kind(told.get("error", str(error)), hint=told.get("hint", "")) from error
        except OSError as error:
            raise InfrastructureError(
                f"the model gateway does not answer: {error}", hint="benchflow resume starts it"
            ) from error


def _told(body: bytes) -> dict[str, Any]:
    """What a refusal says; nothing where the gateway itself broke down."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def prepare(folder: Path, config: Config, ledger: Path) -> None:
    """Write down what the gateway of a folder is to do, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = {"schema": 1, "config": config.model_dump(mode="json"), "ledger": str(ledger.resolve())}
    new = folder / "config.json.new"
    new.write_text(json.dumps(whole, indent=1))
    new.replace(folder / "config.json")


def find(folder: Path) -> GatewayClient | None:
    """The gateway that runs for a folder; None when it does not."""
    try:
        facts = json.loads((folder / "gateway.json").read_text())
        process = Process(facts["pid"], facts["started"])
    except (OSError, ValueError, KeyError):
        return None
    if not process.alive:
        return None
    return GatewayClient(facts["url"], facts["pid"], facts["secret"])


def ensure(
    folder: Path, config: Config, ledger: Path, keys: Mapping[str, str] | None = None
) -> GatewayClient:
    """The gateway of a folder: the one that runs, else a new one that continues the ledger.

    `keys`: the providers' keys by the names that `config` uses (default: this environment). They
    are passed on in the new process's environment and written nowhere. Raises
    InfrastructureError when it does not come up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        running = answering(folder) or _start(folder, config, ledger, keys)
    running.watch()
    return running


def answering(folder: Path) -> GatewayClient | None:
    """The gateway that runs and answers; one that is dying is waited for, None is left of it.

    Raises InfrastructureError when it runs for a minute more and does not answer.
    """
    end = time.monotonic() + _START_TIMEOUT
    while (found := find(folder)) is not None:
        try:
            found.watch()
            return found
        except InfrastructureError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    return None


def _start(
    folder: Path, config: Config, ledger: Path, keys: Mapping[str, str] | None
) -> GatewayClient:
    (folder / "gateway.json").unlink(missing_ok=True)
    prepare(folder, config, ledger)
    command = [sys.executable, "-m", "benchflow.gateway", str(folder.resolve())]
    with (folder / _LOG).open("ab") as log:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
        ]
        environment = {**os.environ, **(keys or {})}
        # In a session of its own: a signal to the orchestrator's group is not for it.
        pid = os.posix_spawn(
            sys.executable, command, environment, file_actions=actions, setsid=True
        )
    end = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < end and os.waitpid(pid, os.WNOHANG) == (0, 0):
        found = find(folder)
        if found is not None:
            return found
        time.sleep(0.01)
    if Process.of(pid) is not None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    told = (folder / _LOG).read_text(errors="replace").strip().splitlines()
    raise InfrastructureError(
        f"the model gateway did not start: {told[-1] if told else 'no message'}",
        hint=f"see {folder / _LOG}",
    )
