"""`benchflow rate people`: who was asked to rate, how far each came, and the messages to send."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchflow.cli.options import json_option, print_json

if TYPE_CHECKING:
    from benchflow.people.outreach.pipeline import Progress

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command("people")
@click.argument("file", type=_FILE)
@click.option("--answers", type=_FILE, help="The file of links and answers of benchflow rate.")
@click.option("--messages", type=_FOLDER, help="Write a message with a link for each, here.")
@click.option("--pack", help="What they are asked: digest of a pack or an arena, or its folder.")
@click.option("--url", default="", help="Where benchflow rate serve is reached: https://…")
@click.option("--sender", default="", help="Who signs the messages: name and mail address.")
@click.option("--minutes", type=click.IntRange(1, 600), help="About how long it takes, as the "
              "messages say. [default: as the page says]")  # fmt: skip
@click.option("--templates", type=_FOLDER, help="Folder of message templates of your own.")
@click.option("--thanks", type=_FOLDER, help="Write a message for each to be thanked, here.")
@click.option("--sent", multiple=True, metavar="ID", help="You sent this person's message today.")
@click.option("--answered", multiple=True, metavar="ID", help="They replied without the link.")
@click.option("--thanked", multiple=True, metavar="ID", help="You thanked this person today.")
@click.option("--declined", multiple=True, metavar="ID", help="They said no: never asked again.")
@click.option("--forget", multiple=True, metavar="ID", help="Remove their line and their answers.")
@json_option
def command(
    file: Path,
    answers: Path | None,
    messages: Path | None,
    pack: str | None,
    url: str,
    sender: str,
    minutes: int | None,
    templates: Path | None,
    thanks: Path | None,
    sent: tuple[str, ...],
    answered: tuple[str, ...],
    thanked: tuple[str, ...],
    declined: tuple[str, ...],
    forget: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show how far each person of FILE came: asked, sent, opened, answered, thanked.

    Nothing is sent from here: messages are files that you read, change and send yourself. FILE is a
    CSV that you keep (columns id, name, contact, group, why; group is distribution, embedded,
    evaluation or lab). Only ids go into links; docs/privacy.md says what is kept, and how long.

    \b
    asked      a message with a link of their own was written (--messages)
    sent       you say that you sent it (--sent ID)
    opened     the link was opened            ┐ as --answers knows
    answered   answers came by it, no test    ┘ or --answered ID, for a plain reply
    thanked    you say so (--thanked ID)

    Below the list: how many were asked and replied, and hours given, from answers and from the
    column `hours` alone, against the target of 50 asked and 10 replies.

    \b
    Examples:
      benchflow rate people people.csv
      benchflow rate people people.csv --answers answers.sqlite --messages ./to-send \\
          --pack ./pack --url https://rate.example.org --sender "A. Maintainer <a@example.org>"
      benchflow rate people people.csv --sent p01 --sent p02 --declined p03
      benchflow rate people people.csv --answers answers.sqlite --thanks ./to-send --json
    """
    from benchflow.people.outreach import messages as written
    from benchflow.people.outreach import sheet as sheets
    from benchflow.people.outreach.pipeline import by_group, figures, progress
    from benchflow.people.store import Store

    if messages and not (answers and pack and url and sender):
        raise click.UsageError("--messages needs --answers, --pack, --url and --sender")
    if thanks and not (answers and sender):
        raise click.UsageError("--thanks needs --answers and --sender")
    sheet = sheets.read(file)
    today = datetime.datetime.now(datetime.UTC).date()
    marks = {"sent": sent, "answered": answered, "thanked": thanked, "declined": declined}
    for day, ids in marks.items():
        for one in ids:
            sheet = sheet.marked(one, day, today)
    if forget and not (answers and answers.exists()):
        raise click.UsageError("--forget needs --answers: their answers are to go too")
    store = Store(answers) if answers and (messages or answers.exists()) else None
    for one in forget:
        sheet = sheet.without(one)
        if store:
            store.forget(one)
    if forget or any(marks.values()):
        sheets.write(file, sheet)
    found = progress(sheet, store)
    own = templates or written.TEMPLATES
    made: list[Path] = []
    if store and messages:
        digest, what, usual = _asked(str(pack), minutes)
        how = written.Invitation(digest, _https(url), sender, what, minutes or usual)
        made += written.invite(found, store, how, messages, own)
    if store and thanks:
        made += written.thank(found, sender, thanks, own)
    if made:
        found = progress(sheet, store)
    total = figures(found)
    if as_json:
        listed = [
            {"id": one.person.id, "group": one.person.group, "state": one.state,
             "since": one.since, "hours": round(one.hours, 2)}
            for one in found
        ]  # fmt: skip
        print_json(
            {"schema": 1, "people": listed, "figures": total, "by_group": by_group(found),
             "target": total.target, "messages": made}
        )  # fmt: skip
        return
    click.echo(_told(found))
    for path in made:
        click.echo(f"written: {path}")
    if made:
        click.echo("Read and send them yourself, then say so: --sent ID, --thanked ID")


def _told(found: list[Progress]) -> str:
    from dataclasses import astuple, fields

    from benchflow.cli.table import table
    from benchflow.people.outreach.pipeline import Figures, by_group, figures

    rows = [
        [one.person.id, one.person.name, one.person.group, one.state, one.since,
         f"{one.hours:.1f}" if one.hours else ""]
        for one in found
    ]  # fmt: skip
    total = figures(found)
    sums = [[name, *map(_figure, astuple(some))] for name, some in by_group(found).items()]
    sums.append(["all", *map(_figure, astuple(total))])
    return "\n\n".join(
        (
            table(["id", "name", "group", "state", "since", "hours"], rows),
            table(["group", *(field.name for field in fields(Figures))], sums),
            total.target,
        )
    )


def _figure(value: float) -> str:
    return f"{value:g}"


def _https(url: str) -> str:
    from urllib.parse import urlsplit

    found = urlsplit(url)
    near = found.hostname in ("localhost", "127.0.0.1")
    if not found.hostname or not (found.scheme == "https" or (found.scheme == "http" and near)):
        raise click.UsageError("--url is https://HOST (http for localhost alone)")
    return url


def _asked(pack: str, minutes: int | None) -> tuple[str, str, int]:
    """Digest of what is asked, from itself or from the folder that has it; about what, in words;
    and about how many minutes that takes, as its page says."""
    import re

    from benchflow.base.numbers import plural

    if re.fullmatch(r"[0-9a-f]{64}", pack):
        if minutes is None:
            raise click.UsageError(
                "--pack DIGEST needs --minutes: only a folder says how much it is"
            )
        return pack, "some tasks", minutes
    from benchflow.arena import pack as arenas
    from benchflow.people import pack as packs
    from benchflow.people.rating import MINUTES_A_PAIR, MINUTES_A_TASK

    place = Path(pack)
    if (place / arenas.NAME).is_file():
        arena = arenas.load(place)
        n = len(arena.pairs)
        return arena.digest, plural(n, "pair of results", "pairs of results"), MINUTES_A_PAIR * n
    found = packs.load(place)
    n = len(found.tasks)
    return found.digest, plural(n, "task"), MINUTES_A_TASK * n
