"""`benchflow arena`: two deliverables side by side, blind, and what people say of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchflow.cli.asking import LINK_NUMBER, link_options, make_links, serve, serve_options
from benchflow.cli.options import json_option, print_json

if TYPE_CHECKING:
    from benchflow.arena.recorded import Ballot

_PATH = click.Path(path_type=Path)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_ARENA = click.Path(path_type=Path, exists=True, file_okay=False)


class MakesByDefault(click.Group):
    """`arena JOB…` is `arena make JOB…`: a job of a subcommand's name is written ./read."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands:
            args = ["make", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # An option first is an option of `make`, but for those that a group has.
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = ["make", *args]
        return super().parse_args(ctx, args)


@click.group("arena", cls=MakesByDefault)
def command() -> None:
    """Let people say which of two deliverables they would ship, not knowing whose they are.

    \b
    The way of a vote:
      benchflow arena JOB… -o arena     a page of pairs, arena/arena.html, that opens anywhere;
                                        whose they are stays in arena.key.json beside it
      benchflow arena links arena 5     one-time links, so that one person is one voice
      benchflow arena serve arena       or send arena.html: votes then come back as a file
      benchflow arena read arena FILES… checks, opens the key, and says what they say

    docs/arena.md says what voters see and what votes say; docs/privacy.md what is kept of voters.
    """


@command.command("make")
@click.argument("source", nargs=-1, required=True, metavar="JOB…", type=_PATH)
@click.option("-o", "--output", required=True, type=_FOLDER, help="Folder for the arena.")
@click.option("--pairs", type=click.IntRange(1, 22), default=6, show_default=True,
              help="Pairs at most; one or two more check attention.")  # fmt: skip
@click.option("--any-version", is_flag=True, help="Set versions of a task against each other.")
@click.option("--rehearsal", is_flag=True, help="To test the page: votes are never counted.")
@json_option
def make_command(
    source: tuple[Path, ...],
    output: Path,
    pairs: int,
    any_version: bool,
    rehearsal: bool,
    as_json: bool,
) -> None:
    """Make one page of pairs from the trials of JOBs: folders of jobs, or of several, as results/.

    A pair is two trials for the same version of one task, of two agents where there are two. Shown
    are the consoles of machines that both came to start, on one clock; screenshots; the documents
    that were delivered, else the agent's last word. Not shown: ladders, verdicts, times of day,
    names. Names of agents and models are made unreadable in texts; what a screenshot shows is not.

    Two pairs check attention: one side that printed nothing, and one pair shown twice, the other
    way round. Which stands left, and the order, are drawn in each browser.

    \b
    Examples:
      benchflow arena jobs/first jobs/second -o arena
      benchflow arena results/2026-11-second-attempts results/2026-11-fourth-attempts \\
          --any-version --pairs 4 -o arena
    """
    from benchflow.cli.site import need_site

    need_site()
    from benchflow.arena.make import make
    from benchflow.arena.pack import PAGE, write
    from benchflow.results.collect import collect

    made = make(collect([*source]).records, pairs, any_version=any_version, rehearsal=rehearsal)
    key = write(made.arena, made.key, output)
    kinds = [made.key.pairs[pair.id].kind for pair in made.arena.pairs]
    if as_json:
        print_json(
            {"schema": 1, "arena": made.arena.digest, "page": output / PAGE, "key": key,
             "pairs": len(kinds), "real_pairs": kinds.count("real"), "left_out": made.left_out,
             "repeated": made.repeated, "unnamed": made.unnamed}
        )  # fmt: skip
        return
    for why, number in made.left_out.items():
        click.echo(f"left out: {number} that {why}", err=True)
    if made.repeated:
        click.echo("in more than one pair, since there are no others: " + ", ".join(made.repeated),
                   err=True)  # fmt: skip
    for task, machine in made.unnamed:
        click.echo(f"no words for the machine {machine} of {task}: voters see its name alone "
                   "(words.toml)", err=True)  # fmt: skip
    click.echo(f"{output / PAGE}  (arena {made.arena.digest[:12]}, {len(kinds)} pairs, "
               f"{len(kinds) - kinds.count('real')} of them to check attention)")  # fmt: skip
    click.echo(f"{key}  says whose they are: keep it to yourself until the votes are in")
    click.echo(
        f"Send the page, or: benchflow arena links {output} 5; benchflow arena serve {output}"
    )


@command.command("links")
@click.argument("arena", type=_ARENA)
@click.argument("number", type=LINK_NUMBER, default=1)
@link_options
@json_option
def links_command(
    arena: Path, number: int, label: tuple[str, ...], url: str, as_json: bool
) -> None:
    """Make NUMBER one-time links to an ARENA, and print them; they cannot be printed again.

    As benchflow rate links: each is worth one set of votes.

    \b
    Example:
      benchflow arena links arena 5 --url https://rate.example.org
    """
    from benchflow.arena.pack import PAGE, load

    make_links(arena, load(arena).digest, PAGE, number, label, url, as_json=as_json)


@command.command("serve")
@click.argument("arena", nargs=-1, required=True, type=_ARENA)
@serve_options(8714)
def serve_command(
    arena: tuple[Path, ...], store: Path | None, host: str, port: int, url: str, n_links: int
) -> None:
    """Serve the pages of ARENAs by one-time links, and keep the votes, as benchflow rate serve.

    \b
    Example:
      benchflow arena serve arena --links 3
    """
    from benchflow.cli.site import need_site

    need_site()
    from benchflow.arena.pack import load
    from benchflow.people.store import NAME

    asked = {found.digest: found for found in map(load, arena)}
    serve(asked.values(), store or arena[0] / NAME, host, port, url, n_links)


@command.command("read")
@click.argument("source", nargs=-1, required=True, type=_PATH)
@click.option("--arena", "arenas", multiple=True, type=_ARENA,
              help="What was voted on; repeatable. Needed where no SOURCE is one.")  # fmt: skip
@click.option("--key", "keys", multiple=True, type=_PATH, help="Its key. [default: ARENA.key.json]")
@click.option("--by", type=click.Choice(["agent", "trial"]), default="agent", show_default=True,
              help="What is ranked.")  # fmt: skip
@click.option("--need-link", is_flag=True, help="Leave out what came by no one-time link.")
@click.option("-o", "--output", type=_FOLDER, help="Write what was kept, and whose it is: a folder "
              "for the repository (votes/).")  # fmt: skip
@json_option
def read_command(
    source: tuple[Path, ...],
    arenas: tuple[Path, ...],
    keys: tuple[Path, ...],
    by: str,
    need_link: bool,
    output: Path | None,
    as_json: bool,
) -> int:
    """Check votes, open the key, and print what they say, question by question.

    A SOURCE is a file that a page saved, a .jsonl of many, an answers.sqlite, an arena's own
    folder, or one that -o wrote. Each set is checked as benchflow rate read checks ratings; beyond
    that, votes of those are left out who preferred a machine that printed nothing, or looked for
    seconds only, and single votes on pairs of which neither side was looked at.

    Strengths are Bradley–Terry's, with intervals clustered by voter and task; tiers as in a report.
    Beside the verdicts: how many votes went to the side of which more was proved, and pair by pair
    where people and proof part. “No difference” is counted, and in no strength. How often votes
    went to the left side, the longer console, more words or more files is shown, and strengths are
    given at equal sway where the votes carry it. Where they carry nothing, what is missing is said.

    \b
    Examples:
      benchflow arena read arena
      benchflow arena read mailed/*.json --arena arena --need-link --json
      benchflow arena read votes arena -o votes

    Exit status: 0 when all could be taken, 1 when something was left out.
    """
    from benchflow.arena import recorded
    from benchflow.arena.figures import figures
    from benchflow.cli.arena_told import as_document, told
    from benchflow.people.reading import read
    from benchflow.people.store import NAME, Store

    places = list(dict.fromkeys((*arenas, *(one for one in source if _is_arena(one)))))
    held = [one for one in source if recorded.is_recorded(one)]
    ballots = {k: v for one in held for k, v in recorded.ballots_of(one).items()}
    if places or not ballots:
        ballots |= _opened(places, keys)
    stores = [Store(one / NAME) for one in places if (one / NAME).is_file()] if need_link else []
    files = [path for one in source for path in (_votes_in(one) if _is_arena(one) else [one])]
    reading = read(files, ballots, links=stores)
    if output is not None:
        recorded.write(output, reading, ballots)
    found = figures(recorded.votes_of(reading), {k: v.key for k, v in ballots.items()}, by)
    if as_json:
        print_json(as_document(reading, found))
    else:
        click.echo(told(reading, found))
        if output is not None:
            click.echo(f"\nwritten to {output}")
    return 1 if reading.left_out or found.left_out else 0


def _is_arena(place: Path) -> bool:
    from benchflow.arena.pack import NAME

    return (place / NAME).is_file()


def _votes_in(folder: Path) -> list[Path]:
    from benchflow.arena.pack import NAME

    found = (path for path in sorted(folder.iterdir()) if path.name != NAME)
    return [path for path in found if path.suffix in (".json", ".jsonl", ".sqlite")]


def _opened(places: list[Path], keys: tuple[Path, ...]) -> dict[str, Ballot]:
    from benchflow.arena.pack import key_path, load, load_key
    from benchflow.arena.recorded import ballot
    from benchflow.errors import UsageError

    if keys and len(keys) != len(places):
        raise UsageError(
            f"{len(places)} arenas and {len(keys)} keys", hint="name a --key for each, in order"
        )
    if not places:
        raise UsageError("no arena is named", hint="--arena DIR, the folder of benchflow arena")
    found = {}
    for place, path in zip(places, keys or map(key_path, places), strict=True):
        arena = load(place)
        found[arena.digest] = ballot(arena, load_key(path, arena))
    return found
