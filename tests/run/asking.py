"""Agents that are ready at once: one asks its model for commands, one never does anything."""

from __future__ import annotations

import asyncio
import json
from typing import Any, override

import aiohttp
from harbor.agents.base import BaseAgent
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
        url = self.extra_env["OPENAI_BASE_URL"] + "/chat/completions"
        headers = {"Authorization": f"Bearer {self.extra_env['OPENAI_API_KEY']}"}
        messages: list[dict[str, Any]] = [{"role": "user", "content": instruction}]
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
