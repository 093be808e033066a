"""What ratings say: of each task, of all together, and against measured attempts.

An expert here is who says that such work is theirs, several times a year or more; of others only
the number is told. What too few answers cannot carry is `Refused`, with how many are needed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from benchflow.analysis.agreement import Agreement, agreement
from benchflow.analysis.bradley_terry import Strengths, bradley_terry
from benchflow.analysis.estimate import NotEnoughData
from benchflow.analysis.stated_hours import LEAST_OF_TASK, StatedHours, stated_hours
from benchflow.base.numbers import plural
from benchflow.people.rating import PAY, SIGN, Rating, TaskAnswers
from benchflow.people.recorded import Ratings
from benchflow.study.statistics import Refused

#: With fewer raters of pairs a difficulty has next to no information; its interval stays honest.
LEAST_OF_PAIRS = 6
#: A demand is named where two or more of three or more experts of its task doubt it.
LEAST_DOUBTS = 2
MOST_DEMANDS = 3
_REFUSING = ("no", "large-doubts")


@dataclass(frozen=True)
class Measured:
    """What is known of a task by measuring. `solved` of `tried` trials of agents; `stated_hours`:
    its author's figure, 0 where there is none."""

    solved: int = 0
    tried: int = 0
    stated_hours: float = 0.0


@dataclass(frozen=True)
class Doubted:
    """A demand that experts find unfair or unclear: how many, of how many, and their words."""

    task: str
    demand: str
    text: str
    n_unfair: int
    n_unclear: int
    n_experts: int
    words: tuple[str, ...]

    @property
    def n(self) -> int:
        """Experts who doubt it."""
        return self.n_unfair + self.n_unclear


@dataclass(frozen=True)
class SaidOfTask:
    """`sign`, `pay`: answer → experts. `own_range`: geometric means of the low and the high hours.
    `harder_in` of `compared`: comparisons with another task that it won as the harder one.
    `tried`: timed tries by raters, resolved ones in `tried_resolved`."""

    task: str
    version: str
    digest: str
    n_experts: int
    n_others: int
    sign: Mapping[str, int]
    pay: Mapping[str, int]
    own_range: tuple[float, float] | None
    harder_in: int
    compared: int
    tried: int
    tried_resolved: int
    doubts: tuple[Doubted, ...]


@dataclass(frozen=True)
class Disagreement:
    """Where experts and what was measured or stated part. `shown`: beyond what chance explains."""

    task: str
    what: str
    shown: bool


@dataclass(frozen=True)
class Said:
    """Everything. Names of tasks are as in `tasks`; contents of one name apart, `name#digest`."""

    n_raters: int
    n_experts: int
    tasks: tuple[SaidOfTask, ...]
    hours: StatedHours | Refused
    harder: Strengths | Refused
    agreement: Mapping[str, Agreement | Refused]
    unfair: tuple[Doubted, ...]
    names: tuple[str, ...]

    def hours_of(self, task: str) -> tuple[float, float, float] | None:
        """Hours of a task and their interval; None where they were refused."""
        if isinstance(self.hours, Refused) or task not in self.hours.tasks:
            return None
        at = self.hours.tasks.index(task)
        found = self.hours
        return float(found.hours[at]), float(found.low[at]), float(found.high[at])


def said(ratings: Ratings, level: float = 0.95) -> Said:
    """What all `ratings` say together."""
    name_of = _names(ratings)
    answers = [
        (rating, name_of[one.task, one.digest], one)
        for rating in ratings.ratings
        for one in rating.tasks
    ]
    experts = [row for row in answers if row[2].is_experts]
    votes = list(_votes(ratings.ratings, name_of))
    tasks = tuple(
        _of_task(ratings, name, [row for row in answers if row[1] == name], votes)
        for name in sorted({row[1] for row in answers})
    )
    doubts = [doubt for task in tasks for doubt in task.doubts if doubt.n >= LEAST_DOUBTS]
    return Said(
        n_raters=len({rating.key for rating in ratings.ratings}),
        n_experts=len({rating.key for rating, _, _ in experts}),
        tasks=tasks,
        hours=_tried(lambda: _hours(experts, level)),
        harder=_tried(lambda: _harder(votes, level)),
        agreement=_agreement(experts, level),
        unfair=tuple(sorted(doubts, key=lambda d: (-d.n, -d.n / d.n_experts)))[:MOST_DEMANDS],
        names=tuple(sorted({rating.name for rating in ratings.ratings if rating.name})),
    )


