"""Finished trials as lists of messages with their rewards, for training.

One row a conversation: what one agent, or one of its subagents, was told, said, called and saw. The
shape of a message is that of OpenAI's chat completions (roles `system`, `user`, `assistant`,
`tool`; a call's arguments are JSON text), with token ids and log-probabilities beside it where the
agent recorded them.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.results import index
from benchflow.results.conversation_columns import COLUMNS, VERSION
from benchflow.results.jobs import credits
from benchflow.results.json_values import mapping, number, sequence, to_json, word
from benchflow.results.model import Verdict
from benchflow.results.readers import atif
from benchflow.results.readers.atif_document import MAX_DEPTH, Document, RawStep
from benchflow.results.readers.atif_steps import numbered
from benchflow.results.records import Collection, Format, Record

NAME = "conversations"
#: Bytes; a trajectory that can be read has at most half as many.
_LARGEST_ROW = 512 << 20
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}


@dataclass(frozen=True)
class Written:
    """The files, rows, and how many trials have none, by the reason."""

    files: tuple[Path, ...]
    rows: int
    left_out: dict[str, int]


def write(collection: Collection, folder: Path, *, left_out: Iterable[Record] = ()) -> Written:
    """Writes `conversations.jsonl` and `.parquet` into `folder`, which exists.

    A trial without a verdict has no row: its reward says nothing of the agent. `left_out`: further
    records to leave out, such as those of agents that only test the tasks. Files are written beside
    their place and moved there. Raises MissingTool without DuckDB.
    """
    duck = index.duckdb_module()
    tests, rows = {record.uid for record in left_out}, 0
    reasons: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as name:
        jsonl, parquet = Path(name) / f"{NAME}.jsonl", Path(name) / f"{NAME}.parquet"
        shown: set[str] = set()
        with jsonl.open("w+b") as first, tempfile.TemporaryFile(dir=name) as rest:
            for record in collection.records:
                reason = "by probes of the tasks" if record.uid in tests else _unfit(record)
                found = [] if reason else list(conversations(record))
                if not reason and not found:
                    reason = "without a recorded trajectory"
                if reason:
                    reasons[reason] = reasons.get(reason, 0) + 1
                rows += len(found)
                for row in found:
                    line = json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"
                    # Who reads lines knows a type by its first value: rows that show one lead.
                    new = _filled(row) - shown
                    shown |= new
                    (first if new else rest).write(line.encode())
            rest.seek(0)
            shutil.copyfileobj(rest, first)
        _parquet(duck, jsonl, parquet)
        files = tuple(index.moved(path, folder) for path in (jsonl, parquet))
    return Written(files, rows, reasons)


def _filled(row: Mapping[str, Any]) -> set[str]:
    """The names of what a row has a value for, those in its messages and milestones included."""
    found = {name for name, value in row.items() if value not in (None, [])}
    for parts in ("messages", "milestones"):
        for part in row[parts]:
            found.update(
                f"{parts}.{name}" for name, value in part.items() if value not in (None, [])
            )
    return found


def _unfit(record: Record) -> str:
    if record.verdict is Verdict.ERROR:
        return "without a verdict"
    return f"in the format {record.format.value}" if record.format is Format.INSPECT else ""


def conversations(record: Record) -> Iterator[dict[str, Any]]:
    """The rows of one trial: its agent's conversation first, then each subagent's."""
    found = [
        (name, messages)
        for chain in atif.load(record.trajectories).chains
        for name, messages in _of(chain)
        if messages
    ]
    head = {
        "task": record.task, "task_version": record.task_version,
        "task_digest": record.task_digest, "agent": record.agent,
        "agent_version": record.agent_version, "model": record.model, "hint": record.hint,
        "verdict": record.verdict.value, "reward": record.reward,
        "resolved": float(record.verdict is Verdict.RESOLVED),
    }  # fmt: skip
    credit = credits.of_trial(record.folder)
    for place, (name, messages) in enumerate(found, 1):
        first = {"schema": VERSION, "uid": record.uid, "conversation": place, "subagent": name}
        # Steps are counted in each conversation; what is known is the agent's own.
        yield {**first, **head, **_judged(record, None if name else credit), "messages": messages}


def _judged(record: Record, credit: credits.Credit | None) -> dict[str, Any]:
    held = credit.first_steps if credit else {}
    gained = credit.gained if credit else None
    return {
        "milestones": [
            {
                "id": each.id,
                "status": each.status,
                "weight": each.weight,
                "first_step": held.get(each.id),
            }
            for each in record.milestones
        ],
        "credited": None
        if gained is None
        else [{"step": step, "reward_gained": gain} for step, gain in gained],
    }


def _of(chain: Sequence[Document]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A chain is one conversation: what a continuation copies of the one before is not repeated."""
    yield "", list(_messages(chain))
    for document in chain:
        yield from _subagents(document, "", 0)


