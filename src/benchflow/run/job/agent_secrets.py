"""Agents' variables that look like secrets: Harbor writes none of them down.

A job's files hold such a value shortened, or as `${NAME}` where our own environment has it. Who
resumes the job has to give what was shortened again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from benchflow.errors import UsageError

if TYPE_CHECKING:
    from harbor.models.job.config import JobConfig
    from harbor.models.trial.config import AgentConfig

#: The variables that somebody gives an agent again.
type Given = Callable[[AgentConfig], Mapping[str, str]]


def give_again(config: JobConfig, given: Given) -> None:
    """Put the values that a job's files hold shortened back into its configuration.

    Raises UsageError where one is not given, or is another than the job was started with: then
    Harbor would take the trials that are finished for those of another agent.
    """
    from harbor.utils.env import is_env_template, is_sensitive_env_key, redact_sensitive_value

    for agent in config.agents:
        for name, shortened in agent.env.items():
            if not is_sensitive_env_key(name) or is_env_template(shortened):
                continue
            value = given(agent).get(name)
            if value is None:
                raise UsageError(
                    f"{config.job_name}: the agent's variable {name} is needed again: its name "
                    "looks like a secret's, and so its value is in no file",
                    hint=f"benchflow resume {config.job_name} --agent-env {name}=VALUE",
                )
            if redact_sensitive_value(value) != shortened:
                raise UsageError(
                    f"{config.job_name}: the agent's variable {name} had another value when the "
                    f"job was started ({shortened})",
                    hint="give it that one, or start a new job",
                )
            agent.env[name] = value
