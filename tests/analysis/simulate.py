"""Draws benchmarks whose truth is known, to see whether intervals cover it as often as they say."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import special

from benchflow.analysis.estimate import Outcomes

Generator = np.random.Generator

#: Beta(a, b) of the tasks' true success rates: hard benchmarks have many tasks near 0.
SHAPE = (0.6, 1.4)
HARD = (0.2, 1.8)
TRUE_RATE = SHAPE[0] / sum(SHAPE)
MILESTONES = np.array([1.5, 0.5, 0.0, -0.5])
ABILITY = np.array([-1.5, -0.5, 0.5])
HORIZON = 60.0
STRENGTH = {"a": 0.8, "b": 0.0, "c": -0.8}
SKILLS = ["boot"] * 20 + ["network"] * 20 + ["packaging"] * 20


@cache
def names(n: int) -> tuple[str, ...]:
    return tuple(f"t{i:04}" for i in range(n))


def outcomes(
    generator: Generator,
    n_tasks: int,
    attempts: int = 5,
    shape: tuple[float, float] = SHAPE,
) -> Outcomes:
    """A draw of tasks (fresh ones every time) and of attempts on them."""
    chance = generator.beta(*shape, size=n_tasks)
    return Outcomes(
        names(n_tasks), generator.binomial(attempts, chance), np.full(n_tasks, attempts)
    )


def in_generators(generator: Generator, n_generators: int, each: int) -> Outcomes:
    """Tasks that share generators; the true rate over generators is TRUE_RATE."""
    level = np.clip(generator.beta(*SHAPE, size=n_generators), 1e-6, 1 - 1e-6).repeat(each)
    chance = generator.beta(4 * level, 4 * (1 - level))
    n = n_generators * each
    labels = tuple(f"f{i // each}" for i in range(n))
    return Outcomes(names(n), generator.binomial(5, chance), np.full(n, 5), generators=labels)


def two(
    generator: Generator, shift: float, n_tasks: int = 60, attempts: int = 5
) -> tuple[Outcomes, Outcomes]:
    """Two models on the same fresh tasks, apart by `shift` on the logit scale."""
    base = generator.normal(-1, 2, size=n_tasks)
    made = [
        Outcomes(
            names(n_tasks),
            generator.binomial(attempts, special.expit(base + extra)),
            np.full(n_tasks, attempts),
        )
        for extra in (shift, 0.0)
    ]
    return made[0], made[1]


def two_in_generators(
    generator: Generator, n_generators: int, each: int
) -> tuple[Outcomes, Outcomes]:
    """Two models whose difference is a generator's own; 0.15 over generators."""
    base = generator.uniform(0.2, 0.6, size=n_generators).repeat(each)
    gap = generator.uniform(0, 0.3, size=n_generators).repeat(each)
    n = n_generators * each
    labels = tuple(f"f{i // each}" for i in range(n))
    made = [
        Outcomes(names(n), generator.binomial(5, chance), np.full(n, 5), generators=labels)
        for chance in (base + gap, base)
    ]
    return made[0], made[1]


def crossed(generator: Generator, n_tasks: int = 60) -> dict[tuple[str, str], Outcomes]:
    """Three agents × two models, one cell not run. Agents are 0.1 apart, models 0.08, additive;
    each task likes each agent and each model in its own way."""
    task = generator.uniform(0.3, 0.5, size=n_tasks)
    agents = {
        name: at + generator.normal(0, 0.05, size=n_tasks)
        for name, at in (("x", 0.1), ("y", 0.0), ("z", -0.1))
    }
    models = {
        name: at + generator.normal(0, 0.05, size=n_tasks) for name, at in (("m", 0.08), ("n", 0.0))
    }
    return {
        (agent, model): Outcomes(
            names(n_tasks),
            generator.binomial(5, np.clip(task + agents[agent] + models[model], 0, 1)),
            np.full(n_tasks, 5),
        )
        for agent in agents
        for model in models
        if (agent, model) != ("z", "n")
    }


def climb(
    generator: Generator, effect: float, n_tasks: int = 40, attempts: int = 3
) -> tuple[np.ndarray, int, list[str], list[str]]:
    """Two groups on the same tasks; tasks have their own pull on every milestone.

    Returns milestones passed, number of milestones, groups, tasks: one entry a trial.
    """
    own = generator.normal(0, 0.5, size=n_tasks)
    task = np.arange(n_tasks).repeat(2 * attempts)
    pull = np.tile(np.repeat([effect, -effect], attempts), n_tasks)
    chance = special.expit(MILESTONES + (pull + own[task])[:, None])
    passed = generator.random(chance.shape) < chance
    furthest = np.where(passed.all(axis=1), len(MILESTONES), np.argmin(passed, axis=1))
    groups = np.where(pull > 0, "a", "b").tolist()
    return furthest, len(MILESTONES), groups, [f"t{i}" for i in task]


