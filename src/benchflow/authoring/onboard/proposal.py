"""repo.toml: the proposal, each value beside the place that it was inferred from."""

from __future__ import annotations

from typing import Any

import tomlkit
from tomlkit.items import AoT, Table

from benchflow.authoring.onboard.facts import PURPOSES, Fact, Findings, Variable
from benchflow.authoring.onboard.infer import is_needed, licence, port, questions
from benchflow.authoring.onboard.source import Source
from benchflow.base.text import one_line

_COMMANDS_MAX = 6
_DEPENDENCIES_MAX = 400
_HEAD = """\
What was inferred of this repository by reading it; nothing of it was executed. `from` is the file
and line that a value comes from: look there before you believe it. Each [[question]] is something
that could not be inferred, with the reason: answer it in the task, then take it out here.
docs/onboarding.md leads from here to a task that can be merged."""


def document(source: Source, findings: Findings, licence_told: str = "") -> str:
    """The text of repo.toml."""
    text = tomlkit.document()
    for line in _HEAD.split("\n"):
        text.add(tomlkit.comment(line))
    text.add("schema", tomlkit.item(1))
    text.add("source", _source(source, findings))
    text.add("licence", _licence(findings, licence_told))
    for purpose in PURPOSES:
        _some(
            text, purpose, [_fact("command", one) for one in findings.best(purpose)[:_COMMANDS_MAX]]
        )
    _some(text, "suite", [_fact("what", one) for one in findings.suites])
    _some(text, "works", [_fact("what", one) for one in findings.works[:10]])
    chosen = port(findings)
    _some(text, "port", [_row(number=int(chosen.value), where=chosen.where)] if chosen else [])
    _some(text, "service", [
        _row(kind=kind, needed=is_needed(signs), signs=list(map(_told, signs[:6])))
        for kind, signs in sorted(findings.services.items())
    ])  # fmt: skip
    _some(text, "variable", [
        _row(name=one.name, secret=one.secret, where=one.where, **_example(one))
        for one in findings.variables.values()
    ])  # fmt: skip
    _some(text, "dependency", [
        _row(name=one.name, ecosystem=one.ecosystem, scope=one.scope, version=one.version,
             where=one.where)
        for one in findings.dependencies[:_DEPENDENCIES_MAX]
    ])  # fmt: skip
    text.add("offline", _offline(findings))
    notes = [_row(what=note.text, where=note.where) for note in findings.notes[:100]]
    _some(text, "note", notes)
    _some(text, "question", [_row(about=one.about, why=one.why) for one in questions(findings)])
    return tomlkit.dumps(text)


def _source(source: Source, findings: Findings) -> Table:
    told = _row(kind=source.kind, place=source.where, pin=source.pin, files=len(source.tree.sizes))
    if findings.name:
        told.add("name", one_line(findings.name.value, 80))
        told.add("name_from", findings.name.where)
    if findings.about:
        told.add("about", one_line(findings.about.value, 200))
        told.add("about_from", findings.about.where)
    languages = tomlkit.inline_table()
    for language, count in findings.languages.most_common(8):
        languages.add(language, count)
    told.add("languages", languages)
    return told


def _licence(findings: Findings, licence_told: str) -> Table:
    found = licence(findings)
    if licence_told:
        return _row(name=licence_told, where="said by the author with --licence")
    if found is None:
        return _row(name="")
    others = sorted({one.value for one in findings.licences} - {found.value})
    told = _fact("name", found)
    if others:
        told.add("also", others[:8])
    return told


def _offline(findings: Findings) -> Table:
    if not findings.online:
        told = _row(possible="nothing was found that has to be fetched from elsewhere")
        told.comment("dependencies of the registries are baked into the image")
        return told
    first = findings.online[0]
    told = _row(first_missing=first.value, where=first.where)
    told.add("missing", list(map(_told, findings.online[:20])))
    return told


def _fact(key: str, fact: Fact) -> Table:
    return _row(**{key: fact.value}, where=fact.where)


def _told(fact: Fact) -> str:
    return f"{fact.value} ({fact.where})"


def _example(variable: Variable) -> dict[str, str]:
    """An example of a secret may be one that works somewhere: it is not copied."""
    return {} if variable.secret else {"example": variable.example}


def _row(**values: Any) -> Table:
    """A table; `where` is written as `from`, and what is empty is left out."""
    made = tomlkit.table()
    for key, value in values.items():
        if value != "" and value != []:
            clean = one_line(value, 400) if isinstance(value, str) else value
            made.add("from" if key == "where" else key, clean)
    return made


def _some(text: tomlkit.TOMLDocument, key: str, rows: list[Table]) -> None:
    if rows:
        array = AoT([])
        for row in rows:
            array.append(row)
        text.add(key, array)
