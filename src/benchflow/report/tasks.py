"""Difficulty, skills, horizons: what the tasks say, and what may be said of them."""

from __future__ import annotations

from benchflow.base.numbers import percent, points, signed
from benchflow.report.figures import basis
from benchflow.report.section import Section, Table
from benchflow.study.findings import Findings
from benchflow.study.statistics import Refused

_SHOWN = 5


def difficulty(found: Findings) -> Section:
    """Dead tasks, misfits, the hardest and the easiest that separate."""
    part = found.difficulty
    if isinstance(part, Refused):
        return Section("Difficulty", (f"No scale: {part.refused}",))
    scale = part.scale
    flagged = {
        flag: [task for task, own in zip(part.tasks, scale.flags, strict=True) if own == flag]
        for flag in ("never solved", "always solved", "misfit")
    }
    n = len(part.tasks)
    said = [
        f"{len(part.dead)} of {n} tasks separate nobody here: {len(flagged['never solved'])} never "
        f"solved, {len(flagged['always solved'])} always solved"
    ]
    for flag, tasks in flagged.items():
        if tasks:
            said.append(f"{flag}: {', '.join(tasks)}")
    said.append(
        f"difficulties spread by {scale.spread:.1f} logits (standard deviation) among these tasks"
    )
    # Tasks that were solved equally often are equally hard but for the last bits of the estimate,
    # which differ from processor to processor.
    live = sorted(
        (i for i in range(n) if not scale.flags[i]),
        key=lambda i: (-round(float(scale.difficulty[i]), 6), part.tasks[i]),
    )
    low, high = scale.difficulty_interval()
    ends = live if len(live) <= 2 * _SHOWN else [*live[:_SHOWN], *live[-_SHOWN:]]
    rows = tuple(
        (
            part.tasks[i],
            percent(part.shares[i], 0),
            signed(scale.difficulty[i]),
            f"{signed(low[i])} to {signed(high[i])}",
            f"{scale.outfit[i]:.1f}",
            f"{scale.infit[i]:.1f}",
        )
        for i in ends
    )
    notes = [
        f"The hardest and the easiest that separate. {basis(**vars(scale.basis))} "
        "Misfit: stronger ones fail it and weaker ones solve it, more than chance allows "
        "(corrected for the number of tasks).",
    ]
    if part.left_out:
        notes.append(f"Without {', '.join(part.left_out)}: solved nothing, or everything.")
    level = f"{100 * found.summary.level:.0f} % interval"
    return Section(
        "Difficulty (Rasch)",
        tuple(said),
        Table(("task", "resolved", "logits", level, "outfit", "infit"), rows),
        tuple(notes),
    )


def skills(found: Findings) -> Section:
    """Model × skill effects that are decided, and how many are not."""
    part = found.skills
    if isinstance(part, Refused):
        return Section("Skills", (f"Not known: {part.refused}",), essential=False)
    decided = part.decided()
    rows = tuple(
        (
            part.models[i],
            skill,
            str(part.n_tasks[j]),
            points(float(part.effect[i, j])),
            f"{points(float(part.low[i, j]))} to {points(float(part.high[i, j]))}",
            f"{part.p[i, j]:.2g}",
            f"{100 * part.smallest_detectable[i, j]:.1f}",
            "yes" if decided[i, j] else "undecided",
        )
        for j, skill in enumerate(part.skills)
        for i in range(len(part.models))
        if part.n_tasks[j] >= 2 and part.p[i, j] == part.p[i, j]
    )
    return Section(
        "Who is good at what",
        table=Table(
            (
                "agent and model",
                "skill",
                "tasks",
                "effect",
                f"{100 * found.summary.level:.0f} % interval",
                "p corrected",
                "detectable",
                "decided",
            ),
            rows,
            frozenset({0, 1}),
        ),
        notes=(
            "Points above or below what the model's level and the tasks' difficulty predict, "
            f"partially pooled. {basis(**vars(part.basis))}",
            *(
                ["Tasks are taken as independent, though some share a generator: too narrow, then."]
                if any(entry.outcomes.generators for entry in found.summary.entries)
                else []
            ),
        ),
        essential=bool(rows) and bool(decided.any()),
    )


def horizons(found: Findings) -> Section:
    """Task length solved half the time, or the refusal."""
    part = found.horizons
    if isinstance(part, Refused):
        return Section("Horizon", (f"Not known: {part.refused}",), essential=False)
    rows = tuple(
        (
            who,
            f"{one.estimate.value:.0f} min ({one.estimate.low:.0f} to {one.estimate.high:.0f})"
            if one.estimate
            else f"refused: {one.refused}",
        )
        for who, one in part.items()
    )
    return Section(
        "Horizon: expert minutes of a task that is solved half the time",
        table=Table(("agent and model", "horizon"), rows, frozenset({0, 1})),
        essential=any(one.estimate for one in part.values()),
    )
