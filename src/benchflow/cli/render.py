"""How finished work is told: a job, its trials, their ladders, and where to look."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchflow.base.numbers import duration, plural
from benchflow.base.text import one_line
from benchflow.cli.as_typed import as_typed
from benchflow.cli.options import print_json
from benchflow.cli.table import labels, ladder, side_by_side, summary, trials_table
from benchflow.errors import InfrastructureError, UsageError
from benchflow.results import to_json
from benchflow.results.jobs.partial import Partial
from benchflow.results.jobs.script_end import script_end
from benchflow.results.model import Host, Job, Problem, Trial, Verdict

if TYPE_CHECKING:
    from benchflow.gateway.config import Config

#: Up to this many trials of one task, their ladders are shown beside each other.
_MOST_SIDE_BY_SIDE = 6


def finish(job: Job, *, as_json: bool) -> int:
    """Prints a job that has just ended; returns the exit status of the command."""
    if as_json:
        print_json(to_json.jobs([job]))
    else:
        click.echo()
        print_job(job)
    return InfrastructureError.exit_code if job.count(Verdict.ERROR) else 0


def print_job(job: Job, *, details: bool = False) -> None:
    """One job: the table, ladders side by side, errors by cause, and where the evidence is.

    With `details`, each trial's ladder, phases and evidence in full.
    """
    if job.trials:
        click.echo(trials_table(job.trials))
    if details:
        for trial in job.trials:
            click.echo()
            print_trial(trial)
    else:
        _print_ladders(job)
    _print_state(job)
    if job.trials and not details:
        click.echo(as_typed(f"\nMore: benchflow results {shown(job.path)} --details"))


def print_trial(trial: Trial) -> None:
    """One trial in full."""
    click.echo(f"{trial.name}: {trial.task}, {trial.agent} {trial.model}".rstrip())
    reward = "" if trial.reward is None else f", reward {trial.reward:.3f}"
    cause = f" ({trial.cause}: {trial.cause_message})" if trial.cause else ""
    click.echo(f"  {trial.verdict.value}{reward}{cause}")
    if trial.cause_message and not trial.cause:
        click.echo(f"  {trial.cause_message}")
    if ended := script_end(trial):
        click.echo(f"  {ended}")
    if trial.milestones:
        click.echo(ladder(trial.milestones))
    if trial.metrics:
        click.echo("  " + ", ".join(f"{key} {value:g}" for key, value in trial.metrics.items()))
    p = trial.phases
    spans = {
        "image and start": p.environment,
        "agent set-up": p.agent_setup,
        "agent" if p.parts == 1 else f"agent, in {p.parts} parts,": p.agent,
        "hand-over": p.hand_over,
        "verifier": p.verifier,
        "all": p.total,
    }
    known = [f"{k} {duration(v)}" for k, v in spans.items() if v is not None]
    click.echo("  time: " + ", ".join(known))
    if told := _host(trial.host):
        click.echo(f"  host: {told}")
    evidence = ", ".join(one_line(name, 200) for name in trial.evidence)
    click.echo(f"  evidence in {shown(trial.path)}: {evidence or 'none'}")


def print_partial(partial: Partial) -> None:
    """A verification of some milestones alone."""
    click.echo(f"partial: {', '.join(partial.asked)} alone; no verdict and no reward")
    if partial.cause:
        click.echo(f"  it says nothing ({partial.cause}: {partial.cause_message})")
    ran = [m for m in partial.milestones if any(c.status != "not run" for c in m.checks)]
    if ran:
        click.echo(ladder(ran))
    click.echo(f"  left out: {plural(len(partial.milestones) - len(ran), 'milestone')}")
    click.echo(f"  time: {duration(partial.seconds)}")
    click.echo(f"  evidence in {shown(partial.path)}")


def _host(host: Host) -> str:
    around = [speed for speed in (host.speed_before, host.speed_after) if speed is not None]
    parts = [
        host.id,
        host.cpu,
        f"Linux {host.kernel}" if host.kernel else "",
        f"QEMU {host.qemu} ({host.accelerator})" if host.qemu else "",
        f"speed {host.speed:.2f}" if host.speed is not None else "",
        f"{' and '.join(f'{speed:.2f}' for speed in around)} around it" if around else "",
        f"{host.steal:.1%} stolen" if host.steal else "",
    ]
    return ", ".join(part for part in parts if part)


def telling_what_is_mended() -> Callable[[Problem], None]:
    """Says on the present standard error, whatever takes its place later, what was torn or cut off
    in a job and what becomes of it."""
    stderr = sys.stderr

    def say(problem: Problem) -> None:
        click.echo(
            f"after the stop: {shown(problem.path)} {one_line(problem.message, 1000)}", file=stderr
        )

    return say


def warn_of_silent_models(gateway: Config | None) -> None:
    """Says on standard error which models' addresses take no connection, before agents wait."""
    from benchflow.gateway.models.reach import silent

    for url, why in silent(gateway.routes if gateway else ()).items():
        click.echo(
            f"warning: {url} does not answer ({why}); calls are tried again for 15 minutes: start "
            "the model's server, or stop with Ctrl-C",
            err=True,
        )


