"""Trials that probe a task and measure no agent: its solution, in whole or part, its exploits."""

from __future__ import annotations

from collections.abc import Iterable

from benchflow.base.numbers import plural
from benchflow.results.records import Record

_NAMES = frozenset({"oracle", "nop"})
_BEGIN = ("ladder:", "exploit:", "variant:")
WHAT = (
    "oracle, nop, ladder, exploit and variant run a task's own solution, nothing, a part, an "
    "exploit or another solution"
)


def is_probe(record: Record) -> bool:
    """Whether no agent was at work: see `benchflow run --help` for these names."""
    return not record.model and (record.agent in _NAMES or record.agent.startswith(_BEGIN))


def agents_only(records: Iterable[Record]) -> tuple[Record, ...]:
    """The trials to rank: those of agents, or all where there are probes alone."""
    everything = tuple(records)
    return tuple(record for record in everything if not is_probe(record)) or everything


def said_of(records: Iterable[Record]) -> tuple[str, ...]:
    """What a reader of figures has to know of the probes among `records`; nothing without any."""
    everything = tuple(records)
    n = sum(map(is_probe, everything))
    if not n:
        return ()
    if n == len(everything):
        return (f"no trial here measures an agent: {WHAT}",)
    return (f"{plural(n, 'trial')} by probes of the tasks are in no figure: {WHAT}",)
