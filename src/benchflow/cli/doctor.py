"""`benchflow doctor`: what this machine can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchflow.cli.options import json_option, print_json

if TYPE_CHECKING:
    from benchflow.run.doctor import Check
    from benchflow.run.doctor.fix import Step


@click.command("doctor")
@click.option("--quick", is_flag=True, help="Leave out what takes longer than a second.")
@click.option(
    "--fix", is_flag=True, help="Install what is missing and grant id ranges, as root or with sudo."
)
@click.option("-v", "--verbose", is_flag=True, help="Say more, the mirror's name included.")
@json_option
def command(quick: bool, fix: bool, verbose: bool, as_json: bool) -> int:
    """Say what this machine can do, and how to get what is missing.

    One line per check: ok, missing, broken, or optional (absent and not needed). KVM is probed by
    booting a guest, because a device that is present need not work.

    With --fix it then says each command that it is about to run, runs it, and looks again: Debian
    packages, ranges of ids in /etc/subuid and /etc/subgid, kernel modules. It loosens no setting
    that protects the machine.

    \b
    Examples:
      benchflow doctor
      benchflow doctor --fix
      benchflow doctor --quick --json

    Exit status: 0 when benchflow run can work here, 4 when it cannot.
    """
    from benchflow.errors import InfrastructureError
    from benchflow.run.doctor import checks, is_fit
    from benchflow.run.doctor.fix import steps

    results = []
    for check in checks(quick=quick, verbose=verbose):
        results.append(check)
        if not as_json:
            _show(check)
    planned = steps(results)
    if fix and planned:
        _apply(planned)
        results = _look_again(results, list(checks(quick=quick, verbose=verbose)), as_json)
        planned = steps(results)
    fit = is_fit(results)
    if as_json:
        print_json({"schema": 1, "fit": fit, "checks": results, "fix": [str(s) for s in planned]})
    else:
        _conclude(fit, bool(planned), fix)
    return 0 if fit else InfrastructureError.exit_code


def _show(check: Check) -> None:
    from benchflow.cli.table import colour
    from benchflow.run.doctor import State

    state = colour(f"{check.state.value:<8}", check.state.value)
    click.echo(f"{state} {check.name:<18} {check.detail}".rstrip())
    if check.hint and check.state is not State.OK:
        click.echo(f"{'':<28}{check.hint}")


def _apply(planned: list[Step]) -> None:
    """Say a command, then run it; what cannot be done is said, and the others are done."""
    from benchflow.errors import InfrastructureError
    from benchflow.run.doctor.fix import apply

    click.echo("\nTo fix what is missing, as root:", err=True)
    for step in planned:
        click.echo(f"  {step}", err=True)
        try:
            apply(step)
        except InfrastructureError as error:
            click.echo(f"    {error.message}\n    {error.hint}", err=True)


def _look_again(before: list[Check], after: list[Check], as_json: bool) -> list[Check]:
    """The checks of `after`; those that `before` found wanting are shown again."""
    from benchflow.run.doctor import State

    wanting = {check.name for check in before if check.state in (State.MISSING, State.BROKEN)}
    if not as_json:
        click.echo("\nLooked at again:")
        for check in after:
            if check.name in wanting:
                _show(check)
    return after


def _conclude(fit: bool, can_fix: bool, tried: bool) -> None:
    if fit:
        click.echo("\nThis machine can run benchflow. Try: benchflow run TASK --agent oracle")
    else:
        click.echo("\nThis machine cannot run benchflow yet: see the hints above.")
    if can_fix and not tried:
        click.echo("Some of it can be fixed for you: benchflow doctor --fix")
