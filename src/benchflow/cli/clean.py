"""`benchflow clean`: what is kept on this machine, and room made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from benchflow.cli.options import json_option, print_json


@dataclass(frozen=True)
class Store:
    """One thing kept below `benchflow.base.home`; `option` removes it, "" where none does."""

    name: str
    megabytes: int
    what: str
    option: str = ""


@click.command("clean")
@click.option("--evidence", is_flag=True, help="Remove the trials of gates; their outcomes stay.")
@click.option(
    "--images", is_flag=True, help="Remove all built images, their layers, and machines' disks."
)
@click.option(
    "--sandboxes", is_flag=True, help="Remove the sandboxes of trials that could be resumed."
)
@json_option
def command(evidence: bool, images: bool, sandboxes: bool, as_json: bool) -> None:
    """Show what benchflow keeps on this machine, and make room.

    Jobs are yours and are never touched. Leftovers of killed runs are removed at once, and what an
    option names; all of it can be made again. Refused while a sandbox is in use.

    \b
    Examples:
      benchflow clean
      benchflow clean --evidence
      benchflow clean --images --evidence
    """
    from benchflow import sandbox
    from benchflow.base.home import home
    from benchflow.cli.table import table
    from benchflow.sandbox.image import image_disk_usage

    leftovers = sandbox.gc()
    if sandboxes:
        leftovers += image_disk_usage.remove_kept()
    if evidence or images:
        image_disk_usage.refuse_while_used()
    if evidence:
        _remove_evidence(home() / "checks")
    if images:
        image_disk_usage.remove_images()
    stores = _stores(home(), image_disk_usage.stored_bytes())
    if as_json:
        print_json({"schema": 1, "home": home(), "leftovers": leftovers, "stores": stores})
        return
    for name in leftovers:
        click.echo(f"removed the sandbox {name}, which a killed run left")
    rows = [[s.name, f"{s.megabytes} MB", s.what, s.option] for s in stores]
    click.echo(f"in {home()}:")
    click.echo(table(["kept", "size", "what it is", "removed by"], rows, indent="  "))


def _stores(home: Path, images: int) -> list[Store]:
    return [
        Store("checks", _megabytes(home / "checks"), "trials of the gates", "clean --evidence"),
        Store("images", images // 1_000_000, "environments, layer by layer", "clean --images"),
        Store(
            "machines",
            _megabytes(home / "machines"),
            "disks that --sandbox vm starts from",
            "clean --images",
        ),
        Store("agents", _megabytes(home / "agents"), "coding agents with their runtimes"),
        Store(
            "sandboxes",
            _megabytes(home / "sandboxes"),
            "of trials at work, or cut off and to be resumed",
            "clean --sandboxes",
        ),
        Store("staged", _megabytes(home / "staged"), "tasks as jobs run them"),
        Store("ray", _megabytes(home / "ray"), "tasks that a cluster's driver sent here"),
    ]


def _megabytes(top: Path) -> int:
    """What the files below `top` take on the disk; what cannot be read counts nothing."""
    blocks = 0
    for folder, _, files in top.walk():
        for name in files:
            try:
                blocks += (folder / name).lstat().st_blocks
            except OSError:
                continue
    return blocks * 512 // 1_000_000


def _remove_evidence(checks: Path) -> None:
    import shutil

    from benchflow.errors import UsageError
    from benchflow.results.jobs.lock import is_held

    if busy := [job.parent for job in checks.glob("*/benchflow.json") if is_held(job.parent)]:
        raise UsageError(
            f"{busy[0].name} is being worked on", hint="wait for benchflow check to end, or stop it"
        )
    for folder in sorted(checks.iterdir()) if checks.is_dir() else []:
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
