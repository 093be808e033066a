"""What could not be read as it should be, on stderr: each complaint once, and not by thousands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import click

from benchflow.results.model import Problem

SHOWN = 20


def say_problems(problems: Iterable[Problem], *, rest: str) -> None:
    """A line for each, with how often it came; behind the first `SHOWN`, where the `rest` is."""
    told = Counter(map(str, problems))
    for text, times in [*told.items()][:SHOWN]:
        often = f" ({times:,} times)" if times > 1 else ""
        click.echo(f"problem: {text}{often}", err=True)
    if len(told) > SHOWN:
        click.echo(f"and {len(told) - SHOWN:,} more problems: {rest}", err=True)
