"""`benchflow compare`: two agents on the tasks that both tried."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import json_option, need_analysis, print_json


@click.command("compare")
@click.argument("a")
@click.argument("b")
@click.argument("source", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
def command(a: str, b: str, source: tuple[Path, ...], as_json: bool) -> None:
    """Compare A and B ("agent model", as benchflow report names them), paired by task.

    \b
    Example:
      benchflow compare "droid claude-4-sonnet" "cursor-cli claude-4-sonnet" published.jsonl
    """
    need_analysis()
    from benchflow.results.records import collect
    from benchflow.site.summary import compare, pair_json
    from benchflow.site.text import sentence

    pair = compare(collect([*source], trajectories=False), a, b)
    if as_json:
        print_json({"schema": 1, **pair_json(pair)})
        return
    click.echo(sentence(pair))
    tasks = pair.comparison.difference.n_tasks
    click.echo(f"over the {tasks} tasks that both tried, each weighing the same")