_Row = tuple[Rating, str, TaskAnswers]


def _names(ratings: Ratings) -> dict[tuple[str, str], str]:
    digests: dict[str, set[str]] = defaultdict(set)
    for rating in ratings.ratings:
        for one in rating.tasks:
            digests[one.task].add(one.digest)
    return {
        (task, digest): task if len(found) == 1 else f"{task}#{digest[-12:]}"
        for task, found in digests.items()
        for digest in found
    }


def _tried[T](make: Callable[[], T]) -> T | Refused:
    try:
        return make()
    except NotEnoughData as error:
        return Refused(str(error))


def _hours(experts: list[_Row], level: float) -> StatedHours:
    # One rater may have rated a task in two packs; then the later answers count.
    rows = {
        (rating.key, name): one.hours.likely
        for rating, name, one in sorted(experts, key=lambda row: row[0].made)
        if one.hours is not None
    }
    raters, tasks = [key for key, _ in rows], [name for _, name in rows]
    return stated_hours(list(rows.values()), raters, tasks, level)


def _votes(
    ratings: Iterable[Rating], name_of: Mapping[tuple[str, str], str]
) -> Iterable[tuple[str, str, str]]:
    """(harder, easier, rater) of pairs of which the rater does both kinds of work; once each."""
    seen = set()
    for rating in sorted(ratings, key=lambda one: one.made, reverse=True):
        experts = {one.task: name_of[one.task, one.digest] for one in rating.tasks
                   if one.is_experts}  # fmt: skip
        for pair in rating.pairs:
            if not pair.harder or pair.a not in experts or pair.b not in experts:
                continue
            easier = pair.b if pair.harder == pair.a else pair.a
            vote = (experts[pair.harder], experts[easier], rating.key)
            place = (frozenset(vote[:2]), rating.key)
            if place not in seen:
                seen.add(place)
                yield vote


def _harder(votes: list[tuple[str, str, str]], level: float) -> Strengths:
    raters = {rater for _, _, rater in votes}
    if len(raters) < LEAST_OF_PAIRS:
        raise NotEnoughData(
            f"{plural(len(raters), 'expert has', 'experts have')} compared tasks; one scale of "
            f"difficulty needs {LEAST_OF_PAIRS}"
        )
    hard, easy, voters = zip(*votes, strict=True)
    return bradley_terry(hard, easy, voters, level=level)


def _agreement(experts: list[_Row], level: float) -> dict[str, Agreement | Refused]:
    def of(value: Callable[[TaskAnswers], float | None], scale: str) -> Agreement | Refused:
        rows = [(v, r.key, name) for r, name, one in experts if (v := value(one)) is not None]
        latest = {(key, name): v for v, key, name in rows}
        keys, names = [key for key, _ in latest], [name for _, name in latest]
        return _tried(
            lambda: agreement(list(latest.values()), keys, names, scale, level)  # type: ignore[arg-type]
        )

    sign, pay = list(SIGN), list(PAY)
    return {
        "hours (logarithm)": of(
            lambda one: float(np.log(one.hours.likely)) if one.hours else None, "interval"
        ),
        "would sign": of(lambda one: float(sign.index(one.sign)), "ordinal"),
        "would pay": of(lambda one: float(pay.index(one.pay)), "ordinal"),
    }


def _of_task(
    ratings: Ratings, name: str, rows: list[_Row], votes: list[tuple[str, str, str]]
) -> SaidOfTask:
    experts = {rating.key: one for rating, _, one in rows if one.is_experts}
    ranges = [one.hours for one in experts.values() if one.hours]
    tries = [one.tried for _, _, one in rows if one.tried]
    digest, task = rows[0][2].digest, rows[0][2].task
    return SaidOfTask(
        task=name,
        version=_version(ratings, task, digest),
        digest=digest,
        n_experts=len(experts),
        n_others=len({rating.key for rating, _, _ in rows} - experts.keys()),
        sign=Counter(one.sign for one in experts.values()),
        pay=Counter(one.pay for one in experts.values()),
        own_range=(_mean([h.low for h in ranges]), _mean([h.high for h in ranges]))
        if ranges
        else None,
        harder_in=sum(hard == name for hard, _, _ in votes),
        compared=sum(name in (hard, easy) for hard, easy, _ in votes),
        tried=len(tries),
        tried_resolved=sum(one.outcome == "resolved" for one in tries),
        doubts=_doubts(ratings, name, task, digest, list(experts.values())),
    )


