"""`benchflow play`: a person tries a task."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import jobs_dir_option

#: An agent's limit is no person's: an expert may need longer than an agent is given.
_UNLIMITED = 1000.0


@click.command("play")
@click.argument("task")
@click.option("--timed", is_flag=True, help="End when an agent's time would be over.")
@click.option("--hint", type=click.IntRange(0, 3), default=0, help="Hints to give (0-3).")
@click.option("--job-name", default="", help="Name of the job.  [default: the current time]")
@jobs_dir_option
def command(task: str, timed: bool, hint: int, job_name: str, jobs_dir: Path) -> int:
    """Try TASK yourself: a shell in its sandbox, the clock running, and the same verification.

    `submit` in the shell hands in what you have. It is recorded as a trial by `human`, so that
    the time that an expert needs is measured and not guessed. Ctrl-C belongs to the shell.

    \b
    Examples:
      benchflow play repair/dead-server
      benchflow play spin/appliance --timed --hint 1

    Exit status: 0 when the work was judged, whatever the verdict; 4 when it could not be.
    """
    from benchflow.run.job.harbor_job import keep_quiet

    keep_quiet()
    from benchflow.base.numbers import duration
    from benchflow.cli.render import finish
    from benchflow.run.job.jobs import start
    from benchflow.run.job.plan import plan
    from benchflow.run.job.request import RunRequest
    from benchflow.run.live.progress import Silence
    from benchflow.tasks import find

    one = find(task)
    limit = one.agent_timeout_sec if timed else 0.0
    request = RunRequest(
        tasks=(task,),
        agents=("benchflow.agents.human:HumanAgent",),
        agent_options={"limit_sec": str(limit)},
        sandbox_options={"share_logs": "yes"},
        hint=hint,
        job_name=job_name,
        jobs_dir=jobs_dir,
        agent_timeout_multiplier=1.0 if timed else _UNLIMITED,
    )
    prepared = plan(request)
    click.echo(f"{one.name} {one.version}: the sandbox is being prepared, in {prepared.job_dir}")
    job = start(prepared, Silence(), in_front=True)
    status = finish(job, as_json=False)
    worked = job.trials[0].phases.agent if job.trials else None
    if worked is not None:
        stated = f"; expert_minutes = {one.expert_minutes:g}" if one.expert_minutes else ""
        click.echo(f"You worked for {duration(worked)}{stated}.")
    return status