def soon(generator: Generator, n_tasks: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Minutes and status of trials that reach, end or are cut at 30 minutes; tasks differ."""
    pull = np.repeat(generator.normal(0, 0.7, size=n_tasks), 4)
    reach = generator.exponential(10 * np.exp(pull))
    stop = generator.exponential(15, size=len(pull))
    amounts = np.minimum(np.minimum(reach, stop), 30.0)
    status = np.where(amounts == reach, 1, np.where(amounts == stop, 2, 0))
    return amounts, status, [f"t{i // 4}" for i in range(len(pull))]


def rasch_data(
    generator: Generator, n_tasks: int = 60, attempts: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Successes, trials (models × tasks) and the true difficulties."""
    difficulty = generator.normal(0, 1.5, size=n_tasks)
    chance = special.expit(ABILITY[:, None] - difficulty)
    return generator.binomial(attempts, chance), np.full(chance.shape, attempts), difficulty


def skilled(generator: Generator, spread: float) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three models, three skills; true effects of the given spread, centred as ours are."""
    effects = generator.normal(0, spread, size=(3, 3))
    effects -= effects.mean(axis=0) + effects.mean(axis=1, keepdims=True) - effects.mean()
    chance = 0.5 + np.repeat(effects, 20, axis=1) + generator.normal(0, 0.15, size=60)
    wins = generator.binomial(5, np.clip(chance, 0, 1)) / 5
    return {name: wins[i] for i, name in enumerate("abc")}, effects


def long_tasks(
    generator: Generator, n_tasks: int = 60, slope: float = -0.9, own: float = 0.8
) -> tuple[Outcomes, np.ndarray]:
    """Tasks of 1…960 minutes; half are solved at HORIZON; tasks differ beyond their length."""
    length = generator.uniform(0, 9.9, size=n_tasks)
    logit = slope * (length - np.log2(HORIZON)) + generator.normal(0, own, size=n_tasks)
    wins = generator.binomial(5, special.expit(logit))
    return Outcomes(names(n_tasks), wins, np.full(n_tasks, 5)), 2**length


def votes(
    generator: Generator, n_voters: int = 40, each: int = 12, n_tasks: int = 30, taste: float = 0.6
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Winners, losers, voters, tasks; voters have a taste, and tasks suit some better."""
    own = generator.normal(0, taste, size=(n_voters, 3))
    suits = generator.normal(0, taste, size=(n_tasks, 3))
    voter = np.arange(n_voters).repeat(each)
    task = generator.integers(n_tasks, size=len(voter))
    x = generator.integers(3, size=len(voter))
    y = (x + generator.integers(1, 3, size=len(voter))) % 3
    strength = np.array(list(STRENGTH.values())) + own[voter] + suits[task]
    rows = np.arange(len(voter))
    first = generator.random(len(voter)) < special.expit(strength[rows, x] - strength[rows, y])
    label = list(STRENGTH)
    return (
        [label[i] for i in np.where(first, x, y)],
        [label[i] for i in np.where(first, y, x)],
        [f"v{i}" for i in voter],
        [f"t{i}" for i in task],
    )


def beside(
    generator: Generator, n_voters: int, n_tasks: int, lean: float = 0.8, taste: float = 0.5
) -> tuple[np.ndarray, list[str], list[str]]:
    """Whether each vote went to the side of which more was proved, its voter, its task: everybody
    votes on all tasks; some lean more to what was proved, on some tasks more is seen of it."""
    own = generator.normal(0, taste, size=n_voters)[:, None]
    seen = generator.normal(0, taste, size=n_tasks)[None, :]
    to_more = generator.random((n_voters, n_tasks)) < special.expit(lean + own + seen)
    voters = [f"v{i}" for i in np.arange(n_voters).repeat(n_tasks)]
    return to_more.ravel(), voters, [f"t{i}" for i in np.tile(np.arange(n_tasks), n_voters)]


def behave(
    generator: Generator, n_tasks: int = 50
) -> tuple[np.ndarray, list[str], list[str], np.ndarray]:
    """Minutes of three groups whose true factors against their mean are 1.5, 1 and 1/1.5.

    Hard tasks take everybody longer; the groups ran different tasks, so raw means mislead. The
    last array is the true factors, in the order of the groups.
    """
    task = np.arange(n_tasks).repeat(6)
    group = np.tile(np.repeat(np.arange(3), 2), n_tasks)
    hard = generator.normal(0, 1, size=n_tasks)
    ran = generator.random((n_tasks, 3)) < special.expit(1 + np.outer(hard, [-1, 0, 1]))
    own = generator.normal(0, 0.3, size=(n_tasks, 3))
    log = hard[task] + np.log([1.5, 1, 1 / 1.5])[group] + own[task, group]
    log += generator.normal(0, 0.4, size=len(task))
    kept = ran[task, group]
    return (
        np.exp(log[kept]),
        [f"g{i}" for i in group[kept]],
        [f"t{i}" for i in task[kept]],
        np.array([1.5, 1.0, 1 / 1.5]),
    )


def claimed(generator: Generator, n_tasks: int = 60) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """said_done, resolved, tasks: all winners claim with 0.9, others with a task's own chance."""
    chance, boast = generator.beta(*SHAPE, size=n_tasks), generator.uniform(0.3, 0.9, size=n_tasks)
    task = np.arange(n_tasks).repeat(5)
    won = generator.random(len(task)) < chance[task]
    said = generator.random(len(task)) < np.where(won, 0.9, boast[task])
    return said, won, [f"t{i}" for i in task]


STATED = np.array([2.0, 5.0, 9.0, 20.0, 40.0, 60.0])


def stated(
    generator: Generator, n_raters: int, n_tasks: int, each: int = 3
) -> tuple[np.ndarray, list[str], list[str]]:
    """Hours, raters, tasks: each rater leans to more or less and rates `each` of the tasks."""
    lean = generator.normal(0, 0.5, size=n_raters)
    task = np.concatenate([generator.permutation(n_tasks)[:each] for _ in range(n_raters)])
    rater = np.arange(n_raters).repeat(each)
    log = np.log(STATED[task]) + lean[rater] + generator.normal(0, 0.4, size=len(task))
    return np.exp(log), [f"r{i}" for i in rater], [f"t{i}" for i in task]


def judged(
    generator: Generator, n_raters: int, n_tasks: int
) -> tuple[np.ndarray, list[str], list[str]]:
    """Answers 0…3 of an order, raters, tasks: everybody rates everything, strict or lenient."""
    true = np.linspace(-1, 1, n_tasks)
    felt = true + generator.normal(0, 0.4, size=(n_raters, 1))
    felt = felt + generator.normal(0, 0.8, size=(n_raters, n_tasks))
    rater, task = np.indices(felt.shape)
    answers = np.digitize(felt, [-0.8, 0, 0.8]).ravel().astype(float)
    return answers, [f"r{i}" for i in rater.ravel()], [f"t{i}" for i in task.ravel()]


def harder(
    generator: Generator, n_raters: int, n_tasks: int, taste: float = 0.6
) -> tuple[list[str], list[str], list[str]]:
    """The harder, the easier, the raters: all pairs of tasks, and what is hard for each differs."""
    own = np.linspace(-1, 1, n_tasks) + generator.normal(0, taste, size=(n_raters, n_tasks))
    a, b = np.triu_indices(n_tasks, 1)
    wins = generator.random((n_raters, len(a))) < special.expit(own[:, a] - own[:, b])
    hard, easy = np.where(wins, a, b), np.where(wins, b, a)
    raters = np.arange(n_raters).repeat(len(a))
    return (
        [f"t{i}" for i in hard.ravel()],
        [f"t{i}" for i in easy.ravel()],
        [f"r{i}" for i in raters],
    )


def swayed_votes(
    generator: Generator, left: float = 0.7, length: float = 0.5, n_voters: int = 30, each: int = 14
) -> tuple[list[str], list[str], list[str], list[str], dict[str, list[float]]]:
    """As `votes`, of trials that stand left or right and are of some length: both sway, and what is
    better is shorter, so that plain strengths are too near each other."""
    n_tasks = 20
    n_votes = n_voters * each
    strength = np.array(list(STRENGTH.values()))
    lengths = generator.normal(-strength, 1.0, size=(n_tasks, 3))
    voter = np.arange(n_voters).repeat(each)
    task = generator.integers(n_tasks, size=n_votes)
    x = generator.integers(3, size=n_votes)
    y = (x + generator.integers(1, 3, size=n_votes)) % 3
    own = generator.normal(0, 0.3, size=(n_voters, 3))
    gap = (strength + own[voter])[np.arange(n_votes), x] - (strength + own[voter])[
        np.arange(n_votes), y
    ]
    longer = lengths[task, x] - lengths[task, y]
    first = generator.random(n_votes) < special.expit(gap + left + length * longer)
    label = list(STRENGTH)
    sign = np.where(first, 1.0, -1.0)
    return (
        [label[i] for i in np.where(first, x, y)],
        [label[i] for i in np.where(first, y, x)],
        [f"v{i}" for i in voter],
        [f"t{i}" for i in task],
        {"stood left": list(sign), "longer": list(sign * longer)},
    )