def _mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _version(ratings: Ratings, task: str, digest: str) -> str:
    found = (t for pack in ratings.packs.values() for t in pack.tasks)
    return next((t.version for t in found if (t.name, t.digest) == (task, digest)), "")


def _doubts(
    ratings: Ratings, name: str, task: str, digest: str, experts: list[TaskAnswers]
) -> tuple[Doubted, ...]:
    if len(experts) < LEAST_OF_TASK:
        return ()
    texts = {
        demand.id: demand.text
        for pack in ratings.packs.values()
        for one in pack.tasks
        if (one.name, one.digest) == (task, digest)
        for demand in one.demands
    }
    found = []
    for demand in sorted({doubt.demand for one in experts for doubt in one.doubts}):
        # An expert counts once a demand; who calls it both calls it unfair.
        kinds = [{d.what for d in one.doubts if d.demand == demand} for one in experts]
        n_unfair = sum("unfair" in kind for kind in kinds)
        words = (d.why.strip() for one in experts for d in one.doubts if d.demand == demand)
        found.append(
            Doubted(
                name,
                demand,
                texts.get(demand, ""),
                n_unfair,
                sum(kind == {"unclear"} for kind in kinds),
                len(experts),
                tuple(filter(None, words)),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.n))


def disagreements(found: Said, measured: Mapping[str, Measured]) -> tuple[Disagreement, ...]:
    """Where experts and `measured` (by the names of `found`) part: hours that the author states,
    the order of difficulty, and verdicts that experts would not sign."""
    return (
        *_of_hours(found, measured),
        *_of_order(found, measured),
        *_of_signatures(found, measured),
    )


def _of_hours(found: Said, measured: Mapping[str, Measured]) -> Iterable[Disagreement]:
    for task in found.tasks:
        hours, known = found.hours_of(task.task), measured.get(task.task)
        if hours is None or known is None or not known.stated_hours:
            continue
        if not hours[1] <= known.stated_hours <= hours[2]:
            what = (
                f"its author states {known.stated_hours:.3g} hours, experts {hours[0]:.3g} "
                f"({hours[1]:.3g} to {hours[2]:.3g})"
            )
            yield Disagreement(task.task, what, shown=True)


def _of_order(found: Said, measured: Mapping[str, Measured]) -> Iterable[Disagreement]:
    """Pairs that experts order one way and attempts the other. Experts: places on the common scale;
    attempts: shares solved, by Fisher's exact test where it is to be told from chance."""
    from scipy.stats import fisher_exact

    if isinstance(found.harder, Strengths):
        scale = found.harder
        for hard in range(len(scale.names)):
            for easy in range(len(scale.names)):
                a, b = (measured.get(scale.names[at], Measured()) for at in (hard, easy))
                if not a.tried or not b.tried or scale.strength[hard] <= scale.strength[easy]:
                    continue
                if a.solved / a.tried <= b.solved / b.tried:
                    continue
                table = [[a.solved, a.tried - a.solved], [b.solved, b.tried - b.solved]]
                apart = bool(scale.low[hard] > scale.high[easy])
                what = (
                    f"experts hold it harder than {scale.names[easy]}, and agents resolve it more "
                    f"often ({a.solved} of {a.tried} against {b.solved} of {b.tried})"
                )
                shown = apart and float(fisher_exact(table).pvalue) < 0.05
                yield Disagreement(scale.names[hard], what, shown)


def _of_signatures(found: Said, measured: Mapping[str, Measured]) -> Iterable[Disagreement]:
    from scipy.stats import binomtest

    for task in found.tasks:
        known = measured.get(task.task)
        refusing = sum(task.sign.get(answer, 0) for answer in _REFUSING)
        if known is None or not known.solved or task.n_experts < LEAST_OF_TASK:
            continue
        if 2 * refusing > task.n_experts:
            what = (
                f"{known.solved} of {known.tried} trials are resolved, and {refusing} of "
                f"{task.n_experts} experts would not sign that without looking for long"
            )
            shown = binomtest(refusing, task.n_experts, 0.5, "greater").pvalue < 0.05
            yield Disagreement(task.task, what, bool(shown))
