"""Writes docs/cli.md from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator

import click

from benchflow.cli.app import benchflow

_INTRODUCTION = """\
# The command line

For everybody who types commands, to look one up. Made of `--help`; not edited
(`python -m benchflow.reference` makes it again).

Every verb but `new`, `play`, `serve`, `rate serve` and `arena serve`, which talk to a person, and
`drive mcp` takes `--json` ([reference/json.md](reference/json.md) has the shapes). An error is one
line `error: …` with a `hint: …` under it, and an exit status that says whose it is.

| status | meaning |
|---|---|
| 0 | done; of `run`, `play` and `resume`: every trial was judged, whatever the verdict |
| 1 | a deliverable or a gate failed |
| 2 | the command line, or a path or name on it, is wrong |
| 3 | a task is wrong, or asks for what this machine does not have: nothing was started |
| 4 | infrastructure failed: a trial without a verdict, a full disk, a file that cannot be used |
| 70 | a bug of benchflow: no input should bring it about |
| 130 | interrupted; finished trials are kept |
| 141 | nobody reads the output any more |

| variable | meaning |
|---|---|
| `BENCHFLOW_HOME` | images, layers, staged tasks, live sandboxes (default `~/.cache/benchflow`) |
| `BENCHFLOW_TASKS` | the folder of the catalogue (default `tasks/` of the checkout) |
| `BENCHFLOW_IMAGES` | a folder of OCI images, asked before any registry (docs/sandbox.md) |
| `BENCHFLOW_REGISTRY` | `auto` (default), `never` or `always` ask a registry for bases |
| `BENCHFLOW_SHARED_FOLDER` | `never`: a cluster sends trials through Ray alone (docs/scale.md) |
| `BENCHFLOW_DEBUG` | `1`: errors come with their traceback |
| `HARBOR_TELEMETRY` | `on` lets Harbor report each job to its makers; off unless you set it |
"""


def reference() -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    for path, command, context in _walk(benchflow, None, "benchflow"):
        parts.append(f"## {path}\n\n```\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def _walk(
    command: click.Command, parent: click.Context | None, name: str
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(
        command,
        parent=parent,
        info_name=name,
        terminal_width=100,
        max_content_width=100,
        help_option_names=["-h", "--help"],
    )
    yield context.command_path, command, context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from _walk(found, context, child)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
