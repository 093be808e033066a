"""`benchflow compare`: two agents on the tasks that both tried."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import assume_version_option, json_option, need_analysis, print_json


@click.command("compare")
@click.argument("a")
@click.argument("b")
@click.argument("source", nargs=-1, required=True, type=click.Path(path_type=Path))
@assume_version_option
@json_option
def command(a: str, b: str, source: tuple[Path, ...], assume_version: bool, as_json: bool) -> None:
    """Compare A and B ("agent model", as benchflow report names them), paired by task.

    The p value is that of this one comparison: looking at several and reporting the best one needs
    the correction that benchflow report makes.

    \b
    Example:
      benchflow compare "droid claude-4-sonnet" "cursor-cli claude-4-sonnet" published.jsonl
    """
    need_analysis()
    from benchflow.base.numbers import plural
    from benchflow.cli.problems import say_problems
    from benchflow.report.comparison_sentence import sentence
    from benchflow.results.collect import collect
    from benchflow.results.parallel import processors
    from benchflow.study.summary import compare, pair_json

    table = collect(
        [*source], assume_version=assume_version, trajectories=False, workers=processors()
    )
    pair = compare(table, a, b)
    if as_json:
        print_json({"schema": 1, **pair_json(pair)})
        return
    found = pair.comparison
    click.echo(sentence(pair))
    click.echo(
        f"over {plural(found.difference.n_tasks, 'task')} that both tried, each weighing the same "
        f"({plural(found.difference.n_trials, 'trial')}, "
        f"{plural(found.difference.n_errors, 'error')} left out; "
        f"{found.difference.method}); by flipping signs, p = {found.p_sign_flip:.2g}; such data "
        f"sees differences from {100 * found.smallest_detectable:.1f} points on"
    )
    click.echo("one comparison, chosen beforehand: of several, read benchflow report")
    say_problems(table.problems, rest="`benchflow export` lists all of them")
