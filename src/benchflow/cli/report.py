"""`benchflow report`: what finished trials say."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import json_option, need_analysis, print_json


@click.command("report")
@click.argument("source", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--level",
    type=click.FloatRange(0.5, 0.999),
    default=0.95,
    show_default=True,
    help="Confidence of the intervals.",
)
@json_option
def command(source: tuple[Path, ...], level: float, as_json: bool) -> None:
    """Say who is better than whom, with error bars that tell the truth.

    SOURCE is a job, a folder of jobs, or a .jsonl file of trials (objects with agent, model, task,
    trial and resolved). The unit is the task; both kinds of ± are shown; agents and models stand
    in tiers; infrastructure errors are counted apart.

    \b
    Examples:
      benchflow report jobs
      benchflow report published.jsonl jobs/nightly
      benchflow report jobs --json | jq '.entries[] | {who, tier, share}'
    """
    need_analysis()
    from benchflow.results.records import collect
    from benchflow.site.summary import summarize, to_json
    from benchflow.site.text import report

    table = collect([*source], trajectories=False)
    summary = summarize(table, level)
    if as_json:
        print_json({**to_json(summary), "problems": [str(p.path) for p in table.problems]})
        return
    click.echo(report(summary))
    for problem in table.problems:
        click.echo(f"not read: {problem.path}: {problem.message}", err=True)
