"""`benchflow resume`: continues a job."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import jobs_dir_option, json_option, pairs


@click.command("resume")
@click.argument("job")
@click.option("--errors", is_flag=True, help="Also run trials again whose verdict is error.")
@click.option(
    "--agent-env",
    multiple=True,
    callback=pairs,
    metavar="KEY=VALUE",
    help="A secret that the agents were given: secrets are in no file, so give them again.",
)
@jobs_dir_option
@json_option
def command(
    job: str, errors: bool, agent_env: dict[str, str], jobs_dir: Path, as_json: bool
) -> int:
    """Continue a job that was stopped, killed or cut off.

    JOB is the name of a job or the path of its folder. Finished trials are kept as they are. Of the
    others, an agent that can resume its session continues in its sandbox, which was kept; where an
    agent had finished, its work is verified; the rest start from scratch. A file that was cut off
    in the middle of a write is named and moved aside, and its trial run again.

    A job whose command was killed or whose terminal was closed still runs: it is shown until it
    ends, and Ctrl-C stops it.

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
