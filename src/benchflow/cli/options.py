"""Options that several verbs share."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from benchflow.cli.streams import takes_all


class FiniteRange(click.FloatRange):
    """A range of numbers that are some: nan and inf are in every range of click's, and limit
    nothing."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value} is no finite number", param, ctx)
        return found


def json_option[F: Callable[..., Any]](function: F) -> F:
    """`--json`: one JSON document on stdout instead of text, errors included."""
    return click.option("as_json", "--json", is_flag=True, help="Print JSON instead of text.")(
        function
    )


def jobs_dir_option[F: Callable[..., Any]](function: F) -> F:
    """`--jobs-dir`: the folder that jobs are kept in."""
    return click.option(
        "--jobs-dir",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("jobs"),
        show_default="./jobs",
        help="Folder that jobs are kept in.",
    )(function)


def engine_options[F: Callable[..., Any]](function: F) -> F:
    """`--engine` and `--address`: where trials run."""
    function = click.option(
        "--address",
        default="auto",
        metavar="HOST:PORT",
        help="The head of the Ray cluster.  [default: the one that this machine belongs to]",
    )(function)
    return click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Run trials on this machine, or on the nodes of a Ray cluster (docs/scale.md).",
    )(function)


def assume_version_option[F: Callable[..., Any]](function: F) -> F:
    """`--assume-version`: join trials of an unknown version to those of the known one."""
    return click.option(
        "--assume-version",
        is_flag=True,
        help="Count trials that do not say which version of a task they tried as trials of the "
        "one that others name.",
    )(function)


def pairs(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """Callback for options of the form KEY=VALUE that may be repeated."""
    found: dict[str, str] = {}
    for value in values:
        key, separator, text = value.partition("=")
        if not separator or not key:
            raise click.BadParameter(f"{value!r} is not KEY=VALUE")
        found[key] = text
    return found


def print_json(value: Any) -> None:
    """Prints `value` as one JSON document; dataclasses and paths are made plain."""
    import json

    from benchflow.results.to_json import plain

    is_ascii = not takes_all(sys.stdout)
    click.echo(json.dumps(plain(value), indent=2, ensure_ascii=is_ascii))


def need_analysis() -> None:
    """Raises MissingTool where the statistics libraries were not installed."""
    from importlib.util import find_spec

    from benchflow.errors import MissingTool

    if find_spec("scipy") is None or find_spec("statsmodels") is None:
        raise MissingTool(
            "the statistics libraries are not installed", hint="uv sync --extra analysis"
        )
