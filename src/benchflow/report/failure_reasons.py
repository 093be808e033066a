"""Claims, failures, ladders, budgets and behaviour: the middle of a report."""

from __future__ import annotations

from collections import Counter

import numpy as np

from benchflow.base.numbers import MISSING, percent, percents, points, signed
from benchflow.report.figures import amount, basis, span, with_span
from benchflow.report.section import Section, Table
from benchflow.study.failures import PHASES, RULES, TITLES, crossed
from benchflow.study.findings import Findings
from benchflow.study.statistics import Refused


def over_claims(found: Findings) -> Section:
    """The agent said done, the verifier said no."""
    part = found.over_claims
    if not part.claims:
        reasons = sorted(set(part.refused.values()))
        return Section("Over-claiming", (f"Not known: {'; '.join(reasons)}",))
    declared = all(part.declared[who] for who in part.claims)
    rows = tuple(
        (
            who,
            with_span(one.said_done),
            with_span(one.wrong),
            with_span(one.silent),
            str(part.unknown[who]),
        )
        for who, one in part.claims.items()
    )
    first = next(iter(part.claims.values())).said_done
    what = "said that it was done" if declared else "ended by itself"
    notes = [
        f"“Wrong”: of the trials whose agent {what}, the share that the verifier denied. “Silent”: "
        "of all failures, the share that came that way. “Unknown”: how the run ended was not "
        "recorded (left out of all three). The three depend on how often an agent fails and at "
        "what: a comparison at equal difficulty is under “Behaviour”. "
        f"With {100 * first.level:.0f} % intervals; method: {first.method}.",
    ]
    if not declared:
        notes.append(
            "Where no declaration was recorded, a run that ended by its own decision stands for "
            "one: an upper bound, since an agent may also stop because it gives up."
        )
    notes += [part.left_out] if part.left_out else []
    notes += [f"{who}: not known ({why})" for who, why in part.refused.items()]
    return Section(
        "Over-claiming: done, said the agent; not done, said the verifier",
        table=Table(("agent and model", what, "wrong", "silent", "unknown"), rows),
        notes=tuple(notes),
    )


def failures(found: Findings) -> Section:
    """Proximate causes, per agent and model, in shares of its failures."""
    if not found.failures:
        return Section("Why trials failed", ("no trial failed",))
    entries = [entry.who for entry in found.summary.entries]
    per = Counter((one.cause, one.who) for one in found.failures)
    totals = Counter(one.who for one in found.failures)
    everybody = Counter(one.cause for one in found.failures)
    causes = [rule.id for rule in RULES if everybody[rule.id]]
    shares = [percents([per[cause, who] for cause in causes]) for who in entries]
    rows = tuple(
        (TITLES[cause], str(everybody[cause]), *(column[at] for column in shares))
        for at, cause in enumerate(causes)
    )
    columns = tuple(f"({i})" for i in range(1, len(entries) + 1))
    names = "; ".join(f"({i}) {who}" for i, who in enumerate(entries, 1))
    return Section(
        "Why trials failed",
        table=Table(
            ("proximate cause", "failures", *columns),
            (*rows, ("failures", str(len(found.failures)), *(str(totals[w]) for w in entries))),
        ),
        notes=(
            f"Shares of the failures of {names}. From the rules in docs/analysis.md, first that "
            "holds; no language model judges.",
        ),
    )


def phases(found: Findings) -> Section:
    """Phase reached × cause, over everybody."""
    if not found.failures:
        return Section("", essential=False)
    table = crossed(found.failures)
    causes = [rule.id for rule in RULES if any(table[phase, rule.id] for phase in PHASES)]
    return Section(
        "How far failures got, by cause",
        table=Table(
            ("proximate cause", *PHASES),
            tuple(
                (TITLES[cause], *(str(table[phase, cause] or "·") for phase in PHASES))
                for cause in causes
            ),
        ),
        notes=("Columns: the share of its milestones (or tests) that passed. Counts of trials.",),
        essential=False,
    )


def milestones(found: Findings) -> Section:
    """Mean share of milestones, and who climbs better."""
    part = found.milestones
    if isinstance(part, Refused):
        return Section("How far", (f"Not known: {part.refused}",), essential=False)
    climb = part.climb
    columns = ["agent and model", f"{part.kind}s passed"]
    ladder: dict[str, str] = {}
    notes = [
        f"Mean share of a trial's {part.kind}s that passed, each trial the same; a failed trial "
        "without any result counts as 0."
    ]
    if isinstance(climb, Refused):
        notes.append(f"Ladder model: {climb.refused}.")
    else:
        columns.append("effect on each milestone")
        ladder = {
            who: f"{signed(climb.effect[i], 2)} "
            f"({signed(climb.low[i], 2)} to {signed(climb.high[i], 2)})"
            for i, who in enumerate(climb.groups)
        }
        notes.append(
            "Effect: log-odds of passing the next milestone once it is reached, against the mean. "
            + basis(**vars(climb.basis))
        )
    rows = tuple(
        (who, with_span(one), *([ladder.get(who, MISSING)] if ladder else []))
        for who, one in part.share.items()
    )
    if not rows:
        return Section("How far", ("two tasks or more are needed",), essential=False)
    first = next(iter(part.share.values()))
    notes.append(f"Method: {first.method}.")
    return Section(
        "How far",
        table=Table(tuple(columns), rows),
        notes=tuple(notes),
        essential=part.kind == "milestone",
    )


