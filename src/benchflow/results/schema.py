"""The tables of the index and of an export: one place for columns, types and what they mean.

python -m benchflow.results.schema > docs/data-dictionary.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.base.text import one_line
from benchflow.results import conversation_columns
from benchflow.results.model import Problem
from benchflow.results.records import Milestone, Record, Step

VERSION = 2
_EXCERPT = 200
#: A step may claim a million calls; a row stays a row.
_MAX_JOINED = 10_000


@dataclass(frozen=True)
class Column[Row]:
    """`type` is DuckDB's. `of` takes a row's object and gives a plain value, None for NULL."""

    name: str
    type: str
    meaning: str
    of: Callable[[Row], Any]


@dataclass(frozen=True)
class Table[Row]:
    """One table; `key` names the columns that tell its rows apart."""

    name: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column[Row], ...]

    def row(self, item: Row) -> list[Any]:
        """`item` as this table's values, in the columns' order."""
        return [column.of(item) for column in self.columns]


type MilestoneRow = tuple[Record, int, Milestone]
type StepRow = tuple[str, Step]

TRIALS: Table[Record] = Table(
    "trials",
    "One row a finished trial.",
    ("uid",),
    (
        Column("uid", "VARCHAR", "12 hex digits, the same at every reading", lambda r: r.uid),
        Column("source", "VARCHAR", "the path that was given", lambda r: _path(r.source)),
        Column("format", "VARCHAR", "what the source was recognised as", lambda r: r.format.value),
        Column("job", "VARCHAR", "job, submission or run", lambda r: r.job),
        Column("trial", "VARCHAR", "the trial's name in its source", lambda r: r.trial),
        Column("agent", "VARCHAR", "agent (Inspect: solver)", lambda r: r.agent),
        Column("agent_version", "VARCHAR", "the agent's version, or empty",
               lambda r: r.agent_version),
        Column("model", "VARCHAR", "model, or empty", lambda r: r.model),
        Column("task", "VARCHAR", "task (Inspect: evaluation/sample)", lambda r: r.task),
        Column("task_version", "VARCHAR", "the task's version, or empty",
               lambda r: r.task_version),
        Column("task_digest", "VARCHAR", "digest of the task's folder, else Harbor's, or empty",
               lambda r: r.task_digest),
        Column("topic", "VARCHAR", "folder or category that the task is filed under, or empty",
               lambda r: r.topic),
        Column("generator", "VARCHAR", "what drew the task from a seed, or empty",
               lambda r: r.generator),
        Column("skills", "VARCHAR", "skills or tags, separated by ;", lambda r: _joined(r.skills)),
        Column("authors", "VARCHAR", "who made the task, separated by ;, or empty",
               lambda r: _joined(r.authors)),
        Column("reviewers", "VARCHAR", "who reviewed it, separated by ;, or empty",
               lambda r: _joined(r.reviewers)),
        Column("expert_minutes", "DOUBLE", "minutes that an expert needs, as the task says",
               lambda r: r.expert_minutes),
        Column("hint", "BIGINT", "hint level that the agent was given; 0 is none",
               lambda r: r.hint),
        Column("began_from", "VARCHAR",
               "of a sequel: the earlier trial that it began from, or oracle; else empty",
               lambda r: r.began_from),
        Column("began_digest", "VARCHAR", "of a sequel: digest of what it began with, or empty",
               lambda r: r.began_digest),
        Column("verdict", "VARCHAR", "resolved, failed, or error (infrastructure; never counts)",
               lambda r: r.verdict.value),
        Column("cause", "VARCHAR", "why it is an error, or what ended the agent",
               lambda r: r.cause),
        Column("cause_message", "VARCHAR", "the cause in words", lambda r: r.cause_message),
        Column("failure_mode", "VARCHAR", "the source's own word for what went wrong",
               lambda r: r.failure_mode),
        Column("said_done", "BOOLEAN", "the agent declared its work finished",
               lambda r: r.said_done),
        Column("ended_itself", "BOOLEAN", "the run ended by the agent's own decision",
               lambda r: r.ended_itself),
        Column("reward", "DOUBLE", "the verifier's number", lambda r: r.reward),
        Column("milestone_kind", "VARCHAR", "milestone, test, or empty",
               lambda r: r.milestone_kind),
        Column("milestones", "INTEGER", "how many milestones the trial has",
               lambda r: len(r.milestones)),
        Column("milestones_passed", "INTEGER", "how many of them passed", lambda r: r.n_passed),
        Column("furthest", "VARCHAR", "last milestone that passed, or empty", lambda r: r.furthest),
        Column("steps", "BIGINT", "steps by the agent in its trajectory", lambda r: r.steps),
        Column("input_tokens", "BIGINT", "tokens sent, cached ones too",
               lambda r: r.usage.input_tokens),
        Column("output_tokens", "BIGINT", "tokens generated",
               lambda r: r.usage.output_tokens),
        Column("cost_usd", "DOUBLE", "US dollars",
               lambda r: r.usage.cost_usd),
        Column("metered", "BOOLEAN", "tokens and dollars were counted by a gateway, not reported",
               lambda r: r.metered),
        Column("environment_seconds", "DOUBLE", "making the sandbox",
               lambda r: r.phases.environment),
        Column("agent_setup_seconds", "DOUBLE", "installing the agent",
               lambda r: r.phases.agent_setup),
        Column("agent_seconds", "DOUBLE", "the agent's work", lambda r: r.phases.agent),
        Column("hand_over_seconds", "DOUBLE", "from the agent's end to the verifier's start",
               lambda r: r.phases.hand_over),
        Column("verifier_seconds", "DOUBLE", "the verification", lambda r: r.phases.verifier),
        Column("total_seconds", "DOUBLE", "the whole trial", lambda r: r.phases.total),
        Column("host", "VARCHAR", "the machine: 12 hex digits, anonymous, or empty",
               lambda r: r.host.id),
        Column("host_cpu", "VARCHAR", "its processor, or empty", lambda r: r.host.cpu),
        Column("host_kernel", "VARCHAR", "its kernel, or empty", lambda r: r.host.kernel),
        Column("host_qemu", "VARCHAR", "the verifier's QEMU, or empty", lambda r: r.host.qemu),
        Column("host_accelerator", "VARCHAR", "kvm, tcg, or empty: what guests ran under",
               lambda r: r.host.accelerator),
        Column("host_speed", "DOUBLE", "of booting, in times of the reference host",
               lambda r: r.host.speed),
        Column("host_speed_before", "DOUBLE", "of arithmetic before the trial, likewise",
               lambda r: r.host.speed_before),
        Column("host_speed_after", "DOUBLE", "of arithmetic after the trial, likewise",
               lambda r: r.host.speed_after),
        Column("host_steal", "DOUBLE",
               "share of its processors' time that the machine's own host took",
               lambda r: r.host.steal),
        Column("started_at", "VARCHAR", "ISO 8601, as the source has it", lambda r: r.started_at),
        Column("folder", "VARCHAR", "the trial's own folder",
               lambda r: None if r.folder is None else _path(r.folder)),
    ),
)  # fmt: skip

MILESTONES: Table[MilestoneRow] = Table(
    "milestones",
    "One row a milestone of a trial, or a single test where the source has tests.",
    ("uid", "place"),
    (
        Column("uid", "VARCHAR", "the trial", lambda row: row[0].uid),
        Column("place", "INTEGER", "place on the ladder, from 1", lambda row: row[1]),
        Column("milestone", "VARCHAR", "the milestone's name", lambda row: row[2].id),
        Column("title", "VARCHAR", "what it proves, or empty", lambda row: row[2].title),
        Column("status", "VARCHAR", "passed, failed, not reached", lambda row: row[2].status),
        Column("weight", "DOUBLE", "its share of the reward, not normalised",
               lambda row: row[2].weight),
        Column("requires", "VARCHAR", "milestones that must pass before it, separated by ;",
               lambda row: _joined(row[2].requires)),
        Column("message", "VARCHAR", "why the first failed check failed",
               lambda row: one_line(row[2].message, 400)),
        Column("minutes", "DOUBLE", "agent's working minutes when it was reached, if measured",
               lambda row: row[2].minutes),
        Column("by_minutes", "DOUBLE", "upper bound of that: minutes until the work was handed in",
               lambda row: row[2].by_minutes),
        Column("verified_seconds", "DOUBLE", "when the verifier decided, on its own clock",
               lambda row: row[2].verified_seconds),
    ),
)  # fmt: skip

STEPS: Table[StepRow] = Table(
    "steps",
    "One row a step of a trial's trajectory.",
    ("uid", "n"),
    (
        Column("uid", "VARCHAR", "the trial", lambda row: row[0]),
        Column("n", "INTEGER", "place in the trajectory, from 1", lambda row: row[1].n),
        Column("role", "VARCHAR", "system, user, agent", lambda row: row[1].role),
        Column("at_seconds", "DOUBLE", "seconds since the trajectory's first time stamp",
               lambda row: row[1].at),
        Column("model", "VARCHAR", "model of this step, or empty", lambda row: row[1].model),
        Column("calls", "INTEGER", "tool calls in it", lambda row: len(row[1].calls)),
        Column("tools", "VARCHAR", "their tools, separated by ;",
               lambda row: _joined(call.tool for call in row[1].calls)),
        Column("text_chars", "INTEGER", "length of the message", lambda row: len(row[1].text)),
        Column("reasoning_chars", "INTEGER", "length of the recorded reasoning",
               lambda row: len(row[1].reasoning)),
        Column("result_chars", "INTEGER", "length of what the calls gave back",
               lambda row: sum(len(call.result) for call in row[1].calls)),
        Column("input_tokens", "BIGINT", "tokens sent, as reported",
               lambda row: row[1].input_tokens),
        Column("output_tokens", "BIGINT", "tokens generated, as reported",
               lambda row: row[1].output_tokens),
        Column("cost_usd", "DOUBLE", "US dollars, as reported", lambda row: row[1].cost_usd),
        Column("subagent", "VARCHAR", "id of the delegated agent; empty for the main one",
               lambda row: row[1].subagent),
        Column("copied", "BOOLEAN", "repeated from an earlier trajectory: do not sum again",
               lambda row: row[1].copied),
        Column("excerpt", "VARCHAR", "the start of the message, else of the first call",
               lambda row: _excerpt(row[1])),
    ),
)  # fmt: skip

PROBLEMS: Table[Problem] = Table(
    "problems",
    "One row a thing that could not be read as it should be, or that contradicts another.",
    (),
    (
        Column("path", "VARCHAR", "the file or folder",
               lambda p: _path(p.path)),
        Column("message", "VARCHAR", "what is wrong with it", lambda p: one_line(p.message, 1000)),
    ),
)  # fmt: skip

TABLES: tuple[Table[Any], ...] = (TRIALS, MILESTONES, STEPS, PROBLEMS)


def milestone_rows(record: Record) -> Iterator[MilestoneRow]:
    """A trial's milestones with their places from 1."""
    for place, milestone in enumerate(record.milestones, 1):
        yield record, place, milestone


