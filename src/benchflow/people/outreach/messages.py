"""Messages to people, one file each, to be read, changed and sent by a person."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchflow.base import atomic
from benchflow.base.text import one_line
from benchflow.errors import UsageError
from benchflow.people.outreach.pipeline import Progress, State
from benchflow.people.outreach.sheet import GROUPS
from benchflow.people.store import Store

TEMPLATES = Path(__file__).parent / "templates"
THANKS = "thanks"
_MOST_TEMPLATE = 20_000
#: What a template may name.
FIELDS = ("name", "why", "link", "sender", "what", "minutes")


@dataclass(frozen=True)
class Invitation:
    """What all invitations share: `pack` is the digest of what is asked, `url` the server that
    answers are sent to, `sender` who signs, `what` they are asked about (“3 tasks”), `minutes`
    about how long it takes."""

    pack: str
    url: str
    sender: str
    what: str
    minutes: int


def invite(
    found: Sequence[Progress],
    store: Store,
    how: Invitation,
    folder: Path,
    templates: Path = TEMPLATES,
) -> list[Path]:
    """Writes a message with a link of its own for each that has none yet for this pack.

    Left out: who declined. A link is worth one set of answers and cannot be told again: the file
    is the only place where it stands, readable by its owner alone.
    """
    texts = {group: _template(templates, group) for group in GROUPS}
    linked = {link.label for link in store.links(how.pack)}
    due = [
        one
        for one in found
        if one.person.id not in linked and one.state not in (State.DECLINED, State.THANKED)
    ]
    paths = _places(folder, [one.person.id for one in due])
    codes = store.new_links(how.pack, [one.person.id for one in due])
    for one, path, code in zip(due, paths, codes, strict=True):
        link = f"{how.url.rstrip('/')}/r/{code}"
        _write(path, texts[one.person.group], one, link=link, how=how)
    return paths


def thank(
    found: Sequence[Progress], sender: str, folder: Path, templates: Path = TEMPLATES
) -> list[Path]:
    """Writes a message for each that answered and was not thanked."""
    text = _template(templates, THANKS)
    due = [one for one in found if one.state is State.ANSWERED]
    paths = _places(folder, [f"{one.person.id}.thanks" for one in due])
    for one, path in zip(due, paths, strict=True):
        _write(path, text, one, link="", how=Invitation("", "", sender, "", 0))
    return paths


def _places(folder: Path, stems: Sequence[str]) -> list[Path]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = [folder / f"{stem}.txt" for stem in stems]
    for path in paths:
        if path.exists():
            raise UsageError(f"{path} exists", hint="nothing is overwritten: choose another folder")
    return paths


def _template(folder: Path, name: str) -> string.Template:
    path = folder / f"{name}.txt"
    if not path.is_file():
        raise UsageError(f"{path} is missing", hint=f"copy it from {TEMPLATES} and change it")
    text = path.read_text(encoding="utf-8")[:_MOST_TEMPLATE]
    made = string.Template(text)
    unknown = set(made.get_identifiers()) - set(FIELDS)
    if not made.is_valid() or unknown or not text.startswith("Subject: "):
        raise UsageError(
            f"{path} is no template",
            hint=f"first line “Subject: …”; fields: ${', $'.join(FIELDS)}; $$ for a dollar",
        )
    return made


def _write(
    path: Path, template: string.Template, one: Progress, *, link: str, how: Invitation
) -> None:
    person = one.person
    # One line each: a name must not add a header or a paragraph of its own.
    text = template.substitute(
        name=one_line(person.name, 120),
        why=one_line(person.why, 400),
        link=link,
        sender=one_line(how.sender, 200),
        what=how.what,
        minutes=str(how.minutes),
    )
    lines = "\n".join(line.rstrip() for line in f"To: {person.contact}\n{text}".splitlines())
    # A field that is empty leaves no gap.
    atomic.write(path, re.sub(r"\n{3,}", "\n\n", lines) + "\n", mode=0o600)
