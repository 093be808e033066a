"""Deliverables as one compressed archive, for consumers that copy them from machine to machine.

Harbor's `[[verifier.collect]]` makes the archive in the agent's container when the agent has ended;
holes of disks take nothing in it. `unpack_deliverables.py` takes it apart in the verifier. Our own
sandbox hands files over without copying them, and has no part in this.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from benchflow.tasks.model import Task

#: In the agent's container, and in the verifier's.
ARCHIVE = "/benchflow/deliverables.tar.gz"
UNPACK = "unpack.py"
_SLACK_MB = 16
_PACKING_SECONDS = 1800
_PACK = """\
set --; for each in {names}; do [ -e "/$each" ] && set -- "$@" "$each"; done; \
mkdir -p {folder}; rm -rf {archive}; \
tar --create --sparse --numeric-owner --no-unquote -C / -- "$@" 2>/dev/null | gzip -1 >{archive}; \
[ "$(stat -c %s {archive})" -le {most} ] 2>/dev/null || : >{archive}"""


def most_mb(task: Task) -> int:
    """The largest archive that is carried over, in MiB; of a larger one nothing is."""
    return sum(each.max_stored_mb for each in task.deliverables) + _SLACK_MB


def pack_command(task: Task, archive: str = ARCHIVE) -> str:
    """For `sh` in the agent's container: writes `archive`, and ends with 0 whatever is missing."""
    return _PACK.format(
        names=" ".join(shlex.quote(each.path.lstrip("/")) for each in task.deliverables),
        folder=Path(archive).parent,
        archive=archive,
        most=most_mb(task) << 20,
    )


def name_archive(data: Any, task: Task) -> None:
    """Changes a staged task.toml, parsed: the archive is what is collected."""
    data["artifacts"] = [ARCHIVE]
    data["verifier"]["collect"] = [{"command": pack_command(task), "timeout_sec": _PACKING_SECONDS}]
    data["verifier"]["environment"]["storage_mb"] += most_mb(task)


def unpack_script() -> str:
    """The text of the script that unpacks; `task.json` beside it names the archive."""
    return (Path(__file__).parent / "unpack_deliverables.py").read_text(encoding="utf-8")
