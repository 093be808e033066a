"""How far jobs are, from their files alone: what a live run and `benchflow watch` show.

`Onlooker.look()` may be called again and again; it reads what is new. Everything in a trial's
folder may be hostile: texts are one line each when they leave here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchflow.base.numbers import plural
from benchflow.base.text import one_line
from benchflow.gateway.accounts import ledger
from benchflow.gateway.accounts.totals import Meter
from benchflow.results.jobs import journal, lock, task_facts
from benchflow.results.jobs.progress_events import NAME, Phase, reached, told
from benchflow.results.jobs.tail import Tail
from benchflow.results.jobs.trials import read_trial
from benchflow.results.json_values import count, mapping, sequence
from benchflow.results.model import Trial, Verdict
from benchflow.results.safe_files import UnreadableRecord, read_object
from benchflow.run.job import job_record
from benchflow.run.job.agents import who
from benchflow.run.live.sweep_status import Cell, Finished, Overview, Running
from benchflow.run.models.gateway_access import LEDGER
from benchflow.run.sweep.sweepfile import lock_of

#: A line of the ledger holds what was asked and answered where bodies are kept.
_LEDGER_LINE = 64 << 20


@dataclass
class _Seen:
    """A job as it was seen last."""

    saved: dict[str, Any]
    names: dict[str, str]
    phases: Tail
    calls: Tail
    meter: Meter = field(default_factory=Meter)
    last: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    finished: dict[str, Finished] = field(default_factory=dict)
    configs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    rungs: dict[str, tuple[Tail, list[str], list[str]]] = field(default_factory=dict)


class Onlooker:
    """Looks at jobs. `find` says which there are; `more`: what else is locked while a sweep of them
    runs."""

    def __init__(self, find: Callable[[], Sequence[Path]], more: Path | None = None) -> None:
        self._find = find
        self._more = more
        self.is_of_sweep = more is not None
        self._seen: dict[Path, _Seen] = {}

    def look(self) -> Overview:
        """How far they are now."""
        # Asked first: what ends while we read is seen as running once more, not as cut off.
        jobs = tuple(self._find())
        busy = {job: lock.is_held(job) for job in jobs}
        busy_at_all = any(busy.values()) or (self._more is not None and lock.is_held(self._more))
        cells: dict[tuple[str, str], Cell] = {}
        running: list[Running] = []
        finished: list[Finished] = []
        errors: Counter[str] = Counter()
        messages: dict[str, str] = {}
        cut_off = planned = tokens = unknown = 0
        usd = 0.0
        for job in jobs:
            seen = self._seen.get(job) or self._seen.setdefault(job, _begin(job))
            _read(job, seen)
            planned += _plan(seen, cells)
            for name in _trials(job):
                task, agent = _who(job, name, seen)
                cell = cells.setdefault((task, agent), Cell(task, agent))
                ended = seen.finished.get(name)
                if ended is not None:
                    _count(cell, ended)
                    if ended.verdict is Verdict.ERROR:
                        errors[ended.cause] += 1
                        messages.setdefault(ended.cause, ended.message)
                    finished.append(ended)
                elif busy[job] and name in seen.last:
                    cell.running += 1
                    running.append(_running(job, name, task, agent, seen))
                elif not busy[job]:
                    cut_off += 1
            for tally in seen.meter.tallies.values():
                tokens += tally.usage.total
                usd += float(tally.usd)
                unknown += max(tally.unpriced, tally.uncounted)
        return Overview(
            jobs=jobs,
            is_running=busy_at_all,
            cells=tuple(cells.values()),
            running=tuple(running),
            finished=tuple(finished),
            errors={cause: (n, messages[cause]) for cause, n in errors.most_common()},
            planned=planned,
            cut_off=cut_off,
            tokens=tokens,
            usd=usd,
            unknown=unknown,
        )


def of_sweep(name: str, jobs_dir: Path) -> Onlooker:
    """An onlooker of all jobs of a sweep, those that are still to come included."""
    return Onlooker(lambda: job_record.of_sweep(name, jobs_dir), lock_of(name, jobs_dir))


def of_job(job: Path) -> Onlooker:
    """An onlooker of a job, or of the whole sweep that it belongs to."""
    try:
        sweep = str(read_object(job / job_record.NAME).get("sweep") or "")
    except UnreadableRecord:
        sweep = ""
    return of_sweep(sweep, job.parent) if sweep else Onlooker(lambda: [job])


def _begin(job: Path) -> _Seen:
    try:
        saved = read_object(job / job_record.NAME)
    except UnreadableRecord:
        saved = {}
    tasks, _ = task_facts.of_job(job)
    names = {
        staged: f"{task.name} (hint {task.hint})" if task.hint else task.name
        for staged, task in tasks.items()
    }
    calls = Tail(job / LEDGER, line_bytes=_LEDGER_LINE)
    return _Seen(saved, names, Tail(job / journal.NAME), calls)


def _read(job: Path, seen: _Seen) -> None:
    seen.last |= journal.last(seen.phases.events())
    for event in seen.calls.all_events():
        if event.get("schema") == ledger.SCHEMA:
            seen.meter.apply(event)
    for name in _trials(job):
        if not (job / name / "result.json").exists():
            seen.finished.pop(name, None)  # it is run again
        elif name not in seen.finished:
            with suppress(UnreadableRecord):  # being written, or torn: benchflow results names it
                result, _ = read_trial(job / name, seen.names)
                seen.finished[name] = _finished(result, *_who(job, name, seen))


def _trials(job: Path) -> list[str]:
    return sorted(
        path.parent.name for path in job.glob("*/config.json") if path.parent.name[0] != "."
    )


def _plan(seen: _Seen, cells: dict[tuple[str, str], Cell]) -> int:
    """Adds the trials that a job has in all to its cells; says how many they are."""
    attempts = count(seen.saved.get("attempts")) or 1
    agents = sequence(mapping(seen.saved.get("harbor")).get("agents"))
    for task in seen.names.values():
        for agent in agents:
            key = (task, who(mapping(agent)))
            cells.setdefault(key, Cell(*key)).planned += attempts
    return count(seen.saved.get("n_trials")) or len(seen.names) * len(agents) * attempts


def _who(job: Path, trial: str, seen: _Seen) -> tuple[str, str]:
    if trial not in seen.configs:
        try:
            seen.configs[trial] = read_object(job / trial / "config.json")
        except UnreadableRecord:
            return "?", "?"
    config = seen.configs[trial]
    staged = str(mapping(config.get("task")).get("path"))
    return seen.names.get(staged) or one_line(staged, 120), who(mapping(config.get("agent")))


def _count(cell: Cell, trial: Finished) -> None:
    cell.resolved += trial.verdict is Verdict.RESOLVED
    cell.failed += trial.verdict is Verdict.FAILED
    cell.error += trial.verdict is Verdict.ERROR


def _finished(result: Trial, task: str, agent: str) -> Finished:
    return Finished(
        name=result.name,
        task=task,
        who=agent,
        verdict=result.verdict,
        cause=result.cause,
        message=one_line(result.cause_message, 200),
        seconds=result.phases.total,
    )


def _running(job: Path, name: str, task: str, agent: str, seen: _Seen) -> Running:
    event = seen.last[name]
    phase = str(event.get("phase"))
    tail, ladder, notes = seen.rungs.setdefault(
        name, (Tail(job / name / "verifier" / NAME), [], [])
    )
    if phase in (Phase.BOOT, Phase.VERIFIER):
        for step in tail.events():
            if decided := reached(step):
                ladder.append(decided.status)
            notes[:] = [told(step) or "".join(notes)]
    tally = seen.meter.tallies.get(name)
    note = "".join(notes)
    if tally is not None and tally.failing:
        note = f"{plural(tally.failing, 'call')} failed: {one_line(tally.last_failure, 80)}"
    limit = event.get("limit")
    return Running(
        name=one_line(name, 120),
        task=task,
        who=agent,
        phase=one_line(phase, 20),
        seconds=_since(event.get("t")),
        limit=float(limit) if isinstance(limit, int | float) else 0.0,
        ladder=tuple(ladder),
        note=note,
        tokens=tally.usage.total if tally else 0,
        usd=float(tally.usd) if tally else 0.0,
    )


def _since(moment: object) -> float | None:
    try:
        return max((datetime.now(UTC) - datetime.fromisoformat(str(moment))).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None
