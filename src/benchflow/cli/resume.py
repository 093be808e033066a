"""`benchflow resume`: goes on with a job."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import jobs_dir_option, json_option, pairs


@click.command("resume")
@click.argument("job")
@click.option("--errors", is_flag=True, help="Run the trials again whose verdict is error, too.")
@click.option(
    "--agent-env",
    multiple=True,
    callback=pairs,
    metavar="KEY=VALUE",
    help="A variable of the agents' again that looks like a secret: it is in no file.",
)
@jobs_dir_option
@json_option
def command(
    job: str, errors: bool, agent_env: dict[str, str], jobs_dir: Path, as_json: bool
) -> int:
    """Go on with a job that was stopped, killed or cut off.

    JOB is the name of a job or the path of its folder. Finished trials are kept as they are; what
    was cut off in the middle of a write is named, moved aside and run again. An agent that was at
    work and can take up its session goes on in its sandbox, which was kept; of one that had ended,
    what it left there is verified; other trials that were cut off start again. A job that still
    runs, because only its command was killed or its terminal closed, is looked on until its end;
    Ctrl-C stops it.

    \b
    Examples:
      benchflow resume 2026-01-31__12-00-00
      benchflow resume jobs/nightly --errors
    """
    from benchflow.run.job.harbor_job import keep_quiet

    keep_quiet()
    from benchflow.cli.live import display_alone
    from benchflow.cli.render import finish, job_folder, telling_what_is_mended
    from benchflow.run.job.jobs import resume

    folder = job_folder(job, jobs_dir)
    say = telling_what_is_mended()
    with display_alone(quiet=as_json) as listener:
        finished = resume(
            folder,
            listener,
            retry_errors=errors,
            variables=lambda agent: agent_env,
            on_mended=say,
        )
    return finish(finished, as_json=as_json)
