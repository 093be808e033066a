"""Text for people: aligned tables, durations with units, ladders."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from benchflow.base.numbers import MISSING, duration
from benchflow.results.model import Milestone, Trial, Verdict

SIGNS = {"passed": "✓", "failed": "✗", "not reached": "·", "": "·"}
_COLOURS = {
    "passed": "green", "resolved": "green", "ok": "green",
    "failed": "red", "missing": "red", "broken": "red",
    "error": "yellow", "optional": "yellow", "heading": "cyan",
}  # fmt: skip


def colour(text: str, kind: str) -> str:
    """`text` in the colour of a status; click drops it where stdout is not a terminal."""
    import click

    return click.style(text, fg=_COLOURS[kind]) if kind in _COLOURS else text


def width(text: str) -> int:
    """Columns that `text` takes on a terminal."""
    import click

    plain = click.unstyle(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], indent: str = "") -> str:
    """Aligned columns, two spaces apart. Columns that are empty in every row are left out."""
    body = [list(row) for row in rows]
    kept = [n for n in range(len(header)) if any(row[n] for row in body)]
    lines = [[header[n] for n in kept], *([row[n] for n in kept] for row in body)]
    widths = [max(width(line[n]) for line in lines) for n in range(len(kept))]
    return "\n".join(
        indent
        + "  ".join(c + " " * (w - width(c)) for c, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def signs(milestones: Iterable[str]) -> str:
    """The ladder as one sign a milestone, from the statuses of its milestones."""
    return "".join(SIGNS.get(status, "·") for status in milestones)


def trials_table(trials: Sequence[Trial]) -> str:
    """One line a trial: what a person wants to know first."""
    return table(
        ["task", "agent", "model", "verdict", "reward", "milestones", "furthest", "time", "where"],
        [
            [
                trial.task,
                trial.agent,
                trial.model,
                colour(trial.verdict.value, trial.verdict.value),
                MISSING if trial.reward is None else f"{trial.reward:.2f}",
                f"{trial.n_passed}/{len(trial.milestones)}" if trial.milestones else "",
                trial.furthest or (MISSING if trial.milestones else ""),
                duration(trial.phases.total),
                trial.name,
            ]
            for trial in trials
        ],
    )


def side_by_side(trials: Sequence[Trial]) -> str:
    """The ladders of several trials of one task: a line a milestone, a column a trial."""
    ids = list(dict.fromkeys(m.id for t in trials for m in t.milestones))
    found = [{m.id: m for m in t.milestones} for t in trials]
    titles = {m.id: m.title for t in trials for m in t.milestones}
    return table(
        ["milestone", *labels(trials).values(), "what it proves"],
        [[i, *[_cell(by_id.get(i)) for by_id in found], titles[i]] for i in ids],
        indent="  ",
    )


def ladder(milestones: Sequence[Milestone], indent: str = "  ") -> str:
    """A line a milestone; under each that failed, its first failing check and what it said."""
    if not milestones:
        return ""
    names = max(width(m.id) for m in milestones)
    lines = []
    for m in milestones:
        passed = sum(c.status == "passed" for c in m.checks)
        checks = f"{passed}/{len(m.checks)} checks" if m.checks else ""
        sign = colour(SIGNS[m.status], m.status)
        name = m.id + " " * (names - width(m.id))
        lines.append(f"{indent}{sign} {name}  {m.status:<11}  {checks:<11}  {m.title}".rstrip())
        if failure := m.first_failure:
            proves = f" [{', '.join(failure.proves)}]" if failure.proves else ""
            lines.append(f"{indent}    {failure.name}{proves}")
            lines += [f"{indent}      {line}" for line in excerpt(failure.message)]
    return "\n".join(lines)


def excerpt(message: str, count: int = 5) -> list[str]:
    """At most `count` lines of a failure's message: the first says what is wrong, and the last are
    the end of what was seen, which is where it went wrong."""
    lines = [line.rstrip()[:160] for line in message.splitlines() if line.strip()]
    return lines if len(lines) <= count else [lines[0], "…", *lines[2 - count :]]


def labels(trials: Sequence[Trial]) -> dict[str, str]:
    """Who made each trial, by its name: agent and model, and of several attempts at one task which
    (`nop #2`)."""
    made = [(trial.task, f"{trial.agent} {trial.model}".strip()) for trial in trials]
    counted: Counter[tuple[str, str]] = Counter()
    found = {}
    for trial, one in zip(trials, made, strict=True):
        counted[one] += 1
        found[trial.name] = f"{one[1]} #{counted[one]}" if made.count(one) > 1 else one[1]
    return found


def _cell(milestone: Milestone | None) -> str:
    if milestone is None:
        return MISSING
    return colour(f"{SIGNS[milestone.status]} {milestone.status}", milestone.status)


def summary(trials: Sequence[Trial]) -> str:
    """`3 trials: 2 resolved, 1 failed`."""
    counts = {verdict: sum(t.verdict is verdict for t in trials) for verdict in Verdict}
    parts = [f"{count} {verdict.value}" for verdict, count in counts.items() if count]
    plural = "trial" if len(trials) == 1 else "trials"
    return f"{len(trials)} {plural}" + (f": {', '.join(parts)}" if parts else "")
