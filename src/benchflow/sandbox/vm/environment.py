"""`MachineEnvironment`: a real machine as an environment of Harbor's, for the agent alone.

    harbor run --environment-import-path benchflow.sandbox.vm.environment:MachineEnvironment …

A verifier's environment is the namespace sandbox as ever: nothing of the host's is shared with a
machine, so no log folder of Harbor's is there, and a verifier never moves into one.
"""

from __future__ import annotations

from typing import Any, override

from harbor.environments.capabilities import (
    EnvironmentCapabilities,
    EnvironmentResourceCapabilities,
)

from benchflow.sandbox.box import Box
from benchflow.sandbox.environment import NamespaceEnvironment, enforced_here
from benchflow.sandbox.model import Image
from benchflow.sandbox.vm.machine import Machine


class MachineEnvironment(NamespaceEnvironment):
    """See the module. Constructor arguments are those of `NamespaceEnvironment`."""

    @staticmethod
    @override
    def type() -> str:
        return "vm"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        if not self._is_agents():
            return super().capabilities
        return EnvironmentCapabilities(disable_internet=True, mounted=False)

    @classmethod
    @override
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(
            cpu_limit="cpus" in enforced_here(), memory_limit=True
        )

    @override
    def _open(self, image: Image, **how: Any) -> Box:
        if not self._is_agents():
            return super()._open(image, **how)
        return Machine.start(image, label=self.session_id, **how)

    @override
    async def prepare_logs_for_host(self) -> None:
        if not self._is_agents():
            await super().prepare_logs_for_host()