def _subagents(
    document: Document, above: str, depth: int
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    if depth >= MAX_DEPTH:
        return
    for place, child in enumerate(document.subagent_trajectories or (), 1):
        name = word(child.trajectory_id, 80) or f"{above}.{place}"
        yield name, list(_messages((child,)))
        yield from _subagents(child, name, depth + 1)


def _messages(chain: Sequence[Document]) -> Iterator[dict[str, Any]]:
    for place, step in numbered(chain):
        role = _ROLES.get(step.source if isinstance(step.source, str) else "")
        if role is None:
            continue
        yield _message(role, step, place)
        asked = [_clean(call.tool_call_id) for call in step.tool_calls or []]
        for result in step.results:
            answered = _clean(result.source_call_id)
            if not answered and len(asked) == 1:
                answered = asked[0]
            # What no call asked for was shown to the model as a user's message.
            if answered in asked:
                yield _plain("tool", _text(result.content), place, tool_call_id=answered)
            else:
                yield _plain("user", _text(result.content), place)


def _plain(role: str, content: str, step: int, *, tool_call_id: str = "") -> dict[str, Any]:
    return {
        "role": role, "content": content, "reasoning_content": None, "tool_calls": [],
        "tool_call_id": tool_call_id or None, "step": step, "prompt_token_ids": None,
        "completion_token_ids": None, "logprobs": None,
    }  # fmt: skip


def _message(role: str, step: RawStep, place: int) -> dict[str, Any]:
    message = _plain(role, _text(step.message), place)
    if role != "assistant":
        return message
    if step.reasoning_content is not None:
        message["reasoning_content"] = _text(step.reasoning_content)
    message["tool_calls"] = [
        {
            "id": _clean(call.tool_call_id),
            "type": "function",
            "function": {
                "name": _clean(call.function_name),
                "arguments": _whole(to_json(call.arguments)),
            },
        }
        for call in step.tool_calls or []
    ]
    if used := step.metrics:
        message["prompt_token_ids"] = _numbers(used.prompt_token_ids, int)
        message["completion_token_ids"] = _numbers(used.completion_token_ids, int)
        message["logprobs"] = _numbers(used.logprobs, float)
    return message


def _numbers(value: Any, kind: type) -> list[Any] | None:
    """The list as it was recorded; None where it holds anything else than such numbers."""
    if not isinstance(value, list):
        return None
    if kind is int:
        fits = all(type(each) is int and 0 <= each < 2**53 for each in value)
        return value if fits else None
    found = [number(each) for each in value]
    return None if None in found else found


def _text(value: Any) -> str:
    """The text itself, whole: what a model saw is not shortened."""
    if isinstance(value, str):
        return _whole(value)
    parts = (mapping(part) for part in sequence(value))
    return _whole("\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts))


def _clean(value: Any) -> str:
    return _whole(value) if isinstance(value, str) else ""


def _whole(text: str) -> str:
    """`text` with what UTF-8 cannot hold (lone surrogates) replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _parquet(duck: Any, rows: Path, to: Path) -> None:
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind, _ in COLUMNS)
    with duck.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        connection.execute(
            f"COPY (SELECT * FROM read_json({index.quoted(rows)}, columns = {{{columns}}}, "
            f"format = 'newline_delimited', maximum_object_size = {_LARGEST_ROW})) "
            f"TO {index.quoted(to)} (FORMAT parquet, COMPRESSION zstd)"
        )
