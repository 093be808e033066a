"""`benchflow new`: a task that already boots something."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("new")
@click.argument("name", metavar="TOPIC/NAME")
@click.option("--like", metavar="TASK", help="Start from a copy of this task.")
@click.option("--seed", type=click.IntRange(0), metavar="SEED", help="Seed of a drawn task.")
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="PART",
    help="Instead of a seed: a part of the drawn task. Repeat it.",
)
@click.option(
    "--level", type=int, help="Level of the drawn task, 1 to 5.  [default: the generator's]"
)
@click.option("--author", default="", help="Your name: it is shown wherever the task is.")
@click.option(
    "--in",
    "top",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to make it in.  [default: the catalogue; for a drawn task the current folder]",
)
def command(
    name: str,
    like: str | None,
    seed: int | None,
    parts: tuple[str, ...],
    level: int | None,
    author: str,
    top: Path | None,
) -> None:
    """Make a new task that already boots something, to be made into yours.

    It has three milestones, an oracle that reaches them, and an exploit that gains what it declares
    and no more; `benchflow check` then says what to do next.

    A task for this catalogue is taken in as CONTRIBUTING.md says: two people who are not its author
    review it, one of them blind, and all three are named with what they did in task.toml, on the
    pages, in exports and in CITATION.cff. `--author` is the first of these names.

    With --seed or --part NAME is a generator (`benchflow generators` lists them), which draws the
    whole task: by the seed, or with exactly the parts that are named, to try them. What was drawn
    is explained.

    \b
    Examples:
      benchflow new embedded/router --author "A. Engineer"
      benchflow new repair/dead-router --like repair/dead-server
      benchflow new repair/server --seed 17 --level 4 --in ./drawn
    """
    if parts and seed is not None:
        raise click.UsageError("--part is instead of --seed")
    if parts or seed is not None:
        if like or author:
            raise click.UsageError("--seed draws the whole task: leave --like and --author out")
        _draw(name, seed, parts, level, top or Path())
        return
    if level is not None:
        raise click.UsageError("--level is for a task that is drawn: add --seed")
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
            f"  benchflow check {where} --fast                      what is asked of a task\n"
            "  CONTRIBUTING.md, “A task from outside”: how it is taken in, and credited"
        )
    )


def _draw(
    name: str, seed: int | None, parts: tuple[str, ...], level: int | None, top: Path
) -> None:
    from benchflow.errors import UsageError
    from benchflow.generators.instances import named
    from benchflow.generators.spec import chosen, spec
    from benchflow.generators.write import explanation, write
    from benchflow.tasks.catalogue import root
    from benchflow.tasks.load import load

    generator = named(name, root())
    level = level or generator.told.default_level
    drawn = chosen(generator, parts) if seed is None else spec(generator, level, seed)
    target = top / drawn.name
    if target.exists():
        raise UsageError(f"{target} exists", hint="name another folder with --in, or remove it")
    write(generator, drawn, root(), target)
    load(target)
    click.echo(explanation(generator, drawn))
    click.echo(f"made {target}")
    click.echo(f"next: benchflow run {target} --agent nop --agent oracle")
