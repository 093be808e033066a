"""`benchflow check` of a generator."""

from __future__ import annotations

import click

from benchflow.authoring import generated
from benchflow.authoring.gate import GateResult, Status
from benchflow.cli.gate_progress import GateLine
from benchflow.cli.options import print_json
from benchflow.errors import UsageError
from benchflow.generators import Generator, generators
from benchflow.run.live.progress import Silence
from benchflow.tasks.catalogue import names, root


def generator_of(named: tuple[str, ...]) -> Generator | None:
    """The generator that was named, alone; None where tasks were."""
    known = generators(root())
    found = [known[name] for name in named if name in known and name not in names()]
    if found and len(named) > 1:
        raise UsageError("a generator is checked alone", hint=f"benchflow check {found[0].name}")
    return found[0] if found else None


def check_generator(
    generator: Generator,
    gates: tuple[str, ...],
    parts: tuple[str, ...],
    *,
    fast: bool,
    again: bool,
    as_json: bool,
) -> int:
    """Runs the gates that were asked for, `seeds` alone with `fast`; the command's exit status."""
    for gate in gates:
        if gate not in generated.GATES:
            known = ", ".join(generated.GATES)
            raise UsageError(f"no gate {gate!r} of generators", hint=f"the gates: {known}")
    for name in parts:
        if name not in generator.parts:
            raise UsageError(
                f"{generator.name} has no part {name!r}",
                hint=f"benchflow generators {generator.name}",
            )
    chosen = gates or (("seeds",) if fast else ("parts",) if parts else generated.GATES)
    line = GateLine()
    listener = Silence() if as_json else line
    results = []

    def report(result: GateResult) -> None:
        line.clear()
        if not as_json:
            click.echo(f"    {result.status:<12} {result.gate:<12} {result.summary}")

    def begin(what: str) -> None:
        if not as_json:
            line.clear()
            line.begin(what)

    if not as_json:
        click.echo(f"{generator.name}, version {generator.version}")
    for gate in chosen:
        if gate == "seeds":
            result = generated.seeds(generator, root())
        elif gate == "parts":
            result = generated.parts(generator, root(), parts, listener, begin=begin, again=again)
        else:
            result = generated.sample(generator, listener, root(), report)
        line.clear()
        results.append(result)
        if not as_json:
            click.echo(f"  {result.status:<14} {result.gate:<12} {result.summary}")
            for finding in result.findings:
                click.echo(f"                 - {finding}")
    if as_json:
        told = [result.to_json() for result in results]
        print_json({"schema": 1, "tasks": {generator.name: told}})
    statuses = {result.status for result in results}
    return 4 if Status.ERROR in statuses else int(Status.FAILED in statuses)
