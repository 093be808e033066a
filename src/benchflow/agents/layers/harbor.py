"""Harbor's agents, using layers: everything but the install stays Harbor's.

A layered agent is given the layer's name (`layer=`, `<agent>/<version>-<digest>`); the sandbox has
the layer mounted (`benchflow.run.job.environment`). What the agent says of itself, how it is
started, what becomes of its trajectory and its token counts: Harbor's own code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, override

from harbor.agents.base import BaseAgent
from harbor.agents.installed.base import BaseInstalledAgent
from harbor.agents.installed.claude_code import ClaudeCode
from harbor.agents.installed.codex import Codex
from harbor.agents.installed.gemini_cli import GeminiCli
from harbor.agents.installed.mini_swe_agent import MiniSweAgent
from harbor.agents.installed.opencode import OpenCode
from harbor.agents.options import AgentOptions
from harbor.agents.terminus_2 import Terminus2
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from benchflow.agents.layers import catalogue
from benchflow.agents.layers.catalogue import AgentSpec
from benchflow.errors import InfrastructureError


class _Layered(BaseAgent):
    """What every layered agent has: `layer` is no option of Harbor's class."""

    spec: ClassVar[AgentSpec]

    def __init__(self, *args: Any, layer: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.layer = layer

    @classmethod
    @override
    def parse_options(
        cls, kwargs: dict[str, Any] | None = None, env: Mapping[str, str] | None = None
    ) -> AgentOptions | None:
        options = {key: value for key, value in (kwargs or {}).items() if key != "layer"}
        return super().parse_options(options, env)

    async def _find_layer(self, environment: BaseEnvironment, command: str = "") -> None:
        """Makes sure that the layer is shown, and runs `command`, as root."""
        places = [f"{self.spec.inside}/bin/{name}" for name in self.spec.launchers]
        tests = " && ".join(f"[ -x {place} ]" for place in places)
        script = f"{tests} || exit 9; {command or ':'}"
        result = await environment.exec(script, user="root")
        if result.return_code != 0:
            raise InfrastructureError(
                f"the sandbox does not show the agent layer {self.layer} ({result.stderr})",
                hint="layers need --sandbox namespace; elsewhere: --agent-option layer=none",
            )


class _LayeredProgram(_Layered, BaseInstalledAgent):
    """An agent whose program runs in the sandbox."""

    #: Run as the agent's user once the layer is there: what else Harbor's install prepares.
    prepare: ClassVar[str] = ""

    def __init__(self, *args: Any, layer: str, **kwargs: Any) -> None:
        super().__init__(*args, layer=layer, **kwargs)
        self._version = layer.partition("/")[2].rpartition("-")[0]

    @override
    async def install(self, environment: BaseEnvironment) -> None:
        await self._find_layer(environment)
        if self.prepare:
            await self.exec_as_agent(environment, command=self.prepare)

    @override
    async def _exec(
        self,
        environment: BaseEnvironment,
        command: str,
        user: str | int | None = None,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        timeout_sec: int | None = None,
    ) -> Any:
        command = f'export PATH="{self.spec.inside}/bin:$PATH"; {command}'
        return await super()._exec(environment, command, user, env, cwd, timeout_sec)


class LayeredClaudeCode(_LayeredProgram, ClaudeCode):
    """Claude Code."""

    spec = catalogue.CLAUDE_CODE


class LayeredCodex(_LayeredProgram, Codex):
    """Codex."""

    spec = catalogue.CODEX

    @override
    async def resume(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        """Harbor puts the session among the logs when Codex ends, and looks for it there; a Codex
        that was killed left it where it works."""
        left, logs = f"{self._REMOTE_CODEX_HOME}/sessions", f"{self.environment_logs_dir}/sessions"
        take = f"[ ! -d {left} ] || {{ rm -rf {logs} && cp -R {left} {logs}; }}"
        await self.exec_as_agent(environment, command=take)
        await super().resume(instruction, environment, context)


class LayeredGeminiCli(_LayeredProgram, GeminiCli):
    """Gemini CLI."""

    spec = catalogue.GEMINI_CLI
    prepare = (
        "mkdir -p ~/.gemini && "
        'printf %s \'{"experimental": {"skills": true}}\' > ~/.gemini/settings.json'
    )


class LayeredOpenCode(_LayeredProgram, OpenCode):
    """OpenCode."""

    spec = catalogue.OPENCODE

    @override
    async def resume(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        """Harbor writes its output again, and reads the trajectory from it: it needs both parts."""
        output = f"{self.environment_logs_dir}/opencode.txt"
        before = f"{output}.before"
        await self.exec_as_agent(environment, command=f"[ ! -f {output} ] || mv {output} {before}")
        try:
            await super().resume(instruction, environment, context)
        finally:
            join = f"cat {output} >> {before}; mv {before} {output}"
            await self.exec_as_agent(environment, command=f"[ ! -f {before} ] || {{ {join}; }}")


class LayeredMiniSweAgent(_LayeredProgram, MiniSweAgent):
    """mini-swe-agent."""

    spec = catalogue.MINI_SWE_AGENT


class LayeredTerminus2(_Layered, Terminus2):
    """Terminus 2 thinks in Harbor's own process; its layer holds tmux and asciinema.

    They are linked into /usr/local/bin where the image has none: the login shell inside tmux sets
    a PATH of its own and needs tmux too.
    """

    spec = catalogue.TERMINUS_2

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        links = "; ".join(
            f"command -v {name} >/dev/null || ln -s {self.spec.inside}/bin/{name} /usr/local/bin/"
            for name in self.spec.launchers
        )
        await self._find_layer(environment, links)
        await super().setup(environment)
