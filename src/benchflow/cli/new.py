"""`benchflow new`: a task that already boots something."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("new")
@click.argument("name", metavar="TOPIC/NAME")
@click.option("--like", metavar="TASK", help="Start from a copy of this task.")
@click.option("--author", default="", help="Your name: it is shown wherever the task is.")
@click.option(
    "--in",
    "top",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to make it in.  [default: the catalogue]",
)
def command(name: str, like: str | None, author: str, top: Path | None) -> None:
    """Make a new task that already boots something, to be made into yours.

    It has three milestones, an oracle that reaches them, and an exploit that gains what it declares
    and no more; `benchflow check` then says what to do next.

    \b
    Examples:
      benchflow new embedded/router --author "A. Engineer"
      benchflow new repair/dead-router --like repair/dead-server
    """
    from benchflow.authoring.new import new
    from benchflow.cli.as_typed import as_typed
    from benchflow.tasks import find

    task = new(name, like=find(like) if like else None, author=author, top=top)
    where = task.name if top is None else str(task.path)
    click.echo(f"made {task.path}")
    click.echo("next:")
    click.echo(
        as_typed(
            f"  benchflow run {where} --agent nop --agent oracle    it boots already\n"
            f"  benchflow check {where} --fast                      what is asked of a task"
        )
    )
