"""`benchflow sweep`: a whole matrix from one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchflow.base.numbers import MISSING, plural
from benchflow.cli.options import engine_options, jobs_dir_option, json_option, print_json

if TYPE_CHECKING:
    from benchflow.errors import BenchflowError
    from benchflow.run.sweep.sweeps import Cell, Sweep


#: Of one job's tries that came to nothing; nodes.jsonl in its folder has all.
_MOST_REASONS = 10


@click.command("sweep")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--plan",
    "only_plan",
    is_flag=True,
    help="Print the matrix, what is done, and what keeps the rest from starting; stop.",
)
@click.option(
    "--retry", type=click.Choice(["error"]), help="Run the trials again whose verdict is error."
)
@click.option(
    "--shard",
    "part",
    default="1/1",
    metavar="I/N",
    help="Run only part I of N: one machine each (docs/scale.md).",
)
@engine_options
@jobs_dir_option
@json_option
def command(
    file: Path,
    only_plan: bool,
    retry: str | None,
    part: str,
    engine: str,
    address: str,
    jobs_dir: Path,
    as_json: bool,
) -> int:
    """Run agents × models × tasks × hints × attempts from FILE; continue after any stop.

    Call it again with the same file: finished trials stay, and what was cut off is run again.
    The file may grow by attempts, tasks, agents and models. Each attempt goes over the whole
    matrix before the next begins, so early results are balanced.

    \b
    FILE is TOML (docs/sweeps.md has every key):
      tasks = ["repair/*", "spin/appliance"]
      attempts = 3
      hints = [0, 2]
      max_usd = 50              for the whole sweep; once spent, no trial starts
      [trial]
      max_usd = 5               for each trial
      [[limit]]
      rpm = 50                  calls in a minute that the provider allows
      [[entry]]
      agent = "claude-code"
      models = ["anthropic/MODEL"]
      [[entry]]
      agent = "oracle"

    \b
    Examples:
      benchflow sweep first-look.toml --plan
      benchflow sweep first-look.toml
      benchflow sweep first-look.toml --retry error
      benchflow sweep first-look.toml --shard 2/8      on the second of eight machines
      benchflow sweep first-look.toml --engine ray     on all nodes of this machine's Ray cluster
      benchflow sweep first-look.toml --engine ray --address 10.0.0.1:6379

    A sweep whose budget is spent ends and says what it did not start. Raise max_usd or max_tokens
    in FILE and call it again to continue.

    Exit status: 0 when every trial that was started was judged, whatever the verdict; 4 when one
    could not be.
    """
    from benchflow.run.job.harbor_job import keep_quiet

    keep_quiet()
    from benchflow.cli.live import display_alone
    from benchflow.cli.render import shown, telling_what_is_mended
    from benchflow.errors import InfrastructureError
    from benchflow.run.job import engine as engines
    from benchflow.run.sweep import obstacles, shard, sweeps
    from benchflow.run.sweep.sweepfile import read_file

    asked, ours = read_file(file), shard.read(part)
    jobs_dir = jobs_dir.resolve()
    found = sweeps.survey(asked, jobs_dir, ours)
    if not as_json:
        _print(found)
    where = engines.name(engine, address)
    if only_plan:
        stops = obstacles.obstacles(found, where)
        if as_json:
            told = [{"message": stop.message, "hint": stop.hint} for stop in stops]
            print_json(_document(found) | {"obstacles": told})
        else:
            _print_obstacles(stops)
        return 0

    stdout = sys.stdout

    def say(job: Path, trials: int) -> None:
        if not as_json:
            plural = "trial" if trials == 1 else "trials"
            click.echo(f"\njob {shown(job)}: {trials} {plural}", file=stdout)

    mended = telling_what_is_mended()
    with display_alone(quiet=as_json) as listener:
        found = sweeps.run(
            asked,
            jobs_dir,
            listener,
            say,
            shard=ours,
            retry_errors=retry == "error",
            on_mended=mended,
            engine=where,
        )
    if as_json:
        print_json(_document(found))
    else:
        click.echo()
        _print(found)
        _print_nodes(found)
    errors = sum(_count(cell)["error"] for cell in found.cells)
    return InfrastructureError.exit_code if errors else 0


def _print(found: Sweep) -> None:
    from benchflow.base.numbers import duration
    from benchflow.cli.render import shown
    from benchflow.cli.table import table

    entries = [found.who(n) for n in range(len(found.agents))]
    by_task: dict[tuple[str, int], list[Cell]] = {}
    for cell in found.cells:
        by_task.setdefault((cell.planned.task.name, cell.planned.hint), []).append(cell)
    hints = len({hint for _, hint in by_task}) > 1
    rows = [
        [f"{name} (hint {hint})" if hints else name, *(_cell(c, found) for c in cells)]
        for (name, hint), cells in by_task.items()
    ]
    click.echo(table(["resolved of tried", *entries], rows))
    left = found.n_planned - found.n_finished
    of = plural(found.n_planned, "trial") + (f" of part {found.shard}" * (found.shard.count > 1))
    click.echo(f"\n{found.n_finished} of {of} finished.", nl=not left)
    if left:
        likely, most, known = _hours(found)
        click.echo(
            f" {plural(left, 'trial is', 'trials are')} left. If each used up its time limits,"
            f" that would be {duration(most * 3600)} of work, one after the other"
            + (f"; as earlier trials went, about {duration(likely * 3600)}." if known else ".")
        )
    _print_budget(found, left)
    for cell in found.cells:
        errors = [trial for trial in cell.trials if trial.verdict.value == "error"]
        if errors:
            who = f"{cell.planned.task.name}, {found.who(cell.agent)}"
            click.echo(f"error, {len(errors)}×: {who}: {errors[0].cause}")
    for job in found.jobs:
        click.echo(f"where: {shown(job.path)}")


def _print_obstacles(stops: list[BenchflowError]) -> None:
    for stop in stops:
        click.echo(f"cannot start yet: {stop.message}" + (f"; {stop.hint}" if stop.hint else ""))


def _print_nodes(found: Sweep) -> None:
    """Why trials were sent to another node, of all jobs that ran on a cluster."""
    from benchflow.run.ray_engine import nodes_log

    for job in found.jobs:
        for why, often in nodes_log.reasons(job.path).most_common(_MOST_REASONS):
            click.echo(f"sent again, {often}×: {why}")


def _print_budget(found: Sweep, left: int) -> None:
    from benchflow.base.numbers import dollars

    purse, spent = found.file.purse, found.spent
    known = []
    if spent.usd or purse.usd is not None:
        of = f" of {dollars(purse.usd)}" if purse.usd is not None else ""
        known.append(f"{dollars(spent.usd)}{of}")
    if spent.tokens or purse.tokens is not None:
        of = f" of {purse.tokens:,}" if purse.tokens is not None else ""
        known.append(f"{spent.tokens:,}{of} tokens")
    if known:
        click.echo(f"spent: {', '.join(known)}.")
    if spent.unknown:
        click.echo(f"not counted: {plural(spent.unknown, 'answer')} without a price or a count.")
    why = found.stopped or purse.over(spent)
    if why and left:
        click.echo(f"{plural(left, 'trial')} not started: {why}. Raise it in the file to continue.")


def _cell(cell: Cell, found: Sweep) -> str:
    count = _count(cell)
    judged = count["resolved"] + count["failed"]
    text = f"{count['resolved']}/{judged}" if judged else MISSING
    if count["error"]:
        text += f" +{count['error']} error"
    left = cell.wanted - len(cell.trials)
    return text + (f" ({left} to do)" if left > 0 else "")


def _count(cell: Cell) -> dict[str, int]:
    from benchflow.results.model import Verdict

    return {verdict.value: cell.count(verdict) for verdict in Verdict}


def _hours(found: Sweep) -> tuple[float, float, bool]:
    """Hours that the missing trials take: as earlier ones of the cell did, at most, and whether
    the first is known for all of them."""
    likely = most = 0.0
    known = True
    for cell in found.cells:
        left = max(0, cell.wanted - len(cell.trials))
        took = [trial.phases.total for trial in cell.trials if trial.phases.total is not None]
        task = cell.planned.task
        limit = task.agent_timeout_sec * found.file.agent_timeout_multiplier
        limit += task.verifier_ended_sec * found.file.verifier_timeout_multiplier
        most += left * limit / 3600
        likely += left * (sum(took) / len(took) if took else limit) / 3600
        known = known and (bool(took) or not left)
    return likely, most, known


def _document(found: Sweep) -> dict[str, Any]:
    likely, most, known = _hours(found)
    return {
        "schema": 1,
        "sweep": found.file.name,
        "shard": str(found.shard),
        "planned": found.n_planned,
        "finished": found.n_finished,
        "hours_left": {"likely": likely if known else None, "most": most},
        "budget": {"max_usd": found.file.purse.usd, "max_tokens": found.file.purse.tokens},
        "spent": found.spent,
        "stopped": found.stopped or found.file.purse.over(found.spent),
        "jobs": [job.path for job in found.jobs],
        "cells": [
            {
                "task": cell.planned.task.name,
                "version": cell.planned.task.version,
                "hint": cell.planned.hint,
                "who": found.who(cell.agent),
                "attempts": cell.wanted,
                "trials": [trial.path for trial in cell.trials],
                **_count(cell),
            }
            for cell in found.cells
        ],
    }
