"""`benchflow results`: finished work, read back."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import jobs_dir_option, json_option, print_json


@click.command("results")
@click.argument("job", nargs=-1)
@click.option("--details", is_flag=True, help="Each trial's ladder, phases and evidence in full.")
@click.option(
    "--all", "every", is_flag=True, help="All jobs, not only the most recently active one."
)
@jobs_dir_option
@json_option
def command(
    job: tuple[str, ...], details: bool, every: bool, jobs_dir: Path, as_json: bool
) -> None:
    """Show trials, verdicts, ladders, times, and where the evidence is.

    JOB is the name of a job, the path of any Harbor job folder, or of a folder of jobs. Without
    it, the most recently active job is shown. Files that cannot be read are named.

    \b
    Examples:
      benchflow results
      benchflow results nightly --details
      benchflow results --all
      benchflow results ./some-harbor-job --json | jq '.jobs[].counts'
    """
    from benchflow.cli.render import job_folder, print_job
    from benchflow.results import to_json
    from benchflow.results.jobs.layout import find_jobs
    from benchflow.results.jobs.trials import read_job

    if job:
        folders = [folder for name in job for folder in find_jobs(job_folder(name, jobs_dir))]
    else:
        folders = find_jobs(jobs_dir)
        if not every:
            folders = [max(folders, key=lambda path: path.stat().st_mtime)]
    jobs = [read_job(folder) for folder in folders]
    if as_json:
        print_json(to_json.jobs(jobs))
        return
    for n, each in enumerate(jobs):
        if n:
            click.echo()
        click.echo(f"job {each.name}")
        print_job(each, details=details)
