"""Agents that are ready at once: one asks its model for commands, one never does anything."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any, override

import aiohttp
from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import UnknownApiError
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

_PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}}
BASH = {"type": "function", "function": {"name": "bash", "parameters": _PARAMETERS}}


class _Ready(BaseAgent):
    @override
    def version(self) -> str:
        return "1"

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""


class Asking(_Ready):
    """Runs what its model says, over chat completions, until it says no more."""

    @staticmethod
    @override
    def name() -> str:
        return "asking"

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        await self._ask([{"role": "user", "content": instruction}], environment)

    async def _ask(self, messages: list[dict[str, Any]], environment: BaseEnvironment) -> None:
        url = self.extra_env["OPENAI_BASE_URL"] + "/chat/completions"
        headers = {"Authorization": f"Bearer {self.extra_env['OPENAI_API_KEY']}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            while True:
                body = {"model": "any", "messages": messages, "tools": [BASH]}
                async with session.post(url, json=body) as answer:
                    answer.raise_for_status()
                    said = (await answer.json())["choices"][0]["message"]
                messages.append(said)
                if not said.get("tool_calls"):
                    return
                for call in said["tool_calls"]:
                    command = json.loads(call["function"]["arguments"])["command"]
                    done = await environment.exec(command)
                    output = f"{done.stdout or ''}{done.stderr or ''}"
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
                await self._keep(messages, environment)

    async def _keep(self, messages: list[dict[str, Any]], environment: BaseEnvironment) -> None:
        """Nothing is remembered."""


class Remembering(Asking):
    """The same with a session: it is in the sandbox, so that it can be taken up again there."""

    capabilities = AgentCapabilities(resume=True)
    SESSION = "/root/session.json"

    @staticmethod
    @override
    def name() -> str:
        return "remembering"

    @override
    async def resume(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        found = await environment.exec(f"cat {self.SESSION}")
        messages = json.loads(found.stdout or "")
        await self._ask([*messages, {"role": "user", "content": instruction}], environment)

    @override
    async def _keep(self, messages: list[dict[str, Any]], environment: BaseEnvironment) -> None:
        replace = f"cat > {self.SESSION}.new <<'END' && mv {self.SESSION}.new {self.SESSION}"
        await environment.exec(f"{replace}\n{json.dumps(messages)}\nEND")


class Yielding(Remembering):
    """Ends when its model fails, as if its work were done."""

    @staticmethod
    @override
    def name() -> str:
        return "yielding"

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        with contextlib.suppress(aiohttp.ClientError):
            await super().run(instruction, environment, context)


class Printing(Remembering):
    """Ends with what Harbor makes of a provider's error in an agent's output."""

    @staticmethod
    @override
    def name() -> str:
        return "printing"

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        try:
            await super().run(instruction, environment, context)
        except aiohttp.ClientError as error:
            raise UnknownApiError("API Error: 400") from error


class Hanging(_Ready):
    """Takes the task, and waits for what never comes."""

    @staticmethod
    @override
    def name() -> str:
        return "hanging"

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        await asyncio.Event().wait()
