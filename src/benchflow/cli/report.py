"""`benchflow report`: what finished trials say."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import (
    FiniteRange,
    assume_version_option,
    json_option,
    need_analysis,
    print_json,
)


@click.command("report")
@click.argument("source", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--level",
    type=FiniteRange(0.5, 0.999),
    default=0.95,
    show_default=True,
    help="Confidence of the intervals.",
)
@click.option(
    "--markdown", is_flag=True, help="Print everything as one Markdown page, not the essentials."
)
@click.option(
    "--trajectories/--no-trajectories",
    default=True,
    show_default=True,
    help="Read what the agents did: claims, steps and the failure labels need it.",
)
@assume_version_option
@json_option
def command(
    source: tuple[Path, ...],
    level: float,
    markdown: bool,
    trajectories: bool,
    assume_version: bool,
    as_json: bool,
) -> None:
    """Compare agents, with two kinds of error bars: other tasks, and re-runs.

    SOURCE is a job, a folder of jobs, or anything else that benchflow reads (docs/results.md). The
    unit is the task. The re-run, task-sampling and total ± are shown apart; agents and models stand
    in tiers; what the data does not support is said, with what it would take. Then: agent or model,
    over-claiming, why trials failed, smaller budgets, difficulty, and what the data leaves open.
    Infrastructure errors are counted apart. docs/analysis.md has the formulas.

    \b
    Examples:
      benchflow report jobs
      benchflow report published.jsonl jobs/nightly
      benchflow report published.jsonl --markdown > report.md
      benchflow report jobs --json | jq '.entries[] | {who, tier, share}'
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other")
    need_analysis()
    from benchflow.cli.problems import say_problems
    from benchflow.report.document import as_markdown, in_terminal
    from benchflow.results.collect import collect
    from benchflow.results.parallel import processors
    from benchflow.study.findings import findings, findings_json

    table = collect(
        [*source], assume_version=assume_version, trajectories=trajectories, workers=processors()
    )
    found = findings(table, level)
    if as_json:
        print_json(findings_json(found))
        return
    if markdown:
        click.echo(as_markdown(found, source), nl=False)
        return
    click.echo(in_terminal(found))
    say_problems(table.problems, rest="`benchflow export` lists all of them")