def budgets(found: Findings) -> Section:
    """Scores under a quarter, half and all of what was spent, per measure."""
    points_: list[str] = []
    rows: list[tuple[str, ...]] = []
    for budget in found.budgets:
        n = len(budget.at)
        if not budget.curves:
            reasons = "; ".join(sorted(set(budget.refused.values())))
            lacking = (
                f"recorded for {budget.recorded:,} of {budget.n_trials:,} trials, so no score "
                "under a smaller budget"
            )
            points_.append(
                f"{budget.measure}: {lacking if budget.recorded < budget.n_trials else reasons}"
            )
            continue
        for at in sorted({n // 4, n // 2, n - 1}):
            rows.append(
                (
                    f"≤ {amount(float(budget.at[at]), budget.measure)} ({budget.measure})",
                    *(
                        with_span(budget.curves[entry.who].rates[at])
                        if entry.who in budget.curves
                        else MISSING
                        for entry in found.summary.entries
                    ),
                )
            )
        points_ += [f"{budget.measure}, {who}: {why}" for who, why in budget.refused.items()]
    if not rows:
        return Section("Smaller budgets", tuple(points_))
    entries = [entry.who for entry in found.summary.entries]
    names = "; ".join(f"({i}) {who}" for i, who in enumerate(entries, 1))
    return Section(
        "Smaller budgets",
        tuple(points_),
        Table(("budget", *(f"({i})" for i in range(1, len(entries) + 1))), tuple(rows)),
        (
            f"Score had every trial been cut there: {names}. Recomputed from the logs of the work "
            "as it went; an agent that knew of the budget might work otherwise.",
        ),
    )


def soon(found: Findings) -> Section:
    """Half-times of the goals, where the incidence reaches them, and the front."""
    rows: list[tuple[str, ...]] = []
    clock = False
    for reach in found.reach:
        for who, curve in reach.curves.items():
            last = int(np.flatnonzero(np.isfinite(curve.share))[-1])
            top = float(curve.share[last])
            half = int(np.argmax(curve.share >= top / 2)) if top > 0 else last
            clock = clock or reach.measured
            rows.append(
                (
                    who,
                    reach.goal,
                    reach.measure,
                    f"{percent(top)} ({span(float(curve.low[last]), float(curve.high[last]))})",
                    amount(float(curve.at[half]), reach.measure) if top > 0 else MISSING,
                )
            )
    said = tuple(
        f"Score against {worth.measure}: on the front "
        + ", ".join(
            f"{name} (in {100 * float(worth.front.chance[i]):.0f} % of redraws)"
            for i, name in enumerate(worth.front.names)
            if worth.front.on_front[i] or worth.front.chance[i] >= 0.05
        )
        + f". {basis(**vars(worth.front.basis))}"
        if worth.front is not None
        else f"Score against {worth.measure}: no front, {worth.refused}"
        for worth in found.worth
    )
    if not rows:
        return Section("How soon, and at what price", said, essential=False)
    return Section(
        "How soon, and at what price",
        said,
        Table(
            ("agent and model", "goal", "over", "reached at the end", "half of that by"),
            tuple(rows),
            frozenset({0, 1, 2}),
        ),
        (
            "Cumulative incidence (Aalen–Johansen): ending by itself without the goal is a "
            "competing end, being cut off is censored. "
            + (
                "Moments as the agent's own clock has them."
                if clock
                else "A verifier looks once, at the end: moments are the latest possible ones."
            ),
        ),
        essential=False,
    )


def behaviour(found: Findings) -> Section:
    """Measures at equal difficulty, where they were recorded."""
    rows: list[tuple[str, ...]] = []
    said: list[str] = []
    for measure, one in found.behaviours.found.items():
        if isinstance(one, Refused):
            said.append(f"{measure}: {one.refused}")
            continue
        for i, name in enumerate(one.effects.names):
            value, low, high = (
                float(part[i]) for part in (one.effects.effect, one.effects.low, one.effects.high)
            )
            shown = (
                (f"× {value:.2f}", f"{low:.2f} to {high:.2f}")
                if one.ratio
                else (f"{points(value)} points", f"{points(low)} to {points(high)}")
            )
            least = float(one.effects.smallest_detectable[i])
            seen = f"× {least:.2f}" if one.ratio else f"{100 * least:.1f} points"
            if not np.isfinite(least):
                shown, seen = (shown[0], MISSING), MISSING
            rows.append((measure, name, *shown, f"{one.effects.p_corrected[i]:.2g}", seen))
        if poor := found.behaviours.left_out[measure]:
            said.append(f"{measure}: left out for want of records: {', '.join(poor)}")
    bases: dict[str, list[str]] = {}
    for measure, one in found.behaviours.found.items():
        if not isinstance(one, Refused):
            bases.setdefault(basis(**vars(one.basis)), []).append(measure)
    notes = (
        "On the same tasks, against the mean of those shown; p after Holm. Raw means are not "
        "shown: they would say who met, and failed on, the harder tasks. “Detectable”: what such "
        "data finds in 80 % of draws.",
        *(f"{', '.join(measures)}: {said_of}" for said_of, measures in bases.items()),
    )
    table = (
        Table(
            ("measure", "agent and model", "effect", "interval", "p corrected", "detectable"),
            tuple(rows),
            frozenset({0, 1}),
        )
        if rows
        else None
    )
    return Section("Behaviour at equal difficulty", tuple(said), table, notes, essential=False)
