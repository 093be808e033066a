"""`benchflow watch`: looks at jobs that another process runs."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchflow.cli.options import jobs_dir_option, json_option, print_json

if TYPE_CHECKING:
    from benchflow.run.live.job_status import Onlooker
    from benchflow.run.live.sweep_status import Overview

_LOOK_SECONDS = 1.0
#: Without a terminal: how often a line says how far it is.
_LINE_SECONDS = 60.0


@click.command("watch")
@click.argument("job", default="")
@click.option("--once", is_flag=True, help="Print the screen once and end.")
@jobs_dir_option
@json_option
def command(job: str, once: bool, jobs_dir: Path, as_json: bool) -> int:
    """Follow a job or a sweep while it runs, from any terminal.

    JOB is the name or folder of a job, the name of a sweep, or a folder of jobs; without it, what
    runs now in --jobs-dir is shown: the matrix as it fills up, trials under way, tokens, dollars,
    errors by cause and the slowest trials. On a terminal it is one screen; elsewhere a line for
    each trial that ends and one every minute. It ends with the jobs.

    Only files of the jobs are read: this disturbs nothing and changes nothing.

    \b
    Examples:
      benchflow watch                          what runs now
      benchflow watch 2026-01-31__12-00-00
      benchflow watch first-look               a sweep: all its jobs
      benchflow watch --once --json            once, for a program
    """
    from benchflow.cli.job_screen import document, screen

    onlooker = _onlooker(job, jobs_dir.resolve())
    if as_json:
        print_json(document(onlooker.look()))
        return 0
    if once:
        click.echo(screen(onlooker.look()))
        return 0
    last = _live(onlooker) if sys.stdout.isatty() else _lines(onlooker)
    click.echo(screen(last))
    if len(last.finished) < last.planned:
        click.echo(
            "\nNobody works on it now. Continue with: benchflow resume JOB, or benchflow sweep FILE"
        )
    return 0


def _onlooker(job: str, jobs_dir: Path) -> Onlooker:
    """Raises UsageError where there is nothing to look at."""
    from benchflow.errors import UsageError
    from benchflow.results.jobs import lock
    from benchflow.results.jobs.layout import find_jobs, is_job
    from benchflow.run.job import job_record
    from benchflow.run.live.job_status import Onlooker, of_job, of_sweep

    if not job:
        running = [each for each in find_jobs(jobs_dir) if lock.is_held(each)]
        if not running:
            raise UsageError(f"no job in {jobs_dir} runs now", hint="name one, or a sweep")
        return of_job(running[0]) if len(running) == 1 else Onlooker(lambda: running)
    named = [folder for folder in (jobs_dir / job, Path(job).resolve()) if is_job(folder)]
    if named:
        return Onlooker(lambda: named[:1])
    if job_record.of_sweep(job, jobs_dir):
        return of_sweep(job, jobs_dir)
    folder = Path(job).resolve()
    if not folder.is_dir():
        raise UsageError(f"no job and no sweep {job!r}", hint=f"looked in {jobs_dir}")
    find_jobs(folder)
    return Onlooker(lambda: find_jobs(folder))


def _live(onlooker: Onlooker) -> Overview:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from benchflow.cli.job_screen import screen

    console = Console(highlight=False)
    with Live(console=console, screen=False, transient=True, auto_refresh=False) as live:
        while True:
            seen = onlooker.look()
            text = screen(seen, console.height - 1)
            live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)
            if not seen.is_running:
                return seen
            time.sleep(_LOOK_SECONDS)


def _lines(onlooker: Onlooker) -> Overview:
    from benchflow.base.numbers import duration
    from benchflow.cli.job_screen import headline

    told: set[str] = set()
    next_line = 0.0
    while True:
        seen = onlooker.look()
        for trial in seen.finished:
            if trial.name not in told and next_line:
                cause = f", {trial.cause}" if trial.cause else ""
                words = f"{trial.verdict.value}{cause}, in {duration(trial.seconds)}"
                click.echo(f"{trial.task}  {trial.who}  {words}")
        told |= {trial.name for trial in seen.finished}
        if time.monotonic() >= next_line:
            click.echo(headline(seen))
            next_line = time.monotonic() + _LINE_SECONDS
        sys.stdout.flush()
        if not seen.is_running:
            return seen
        time.sleep(_LOOK_SECONDS)
