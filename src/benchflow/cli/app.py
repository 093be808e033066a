"""The group of verbs, and what becomes of errors: a sentence, a hint and an exit status."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from benchflow import __version__
from benchflow.errors import BenchflowError, UsageError

#: Verbs in the order in which a person needs them; each is a module `benchflow.cli.<verb>` with a
#: command of that name. Loaded only when asked for, so that `--help` answers at once.
VERBS = {
    "doctor": "Say what this machine can do, and what is missing.",
    "tasks": "List, show, validate and export the tasks.",
    "agents": "Install coding agents once, for all sandboxes.",
    "run": "Let agents try tasks; boot what they built.",
    "drive": "Work on a trial from outside: run, put, get, submit, MCP.",
    "verify": "Boot a file made by anyone and print its ladder.",
    "credit": "Say which step of an agent earned which milestone.",
    "new": "Make a task that already boots something, or draw one.",
    "generators": "Show what tasks can be drawn from seeds.",
    "play": "Try a task yourself: a shell, the clock, submit.",
    "check": "Run the gates that a task has to pass.",
    "review": "Show a task on one page, for its reviewer.",
    "rate": "Ask experts what they think of tasks; read what they say.",
    "arena": "Let people compare two deliverables, blind; read what they say.",
    "results": "Show trials, verdicts, ladders, times and evidence.",
    "report": "Compare agents, with error bars for tasks and re-runs.",
    "compare": "Compare two agents, paired by task.",
    "export": "Write tables of trials, milestones and steps for other tools.",
    "site": "Make a folder of pages of finished trials.",
    "serve": "Serve the pages of site on this machine, live while a job runs.",
    "resume": "Continue a job that was stopped.",
    "sweep": "Run a whole matrix from one file; continue after any stop.",
    "merge": "Make one job of those that several machines ran.",
    "watch": "Follow a job or a sweep while it runs.",
    "clean": "Show what benchflow keeps here, and free space.",
}

BROKEN_PIPE = 141
INTERRUPTED = 130
BUG = 70
FAILED = 4
#: What writing to a stream may meet with.
_OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class Verbs(click.Group):
    """A group that imports a verb when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"benchflow.cli.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            Path.cwd()
        except FileNotFoundError:
            raise UsageError(
                "the working directory was deleted", hint="cd to a folder that is there"
            ) from None
        return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS:
            import difflib

            close = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(VERBS)}."
            raise click.UsageError(f"no command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.command(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done, 1 a deliverable failed, 2 wrong usage, 3 a task is wrong, "
    "4 infrastructure failed, 70 a bug of benchflow, 130 interrupted, 141 the output was closed.",
)
@click.version_option(__version__, message="benchflow %(version)s")
def benchflow() -> None:
    """Hard systems tasks for coding agents, verified by booting what they built.

    \b
    First steps:
      benchflow doctor                                      can this machine run benchflow?
      benchflow tasks                                       what is there to try?
      benchflow run repair/dead-server --agent oracle       watch the ladder fill up
      benchflow results                                     what came out; where is the evidence?
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit status; prints errors, never a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup(1) asks for
            signal.signal(number, _stop)
    try:
        status = benchflow.main(args=given, prog_name="benchflow", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)  # the help: nothing was done
        return error.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "benchflow"
        return _say(given, error.format_message(), f"see {where} --help", error.exit_code, error)
    except click.ClickException as error:
        return _say(given, error.format_message(), "", error.exit_code, error)
    except BenchflowError as error:
        return _say(given, error.message, error.hint, error.exit_code, error)
    except (KeyboardInterrupt, click.Abort):
        _debug()
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader went away, which is its right; click makes a SystemExit of that. Python would
        # complain again at exit.
        _to_nowhere()
        return BROKEN_PIPE
    except OSError as error:
        # A file or folder of the user's, a full disk: ours are caught where we know more.
        if error.filename is None and error.errno in _OF_OUTPUT:
            _to_nowhere()
            message = f"standard output: {error.strerror}"
            return _say(given, message, "send it where there is room", FAILED, error)
        where = error.filename or "input or output"
        hint = "see whether it is there, may be used by you, and has room; BENCHFLOW_DEBUG=1: where"
        return _say(given, f"{where}: {error.strerror or error}", hint, FAILED, error)
    except Exception as error:
        log = _write_crash_log(given)
        hint = f"please report it with {log}" if log else "set BENCHFLOW_DEBUG=1 to see where"
        message = f"this is a bug of benchflow: {type(error).__name__}: {error}"
        return _say(given, message, hint, BUG, error)


def _to_nowhere() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Being asked to end is like Ctrl-C: what was started is stopped on the way out."""
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


def _say(given: list[str], message: str, hint: str, status: int, error: BaseException) -> int:
    from benchflow.base.text import printable
    from benchflow.cli.as_typed import as_typed

    _debug()
    print(f"error: {printable(message, 8000)}", file=sys.stderr)
    if hint:
        print(f"hint:  {printable(as_typed(hint))}", file=sys.stderr)
    own = given[: given.index("--")] if "--" in given else given
    if "--json" in own:
        import json

        kind = type(error).__name__
        fault = {"kind": kind, "message": message, "hint": hint, "exit_status": status}
        print(json.dumps({"schema": 1, "error": fault}, indent=2))
    return status


def _debug() -> None:
    if os.environ.get("BENCHFLOW_DEBUG"):
        import traceback

        traceback.print_exc()


def _write_crash_log(given: list[str]) -> Path | None:
    import platform
    import traceback

    from benchflow.base.home import home

    text = (
        f"benchflow {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"arguments: {given}\n\n{traceback.format_exc()}"
    )
    try:
        folder = home() / "crashes"
        folder.mkdir(exist_ok=True)
        path = folder / f"{time.strftime('%Y-%m-%d__%H-%M-%S')}-{os.getpid()}.log"
        path.write_text(text)
    except OSError:
        print(text, file=sys.stderr)
        return None
    return path


if __name__ == "__main__":
    raise SystemExit(run())
