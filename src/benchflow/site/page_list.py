"""Which pages a site has, and how to make each when it is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchflow.site.pages import (
    agent,
    budgets,
    comparisons,
    experts,
    failures,
    hosts,
    ladders,
    ledger,
    matrix,
    overview,
    skills,
    task,
    trials,
    votes,
)
from benchflow.site.pages.common import Maker
from benchflow.site.study import Study


def plan(study: Study) -> Iterator[tuple[str, Maker]]:
    """(path, maker) of every page but the trials' own; the overview first."""
    yield "index.html", partial(overview.make, study)
    yield "matrix.html", partial(matrix.make, study)
    yield "tasks.html", partial(task.index, study)
    yield "trials.html", partial(trials.make, study)
    yield "comparisons.html", partial(comparisons.index, study)
    yield "skills.html", partial(skills.make, study)
    yield "ladders.html", partial(ladders.make, study)
    yield "failures.html", partial(failures.make, study)
    yield "budgets.html", partial(budgets.make, study)
    yield "hosts.html", partial(hosts.make, study)
    yield "ledger.html", partial(ledger.make, study)
    if study.said is not None:
        yield "experts.html", partial(experts.make, study, study.said)
    if study.voted is not None:
        yield "votes.html", partial(votes.make, study, study.voted)
    for who in study.entries:
        yield study.at.entry(who), partial(agent.make, study, who)
    for pair in study.compared:
        yield study.at.pair(pair.a, pair.b), partial(comparisons.make, study, pair)
    for name in study.tasks:
        yield study.at.task(name), partial(task.make, study, name)
