"""What matters most, in a few sentences; and agents told from models."""

from __future__ import annotations

from benchflow.analysis.within import Effects
from benchflow.base.numbers import MISSING, p_value, percent, plural, plus_minus, points
from benchflow.report.figures import basis
from benchflow.report.section import Section, Table
from benchflow.study.findings import Findings
from benchflow.study.statistics import Refused


def short(found: Findings) -> Section:
    """The page in a few sentences."""
    summary = found.summary
    best = summary.entries[0]
    said: list[str] = []
    if best.rate is not None:
        total, rerun = best.rate.plus_minus.total, best.rate.plus_minus.rerun
        usual = ""
        if rerun is not None and rerun < total:
            usual = (
                f" (counting re-runs of these tasks alone, as is usual, it would be "
                f"{plus_minus(rerun)})"
            )
        said.append(
            f"{best.who} resolves {percent(best.share, 2)} {plus_minus(total)} on tasks of this "
            f"kind{usual}"
        )
    if summary.pairs:
        decided = sum(pair.comparison.decided for pair in summary.pairs)
        tiers = len({entry.tier for entry in summary.entries if entry.tier is not None})
        lost = len({(one.a, one.b) for one in found.changes if not one.decided})
        ranked = sum(entry.tier is not None for entry in summary.entries)
        some = f"{ranked} of " if 0 < ranked < len(summary.entries) else ""
        others = " (the others share too few tasks with them to be ranked)" if some else ""
        form = f"{some}{len(summary.entries)} agents and models form {_tiers(tiers)}{others}"
        if not summary.ranked and summary.alone:
            form = f"nobody is ranked: {_alone(summary.alone)}; between the others"
        said.append(f"{form}: {_supported(decided, len(summary.pairs), lost)}")
    effects = found.agent_or_model.effects
    if not isinstance(effects, Refused) and effects.agents and effects.models:
        most = [100 * float(abs(one.effect).max()) for one in (effects.agents, effects.models)]
        said.append(
            f"at equal model the choice of agent moves the score by up to {most[0]:.0f} points, "
            f"at equal agent the choice of model by up to {most[1]:.0f}"
        )
    wrong = [one.wrong.value for one in found.over_claims.claims.values() if one.wrong]
    if wrong:
        declared = all(found.over_claims.declared[who] for who in found.over_claims.claims)
        what = "declared done" if declared else "ended by their agent's own decision"
        least, most_wrong = percent(min(wrong), 0), percent(max(wrong), 0)
        share = least if least == most_wrong else f"{least} to {most_wrong}"
        said.append(f"of the trials that were {what}, {share} were not done")
    if not isinstance(found.difficulty, Refused):
        dead, placed = len(found.difficulty.dead), len(found.difficulty.tasks)
        if dead:
            said.append(
                f"{dead} of {placed} tasks separate nobody: everybody always, or nobody ever, "
                "solves them"
                if placed > 1
                else "the task separates nobody: everybody always, or nobody ever, solves it"
            )
    return Section("In short", tuple(said))


def _supported(decided: int, pairs: int, lost: int) -> str:
    if pairs == 1 and not decided:
        return "the difference is not supported"
    if pairs == 1:
        often = ", but not under every reading of the trials" if lost else ""
        return f"the difference is supported{often}"
    often = f", {lost} of them not under every reading of the trials" if lost else ""
    return f"{decided} of {pairs:,} differences {'is' if decided == 1 else 'are'} supported{often}"


def _alone(names: tuple[str, ...]) -> str:
    each = "shares" if len(names) == 1 else "each share"
    return f"{', '.join(names)} {each} fewer than two tasks with anybody else"


def _tiers(n: int) -> str:
    return plural(n, "tier") if n else "no tiers (the tasks that they share allow no one order)"


def agent_or_model(found: Findings) -> Section:
    """Differences between agents and between models, or why they cannot be told apart."""
    part = found.agent_or_model
    cells = part.cells
    grid = Table(
        ("agent", *cells.models),
        tuple(
            (
                agent,
                *(
                    f"{cells.n_tasks[i, j]} / {cells.n_trials[i, j]}"
                    if cells.n_tasks[i, j]
                    else MISSING
                    for j in range(len(cells.models))
                ),
            )
            for i, agent in enumerate(cells.agents)
        ),
    )
    notes = ["Cells that were run: tasks / trials."]
    notes += [f"Taken as one model: {', '.join(names[1:])}." for names in part.merged]
    if isinstance(part.effects, Refused):
        return Section(
            "Agent or model", (f"Not told apart: {part.effects.refused}",), grid, tuple(notes)
        )
    effects = part.effects
    said = [
        *_factor(effects.models, "the model", "at equal agent"),
        *_factor(effects.agents, "the agent", "at equal model"),
    ]
    check = effects.additivity
    if check is None:
        notes.append(
            "Agent and model effects are assumed to add up: no cells are left to check it by."
        )
    else:
        level = found.summary.level
        verdict = "does not contradict" if check.p >= 1 - level else "contradicts"
        more = ""
        if check.differs is not None:
            more = (
                f": {check.differs.names[0].replace(' - ', ' − ')} = "
                f"{points(float(check.differs.effect[0]))} points "
                f"({points(float(check.differs.low[0]))} to {points(float(check.differs.high[0]))};"
                " such data sees differences from "
                f"{100 * float(check.differs.smallest_detectable[0]):.0f} points on)"
            )
        notes.append(
            f"That agent and model effects add up is checked by {check.freedom} free cell(s) and "
            f"the data {verdict} it (F({check.freedom}, {check.within}) = {check.f:.2f}, "
            f"{p_value(check.p)}){more}."
        )
    notes.append(basis(**vars(effects.basis)))
    return Section("Agent or model", tuple(said), grid, tuple(notes))


def _factor(found: Effects | None, what: str, held: str) -> list[str]:
    if found is None:
        return []
    lines: list[str] = []
    for i in sorted(range(len(found.names)), key=lambda i: -abs(float(found.effect[i]))):
        one, other = found.names[i].split(" - ", 1)
        value, low, high = (float(part[i]) for part in (found.effect, found.low, found.high))
        if value < 0:
            one, other, value, low, high = other, one, -value, -high, -low
        undecided = (
            ""
            if found.p_corrected[i] < 1 - found.level
            else "; not decided, such data sees differences from "
            f"{100 * float(found.smallest_detectable[i]):.0f} points on"
        )
        lines.append(
            f"{what} ({held}): {one} − {other} = {points(value)} points ({points(low)} to "
            f"{points(high)}; corrected {p_value(float(found.p_corrected[i]))}{undecided})"
        )
    return lines
