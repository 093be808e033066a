"""What experts say of one task, in a line each: for a terminal and for a datasheet."""

from __future__ import annotations

from collections.abc import Mapping

from benchflow.base.numbers import plural
from benchflow.base.text import one_line
from benchflow.people.recorded import FOLDER, recorded
from benchflow.people.said import Said, SaidOfTask, said
from benchflow.study.statistics import Refused
from benchflow.tasks import Task

#: What an answer is called in a count.
SIGN_SHORT = {
    "no": "no",
    "large-doubts": "after a long look",
    "small-doubts": "after a short look",
    "yes": "as it stands",
}
PAY_SHORT = {
    "no": "no",
    "little": "next to nothing",
    "part": "a part",
    "full": "in full",
}


def counted(short: Mapping[str, str], found: Mapping[str, int]) -> str:
    """“as it stands 3, no 1”: the answers given, from the best."""
    given = [(words, found.get(answer, 0)) for answer, words in reversed(list(short.items()))]
    return ", ".join(f"{words} {n}" for words, n in given if n)


def hours_words(found: Said, task: SaidOfTask) -> str:
    """The hours with their interval, or why there are none."""
    hours = found.hours_of(task.task)
    if hours is not None:
        spread = ""
        if task.own_range:
            spread = f"; their own ranges {task.own_range[0]:.3g} to {task.own_range[1]:.3g}"
        return f"{hours[0]:.3g} h ({hours[1]:.3g} to {hours[2]:.3g}){spread}"
    if isinstance(found.hours, Refused):
        return f"not told: {found.hours.refused}"
    return f"not told: {plural(task.n_experts, 'expert')} rated it"


def of_task(task: Task) -> list[list[str]]:
    """Labels and words on the present content of `task`, from the ratings beside its catalogue;
    none where nothing is recorded."""
    parents = task.path.parents
    ratings = recorded(parents[2] / FOLDER) if len(parents) > 2 else None
    if ratings is None:
        return []
    found = said(ratings)
    one = next((x for x in found.tasks if x.digest == task.digest), None)
    return [] if one is None else lines(found, one)


def lines(found: Said, one: SaidOfTask) -> list[list[str]]:
    """The same of one task of `found`."""
    others = (
        f", and {plural(one.n_others, 'rater')} who do not do such work" if one.n_others else ""
    )
    rows = [["experts", f"{one.n_experts}{others}"], ["experts' hours", hours_words(found, one)]]
    if one.n_experts:
        rows.append(["would sign", counted(SIGN_SHORT, one.sign)])
        rows.append(["would pay", counted(PAY_SHORT, one.pay)])
    if one.compared:
        rows.append(["harder", f"in {one.harder_in} of {plural(one.compared, 'comparison')}"])
    for doubt in one.doubts[:3]:
        named = f"{doubt.demand}: unfair {doubt.n_unfair}, unclear {doubt.n_unclear}"
        rows.append(["doubted", one_line(f"{named}, of {doubt.n_experts} experts", 200)])
    return rows
