"""How much memory the machines of a verification had, by the records of QEMU's commands."""

from __future__ import annotations

import json

from benchflow.results.jobs.evidence import qemu_records
from benchflow.results.model import Trial


def sizes(trial: Trial) -> set[str]:
    """What stands behind `-m` in the commands; empty when no machine was started.

    The records are ours, written outside of the guests; one that cannot be read tells nothing.
    """
    found = set()
    for path in qemu_records(trial.path):
        try:
            commands = [boot["command"] for boot in json.loads(path.read_text())["boots"]]
            found |= {command[command.index("-m") + 1] for command in commands}
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            continue
    return found
