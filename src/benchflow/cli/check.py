"""`benchflow check`: the gates that make a task honest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchflow.cli.options import json_option, print_json
from benchflow.errors import UsageError

if TYPE_CHECKING:
    from benchflow.authoring.gate import GateResult
    from benchflow.run.live.progress import Listener
    from benchflow.tasks import Task

#: Gates that read files alone: they are through before anybody could read a line about them.
_READ = ("schema", "coverage", "leaks")


@click.command("check")
@click.argument("task", nargs=-1, required=True)
@click.option(
    "--gate", "gates", multiple=True, metavar="NAME", help="Run only this gate. Repeat it."
)
@click.option("--fast", is_flag=True, help="Only schema, coverage, leaks, nop (and --gate).")
@click.option("--due", is_flag=True, help="Only gates that are not recorded as passed.")
@click.option("--again", is_flag=True, help="Run gates again that were judged, with new trials.")
@click.option("--matrix", is_flag=True, help="Only print which check proves which requirement.")
@click.option("--record", is_flag=True, help="Record the outcomes in gates.json, beside the tasks.")
@click.option(
    "--part", "parts", multiple=True, metavar="NAME", help="Of a generator: only this part."
)
@click.option(
    "--release",
    default="",
    metavar="NAME",
    help="Of second-host: Debian release of the verifier, for its QEMU: trixie.",
)
@click.option(
    "--hosts",
    "hosts",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Of second-host: another machine's hosts.json. Repeat it.",
)
@click.option("--write", is_flag=True, help="Write the oracle's measured times into task.toml.")
@json_option
def command(
    task: tuple[str, ...],
    gates: tuple[str, ...],
    fast: bool,
    due: bool,
    again: bool,
    matrix: bool,
    record: bool,
    parts: tuple[str, ...],
    release: str,
    hosts: tuple[Path, ...],
    write: bool,
    as_json: bool,
) -> int:
    """Run the gates that TASK has to pass: one line per gate, with its weak spots.

    A gate that was judged is run again only when what it depends on has changed. Ctrl-C keeps
    finished trials; call it again to continue. docs/reference/gates.md says what each gate asks.

    \b
    Examples:
      benchflow check repair/dead-server --fast
      benchflow check repair/dead-server --gate exploits
      benchflow check repair/dead-server --fast --gate image
      benchflow check 'repair/*' --json
      benchflow check repair/dead-server --matrix
      benchflow check repair/dead-server --gate budget --write
      benchflow check 'spin/*' --due --record
      benchflow check 'repair/server#17'
      benchflow check repair/server --gate parts --part fstab-open
      benchflow check repair/dead-server --gate second-host --release trixie

    Of a generator (benchflow generators) the gates are others: seeds (its draws), parts (each part
    in two companies of others, or alone where it is named: what is handed out earns exactly what
    the parts leave whole, and the oracle repairs them) and sample (an instance of each level). What
    parts came to is kept in tried.json beside it.

    --record writes each outcome, earlier ones included, into gates.json beside the tasks:
    `benchflow tasks` counts it until something changes that the gate depends on. With --due,
    gates that are recorded as passed are not run, so several machines can share the work.

    second-host is run only when it is named. It compares this machine with others, or one QEMU with
    another (--release), and is open until two hosts are known; --record adds what is known to
    hosts.json beside the tasks, --hosts takes another machine's file.

    --write raises time limits that leave too little room, and lowers none. It changes the task, so
    the gates that run it are due again.

    Exit status: 0 when no gate failed, 1 when one did, 4 when one could not be run.
    """
    from benchflow.run.job.harbor_job import keep_quiet
    from benchflow.run.job.worker import Interrupted

    keep_quiet()
    from benchflow.authoring import second_host
    from benchflow.authoring.check import FAST, GATES, check, remembered
    from benchflow.authoring.gate import Status
    from benchflow.authoring.gate_record import due as not_recorded
    from benchflow.authoring.gate_record import record as keep
    from benchflow.authoring.nop_job import Nops
    from benchflow.authoring.trials import Trials
    from benchflow.cli.check_generator import check_generator, generator_of
    from benchflow.cli.gate_progress import GateLine
    from benchflow.run.live.progress import Silence
    from benchflow.tasks import select

    if (generator := generator_of(task)) is not None:
        return check_generator(generator, gates, parts, fast=fast, again=again, as_json=as_json)
    if parts:
        raise UsageError(
            "--part is of a generator", hint="benchflow generators shows which there are"
        )
    if (release or hosts) and second_host.GATE not in gates:
        raise UsageError("--release and --hosts are of one gate", hint="--gate second-host")
    chosen = (*gates, *(FAST if fast else ())) or GATES
    found = select([*task])
    if matrix:
        return _matrix(found, as_json)
    _tell_apart(found)
    wanted = {one.name: not_recorded(one, chosen) if due else chosen for one in found}
    idle = [one for one in found if "nop" in wanted[one.name]]
    idle = [one for one in idle if again or "nop" not in remembered(one)]
    nops = Nops(idle if len(found) > 1 else (), again=again)
    line = GateLine()
    listener = Silence() if as_json else line
    table = {}
    worst = 0
    for one in found:
        if not as_json:
            recorded = len(chosen) - len(wanted[one.name])
            known = f", {recorded} of {len(chosen)} gates recorded as passed" * bool(recorded)
            click.echo(f"{one.name} {one.version}{known}")

        def show(result: GateResult, task: Task = one) -> None:
            if record:
                keep(task)
            if not as_json:
                line.clear()
                _line(result)

        def begin(gate: str) -> None:
            if not as_json and gate not in _READ:
                line.begin(gate)

        try:
            results = check(
                one,
                wanted[one.name],
                listener,
                show,
                begin=begin,
                again=again,
                nops=nops,
                release=release,
                hosts=hosts,
            )
            changes = _write(one, listener) if write else []
        except Interrupted as error:
            raise Interrupted(error.message, hint="call it again to continue") from error
        finally:
            line.clear()
        if record:
            changes.append(str(keep(one)))
            if second_host.GATE in wanted[one.name]:
                changes.append(str(second_host.record(one, Trials(one, Silence()).key)))
        for change in () if as_json else changes:
            click.echo(f"  wrote {change}")
        table[one.name] = [result.to_json() for result in results]
        statuses = {result.status for result in results}
        worst = max(worst, 4 if Status.ERROR in statuses else int(Status.FAILED in statuses))
    if as_json:
        print_json({"schema": 1, "tasks": table})
    return worst


def _tell_apart(found: list[Task]) -> None:
    by_name: dict[str, Task] = {}
    for one in found:
        other = by_name.setdefault(one.name, one)
        if other is not one:
            raise UsageError(
                f"{one.name}: both {other.path} and {one.path}",
                hint="check them in two calls: what is told of a task goes by its name",
            )


def _line(result: GateResult) -> None:
    known = " (known)" if result.cached else ""
    click.echo(
        f"  {result.status:<14} {result.gate:<12} {result.seconds:7.1f} s  {result.summary}{known}"
    )
    for finding in result.findings:
        click.echo(f"                 - {finding}")
    if result.evidence and result.findings:
        click.echo(f"                 evidence: {result.evidence}")


def _write(task: Task, listener: Listener) -> list[str]:
    from benchflow.authoring.measured_times import write
    from benchflow.authoring.trials import Trials

    return write(task, Trials(task, listener).timed_oracles())


def _matrix(found: list[Task], as_json: bool) -> int:
    from benchflow.authoring.static_gates import grid, matrix

    if as_json:
        tasks = {
            one.name: {"requirements": one.requirements, "checks": matrix(one)} for one in found
        }
        print_json({"schema": 1, "tasks": tasks})
        return 0
    for one in found:
        click.echo(f"{one.name} {one.version}")
        for line in grid(one):
            click.echo(line)
    return 0
