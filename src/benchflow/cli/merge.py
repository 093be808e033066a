"""`benchflow merge`: the parts of a sweep that several machines ran, as one job."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from benchflow.cli.options import json_option, print_json


@click.command("merge")
@click.argument("sources", metavar="JOB…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "out",
    metavar="FOLDER",
    required=True,
    type=click.Path(path_type=Path),
    help="The job to make, or one that an earlier merge made.",
)
@json_option
def command(sources: tuple[Path, ...], out: Path, as_json: bool) -> int:
    """Copy the finished trials of several jobs into one job, FOLDER.

    JOB is a job folder or a folder of jobs. Every command that reads a job reads FOLDER. Jobs that
    were run by other versions, or whose tasks have other contents, are refused. Merge again
    as further parts arrive: what is there already stays. What is missing is said.

    \b
    Examples:
      benchflow merge machine-1/jobs machine-2/jobs -o all
      benchflow report all

    Exit status: 0 when every planned trial is there; 1 when some are missing.
    """
    from benchflow.base.numbers import plural
    from benchflow.cli.render import shown
    from benchflow.results.jobs.layout import find_jobs
    from benchflow.results.jobs.merging import merge

    jobs = [job for source in sources for job in find_jobs(source)]
    hidden = as_json or not sys.stderr.isatty()
    with click.progressbar(range(1), label="trials", hidden=hidden, file=sys.stderr) as bar:

        def tell(number: int, of: int) -> None:
            bar.length = of
            bar.update(1)

        found = merge(jobs, out, tell)
    if as_json:
        print_json({"schema": 1, **vars(found)})
    else:
        click.echo(
            f"{shown(found.folder)}: {plural(found.trials, 'trial')} of {found.planned} planned, "
            f"{found.added} of them new, from {plural(len(jobs), 'job')}"
        )
        for each in found.missing:
            click.echo(f"missing: {each}")
    return 1 if found.missing else 0
