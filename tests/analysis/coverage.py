"""How often the 95 % intervals hold the truth, in simulations whose truth is known.

`python -m tests.analysis.coverage docs/analysis.md` writes the table into that page; without an
argument it prints it. The tests run the same scenarios with the same seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import krippendorff
import numpy as np

from benchflow.analysis import passk
from benchflow.analysis.agreement import agreement
from benchflow.analysis.behaviour import adjusted
from benchflow.analysis.bradley_terry import bradley_terry
from benchflow.analysis.budget import rate_within
from benchflow.analysis.claims import claims
from benchflow.analysis.compare import paired
from benchflow.analysis.decompose import decompose
from benchflow.analysis.estimate import Estimate, Floats, NotEnoughData, Outcomes
from benchflow.analysis.horizon import horizon
from benchflow.analysis.incidence import cumulative_incidence
from benchflow.analysis.ladder import milestone_chances, sequential_logit
from benchflow.analysis.rasch import rasch
from benchflow.analysis.rates import bootstrap_rate, rate
from benchflow.analysis.skills import skill_effects
from benchflow.analysis.stated_hours import stated_hours
from benchflow.arena.opened import Opened
from benchflow.arena.pack import Whose
from benchflow.arena.proof import with_proof
from benchflow.arena.side import Counted

from . import simulate
from .simulate import TRUE_RATE, Generator

START, END = "<!-- coverage: start -->", "<!-- coverage: end -->"
LOWEST, HIGHEST = 0.92, 0.97


@dataclass(frozen=True)
class Scenario:
    """`draw` makes one data set and says, per parameter, whether its interval held the truth.

    A parameter that was refused is NaN. `slow`: takes more than a few seconds.
    """

    name: str
    data: str
    draw: Callable[[Generator], list[float]]
    draws: int = 1000
    seed: int = 1
    slow: bool = False


@dataclass(frozen=True)
class Coverage:
    """Lowest and highest over the parameters, and how many draws gave an interval."""

    lowest: float
    highest: float
    draws: int


def measure(scenario: Scenario) -> Coverage:
    generator = np.random.default_rng(scenario.seed)
    hits = np.array([scenario.draw(generator) for _ in range(scenario.draws)], dtype=float)
    shares = np.nanmean(hits, axis=0)
    return Coverage(
        float(shares.min()), float(shares.max()), int((~np.isnan(hits)).sum(axis=0).min())
    )


def _holds(estimate: Estimate | None, truth: float) -> float:
    return float("nan") if estimate is None else float(estimate.low <= truth <= estimate.high)


def _inside(low: Floats, high: Floats, truth: Floats) -> list[float]:
    return ((low <= truth) & (truth <= high)).astype(float).tolist()


def _total(n_tasks: int, shape: tuple[float, float]) -> Callable[[Generator], list[float]]:
    truth = shape[0] / sum(shape)
    return lambda g: [_holds(rate(simulate.outcomes(g, n_tasks, shape=shape)).total, truth)]


@cache
def _fixed_tasks() -> Floats:
    return np.random.default_rng(8).beta(*simulate.SHAPE, size=60)


def _rerun(g: Generator) -> list[float]:
    chance = _fixed_tasks()
    data = Outcomes(simulate.names(60), g.binomial(5, chance), np.full(60, 5))
    return [_holds(rate(data).rerun_only, float(chance.mean()))]


@cache
def _pass_truth() -> tuple[float, float]:
    population = np.random.default_rng(9).beta(*simulate.SHAPE, size=2_000_000)
    return float((1 - (1 - population) ** 3).mean()), float((population**3).mean())


def _pass_k(g: Generator) -> list[float]:
    data = simulate.outcomes(g, 60)
    any_of, all_of = _pass_truth()
    return [_holds(passk.pass_k(data, 3), any_of), _holds(passk.pass_k(data, 3, "all"), all_of)]


@cache
def _paired_truth() -> float:
    from scipy.special import expit

    base = np.random.default_rng(0).normal(-1, 2, size=4_000_000)
    return float((expit(base + 1) - expit(base)).mean())


def _paired(g: Generator) -> list[float]:
    return [_holds(paired(*simulate.two(g, 1.0), draws=10).difference, _paired_truth())]


def _paired_generators(g: Generator) -> list[float]:
    return [_holds(paired(*simulate.two_in_generators(g, 15, 4), draws=10).difference, 0.15)]


def _within(g: Generator) -> list[float]:
    won = g.random(300) < np.repeat(g.beta(*simulate.SHAPE, size=60), 5)
    found = rate_within(g.exponential(10, size=300), won, [f"t{i // 5}" for i in range(300)], 10)
    return [_holds(found, TRUE_RATE * (1 - np.exp(-1)))]


def _decompose(g: Generator) -> list[float]:
    found = decompose(simulate.crossed(g))
    assert found.agents
    assert found.models
    assert found.additivity
    assert found.additivity.differs
    truths = (np.array([0.1, 0.2, 0.1]), np.array([0.08]), np.array([0.0]))
    parts = (found.agents, found.models, found.additivity.differs)
    return [
        hit
        for part, truth in zip(parts, truths, strict=True)
        for hit in _inside(part.low, part.high, truth)
    ]


def _behave(g: Generator) -> list[float]:
    values, groups, tasks, truth = simulate.behave(g)
    found = adjusted(values, groups, tasks, ratio=True).effects
    return _inside(found.low, found.high, truth)


def _hosts(g: Generator) -> list[float]:
    """Two agents on three hosts, of which one resolves 12 points fewer; not every cell is run."""
    harm = np.array([-0.12, 0.0, 0.0])
    base = np.repeat(g.uniform(0.15, 0.75, size=40), 2) + np.tile([0.0, 0.2], 40)
    cell, host = np.divmod(np.arange(240), 3)
    ran = g.random(240) < 0.8
    cell, host = cell[ran], host[ran]
    won = (g.random(len(cell)) < base[cell] + harm[host]).astype(float)
    tasks, units = [f"c{one}" for one in cell], [f"t{one // 2}" for one in cell]
    found = adjusted(won, [f"h{one}" for one in host], tasks, units).effects
    return _inside(found.low, found.high, harm - harm.mean())


def _claims(g: Generator) -> list[float]:
    found = claims(*simulate.claimed(g))
    boast = (1 - TRUE_RATE) * 0.6
    said = TRUE_RATE * 0.9 + boast
    return [
        _holds(found.said_done, said),
        _holds(found.wrong, boast / said),
        _holds(found.silent, 0.6),
    ]


def _one_milestone(g: Generator) -> list[float]:
    from statsmodels.stats.proportion import proportion_confint

    chance = g.uniform(0.1, 0.9)
    low, high = proportion_confint(g.binomial(24, chance), 24, method="jeffreys")
    return [float(low <= chance <= high)]


@cache
def _many_climbs() -> tuple[np.ndarray, int, list[str], list[str]]:
    return simulate.climb(np.random.default_rng(50), 0.4, n_tasks=20_000)


@cache
def _climb_truth() -> Floats:
    return sequential_logit(*_many_climbs()).effect


@cache
def _milestones_truth() -> tuple[float, ...]:
    furthest, n_milestones, _, tasks = _many_climbs()
    return tuple(c.value for c in milestone_chances(furthest, n_milestones, tasks) if c)


def _climb(g: Generator) -> list[float]:
    found, truth = sequential_logit(*simulate.climb(g, 0.4)), _climb_truth()
    return _inside(found.low[:1], found.high[:1], truth[:1])


def _milestones(g: Generator) -> list[float]:
    furthest, n_milestones, _, tasks = simulate.climb(g, 0.4)
    chances = milestone_chances(furthest, n_milestones, tasks)
    return [_holds(c, truth) for c, truth in zip(chances, _milestones_truth(), strict=True)]


@cache
def _soon_truth() -> Floats:
    amounts, status, _ = simulate.soon(np.random.default_rng(3), 100_000)
    return np.array([((status == 1) & (amounts <= at)).mean() for at in (3.0, 8.0, 25.0)])


def _soon(g: Generator) -> list[float]:
    found = cumulative_incidence(*simulate.soon(g, 30), np.array([3.0, 8.0, 25.0]), draws=100)
    return _inside(found.low, found.high, _soon_truth())


def _rasch(g: Generator) -> list[float]:
    successes, trials, difficulty = simulate.rasch_data(g, n_tasks=40)
    found = rasch(successes, trials, draws=2)
    covered = _inside(*found.difficulty_interval(), difficulty)
    return [*_inside(*found.ability_interval(), simulate.ABILITY), float(np.mean(covered))]


def _skills(g: Generator) -> list[float]:
    shares, truth = simulate.skilled(g, 0.12)
    found = skill_effects(shares, [[skill] for skill in simulate.SKILLS])
    return [float(((found.low <= truth) & (truth <= found.high)).mean())]


def _horizon(g: Generator) -> list[float]:
    return [_holds(horizon(*simulate.long_tasks(g)).estimate, simulate.HORIZON)]


@cache
def _vote_truth() -> Floats:
    big = simulate.votes(np.random.default_rng(99), n_voters=4000, each=50, n_tasks=4000)
    return bradley_terry(*big).strength


def _votes(g: Generator) -> list[float]:
    found = bradley_terry(*simulate.votes(g))
    return _inside(found.low, found.high, _vote_truth())


def _opened(to_more: np.ndarray, voters: list[str], tasks: list[str]) -> list[Opened]:
    counted = Counted(0, 0, 0)
    more, less = (Whose(f"u{n}", "", f"{n}", "", "", "", n, 2, counted) for n in (2, 1))
    rows = zip(to_more, voters, tasks, strict=True)
    return [
        Opened("ship", voter, task, more, less, *((more, less) if won else (less, more)))
        for won, voter, task in rows
    ]


@cache
def _beside_truth() -> float:
    return float(simulate.beside(np.random.default_rng(96), 3000, 3000)[0].mean())


def _beside(n_voters: int, n_tasks: int) -> Callable[[Generator], list[float]]:
    def draw(g: Generator) -> list[float]:
        found = with_proof(_opened(*simulate.beside(g, n_voters, n_tasks)))
        if found.low is None or found.high is None:
            return [float("nan")]
        return [float(found.low <= _beside_truth() <= found.high)]

    return draw


@cache
def _harder_truth(n_tasks: int) -> Floats:
    return bradley_terry(*simulate.harder(np.random.default_rng(98), 20_000, n_tasks)).strength


def _harder(n_raters: int, n_tasks: int) -> Callable[[Generator], list[float]]:
    def draw(g: Generator) -> list[float]:
        try:
            found = bradley_terry(*simulate.harder(g, n_raters, n_tasks))
        except NotEnoughData:
            return [float("nan")] * n_tasks
        return _inside(found.low, found.high, _harder_truth(n_tasks))

    return draw


def _stated(n_raters: int, n_tasks: int) -> Callable[[Generator], list[float]]:
    def draw(g: Generator) -> list[float]:
        found = stated_hours(*simulate.stated(g, n_raters, n_tasks))
        held = dict(zip(found.tasks, zip(found.low, found.high, strict=True), strict=True))
        # A task that too few happened to rate is left out.
        never = (float("nan"), float("nan"))
        return [
            float(low <= simulate.STATED[task] <= high) if low == low else low
            for task in range(n_tasks)
            for low, high in [held.get(f"t{task}", never)]
        ]

    return draw


@cache
def _judged_truth(n_tasks: int) -> float:
    big = simulate.judged(np.random.default_rng(97), 3000, n_tasks)
    table = big[0].reshape(3000, n_tasks)
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement="ordinal"))


def _judged(n_raters: int, n_tasks: int) -> Callable[[Generator], list[float]]:
    def draw(g: Generator) -> list[float]:
        found = agreement(*simulate.judged(g, n_raters, n_tasks), "ordinal")
        return [float(found.low <= _judged_truth(n_tasks) <= found.high)]

    return draw


def _generators(n_generators: int) -> Callable[[Generator], list[float]]:
    return lambda g: [_holds(rate(simulate.in_generators(g, n_generators, 4)).total, TRUE_RATE)]


def _bootstrap(g: Generator) -> list[float]:
    return [_holds(bootstrap_rate(simulate.outcomes(g, 80), draws=400), TRUE_RATE)]


SCENARIOS = (
    Scenario("success rate, total", "80 tasks × 5", _total(80, simulate.SHAPE)),
    Scenario("success rate, total", "20 tasks × 5", _total(20, simulate.SHAPE)),
    Scenario("success rate, total", "80 hard tasks × 5, rate 10 %", _total(80, simulate.HARD)),
    Scenario("success rate, total", "30 generators of 4 tasks × 5", _generators(30)),
    Scenario("success rate, total", "12 generators of 4 tasks × 5", _generators(12)),
    Scenario(
        "success rate, total", "8 generators of 4 tasks × 5", _generators(8), draws=3000, seed=3
    ),
    Scenario("success rate, total", "8 tasks × 5", _total(8, simulate.SHAPE), draws=3000),
    Scenario("success rate, bootstrap over tasks", "80 tasks × 5", _bootstrap),
    Scenario("success rate, re-run noise only", "60 tasks × 5, the same ones", _rerun),
    Scenario("pass@3 and pass^3", "60 tasks × 5", _pass_k),
    Scenario("paired difference", "60 tasks × 5", _paired),
    Scenario("paired difference", "15 generators of 4 tasks × 5", _paired_generators),
    Scenario("rate within a budget", "60 tasks × 5", _within),
    Scenario("agents, models, additivity", "5 cells of 3 × 2, 60 tasks × 5", _decompose, slow=True),
    Scenario("behaviour, factors within tasks", "3 agents, 50 tasks, gaps", _behave, slow=True),
    Scenario("share resolved by host", "3 hosts, 40 tasks × 2 agents, gaps", _hosts, slow=True),
    Scenario("claims: said, wrong, silent", "60 tasks × 5", _claims),
    Scenario("one milestone of one task (Jeffreys)", "24 runs", _one_milestone),
    Scenario("chance of the next milestone", "40 tasks × 6, 4 milestones", _milestones),
    Scenario("ladder effect of an agent", "40 tasks × 6, 4 milestones", _climb, slow=True),
    Scenario("cumulative incidence", "30 tasks × 4, at 3 amounts", _soon, slow=True),
    Scenario("Rasch abilities and difficulties", "3 models, 40 tasks × 3", _rasch, slow=True),
    Scenario("model × skill effects", "3 × 3, 20 tasks a skill × 5", _skills),
    Scenario("horizon", "60 tasks × 5", _horizon, slow=True),
    Scenario("Bradley–Terry strengths", "40 voters × 12, 30 tasks", _votes, slow=True),
    Scenario("votes beside verdicts", "12 voters, 12 tasks", _beside(12, 12), slow=True),
    Scenario("votes beside verdicts", "8 voters, 8 tasks", _beside(8, 8), slow=True),
    Scenario("Bradley–Terry difficulties", "20 raters, 3 tasks", _harder(20, 3), slow=True),
    Scenario("Bradley–Terry difficulties", "20 raters, 5 tasks", _harder(20, 5), slow=True),
    Scenario("stated hours", "5 raters, 3 tasks", _stated(5, 3), slow=True),
    Scenario("stated hours", "12 raters × 3 of 6 tasks", _stated(12, 6), slow=True),
    Scenario("agreement (Krippendorff)", "8 raters, 4 tasks", _judged(8, 4), slow=True),
    Scenario("agreement (Krippendorff)", "12 raters, 5 tasks", _judged(12, 5), slow=True),
)


def row(scenario: Scenario, found: Coverage) -> str:
    """One line of the table."""
    low, high = f"{100 * found.lowest:.1f}", f"{100 * found.highest:.1f}"
    span = f"{low} %" if low == high else f"{low} – {high} %"
    return f"| {scenario.name} | {scenario.data} | {span} | {found.draws:,} |"


def table() -> str:
    """The whole table in Markdown."""
    lines = ["| 95 % interval of | data | holds the truth in | draws |", "|---|---|---|---|"]
    return "\n".join([*lines, *(row(one, measure(one)) for one in SCENARIOS)])


def main() -> None:
    """Prints the table, or puts it between the marks of the page named."""
    if len(sys.argv) < 2:
        print(table())
        return
    page = Path(sys.argv[1])
    before, _, rest = page.read_text().partition(START)
    page.write_text(f"{before}{START}\n{table()}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
