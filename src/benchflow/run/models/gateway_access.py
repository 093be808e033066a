"""A job's gateway as others see it: where its files are, who is behind it, how an agent gets there.

The gateway's own files are beside the job (`<jobs>/.gateway/<job>/`), because Harbor owns every
folder inside it; its ledger is `<job>/calls.jsonl`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harbor.models.trial.config import AgentConfig

LEDGER = "calls.jsonl"
#: Whose calls cannot be told apart by trial: agents in our own process that read its environment.
HOST = "(this process)"
#: How the import path of an agent behind the gateway begins.
PREFIX = "benchflow.run.models.gateway_agent:"


def folder(job: Path) -> Path:
    """Where the gateway of a job keeps its own files."""
    return job.parent / ".gateway" / job.name


def is_metered(config: AgentConfig) -> bool:
    """Whether an agent's configuration names a class that `gateway_agent` made."""
    return (config.import_path or "").startswith(PREFIX)


def access(urls: Mapping[str, str], token: str) -> dict[str, str]:
    """The environment that leads an agent to the gateway, whatever protocol it speaks."""
    openai, anthropic, gemini = urls["openai"], urls["anthropic"], urls["gemini"]
    keys = (
        "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MSWEA_API_KEY",
    )  # fmt: skip
    return {
        **dict.fromkeys(keys, token),
        "OPENAI_BASE_URL": openai,
        "OPENAI_API_BASE": openai,
        "ANTHROPIC_BASE_URL": anthropic,
        "ANTHROPIC_API_BASE": anthropic,
        "GOOGLE_GEMINI_BASE_URL": gemini,
        "GEMINI_API_BASE": f"{gemini}/v1beta",
    }
