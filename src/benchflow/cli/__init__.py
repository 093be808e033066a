"""The command line: one file a verb. Parses, calls, prints; what is decided is decided below."""

from __future__ import annotations


def main() -> None:
    """The `benchflow` command."""
    from benchflow.cli.streams import settle

    settle()  # before anything opens a file
    from benchflow.cli.app import run

    raise SystemExit(run())
