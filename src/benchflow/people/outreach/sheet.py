"""The CSV of people: read as hostile, written so that no spreadsheet runs what stands in it.

One person a line. `id` names them everywhere else, so it should say nothing about them. Further
columns are kept as they are.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchflow.base import atomic
from benchflow.base.text import one_line
from benchflow.errors import UsageError

MOST_BYTES = 4 << 20
MOST_PEOPLE = 5000
_MOST_FIELD = 2000
#: Who is asked → the template that is theirs.
GROUPS = {
    "distribution": "maintainers of distributions",
    "embedded": "embedded engineers",
    "evaluation": "evaluation researchers",
    "lab": "labs that train with reinforcement learning",
}
#: Days that the one who asks writes down; the rest is known from the links.
DAYS = ("sent", "answered", "thanked", "declined")
COLUMNS = ("id", "name", "contact", "group", "why", *DAYS, "hours")
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
#: With these a cell is a formula to a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
_CONTACT = re.compile(r"[^\s@<>,;:\"]{1,64}@[^\s@<>,;:\"]{1,190}|https://[^\s\"<>]{1,400}")
_EXAMPLE = "id,name,contact,group,why\np01,Ada Example,ada@example.org,embedded,"


@dataclass(frozen=True)
class Person:
    """One line. `days`: of `DAYS`, those that are written down; `hours`: told, beside those that
    answers hold; `rest`: further columns."""

    id: str
    name: str
    contact: str
    group: str
    why: str
    days: Mapping[str, datetime.date]
    hours: float
    rest: Mapping[str, str]


@dataclass(frozen=True)
class Sheet:
    """All lines in their order, and the columns that the file has."""

    people: tuple[Person, ...]
    columns: tuple[str, ...]

    def named(self, identity: str) -> Person:
        """The person of an id. Raises UsageError where there is none."""
        found = next((one for one in self.people if one.id == identity), None)
        if found is None:
            known = ", ".join(one.id for one in self.people[:20])
            raise UsageError(f"nobody has the id {one_line(identity, 60)!r}", hint=f"ids: {known}")
        return found

    def marked(self, identity: str, day: str, when: datetime.date) -> Sheet:
        """The same with one of `DAYS` written down for a person, unless it is already."""
        chosen = self.named(identity)
        noted = replace(chosen, days={day: when, **chosen.days})
        return replace(self, people=tuple(noted if p is chosen else p for p in self.people))

    def without(self, identity: str) -> Sheet:
        """The same without a person. Raises UsageError where there is none."""
        gone = self.named(identity)
        return replace(self, people=tuple(one for one in self.people if one is not gone))


def read(path: Path) -> Sheet:
    """The sheet in `path`. Raises UsageError that names line and column of what is wrong."""
    rows = csv.reader(io.StringIO(_text(path), newline=""), delimiter=_delimiter(path), strict=True)
    before = csv.field_size_limit(_MOST_FIELD)
    try:
        lines = [(rows.line_num, row) for row in rows if any(cell.strip() for cell in row)]
    except csv.Error as error:
        told = f"a cell of more than {_MOST_FIELD:,} characters" if "limit" in str(error) else error
        raise UsageError(f"{path}, line {rows.line_num}: {told}", hint=_HINT) from error
    finally:
        csv.field_size_limit(before)
    if not lines:
        raise UsageError(f"{path} is empty", hint=_HINT)
    if len(lines) - 1 > MOST_PEOPLE:
        raise UsageError(f"{path} has more than {MOST_PEOPLE:,} people", hint="split it")
    columns = tuple(_plain(cell).lower() for cell in lines[0][1])
    missing = [name for name in ("id", "name", "group") if name not in columns]
    if missing or len(set(columns)) < len(columns):
        problem = f"has no column {', '.join(missing)}" if missing else "has a column twice"
        raise UsageError(f"{path} {problem}", hint=_HINT)
    people: dict[str, Person] = {}
    for number, row in lines[1:]:
        if len(row) > len(columns):
            raise UsageError(f"{path}, line {number}: has more cells than columns", hint=_HINT)
        cells = dict.fromkeys(columns, "") | {
            name: _plain(cell) for name, cell in zip(columns, row, strict=False)
        }
        person = _person(cells, f"{path}, line {number}")
        if person.id in people:
            raise UsageError(f"{path}, line {number}: the id {person.id} is there twice")
        people[person.id] = person
    return Sheet(tuple(people.values()), columns)


def write(path: Path, sheet: Sheet) -> None:
    """Writes all columns back, those of ours that were missing at the end; for its owner alone."""
    written = {day for person in sheet.people for day in person.days}
    columns = [*sheet.columns, *(day for day in DAYS if day in written - {*sheet.columns})]
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow([_safe(name) for name in columns])
    for person in sheet.people:
        known: dict[str, object] = {**person.rest, **person.days}
        known |= {name: getattr(person, name) for name in ("id", "name", "contact", "group", "why")}
        known["hours"] = f"{person.hours:g}" if person.hours else ""
        rows.writerow([_safe(str(known.get(name, ""))) for name in columns])
    atomic.write(path, out.getvalue(), mode=0o600)


def _person(cells: Mapping[str, str], where: str) -> Person:
    def wrong(column: str, what: str) -> UsageError:
        given = one_line(cells[column], 60)
        return UsageError(f"{where}: {column} is {given!r}, {what}", hint="docs/people.md")

    if not _ID.fullmatch(cells["id"]):
        raise wrong("id", "not 1 to 40 of a-z, 0-9 and -")
    if not cells["name"]:
        raise wrong("name", "empty")
    if cells["group"] not in GROUPS:
        raise wrong("group", f"none of {', '.join(GROUPS)}")
    contact = cells.get("contact", "")
    if contact and not _CONTACT.fullmatch(contact):
        raise wrong("contact", "neither one mail address nor an https address")
    days = {}
    for day in DAYS:
        if given := cells.get(day, ""):
            try:
                days[day] = datetime.date.fromisoformat(given)
            except ValueError:
                raise wrong(day, "no day like 2026-11-28") from None
    hours = cells.get("hours", "") or "0"
    if not re.fullmatch(r"\d{1,3}(\.\d{1,2})?", hours):
        raise wrong("hours", "no number of hours below 1000")
    rest = {name: cell for name, cell in cells.items() if name not in COLUMNS}
    why = cells.get("why", "")
    name = cells["name"]
    return Person(cells["id"], name, contact, cells["group"], why, days, float(hours), rest)


def _plain(cell: str) -> str:
    """One line without control characters; the quote that `_safe` put before it is taken off."""
    text = one_line(cell, _MOST_FIELD)
    return text[1:] if text[:1] == "'" and text[1:2] in _FORMULA else text


def _safe(cell: str) -> str:
    """As text to every spreadsheet (OWASP, CSV injection)."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint=_HINT) from error
    if len(data) > MOST_BYTES:
        raise UsageError(f"{path} is larger than {MOST_BYTES >> 20} MiB", hint="split it")
    return data


def _text(path: Path) -> str:
    data = _bytes(path)
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))  # as spreadsheets save “Unicode text”
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8: iconv -f WINDOWS-1252 -t UTF-8 FILE"
        raise UsageError(f"{path} is not UTF-8 at byte {error.start}", hint=hint) from error
    if "\0" in text:
        raise UsageError(f"{path} holds zero bytes: no CSV", hint=_HINT)
    return text


def _delimiter(path: Path) -> str:
    first = _text(path).partition("\n")[0]
    return max(",;\t", key=first.count)


_HINT = f"a file like this:\n{_EXAMPLE}"
