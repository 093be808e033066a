"""`benchflow export`: one table from anywhere, as files for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import assume_version_option, json_option, print_json


@click.command("export")
@click.argument("source", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, help="Folder to write to."
)
@click.option("--no-steps", is_flag=True, help="Leave trajectories out: quicker, and much smaller.")
@assume_version_option
@json_option
def command(
    source: tuple[Path, ...], out: Path, no_steps: bool, assume_version: bool, as_json: bool
) -> None:
    """Write trials, milestones and steps as DuckDB, Parquet and CSV, with a data dictionary.

    SOURCE is anything that holds results, recognised by its content: a job or a folder of jobs
    (ours or any of Harbor's), a .jsonl list of trials, an ATIF trajectory, a Terminal-Bench run,
    an Inspect log. All goes into one schema. What cannot be read is a row of `problems`; the files
    are made again each time, so nothing is lost with them.

    \b
    Examples:
      benchflow export jobs -o table
      benchflow export jobs logs/2026.eval published.jsonl -o table
      duckdb table/index.duckdb "SELECT agent, model, verdict, count(*) FROM trials GROUP BY ALL"
    """
    from benchflow.base.numbers import plural
    from benchflow.cli.problems import say_problems
    from benchflow.results.collect import collect
    from benchflow.results.index import export
    from benchflow.results.parallel import processors

    collection = collect(
        [*source], assume_version=assume_version, trajectories=not no_steps, workers=processors()
    )
    made = export(collection, out, with_steps=not no_steps)
    if as_json:
        print_json({"schema": 1, "folder": made.folder, "files": made.files, "rows": made.rows})
        return
    say_problems(collection.problems, rest=f"{made.folder / 'problems.csv'}")
    counts = ", ".join(plural(n, table.removesuffix("s"), table) for table, n in made.rows.items())
    click.echo(f"{made.folder}: {counts}")
    click.echo(f"what the columns mean: {made.folder / 'data-dictionary.md'}")
