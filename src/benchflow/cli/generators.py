"""`benchflow generators`: what can be drawn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchflow.cli.options import json_option, print_json

if TYPE_CHECKING:
    from benchflow.generators import Generator


@click.command("generators")
@click.argument("name", required=False, metavar="[TOPIC/NAME]")
@click.option(
    "--secret",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Print a private split of NAME: tasks whose seeds follow from FILE.",
)
@click.option(
    "--count",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Tasks of the private split.  [default: 20]",
)
@json_option
def command(name: str | None, secret: Path | None, count: int | None, as_json: bool) -> None:
    """Show what tasks can be drawn from seeds: generators, levels, parts.

    A drawn task is named wherever a task is: TOPIC/NAME#SEED, TOPIC/NAME#FIRST..LAST, and @LEVEL
    behind it for another level than the generator's own. docs/generators.md says what is promised.

    With --secret it prints the names of tasks whose seeds follow from FILE, of levels 2 to 5 in
    turn. Who has the file has the same tasks, as long as the generator is at the same version.

    \b
    Examples:
      benchflow generators
      benchflow generators repair/server
      benchflow new repair/server --seed 17 --level 4
      benchflow run 'repair/server#1..3@2' --agent oracle
      head -c 32 /dev/urandom > secret
      benchflow generators repair/server --secret secret --count 50 > names
      benchflow run $(head -4 names) --agent oracle
    """
    from benchflow.errors import UsageError
    from benchflow.generators import generators
    from benchflow.generators.instances import named, private
    from benchflow.tasks.catalogue import root

    if count and not secret:
        raise UsageError("--count is of a private split", hint="add --secret FILE")
    if secret:
        if not name:
            raise UsageError("--secret needs a generator", hint="name one: TOPIC/NAME")
        one = named(name, root())
        split = private(one, secret.read_bytes(), count or 20, [n for n in one.levels if n > 1])
        references = [instance.reference for instance in split]
        if as_json:
            print_json({"schema": 1, "generator": one.name, "instances": references})
        else:
            click.echo("\n".join(references))
        return
    found = [named(name, root())] if name else list(generators(root()).values())
    if as_json:
        print_json({"schema": 1, "generators": [_told(one) for one in found]})
        return
    for number, one in enumerate(found):
        if number:
            click.echo("")
        _print(one, parts=bool(name))


def _told(one: Generator) -> dict[str, object]:
    return {
        "name": one.name,
        "version": one.version,
        "description": one.told.description,
        "default_level": one.told.default_level,
        "levels": {str(n): level.model_dump() for n, level in one.levels.items()},
        "layers": one.layers,
        "parts": {
            part.name: {
                "title": part.title,
                "layer": part.layer,
                "silent": part.silent,
                "breaks": part.breaks,
                "conflicts": sorted(part.conflicts),
                "interacts": part.interacts,
            }
            for part in one.parts.values()
        },
        "splits": {name: len(pinned) for name, pinned in one.told.splits.items()},
    }


def _print(one: Generator, *, parts: bool) -> None:
    from benchflow.cli.table import table

    silent = sum(part.silent for part in one.parts.values())
    click.echo(f"{one.name}, version {one.version}: {one.told.description}")
    click.echo(
        f"{len(one.parts)} parts in {len(one.layers)} layers, {silent} of them silent; "
        f"{one.pairs} pairs that make each other harder\n"
    )
    rows = [
        [
            f"{number}{' (default)' if number == one.told.default_level else ''}",
            str(level.parts), str(level.layers), str(level.silent), str(level.pairs),
            str(level.blocking), _about(math.comb(len(one.parts), level.parts)),
        ]
        for number, level in one.levels.items()
    ]  # fmt: skip
    header = ["level", "parts", "layers", "silent", "pairs", "blocking", "choices"]
    click.echo(table(header, rows))
    click.echo(one.kind.levels)
    click.echo("choices: sets of so many parts, at most; some parts exclude each other.\n")
    for name, pinned in one.told.splits.items():
        click.echo(f"split {name}: {len(pinned)} instances (benchflow tasks --split {name})")
    if parts:
        from benchflow.authoring.parts_tried import holding
        from benchflow.tasks.catalogue import root

        good = holding(one, root())
        rows = [
            [
                part.name, part.layer, "silent" if part.silent else "", part.bites,
                "yes" if part.name in good else "no", part.title,
            ]
            for part in one.parts.values()
        ]  # fmt: skip
        header = ["part", "layer", "", "first fails", "tried", one.kind.title]
        click.echo("\n" + table(header, rows))
        click.echo(
            f"\ntried: alone or in two companies, as it is today: {one.kind.tried} "
            f"({len(good)} of {len(one.parts)}; benchflow check\n{one.name} --gate parts)"
        )


def _about(count: int) -> str:
    return (
        f"{count:,}"
        if count < 10**6
        else f"{count:.1e}".replace("e+0", " × 10^").replace("e+", " × 10^")
    )
