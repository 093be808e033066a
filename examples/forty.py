"""An agent in forty lines: a model, a shell, and nothing else."""

import json

import litellm
from harbor.agents.base import BaseAgent

from benchflow.agents.atif import TrajectoryWriter

COMMAND = {"properties": {"command": {"type": "string"}}, "required": ["command"]}
BASH = {"name": "bash", "parameters": {"type": "object", **COMMAND}}
TOOLS = [{"type": "function", "function": BASH}]


class Forty(BaseAgent):
    @staticmethod
    def name():
        return "forty"

    def version(self):
        return "1"

    async def setup(self, environment):
        """Nothing to install: it thinks outside the sandbox."""

    async def run(self, instruction, environment, context):
        log = TrajectoryWriter(self.logs_dir, self.name(), self.version(), self.model_name)
        log.instruction(instruction)
        env = self.extra_env
        door = {"api_base": env["OPENAI_BASE_URL"], "api_key": env["OPENAI_API_KEY"]}
        messages = [{"role": "user", "content": f"You are root in a shell.\n{instruction}"}]
        while True:
            answer = await litellm.acompletion("openai/any", messages, tools=TOOLS, **door)
            said, used = answer.choices[0].message, answer.usage
            context.n_input_tokens = (context.n_input_tokens or 0) + used.prompt_tokens
            context.n_output_tokens = (context.n_output_tokens or 0) + used.completion_tokens
            tokens = (used.prompt_tokens, used.completion_tokens)
            if not said.tool_calls:
                return log.answer(said.content or "", tokens)
            call = said.tool_calls[0]
            command = json.loads(call.function.arguments)["command"]
            done = await environment.exec(command)
            output = f"{done.stdout or ''}{done.stderr or ''}[exit status {done.return_code}]"
            log.command(command, output, message=said.content or "", tokens=tokens)
            messages += [said, {"role": "tool", "tool_call_id": call.id, "content": output}]
