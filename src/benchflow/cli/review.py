"""`benchflow review`: one page for a reviewer of a task."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import json_option, print_json
from benchflow.errors import UsageError


@click.command("review")
@click.argument("task")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a self-contained HTML page instead.",
)
@json_option
def command(task: str, page: Path | None, as_json: bool) -> int:
    """Show TASK on one page: instruction, matrix, gates, oracle, exploits, variants, times, sizes.

    Nothing is run: for each gate it shows the outcome that `benchflow check` remembers, or that it
    was not run yet.

    \b
    Examples:
      benchflow review repair/dead-server
      benchflow review repair/dead-server --html review.html

    Exit status: 0 when every gate has passed or does not apply, 1 otherwise.
    """
    from benchflow.run.job.harbor_job import keep_quiet

    keep_quiet()
    from benchflow.authoring.review import review
    from benchflow.authoring.review_page import html, text
    from benchflow.tasks import find

    if as_json and page:
        raise UsageError("--html and --json are two forms of the page", hint="ask for one of them")
    if page and not page.absolute().parent.is_dir():
        raise UsageError(f"{page.absolute().parent}: no such folder", hint="make it first")
    found = review(find(task))
    if as_json:
        gates = {name: result and result.to_json() for name, result in found.gates.items()}
        print_json(
            {
                "schema": 1,
                "task": found.task.name,
                "facts": dict(found.facts),
                "gates": gates,
                "exploits": found.exploits,
                "variants": found.variants,
                "matrix": found.matrix,
                "instruction": found.instruction,
            }
        )
    elif page:
        page.write_text(html(found), encoding="utf-8")
        click.echo(f"wrote {page}")
    else:
        click.echo(text(found))
    return 1 if found.open_gates else 0
