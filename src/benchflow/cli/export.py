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
@click.option(
    "--conversations",
    is_flag=True,
    help="Also write each agent's messages with their rewards, for training.",
)
@assume_version_option
@json_option
def command(
    source: tuple[Path, ...],
    out: Path,
    no_steps: bool,
    conversations: bool,
    assume_version: bool,
    as_json: bool,
) -> None:
    """Write trials, milestones and steps as DuckDB, Parquet and CSV, with a data dictionary.

    SOURCE is anything that holds results, recognised by its content: a job or a folder of jobs
    (ours or any of Harbor's), a .jsonl list of trials, an ATIF trajectory, a Terminal-Bench run,
    an Inspect log. All goes into one schema. What cannot be read is a row of `problems`; the files
    are made again each time, so nothing is lost with them.

    --conversations adds conversations.jsonl and conversations.parquet: one row for each agent's
    conversation, as messages (system, user, assistant, tool) with the trial's reward and
    milestones, and, after benchflow credit, with the steps that earned them. Trials without a
    verdict and probes (oracle, nop …) are left out.

    \b
    Examples:
      benchflow export jobs -o table
      benchflow export jobs logs/2026.eval published.jsonl -o table
      benchflow export jobs -o table --conversations
      duckdb table/index.duckdb "SELECT agent, model, verdict, count(*) FROM trials GROUP BY ALL"
    """
    from benchflow.base.numbers import plural
    from benchflow.cli.problems import say_problems
    from benchflow.results import conversations as training
    from benchflow.results.collect import collect
    from benchflow.results.index import export
    from benchflow.results.parallel import processors
    from benchflow.study.baselines import is_probe

    collection = collect(
        [*source], assume_version=assume_version, trajectories=not no_steps, workers=processors()
    )
    made = export(collection, out, with_steps=not no_steps)
    written = None
    if conversations:
        probes = filter(is_probe, collection.records)
        written = training.write(collection, made.folder, left_out=probes)
    if as_json:
        rows, files, more = made.rows, made.files, {}
        if written is not None:
            rows = {**rows, training.NAME: written.rows}
            files, more = (*files, *written.files), {"left_out": written.left_out}
        print_json({"schema": 1, "folder": made.folder, "files": files, "rows": rows, **more})
        return
    say_problems(collection.problems, rest=f"{made.folder / 'problems.csv'}")
    counts = ", ".join(plural(n, table.removesuffix("s"), table) for table, n in made.rows.items())
    click.echo(f"{made.folder}: {counts}")
    if written is not None:
        rest = ", ".join(f"{n} {why}" for why, n in written.left_out.items())
        left = f"; trials left out: {rest}" if rest else ""
        click.echo(f"{plural(written.rows, 'conversation')}{left}")
    click.echo(f"what the columns mean: {made.folder / 'data-dictionary.md'}")
