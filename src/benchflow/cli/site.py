"""`benchflow site`: finished trials as one folder of pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchflow.base.numbers import plural
from benchflow.cli.options import (
    FiniteRange,
    assume_version_option,
    json_option,
    need_analysis,
    print_json,
)
from benchflow.cli.problems import say_problems

if TYPE_CHECKING:
    from benchflow.arena.recorded import Recorded
    from benchflow.people.recorded import Ratings


@click.command("site")
@click.argument("source", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the site: new, empty, or an older site, which is replaced.",
)
@click.option("--title", default="", help="Heading of the site. [default: the sources' names]")
@click.option(
    "--level",
    type=FiniteRange(0.5, 0.999),
    default=0.95,
    show_default=True,
    help="Confidence of the intervals.",
)
@click.option(
    "--ratings",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Ratings by experts, as benchflow rate read -o writes them.  "
    "[default: ratings/ beside the catalogue]",
)
@click.option(
    "--votes",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Votes on pairs, as benchflow arena read -o writes them.  "
    "[default: votes/ beside the catalogue]",
)
@assume_version_option
@json_option
def command(
    source: tuple[Path, ...],
    output: Path,
    title: str,
    level: float,
    ratings: Path | None,
    votes: Path | None,
    assume_version: bool,
    as_json: bool,
) -> None:
    """Build a site of finished trials: one folder that opens from disk.

    Pages for the overview, each task, agent, comparison and trial; the matrix, skills, ladders,
    budgets and the ledger of errors. A trial's page has its ladder with the evidence, a player for
    the consoles of the booted machines, and what the agent did. No server and no network are
    needed; every page has a .md and a .json twin. SOURCE is anything that benchflow report reads.

    \b
    Examples:
      benchflow site jobs -o report && xdg-open report/index.html
      benchflow site published.jsonl jobs/nightly -o report --title "Nightly"
      benchflow site jobs -o report --json | jq .n_pages
    """
    need_analysis()
    need_site()
    from benchflow.results.collect import collect
    from benchflow.results.parallel import processors
    from benchflow.site.build import begin, finish
    from benchflow.site.study import Study

    with begin(output) as site:
        found = collect(
            [*source], assume_version=assume_version, workers=processors(), keeper=site.keeper
        )
        study = Study(
            title or title_of(source),
            found,
            level,
            ratings=ratings_in(ratings),
            votes=votes_in(votes),
        )
        built = finish(site, study)
    if as_json:
        print_json({"schema": 1, **vars(built), "n_problems": len(study.problems)})
        return
    click.echo(
        f"{plural(built.n_pages, 'page')} of {plural(len(study.records), 'trial')}, "
        f"{built.n_bytes / 1e6:,.1f} MB, in {built.seconds:.1f} s"
    )
    for note in built.notes:
        click.echo(f"note: {note}")
    say_problems(study.problems, rest=f"{built.folder / 'ledger.html'}")
    click.echo(f"open {built.folder / 'index.html'}")


def ratings_in(folder: Path | None) -> Ratings | None:
    """What is recorded in `folder`, or beside the catalogue. Raises MissingTool where ratings are
    there and the library that counts them is not."""
    from importlib.util import find_spec

    from benchflow.errors import MissingTool
    from benchflow.people.recorded import FOLDER, recorded
    from benchflow.tasks import root

    found = recorded(folder or root().parent / FOLDER)
    if found is not None and find_spec("krippendorff") is None:
        raise MissingTool(
            "the library that counts ratings is not installed", hint="uv sync --extra analysis"
        )
    return found


def votes_in(folder: Path | None) -> Recorded | None:
    """What is recorded in `folder`, or beside the catalogue."""
    from benchflow.arena.recorded import FOLDER, recorded
    from benchflow.tasks import root

    return recorded(folder or root().parent / FOLDER)


def title_of(source: tuple[Path, ...]) -> str:
    """The names of the sources, as a heading."""
    names = [path.absolute().name.removesuffix(".jsonl") for path in source]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def need_site() -> None:
    """Raises MissingTool where the template library was not installed."""
    from importlib.util import find_spec

    from benchflow.errors import MissingTool

    if find_spec("jinja2") is None:
        raise MissingTool("the template library is not installed", hint="uv sync --extra site")
