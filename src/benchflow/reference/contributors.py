"""docs/contributors.md: who made the tasks and who reviewed them.

From every task.toml, that of what a generator draws, and the ratings that are recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from benchflow.base.text import one_line
from benchflow.generators import Instance, generators
from benchflow.people.recorded import FOLDER, recorded
from benchflow.reference.markdown import table
from benchflow.tasks import load
from benchflow.tasks.catalogue import catalogue
from benchflow.tasks.contributors import AUTHOR_ROLES, REVIEWER_ROLES, Contribution, Role

CHECKOUT = Path(__file__).resolve().parents[3]
#: What tasks whose authors are not named one by one say, and how a page says it.
COLLECTIVE = "The benchflow authors"
_COLLECTIVE = {"benchflow", COLLECTIVE}
_INTRODUCTION = """\
# Contributors

For those who want to know whose work this is, and what a name in it stands for.

Made of every `task.toml`, those of [generators](generators.md), and recorded [ratings](people.md) \
(`python -m benchflow.reference`); not edited. A name is here because \
its owner asked for it: nobody is listed by somebody else, and who wants to be taken off is taken \
off ([CONTRIBUTING.md](../CONTRIBUTING.md#credit)). *The benchflow authors* stands for work whose \
authors are not named one by one.
"""


@dataclass(frozen=True)
class Credited:
    """One task or generator, by name, with the people in it; `version` is "" of what is no more."""

    where: str
    version: str
    about: str
    people: tuple[Contribution, ...]


def credited(checkout: Path = CHECKOUT) -> list[Credited]:
    """Every task of the catalogue, then every generator, then what else was rated."""
    tasks = checkout / "tasks"
    found = [
        Credited(task.name, task.version, task.description, _named(task.contributions))
        for task in catalogue(tasks)
    ]
    for generator in generators(tasks).values():
        # What it draws is by the same people whatever is drawn.
        drawn = load(Instance(generator, min(generator.levels), seed=1).folder(tasks))
        about, version = generator.told.description, str(generator.version)
        name = f"{generator.name} (generator)"
        found.append(Credited(name, version, about, _named(drawn.contributions)))
    return _with_raters(found, checkout)


def _with_raters(found: list[Credited], checkout: Path) -> list[Credited]:
    """Who gave a name for credit when rating a task has reviewed it."""
    ratings = recorded(checkout / FOLDER)
    by_task: dict[str, dict[str, None]] = {}
    for rating in ratings.ratings if ratings else ():
        for one in rating.tasks:
            if name := one_line(rating.name, 120):
                by_task.setdefault(one.task, {})[name] = None
    known = {each.where: each for each in found}
    for task, names in sorted(by_task.items()):
        each = known.get(task, Credited(task, "", "", ()))
        known[task] = replace(each, people=_rated_by(each.people, names))
    return list(known.values())


def _rated_by(people: tuple[Contribution, ...], names: Iterable[str]) -> tuple[Contribution, ...]:
    by_name = {one.name: one for one in people}
    for name in names:
        one = by_name.setdefault(name, Contribution(name, is_author=False))
        if not one.is_author:
            by_name[name] = replace(one, did=tuple(dict.fromkeys((*one.did, "rating"))))
    return tuple(by_name.values())


def _named(people: Iterable[Contribution]) -> tuple[Contribution, ...]:
    return tuple(
        replace(one, name=COLLECTIVE) if one.name in _COLLECTIVE else one for one in people
    )


def page(checkout: Path = CHECKOUT) -> str:
    """The whole page."""
    found = credited(checkout)
    reviewers = _rows(found, of_authors=False)
    parts = [
        _INTRODUCTION,
        "## Authors\n",
        table(["name", "tasks", "what they did"], _rows(found, of_authors=True)),
        "## Reviewers\n",
        table(["name", "tasks", "what they did"], reviewers)
        or "None has asked to be named yet. Blind attempts and attacks without a name are in each "
        "task's `reviews.toml`.\n",
        "## What the roles mean\n",
        "For `did` in `[[metadata.benchflow.authors]]` and `[[metadata.benchflow.reviewers]]`. "
        "CRediT is the Contributor Role Taxonomy (ANSI/NISO Z39.104), which journals use.\n",
        table(["author's role", "what it stands for", "CRediT"], _roles(AUTHOR_ROLES)),
        table(["reviewer's role", "what it stands for", "CRediT"], _roles(REVIEWER_ROLES)),
    ]
    return "\n".join(parts)


def _rows(found: list[Credited], *, of_authors: bool) -> list[list[str]]:
    where: dict[tuple[str, str], list[str]] = {}
    did: dict[tuple[str, str], list[str]] = {}
    for each in found:
        for one in each.people:
            if one.is_author is of_authors:
                key = (one.name, one.orcid)
                where.setdefault(key, []).append(each.where)
                did.setdefault(key, []).extend(one.did)
    order = sorted(where, key=lambda key: (key[0] != COLLECTIVE, key[0].casefold()))
    return [
        [
            _plain(name) + (f" ([{orcid}](https://orcid.org/{orcid}))" if orcid else ""),
            ", ".join(where[name, orcid]),
            ", ".join(dict.fromkeys(did[name, orcid])) or "all of it",
        ]
        for name, orcid in order
    ]


def _plain(name: str) -> str:
    return name.replace("<", "&lt;").replace("[", "\\[")


def _roles(roles: dict[str, Role]) -> list[list[str]]:
    return [[f"`{name}`", role.means, role.credit] for name, role in roles.items()]
