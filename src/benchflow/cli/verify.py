"""`benchflow verify`: boots a file made by anyone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchflow.cli.options import jobs_dir_option, json_option, pairs, print_json
from benchflow.errors import UsageError

if TYPE_CHECKING:
    from benchflow.run.verify.verification import VerifyRequest


@click.command("verify")
@click.argument("task")
@click.argument("deliverable", required=False, type=click.Path(path_type=Path))
@click.option(
    "-d",
    "--deliverable",
    "more",
    multiple=True,
    callback=pairs,
    metavar="PATH=FILE",
    help="For tasks with several: what PATH of the task is. Repeat it.",
)
@click.option(
    "--milestone",
    "milestones",
    multiple=True,
    metavar="ID",
    help="Only this one and what it requires; no verdict. Repeat it.",
)
@click.option(
    "--from-trial",
    default="",
    metavar="JOB/TRIAL",
    help="For a sequel: the earlier trial that the work began from.",
)
@jobs_dir_option
@click.option("--step", default="", help="Step of a task that has several.")
@click.option(
    "--sandbox",
    type=click.Choice(["namespace", "none"]),
    default="namespace",
    show_default=True,
    help="none: run the verifier on this host, unprotected, for authors.",
)
@click.option(
    "--logs",
    type=click.Path(path_type=Path, file_okay=False),
    help="New folder for the evidence.  [default: ./verified/TASK__TIME]",
)
@click.option("--keep", is_flag=True, help="Keep the sandbox for a look inside.")
@click.option(
    "--release",
    default="",
    metavar="NAME",
    help="Debian release of the verifier, for its QEMU: trixie.  [default: bookworm]",
)
@json_option
def command(
    task: str,
    deliverable: Path | None,
    more: dict[str, str],
    milestones: tuple[str, ...],
    from_trial: str,
    jobs_dir: Path,
    step: str,
    sandbox: str,
    logs: Path | None,
    keep: bool,
    release: str,
    as_json: bool,
) -> int:
    """Boot a file made by anyone and say how far it gets.

    No agent and no Harbor: the file is put where TASK expects its deliverable, in a clean sandbox
    without a network, and is booted and questioned there.

    \b
    Examples:
      benchflow verify repair/dead-server ./disk.img
      benchflow verify spin/appliance --deliverable /app/out/appliance.img=./a.img
      benchflow verify ./my-task ./disk.img --sandbox none      while you write the checks
      benchflow verify repair/dead-server ./disk.img --release trixie     by another QEMU
      benchflow verify repair/dead-server ./disk.img --milestone boots    these checks alone

    With --milestone the checks of these milestones and of what they require are run, milestone by
    milestone, until one fails, and no machine is started that they do not need. That is for work
    under way: it is no verdict, there is no reward, and nothing can be published of it.

    Exit status: 0 resolved (all milestones that were named passed), 1 failed, 4 when the verifier
    itself broke.
    """
    from benchflow.cli.live import display_alone
    from benchflow.cli.render import print_trial, shown
    from benchflow.results import to_json
    from benchflow.results.model import Verdict
    from benchflow.run.job.from_trial import begun_from
    from benchflow.run.verify.verification import VerifyRequest, free_folder, match, verify
    from benchflow.tasks import find

    if release and sandbox == "none":
        raise UsageError(
            "--release chooses the verifier's image, and --sandbox none has none",
            hint="leave one of the two out",
        )
    if sandbox == "none":
        click.echo("unsandboxed: the verifier and what it boots run on this host", err=True)
    found = find(task)
    request = VerifyRequest(
        task=found,
        given=match(found, deliverable, {key: Path(value) for key, value in more.items()}),
        folder=(logs or free_folder(found, Path("verified"))).resolve(),
        step=step,
        begun=begun_from(found, from_trial, jobs_dir),
        sandboxed=sandbox != "none",
        keep=keep,
        release=release,
        milestones=milestones,
    )
    if milestones:
        return _some(request, as_json=as_json)
    with display_alone(quiet=as_json) as listener:
        outcome = verify(request, listener)
    if as_json:
        print_json({"schema": 1, "notes": outcome.notes, "trial": to_json.trial(outcome.trial)})
    else:
        click.echo()
        print_trial(outcome.trial)
        for note in outcome.notes:
            click.echo(f"note: {note}")
    if outcome.kept:
        click.echo(f"sandbox kept in {shown(outcome.kept)}", err=True)
    return {Verdict.RESOLVED: 0, Verdict.FAILED: 1, Verdict.ERROR: 4}[outcome.trial.verdict]


def _some(request: VerifyRequest, *, as_json: bool) -> int:
    """Of some milestones alone: what is printed says that it is no verdict."""
    from benchflow.cli.live import display_alone
    from benchflow.cli.render import print_partial, shown
    from benchflow.results import to_json
    from benchflow.run.verify.verification import verify_partly

    with display_alone(quiet=as_json) as listener:
        outcome = verify_partly(request, listener)
    partial = outcome.partial
    if as_json:
        print_json({"schema": 1, "notes": outcome.notes, "partial": to_json.plain(partial)})
    else:
        click.echo()
        print_partial(partial)
        for note in outcome.notes:
            click.echo(f"note: {note}")
    if outcome.kept:
        click.echo(f"sandbox kept in {shown(outcome.kept)}", err=True)
    if partial.cause:
        return 4
    return int(not set(partial.asked) <= set(partial.named("passed")))
