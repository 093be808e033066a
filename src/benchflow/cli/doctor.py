"""`benchflow doctor`: what this machine can do."""

from __future__ import annotations

import click

from benchflow.cli.options import json_option, print_json


@click.command("doctor")
@click.option("--quick", is_flag=True, help="Leave out what takes longer than a second.")
@click.option("-v", "--verbose", is_flag=True, help="Say more, the mirror's name included.")
@json_option
def command(quick: bool, verbose: bool, as_json: bool) -> int:
    """Say what this machine can do, and how to get what is missing.

    One line a check: ok, missing or broken; what is optional and absent says so. KVM is probed by
    booting a guest, because a device that is present need not work.

    \b
    Examples:
      benchflow doctor
      benchflow doctor --quick --json

    Exit status: 0 when the main job can run here, 4 when it cannot.
    """
    from benchflow.cli.table import colour
    from benchflow.errors import InfrastructureError
    from benchflow.run.doctor import State, checks, is_fit

    results = []
    for check in checks(quick=quick, verbose=verbose):
        results.append(check)
        if as_json:
            continue
        state = colour(f"{check.state.value:<8}", check.state.value)
        click.echo(f"{state} {check.name:<18} {check.detail}".rstrip())
        if check.hint and check.state is not State.OK:
            click.echo(f"{'':<28}{check.hint}")
    fit = is_fit(results)
    if as_json:
        print_json({"schema": 1, "fit": fit, "checks": results})
    elif fit:
        click.echo("\nThis machine can run the main job: benchflow run TASK --agent oracle")
    else:
        click.echo(
            "\nThis machine cannot run the main job yet: see the hints above, then try "
            "again: benchflow doctor"
        )
    return 0 if fit else InfrastructureError.exit_code
