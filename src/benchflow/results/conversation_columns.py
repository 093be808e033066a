"""The columns of the conversations that `benchflow export --conversations` writes."""

from __future__ import annotations

VERSION = 2
_MESSAGE = (
    "STRUCT(role VARCHAR, content VARCHAR, reasoning_content VARCHAR, tool_calls STRUCT(id "
    'VARCHAR, type VARCHAR, "function" STRUCT("name" VARCHAR, arguments VARCHAR))[], '
    "tool_call_id VARCHAR, "
    "step BIGINT, prompt_token_ids BIGINT[], completion_token_ids BIGINT[], logprobs DOUBLE[])"
)
#: Column, DuckDB's type, meaning.
COLUMNS = (
    ("schema", "INTEGER", "version of this shape"),
    ("uid", "VARCHAR", "the trial, as in the table `trials`"),
    ("conversation", "INTEGER", "which of the trial's conversations, from 1"),
    ("subagent", "VARCHAR", "name of the subagent that had it; empty for the agent itself"),
    ("task", "VARCHAR", "task"),
    ("task_version", "VARCHAR", "the task's version, or empty"),
    ("task_digest", "VARCHAR", "digest of the task's folder, or empty"),
    ("agent", "VARCHAR", "agent"),
    ("agent_version", "VARCHAR", "the agent's version, or empty"),
    ("model", "VARCHAR", "model, or empty"),
    ("hint", "BIGINT", "hint level that the agent was given; 0 is none"),
    ("verdict", "VARCHAR", "resolved or failed"),
    ("reward", "DOUBLE", "the verifier's number, 0 to 1"),
    ("resolved", "DOUBLE", "1 if every milestone passed, else 0"),
    ("milestones", "STRUCT(id VARCHAR, status VARCHAR, weight DOUBLE, first_step BIGINT)[]",
     "in ladder order; `first_step`: the agent's last step before it was first seen to hold, of "
     "`benchflow credit`; NULL where it never held, where that is not known, and for a subagent"),
    ("credited", "STRUCT(step BIGINT, reward_gained DOUBLE)[]",
     "by how much `reward` rose (or fell: below 0) with which step of the agent's, as far as its "
     "checkpoints tell; the sum is `reward`. NULL without `benchflow credit`, and for a subagent"),
    ("messages", f"{_MESSAGE}[]", "the conversation; `step` is the step of the trajectory"),
)  # fmt: skip
