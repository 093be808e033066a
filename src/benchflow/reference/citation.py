"""CITATION.cff (Citation File Format 1.2.0): how the benchmark, or one task of it, is cited."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import yaml

from benchflow.reference.contributors import CHECKOUT, COLLECTIVE, Credited, credited
from benchflow.tasks.contributors import Contribution

_HEAD = """\
# Made of pyproject.toml and every task.toml (python -m benchflow.reference); not edited.
"""


def file(checkout: Path = CHECKOUT) -> str:
    """The whole file. Every named author is an author of the benchmark; a task that has one is a
    reference of its own, with its reviewers in a note."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    people: dict[str, dict[str, str]] = {COLLECTIVE: {"name": COLLECTIVE}}
    found = credited(checkout)
    for each in found:
        people |= {one.name: _entity(one) for one in each.people if one.is_author}
    references = _references(found)
    told: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use benchflow or results on its tasks, please cite it as below.",
        "type": "software",
        "title": project["name"],
        "abstract": project["description"] + ".",
        "version": project["version"],
        "license": project["license"],
        "authors": list(people.values()),
        **({"references": references} if references else {}),
    }
    text: str = yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=100)
    return _HEAD + text


def _references(found: list[Credited]) -> list[dict[str, Any]]:
    references = []
    for each in found:
        named = [one for one in each.people if one.name != COLLECTIVE]
        if not named or not each.version:
            continue
        reviewers = [str(one) for one in each.people if not one.is_author]
        references.append(
            {
                "type": "software",
                "title": f"{each.where}: {each.about}",
                "version": each.version,
                "authors": [_entity(one) for one in each.people if one.is_author],
                **({"notes": f"Reviewed by {', '.join(reviewers)}."} if reviewers else {}),
            }
        )
    return references


def _entity(one: Contribution) -> dict[str, str]:
    """A name as its owner writes it: which part of it is the family's is not ours to say."""
    orcid = {"orcid": f"https://orcid.org/{one.orcid}"} if one.orcid else {}
    return {"name": one.name, **orcid}
