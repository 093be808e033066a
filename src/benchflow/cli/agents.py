"""`benchflow agents`: the coding agents that run from layers."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import json_option, print_json


@click.group("agents", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Install coding agents once, for all sandboxes; say which versions.

    A layer holds an agent's program and its runtime. Sandboxes show it read-only, so that an agent
    is ready at once, without network, in the same version everywhere. `benchflow run` installs a
    missing layer by itself. Versions and checksums are locked; `update` locks newer ones.

    \b
    Examples:
      benchflow agents
      benchflow agents install claude-code codex
      benchflow agents doctor
    """
    if context.invoked_subcommand is None:
        context.invoke(list_command, as_json=as_json)


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the agents, one per line: locked version, layer, size."""
    from benchflow.agents.layers import AGENTS, installed, locked
    from benchflow.cli.table import table

    found = [(spec, locked(spec), installed(spec)) for spec in AGENTS.values()]
    if as_json:
        agents = [
            {
                "name": spec.name,
                "title": spec.title,
                "version": lock.version,
                "installed": layer is not None,
                "layer": layer.id if layer else None,
                "path": layer.path if layer else None,
                "megabytes": layer.megabytes if layer else None,
                "content": layer.content if layer else None,
                "runtime": layer.runtime if layer else None,
                "musl": spec.musl,
            }
            for spec, lock, layer in found
        ]
        print_json({"schema": 1, "agents": agents})
        return
    rows = [
        [
            spec.name,
            lock.version,
            f"{layer.megabytes:.0f} MB" if layer else "not installed",
            layer.path.name if layer else "",
            spec.musl,
        ]
        for spec, lock, layer in found
    ]
    click.echo(table(["agent", "version", "layer", "folder", "musl images"], rows))
    click.echo("\nAny other agent of Harbor's works by name too, installed again in each trial.")


@command.command("install")
@click.argument("agent", nargs=-1)
@click.option("--again", is_flag=True, help="Make the layer again even when it is there.")
@json_option
def install_command(agent: tuple[str, ...], again: bool, as_json: bool) -> None:
    """Make the layers of these agents, or of all; those that are there stay.

    \b
    Example:
      benchflow agents install claude-code
    """
    from benchflow.agents.layers import AGENTS, find
    from benchflow.run.job.layers import ensure

    names = [find(name).name for name in agent] or [*AGENTS]
    layers = [ensure(name, again=again) for name in names]
    if as_json:
        print_json({"schema": 1, "layers": [{"id": layer.id, **vars(layer)} for layer in layers]})
        return
    for layer in layers:
        click.echo(f"{layer.id}  {layer.megabytes:.0f} MB  {layer.path}")


@command.command("update")
@click.argument("agent", nargs=-1)
@click.option(
    "--lock-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Lock file to write. Default: this machine's own, which goes before the shipped one.",
)
@json_option
def update_command(agent: tuple[str, ...], lock_file: Path | None, as_json: bool) -> None:
    """Lock the newest versions of these agents, or of all; install them afterwards.

    Results of different versions of an agent are results of different agents: each trial records
    its layer. Removing the machine's own lock file goes back to the shipped versions.

    \b
    Examples:
      benchflow agents update codex
      benchflow agents install codex
    """
    from benchflow.agents.layers import AGENTS, find
    from benchflow.agents.layers.lock import own_lock
    from benchflow.agents.layers.update import update

    specs = [find(name) for name in agent] or [*AGENTS.values()]
    path = lock_file or own_lock()
    changed = update(specs, path)
    if as_json:
        agents = [{"name": n, "before": old, "now": new} for n, (old, new) in changed.items()]
        print_json({"schema": 1, "lock_file": path, "agents": agents})
        return
    for name, (old, new) in changed.items():
        click.echo(
            f"{name}  {new}" + (f"  (was {old or 'unknown'})" if old != new else "  as before")
        )
    click.echo(f"\nlocked in {path}; next: benchflow agents install")


@command.command("doctor")
@click.argument("agent", nargs=-1)
@json_option
def doctor_command(agent: tuple[str, ...], as_json: bool) -> int:
    """Compare layers with their digests and start each program in a sandbox without network.

    Exit status 4 when an installed layer is damaged or does not start.

    \b
    Example:
      benchflow agents doctor claude-code
    """
    from benchflow.agents.layers import AGENTS, find
    from benchflow.base.text import printable
    from benchflow.cli.table import table
    from benchflow.errors import InfrastructureError
    from benchflow.run.job.layers import check

    names = [find(name).name for name in agent] or [*AGENTS]
    found = [check(name) for name in names]
    if as_json:
        print_json({"schema": 1, "agents": found})
    else:
        rows = [
            [h.agent, h.state, f"{h.seconds:.2f} s" if h.seconds else "", printable(h.detail, 60)]
            for h in found
        ]
        click.echo(table(["agent", "state", "start", ""], rows))
    broken = [h for h in found if h.state in ("damaged", "does not start")]
    return InfrastructureError.exit_code if broken else 0
