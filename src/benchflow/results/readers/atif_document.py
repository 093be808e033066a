"""An ATIF document in memory: the shape that its format has, whatever the file holds.

What is of another shape than the format's becomes empty; what a value is, its reader looks after.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder

from benchflow.results.json_values import mapping, sequence
from benchflow.results.safe_files import UnreadableRecord

#: Ten for each of 200,000 steps. An object of two bytes takes a hundred in memory.
MAX_OBJECTS = 2_000_000
#: How deep a nest of subagents is followed.
MAX_DEPTH = 5
#: Who a step may be by.
SOURCES = ("system", "user", "agent")


class Metrics(Struct):
    """Of one step."""

    prompt_tokens: Any = None
    completion_tokens: Any = None
    cost_usd: Any = None
    prompt_token_ids: Any = None
    completion_token_ids: Any = None
    logprobs: Any = None


class FinalMetrics(Struct):
    """Of all steps, subagents included."""

    total_prompt_tokens: Any = None
    total_completion_tokens: Any = None
    total_cost_usd: Any = None


class ToolCall(Struct):
    """What an agent asks for."""

    tool_call_id: Any = None
    function_name: Any = None
    arguments: Any = None


class Result(Struct):
    """What came back for a call."""

    source_call_id: Any = None
    content: Any = None


class Observation(Struct):
    """What came back in a step."""

    results: list[Result] | None = None


class RawStep(Struct):
    """One step, its values as the file has them."""

    step_id: Any = None
    timestamp: Any = None
    source: Any = None
    message: Any = None
    reasoning_content: Any = None
    model_name: Any = None
    tool_calls: list[ToolCall] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: Any = None

    @property
    def results(self) -> list[Result]:
        """What it saw."""
        return (self.observation and self.observation.results) or []


class Agent(Struct):
    """Who worked."""

    name: Any = None
    version: Any = None
    model_name: Any = None


class Document(Struct):
    """One trajectory file. A step of None was no object."""

    schema_version: Any = None
    session_id: Any = None
    trajectory_id: Any = None
    agent: Agent | None = None
    steps: list[RawStep | None] | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: Any = None
    subagent_trajectories: list[Document] | None = None

    @property
    def is_atif(self) -> bool:
        """Whether it says that it is an ATIF trajectory."""
        return is_atif(self.schema_version)


def is_atif(schema_version: Any) -> bool:
    """Whether a document's `schema_version` is one of ATIF."""
    return str(schema_version).startswith("ATIF-")


def decode(data: bytes) -> Document:
    """The document in a file. Raises UnreadableRecord for what is torn, no JSON or too much."""
    if data.count(b"{") > MAX_OBJECTS:
        raise UnreadableRecord(f"holds more than {MAX_OBJECTS:,} objects: no agent's work")
    try:
        return _decode(data)
    except (ValueError, RecursionError):
        pass
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableRecord(f"is torn or no JSON ({type(error).__name__})") from error
    return _document(value)


_decode = Decoder(Document).decode


def _document(value: Any, depth: int = 0) -> Document:
    get = mapping(value).get
    children = sequence(get("subagent_trajectories")) if depth < MAX_DEPTH else []
    return Document(
        schema_version=get("schema_version"),
        session_id=get("session_id"),
        trajectory_id=get("trajectory_id"),
        agent=_only(Agent, get("agent")),
        steps=[_step(step) if isinstance(step, dict) else None for step in sequence(get("steps"))],
        final_metrics=_only(FinalMetrics, get("final_metrics")),
        continued_trajectory_ref=get("continued_trajectory_ref"),
        subagent_trajectories=[_document(child, depth + 1) for child in children],
    )


def _step(value: dict[str, Any]) -> RawStep:
    step = _only(RawStep, value)
    step.metrics = _only(Metrics, step.metrics)
    step.tool_calls = [_only(ToolCall, call) for call in sequence(step.tool_calls)]
    results = sequence(mapping(step.observation).get("results"))
    step.observation = Observation([_only(Result, result) for result in results])
    return step


def _only[Shape: Struct](shape: type[Shape], value: Any) -> Shape:
    """`value` as a `shape`, without what that has no place for."""
    found = mapping(value)
    return shape(**{name: found[name] for name in shape.__struct_fields__ if name in found})
