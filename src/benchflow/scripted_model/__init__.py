"""The scripted model: a deterministic provider for tests, demonstrations and dry runs.

    from benchflow.scripted_model import ScriptedModel, of_commands

    with ScriptedModel.start({"hello": of_commands(["echo hello > /app/hello"])}) as model:
        model.base_urls["anthropic"]      # also "openai" (chat and responses) and "gemini"
        model.totals()                    # what was served, to the token

It runs as a process of its own and answers any number of agents at once, as the models whose
policies it was given. docs/models.md describes policies.
"""

from __future__ import annotations

from benchflow.scripted_model.policy import Closed, Fault, Policy, Tokens, Turn, of_commands
from benchflow.scripted_model.policy_file import load
from benchflow.scripted_model.process import ScriptedModel

__all__ = [
    "Closed",
    "Fault",
    "Policy",
    "ScriptedModel",
    "Tokens",
    "Turn",
    "load",
    "of_commands",
]
