"""The namespace sandbox as `benchflow run` uses it: a hand-over that we spoil is not the agent's.

Harbor collects artifacts as best it can: what could not be fetched is only logged, and the verifier
then finds nothing and judges so. That is right where the agent delivered nothing, and wrong where
our disk was full or the sandbox was gone. The second kind is written down beside the trial, and
makes its verdict an error (`benchflow.results.verdict`).

The agent's own sandbox also shows the layer that its agent runs from (`benchflow.run.layers`), and
has a door to the job's model gateway (`benchflow.run.models`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, override

from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.trial.paths import EnvironmentPaths

from benchflow.errors import InfrastructureError
from benchflow.gateway import process
from benchflow.results.faults import add_fault
from benchflow.run import layers, models
from benchflow.sandbox import Mount, handover
from benchflow.sandbox.environment import NamespaceEnvironment

#: Fetched for the harness, which writes among them; a deliverable keeps its symlinks.
_LOGS = {str(path) for path in (EnvironmentPaths().agent_dir, EnvironmentPaths().verifier_dir)}


class TrialEnvironment(NamespaceEnvironment):
    """See the module. Constructor arguments are those of `NamespaceEnvironment`, and `share_logs`:
    the agent's log folder is the host's, for an agent that talks to the host through it."""

    def __init__(self, *args: Any, share_logs: str = "", **kwargs: Any) -> None:
        self._has_started = False
        self._shares_logs = bool(share_logs)
        super().__init__(*args, **kwargs)

    @override
    async def start(self, force_build: bool) -> None:
        await super().start(force_build)
        if self._is_agents():
            await asyncio.to_thread(self._open_door)
        self._has_started = True

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        """Nothing of the host's is mounted writable for an agent, unless `share_logs`.

        Harbor, which may be root, writes files of its own (a trajectory) among the agent's logs
        while the agent's programs may still run. In a shared folder a symlink put there in time
        would lead that write to any file of the host, so logs are fetched instead.
        """
        found = super().capabilities
        if self._is_agents() and not self._shares_logs:
            return found.model_copy(update={"mounted": False})
        return found

    def _open_door(self) -> None:
        """Let the sandbox reach the job's model gateway at its own loopback."""
        trial = self.trial_paths.trial_dir
        client = process.find(models.folder(trial.parent))
        if client is not None:
            client.door_for(trial.name, self._running().init_pid)

    @override
    def _core_mounts(self) -> list[Mount]:
        own = layers.mounts(self.trial_paths.config_path) if self._is_agents() else []
        return super()._core_mounts() + own

    @override
    async def prepare_logs_for_host(self) -> None:
        """Harbor asks for this after a start that failed, too: then there are no logs."""
        if self._has_started:
            await super().prepare_logs_for_host()

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await self._fetch(super().download_file(source_path, target_path), source_path)

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await self._fetch(super().download_dir(source_dir, target_dir), source_dir)
        if source_dir.rstrip("/") in _LOGS:
            await asyncio.to_thread(handover.disarm, [Path(target_dir)])

    async def _fetch(self, download: Any, source: str) -> None:
        try:
            await download
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise  # the agent's: it delivered nothing, or something else
        except (OSError, InfrastructureError) as error:
            if not self._has_started:
                raise  # Harbor knows already why there is nothing to fetch
            trial = self.trial_paths.trial_dir
            await asyncio.to_thread(add_fault, trial, f"hand-over of {source}", error)
            raise