def job_folder(job: str, jobs_dir: Path) -> Path:
    """The folder of a job given by name or path. Raises UsageError."""
    for folder in (jobs_dir / job, Path(job)):
        if folder.is_dir():
            return folder.resolve()
    folders = [p for p in jobs_dir.iterdir() if p.is_dir()] if jobs_dir.is_dir() else []
    jobs = [p for p in folders if p.name[0] != "."]
    latest = sorted(jobs, key=lambda path: path.stat().st_mtime, reverse=True)
    of_sweep = sorted(
        p.name for p in jobs if re.fullmatch(re.escape(job) + r"(-\d+of\d+)?-\d+", p.name)
    )
    if of_sweep:
        hint = f"{job} is a sweep; its jobs: {', '.join(of_sweep[:8])}"
    elif latest:
        hint = f"the latest in {jobs_dir}: {', '.join(p.name for p in latest[:3])}"
    else:
        hint = f"there is none in {jobs_dir}: --jobs-dir names another folder of jobs"
    raise UsageError(f"no job {job!r}", hint=hint)


def shown(path: Path) -> str:
    """`path` as a person here would type it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _print_ladders(job: Job) -> None:
    for task in dict.fromkeys(t.task for t in job.trials):
        trials = [t for t in job.trials if t.task == task and t.milestones]
        if trials and len(trials) <= _MOST_SIDE_BY_SIDE:
            click.echo(f"\n{task}\n{side_by_side(trials)}")
    told: dict[str, list[Trial]] = {}
    for trial in job.trials[:_MOST_SIDE_BY_SIDE]:
        told.setdefault(_ending(trial), []).append(trial)
    names = labels(job.trials)
    for ending, trials in told.items():
        if ending:
            who = ", ".join(dict.fromkeys(names[trial.name] for trial in trials))
            click.echo(f"\n{who} {ending}")


def _ending(trial: Trial) -> str:
    """Where a trial stopped and what its agent's end was, as said behind its label."""
    parts = []
    failed = next((m for m in trial.milestones if m.status == "failed"), None)
    if failed and failed.first_failure:
        parts.append(f"stopped at {failed.id}:\n{ladder([failed])}")
    if trial.cause_message and not trial.cause:
        parts.append(f"ended: {trial.cause_message}")
    if ended := script_end(trial):
        parts.append(f"ended: {ended}")
    return "\n".join(parts)


def _print_state(job: Job) -> None:
    click.echo("\n" + summary(job.trials))
    errors = [t for t in job.trials if t.verdict is Verdict.ERROR]
    for cause in dict.fromkeys(t.cause for t in errors):
        same = [t for t in errors if t.cause == cause]
        example = next((t.cause_message for t in same if t.cause_message), "")
        why = f": {one_line(example, 200)}" if example else ""
        click.echo(f"  error, {len(same)}×: {cause}{why}")
    left = (job.planned or 0) - len(job.trials)
    if job.running:
        unfinished = plural(max(left, 0), "trial is", "trials are")
        click.echo(f"running: {unfinished} not finished yet")
    elif left > 0 or job.unfinished:
        count = max(left, len(job.unfinished))
        click.echo(as_typed(f"not finished: {count}; continue with: benchflow resume {job.name}"))
    for problem in job.problems:
        click.echo(f"problem: {shown(problem.path)} {problem.message}")
    if job.trials:
        click.echo(f"where: {shown(job.path)}")