def _path(path: Path) -> str:
    return one_line(str(path), 4096)


def _joined(names: Iterable[str]) -> str:
    text = ";".join(names)
    return text if len(text) <= _MAX_JOINED else f"{text[:_MAX_JOINED]}…"


def _excerpt(step: Step) -> str:
    text = step.text or (step.calls[0].arguments if step.calls else "")
    return one_line(text[: 2 * _EXCERPT], _EXCERPT)


def dictionary() -> str:
    """The data dictionary as Markdown."""
    parts = [
        "# Data dictionary",
        "",
        "For those who read the tables of `benchflow export`: what each column means.",
        "",
        f"Schema {VERSION}. The tables that `benchflow export` writes, as Parquet, as CSV and in "
        "`index.duckdb`, which holds this page as its table `dictionary`. An empty field (NULL) "
        "always means *not recorded*; an empty text means that there is none.",
    ]
    for table in TABLES:
        key = f" Key: {', '.join(f'`{name}`' for name in table.key)}." if table.key else ""
        parts += ["", f"## `{table.name}`", f"{table.meaning}{key}", ""]
        parts += ["| column | type | meaning |", "|---|---|---|"]
        parts += [f"| `{c.name}` | {c.type} | {c.meaning} |" for c in table.columns]
    parts += [
        "",
        "## `conversations`",
        f"Schema {conversation_columns.VERSION}. One row a conversation, with `--conversations` "
        "alone, as Parquet and as lines of JSON, not in the index. Key: `uid`, `conversation`.",
        "",
        "| column | type | meaning |",
        "|---|---|---|",
        *(f"| `{name}` | {kind} | {says} |" for name, kind, says in conversation_columns.COLUMNS),
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(dictionary(), end="")
