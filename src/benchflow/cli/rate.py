"""`benchflow rate`: experts judge tasks, on a page that needs no server and no account."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from benchflow.cli import rate_people
from benchflow.cli.asking import LINK_NUMBER, link_options, make_links, serve, serve_options
from benchflow.cli.options import json_option, print_json

_PACK = click.Path(path_type=Path, exists=True)


@click.group("rate")
def command() -> None:
    """Ask people who do such work what they think of tasks, and read what they say.

    \b
    The way of a rating:
      benchflow rate pack repair/dead-server spin/appliance -o pack
                                      one page, pack/rate.html, that opens on any phone or desk
      benchflow rate links pack 5     one-time links, so that one person is one voice
      benchflow rate serve pack       or send rate.html: answers then come back as a file
      benchflow rate read pack FILES… --pack pack
                                      checks signatures and links, merges, says what they say

    Who is asked is kept apart from what they say: benchflow rate people --help.

    docs/people.md says what is done with answers, and what to tell who gives them.
    """


@command.command("pack")
@click.argument("task", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the pack.",
)
@click.option("--rehearsal", is_flag=True, help="To test the page: answers are never counted.")
@json_option
def pack_command(task: tuple[str, ...], output: Path, rehearsal: bool, as_json: bool) -> None:
    """Make one page of questions about 1 to 5 tasks: rate.html, whole in itself.

    It shows the instruction and what is proved, not the hours that the author states nor how
    attempts went, and asks: hours, low, likely and high; would you sign the verdict; which demand
    is unfair or unclear; how would you pass without the work; is such work yours; would you pay
    for it; and of each pair of tasks, which is harder. Answers are kept in the page while they are
    typed, and are saved as one signed file.

    The same tasks make the same pack, wherever it is made, so that answers can be merged.

    \b
    Examples:
      benchflow rate pack repair/dead-server spin/appliance embedded/ab-update -o pack
      benchflow rate pack repair/dead-server -o trial --rehearsal && xdg-open trial/rate.html
    """
    from benchflow.cli.site import need_site

    need_site()
    from benchflow.people.pack import pack_of
    from benchflow.people.questionnaire import PAGE, write
    from benchflow.tasks import find

    pack = pack_of([find(name) for name in task], rehearsal=rehearsal)
    write(pack, output)
    if as_json:
        tasks = {one.name: one.digest for one in pack.tasks}
        print_json({"schema": 1, "pack": pack.digest, "page": output / PAGE, "tasks": tasks})
        return
    click.echo(f"{output / PAGE}  (pack {pack.digest[:12]})")
    click.echo(f"Send it, or: benchflow rate links {output} 5; benchflow rate serve {output}")


@command.command("links")
@click.argument("pack", type=_PACK)
@click.argument("number", type=LINK_NUMBER, default=1)
@link_options
@json_option
def links_command(pack: Path, number: int, label: tuple[str, ...], url: str, as_json: bool) -> None:
    """Make NUMBER one-time links to a PACK, and print them. They cannot be printed again.

    Each is worth one set of answers. With --url they lead to a server (benchflow rate serve);
    without, they open rate.html from a disk or a web space, and the file that comes back carries
    the link. A link is kept as a hash, in PACK/answers.sqlite, with the note of --for.

    \b
    Examples:
      benchflow rate links pack 5 --url https://rate.example.org
      benchflow rate links pack --for "a maintainer of u-boot" --for "a build engineer"
    """
    from benchflow.people.pack import load
    from benchflow.people.questionnaire import PAGE

    make_links(pack, load(pack).digest, PAGE, number, label, url, as_json=as_json)


@command.command("serve")
@click.argument("pack", nargs=-1, required=True, type=_PACK)
@serve_options(8713)
def serve_command(
    pack: tuple[Path, ...], store: Path | None, host: str, port: int, url: str, n_links: int
) -> None:
    """Serve the pages of PACKs by one-time links, and keep what is answered.

    A link is worth one set of answers; who gave them gets a link that deletes them. Nothing is
    loaded from elsewhere and no address is written down. Answers lie in one SQLite file, for
    benchflow rate read. A browser signs only over https or on this machine: let a proxy with a
    certificate stand before it, and name its address with --url. Limits are then counted by the
    address that the proxy adds to X-Forwarded-For. Ends with Ctrl-C.

    \b
    Examples:
      benchflow rate serve pack --links 1
      benchflow rate serve pack other-pack --url https://rate.example.org --links 5
    """
    from benchflow.cli.site import need_site

    need_site()
    from benchflow.people.recorded import asked, packs_of
    from benchflow.people.store import NAME

    questions = asked(packs_of(pack))
    first = pack[0] if pack[0].is_dir() else pack[0].parent
    serve(questions.values(), store or first / NAME, host, port, url, n_links)


@command.command("read")
@click.argument("source", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--pack",
    "packs",
    multiple=True,
    type=_PACK,
    help="What was asked; repeatable. Needed unless a SOURCE is a pack or a merged folder.",
)
@click.option("--need-link", is_flag=True, help="Leave out what came by no one-time link.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write what was kept, and the packs: a folder for the repository (ratings/).",
)
@json_option
def read_command(
    source: tuple[Path, ...],
    packs: tuple[Path, ...],
    need_link: bool,
    output: Path | None,
    as_json: bool,
) -> int:
    """Check answers, bring them together, and print what they say.

    A SOURCE is a file that a page saved, a .jsonl of many, an answers.sqlite, or a folder of such
    files (a pack's own, or one that -o wrote). Each is checked: size, signature, form, whether its
    pack is known, whether its tasks and demands are in it. Of several answers of one key the latest
    count; copies, answers of another's number, answers that repeat another key's word for word, and
    those given in less than a minute a task are left out and named. Rehearsals are never counted.

    \b
    Examples:
      benchflow rate read pack
      benchflow rate read mailed/*.json --pack pack --need-link
      benchflow rate read ratings pack -o ratings

    Exit status: 0 when all could be taken, 1 when something was left out.
    """
    from benchflow.cli.rate_told import told
    from benchflow.people.reading import read
    from benchflow.people.recorded import PACKS, asked, packs_of, ratings_of, write
    from benchflow.people.store import NAME, Store

    holding = [one for one in source if (one / "pack.json").is_file() or (one / PACKS).is_dir()]
    known = packs_of([*packs, *holding])
    places = [*packs, *holding]
    stores = [Store(one / NAME) for one in places if (one / NAME).is_file()] if need_link else []
    reading = read([*source], asked(known), links=stores)
    if output is not None:
        write(output, reading, known)
    found = ratings_of(reading, known)
    if as_json:
        print_json(
            {
                "schema": 1,
                "kept": len(reading.kept),
                "rehearsals": len(reading.rehearsals),
                "repeated": reading.repeated,
                "unlinked": reading.unlinked,
                "left_out": reading.left_out,
                "ratings": found.ratings,
            }
        )
    else:
        click.echo(told(reading, found))
        if found and find_spec("statsmodels") and find_spec("krippendorff"):
            from benchflow.cli.said_told import said_told

            click.echo(said_told(found))
        if output is not None:
            click.echo(f"\nwritten to {output}")
    return 1 if reading.left_out else 0


command.add_command(rate_people.command)
