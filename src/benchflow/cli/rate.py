"""`benchflow rate`: experts judge tasks, on a page that needs no server and no account."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from benchflow.cli import rate_people
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
@click.argument("number", type=click.IntRange(1, 1000), default=1)
@click.option("--for", "label", multiple=True, help="A note on whom a link is for; repeatable.")
@click.option(
    "--url", default="", help="Where people reach the server. [default: links for the file]"
)
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
    from benchflow.people.store import NAME, Store

    digest = load(pack).digest
    labels = [*label] or [""] * number
    codes = Store(pack / NAME).new_links(digest, labels)
    base = f"{url.rstrip('/')}/r/" if url else f"{PAGE}#link="
    links = [f"{base}{code}" for code in codes]
    if as_json:
        made = [{"link": one, "for": who} for one, who in zip(links, labels, strict=True)]
        print_json({"schema": 1, "pack": digest, "links": made})
        return
    for link, who in zip(links, labels, strict=True):
        click.echo(f"{link}  {who}".rstrip())


@command.command("serve")
@click.argument("pack", nargs=-1, required=True, type=_PACK)
@click.option("--store", type=click.Path(path_type=Path, dir_okay=False), help="Where links and "
              "answers are kept. [default: answers.sqlite of the first PACK]")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8713, show_default=True)
@click.option("--url", default="", help="How people reach it, behind a proxy: https://HOST.")
@click.option("--links", "n_links", type=click.IntRange(0, 1000), default=0, help="Make and print "
              "so many one-time links to each PACK first.")  # fmt: skip
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
    from benchflow.errors import UsageError
    from benchflow.people.recorded import asked, packs_of
    from benchflow.people.server import app, listen
    from benchflow.people.store import NAME, Store

    questions = asked(packs_of(pack))
    first = pack[0] if pack[0].is_dir() else pack[0].parent
    kept = Store(store or first / NAME)
    try:
        listener = listen(host, port)
    except OSError as error:
        raise UsageError(
            f"{host}, port {port}: {error.strerror}",
            hint="name another --port; 0 takes any that is free",
        ) from error
    reached = url.rstrip("/") or f"http://{host}:{listener.port}"
    for digest in questions:
        for code in kept.new_links(digest, [""] * n_links):
            click.echo(f"{reached}/r/{code}")
    click.echo(f"listening on {host}:{listener.port}; answers in {kept.path}; Ctrl-C ends it")
    listener.run(app(questions.values(), kept, url=url, behind_proxy=bool(url)))


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
