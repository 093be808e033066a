"""`benchflow credit`: which step of an agent earned which milestone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchflow.cli.options import jobs_dir_option, json_option, print_json


@click.command("credit")
@click.argument("job")
@jobs_dir_option
@json_option
def command(job: str, jobs_dir: Path, as_json: bool) -> int:
    """Find out when each milestone first held, and which step of the agent earned it.

    JOB is the name or folder of a job that was run with --checkpoints, or JOB/TRIAL for one trial
    of it. Each state of the deliverable that was kept is booted and questioned as benchflow verify
    would do it, oldest first. All of them are: what worked once may be lost again. States before
    anything was delivered, and those that were verified already, are not booted: after any stop,
    the same command continues.

    \b
    It writes credit.json into the folder of each trial:
      checkpoints   when each state was first seen, its reward and its milestones
      milestones    first_held (checkpoint, seconds, step), and whether it was lost_again
      credited      which step gained how much of the reward; the sum is the trial's reward
    A step is the agent's last one whose time stamp is not later than the checkpoint. benchflow
    export --conversations passes both on to a trainer.

    \b
    Examples:
      benchflow run 'repair/*' -a claude-code -m anthropic/MODEL --job-name first --checkpoints 10
      benchflow credit first
      benchflow credit first/repair-dead-server__AbCdEfG --json | jq '.trials[0].milestones'
      benchflow export jobs/first -o table --conversations

    Trials without a verdict are left out unless they are named. Two commands may work on two
    trials at once.

    Exit status: 0 when all states were judged; 4 when infrastructure spoilt one: it counts for
    nothing and is tried again at the next call.
    """
    from benchflow.cli.live import display_alone
    from benchflow.cli.render import job_folder, shown
    from benchflow.errors import InfrastructureError
    from benchflow.results.jobs.layout import is_trial
    from benchflow.run.checkpoints.choosing import choose
    from benchflow.run.checkpoints.crediting import credit

    folder = job_folder(job, jobs_dir)
    chosen = choose(folder, is_named=is_trial(folder))
    for why, number in chosen.left_out.items():
        click.echo(f"left out: {number} {why}", err=True)
    found: list[dict[str, Any]] = []
    for tried in chosen.trials:
        where = shown(tried.trial.path)

        def say(states: int, waiting: int, where: str = where) -> None:
            click.echo(f"{where}: {waiting} of {states} states are to be verified", err=True)

        if not tried.is_same_verifier:
            click.echo(f"note: benchflow's verifier has changed since {where}", err=True)
        with display_alone(quiet=as_json) as listener:
            found.append({"path": str(tried.trial.path), **credit(tried, listener, say)})
    if as_json:
        print_json({"schema": 1, "trials": found, "left_out": chosen.left_out})
    else:
        for record in found:
            click.echo("\n" + _told(record, shown(Path(record["path"]))))
    spoilt = any(each["state"] == "error" for record in found for each in record["checkpoints"])
    return InfrastructureError.exit_code if spoilt else 0


def _told(record: dict[str, Any], where: str) -> str:
    from benchflow.cli.table import table

    lines = [
        table(
            ["milestone", "first held after", "seen in", "step", ""],
            [_milestone(each) for each in record["milestones"]],
        )
    ]
    gains = record["credited"]
    if gains:
        steps = ", ".join(f"{each['step']}: {each['reward_gained']:+.3f}" for each in gains)
        lines.append(f"reward gained by step: {steps}")
    for each in record["checkpoints"]:
        if each["error"]:
            lines.append(f"checkpoint {each['checkpoint']}: {each['state']}: {each['error']}")
    return "\n".join([where, *lines])


def _milestone(each: dict[str, Any]) -> list[str]:
    from benchflow.base.numbers import MISSING, duration

    first = each["first_held"]
    if first is None:
        return [each["id"], MISSING, "", "", ""]
    at = first["checkpoint"]
    return [
        each["id"],
        duration(first["seconds"]),
        "what was handed over" if at is None else f"checkpoint {at}",
        MISSING if first["step"] is None else str(first["step"]),
        "lost again" if each["lost_again"] else "",
    ]
