"""`benchflow drive`: works on a trial that waits for somebody outside."""

from __future__ import annotations

import base64
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from benchflow.cli.options import jobs_dir_option, json_option, print_json
from benchflow.errors import BenchflowError

#: As for timeout(1): the command ran into its timeout; it was not run at all.
TIMED_OUT, NOT_RUN = 124, 125
_SECONDS = 600.0


class NotRun(BenchflowError):
    """`drive run` has no exit status of a command to give back."""

    exit_code = NOT_RUN


class _Drive(click.Group):
    """A group that may be given the trial's name before the command's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = len(args) > 1 and args[1] in self.commands and args[0] not in self.commands
        if named and not args[0].startswith("-"):
            ctx.meta["benchflow.trial"] = args.pop(0)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group("drive", cls=_Drive, subcommand_metavar="[JOB/TRIAL] COMMAND [ARGS]...")
def command() -> None:
    """Work on a trial that waits for somebody outside: another framework, a model, a person.

    `benchflow run TASK --agent external` starts one; its clock is the task's time for an agent.
    JOB/TRIAL is needed where several wait. One call at a time; all of it is recorded like any
    other agent's work. docs/external.md tells more.

    \b
    Examples:
      benchflow run repair/dead-server --agent external &
      benchflow drive instruction --wait 600
      benchflow drive run -- 'lsblk && ls /app'
      benchflow drive put ./fixed.img /app/out/server.img
      benchflow drive submit
      benchflow drive mcp                          a server for an MCP client
    """


def _driven[F: Callable[..., Any]](function: F) -> F:
    """The options that each call shares."""
    wait = click.option(
        "--wait",
        type=click.FloatRange(0),
        default=0.0,
        metavar="SECONDS",
        help="Seconds to wait until a trial can be driven.  [default: 0]",
    )
    return wait(jobs_dir_option(json_option(function)))


def _call(jobs_dir: Path, wait: float, op: str, **arguments: Any) -> dict[str, Any]:
    import asyncio

    from benchflow.agents.external.client import call
    from benchflow.run.live.waiting import find

    name = click.get_current_context().meta.get("benchflow.trial", "")
    return asyncio.run(call(find(name, jobs_dir, wait), op, **arguments))


@command.command("instruction")
@_driven
def instruction_command(jobs_dir: Path, wait: float, as_json: bool) -> None:
    """Print what the task asks for.

    \b
    Example:
      benchflow drive instruction
    """
    answer = _call(jobs_dir, wait, "instruction")
    if as_json:
        print_json({"schema": 1, **answer})
    else:
        click.echo(answer["instruction"])


@command.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("words", nargs=-1, required=True, metavar="-- CMD...", type=click.UNPROCESSED)
@click.option(
    "--timeout",
    type=click.FloatRange(0),
    default=_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="End the command, with all that it has started, after so long (0: never).",
)
@click.option("--cwd", default="", metavar="FOLDER", help="Where, in the sandbox.")
@click.option(
    "--max-output",
    type=click.IntRange(0, 16 << 20),
    default=1 << 20,
    show_default=True,
    metavar="BYTES",
    help="Of each stream: its beginning and its end, with a line that says what is missing.",
)
@_driven
def run_command(
    words: tuple[str, ...],
    timeout: float,
    cwd: str,
    max_output: int,
    jobs_dir: Path,
    wait: float,
    as_json: bool,
) -> int:
    """Run a command in the sandbox; its output and its exit status are passed on.

    One word is a line for the shell, several are a program and its arguments as they are. What a
    command leaves running when it ends stays; what runs when its driver is interrupted is ended.

    \b
    Examples:
      benchflow drive run -- 'make -C /app 2>&1 | tail -20'
      benchflow drive run -- cat /app/notes.txt
      benchflow drive run --timeout 5 -- 'setsid ./build.sh >/tmp/log 2>&1 </dev/null &'

    Exit status: the command's; 124 when it ran into its timeout, 125 when it was not run.
    """
    line = words[0] if len(words) == 1 else shlex.join(words)
    try:
        answer = _call(
            jobs_dir, wait, "run", command=line, timeout=timeout, cwd=cwd, most=max_output
        )
    except BenchflowError as error:
        raise NotRun(error.message, hint=error.hint) from error
    if as_json:
        from benchflow.agents.external.shown import shown

        print_json({"schema": 1, **shown(answer)})
    else:
        _print(answer, timeout)
    return TIMED_OUT if answer["timed_out"] else int(answer["status"])


def _print(answer: dict[str, Any], timeout: float) -> None:
    for stream in ("stdout", "stderr"):
        out = getattr(sys, stream).buffer
        out.write(base64.b64decode(answer[stream]))
        out.flush()
    for stream, missing in answer["left_out"].items():
        if missing:
            hint = "--max-output, or into a file and get it"
            click.echo(f"benchflow: {missing} bytes of {stream} left out ({hint})", err=True)
    if answer["timed_out"]:
        click.echo(f"benchflow: timed out after {timeout:g} s (--timeout)", err=True)


@command.command("put")
@click.argument("local", type=click.Path(path_type=Path, exists=True))
@click.argument("remote")
@_driven
def put_command(local: Path, remote: str, jobs_dir: Path, wait: float, as_json: bool) -> None:
    """Copy a file into the sandbox, or what is in a folder; sparse files stay sparse.

    \b
    Example:
      benchflow drive put ./fixed.img /app/out/server.img
    """
    answer = _call(jobs_dir, wait, "put", source=str(local.absolute()), target=remote)
    if as_json:
        print_json({"schema": 1, **answer})


@command.command("get")
@click.argument("remote")
@click.argument("local", type=click.Path(path_type=Path))
@_driven
def get_command(remote: str, local: Path, jobs_dir: Path, wait: float, as_json: bool) -> None:
    """Copy a file or folder out of the sandbox; a file is replaced, a folder must be new.

    \b
    Example:
      benchflow drive get /var/log/build.log .
    """
    answer = _call(jobs_dir, wait, "get", source=remote, target=str(local.absolute()))
    if as_json:
        print_json({"schema": 1, **answer})


@command.command("time")
@_driven
def time_command(jobs_dir: Path, wait: float, as_json: bool) -> None:
    """Show how long the trial has run, and how much time is left.

    \b
    Example:
      benchflow drive time --json
    """
    from benchflow.base.numbers import duration

    answer = _call(jobs_dir, wait, "time")
    if as_json:
        print_json({"schema": 1, **answer})
        return
    left = "no limit" if answer["left"] is None else f"{duration(answer['left'])} left"
    click.echo(f"{duration(answer['worked'])} worked, {left}")


@command.command("submit")
@_driven
def submit_command(jobs_dir: Path, wait: float, as_json: bool) -> None:
    """Hand the work in as it is. It is verified then, and nothing can be changed any more.

    \b
    Example:
      benchflow drive submit
    """
    answer = _call(jobs_dir, wait, "submit")
    if as_json:
        print_json({"schema": 1, **answer})
    else:
        click.echo("handed in; it is verified now: benchflow watch, benchflow results")


@command.command("mcp")
@click.argument("trial", default="", metavar="[JOB/TRIAL]")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Share this folder of the host's: tools put and get copy from and to it.",
)
@click.option(
    "--wait",
    type=click.FloatRange(0),
    default=0.0,
    metavar="SECONDS",
    help="Seconds that the first call waits until a trial can be driven.  [default: 0]",
)
@jobs_dir_option
def mcp_command(trial: str, folder: Path | None, wait: float, jobs_dir: Path) -> None:
    """Serve the same calls as tools of the Model Context Protocol, on standard input and output.

    Tools: instruction, run, read_file, write_file, time_left, submit; with --folder, put and get.
    The server works on one trial: the first that it finds waiting.

    \b
    Examples:
      benchflow drive mcp
      benchflow drive mcp 2026-01-31__12-00-00/dead-server__AbC --folder ./shared
    """
    import asyncio

    from benchflow.agents.external.tools import server
    from benchflow.run.live.waiting import find

    name = trial or click.get_current_context().meta.get("benchflow.trial", "")

    async def found() -> Path:
        return await asyncio.to_thread(find, name, jobs_dir, wait)

    server(found, folder.resolve() if folder else None).run("stdio")
