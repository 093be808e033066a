"""`benchflow serve`: the site of finished trials from this machine, live while a job runs."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import FiniteRange, assume_version_option, need_analysis


@click.command("serve")
@click.argument("source", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=8712, show_default=True)
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
def command(
    source: tuple[Path, ...],
    port: int,
    title: str,
    level: float,
    ratings: Path | None,
    votes: Path | None,
    assume_version: bool,
) -> None:
    """Serve the pages of benchflow site on 127.0.0.1, made when asked for.

    The overview shows the trials that are at work: phase, ladder so far, time. Open pages show
    within a few seconds that a trial began, moved on or ended. Nothing is written and
    nothing but this machine can connect. Ends with Ctrl-C.

    \b
    Examples:
      benchflow serve jobs
      benchflow serve jobs/nightly published.jsonl --port 0
    """
    need_analysis()
    from benchflow.cli.site import need_site, ratings_in, title_of, votes_in

    need_site()
    from benchflow.errors import UsageError
    from benchflow.results.collect import collect
    from benchflow.site.server import Live, serve
    from benchflow.site.study import Study
    from benchflow.site.vendor import vendor

    third = vendor()
    heading = title or title_of(source)
    live = Live(
        lambda: Study(
            heading,
            collect([*source], assume_version=assume_version),
            level,
            live=True,
            ratings=ratings_in(ratings),
            votes=votes_in(votes),
        ),
        [*source],
        third,
    )
    try:
        server = serve(live, port)
    except OSError as error:
        raise UsageError(
            f"port {port}: {error.strerror}", hint="name another --port; 0 takes any that is free"
        ) from error
    if third.why:
        click.echo(f"note: {third.why}")
    click.echo(
        f"http://127.0.0.1:{server.server_port}/  (the first page takes seconds; Ctrl-C ends it)"
    )
    with server:
        server.serve_forever()
