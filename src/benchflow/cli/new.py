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
@click.option(
    "--from-repo",
    "repository",
    metavar="PATH|URL[@COMMIT]",
    help="Propose a task from a repository, without executing anything of it.",
)
@click.option(
    "--services",
    default="",
    metavar="KIND,…",
    help="Services that this project needs, as postgresql,redis: reading may not tell.",
)
@click.option("--licence", default="", metavar="SPDX", help="Its licence, where no file says it.")
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
    repository: str | None,
    services: str,
    licence: str,
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

    With --from-repo the task is about a repository: a folder, a git repository, an archive of
    sources or a Debian source package. What it needs, how it is built, run and tested is inferred
    from its files and written to repo.toml, each value with the line that it comes from; what
    cannot be inferred is asked there (docs/onboarding.md).

    \b
    Examples:
      benchflow new embedded/switch --author "A. Engineer"
      benchflow new onboard/notes --from-repo ../notes@v1.2 --services redis
      benchflow new repair/dead-router --like repair/dead-server
      benchflow new repair/server --seed 17 --level 4 --in ./drawn
    """
    if repository is not None:
        if like or parts or seed is not None or level is not None:
            raise click.UsageError("--from-repo makes the whole task: name no other source")
        _propose(repository, name, author, top, licence, services)
        return
    if services or licence:
        raise click.UsageError("--services and --licence are about a repository: add --from-repo")
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


def _propose(
    repository: str, name: str, author: str, top: Path | None, licence: str, services: str
) -> None:
    from benchflow.authoring.onboard.task_folder import propose
    from benchflow.cli.as_typed import as_typed

    kinds = tuple(kind.strip() for kind in services.split(",") if kind.strip())
    task = propose(
        repository,
        name,
        author=author,
        top=top,
        licence_told=licence,
        services=kinds,
        told=click.echo,
    )
    click.echo(f"made {task.path}")
    where = task.name if top is None else str(task.path)
    click.echo(
        as_typed(
            f"next: read {task.path / 'repo.toml'}\n"
            f"  benchflow check {where} --fast    what is asked of a task\n"
            "  docs/onboarding.md leads from here to a task that can be merged"
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
