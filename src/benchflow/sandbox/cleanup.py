"""Clean-up after owners that died: whose sandbox is it, and is that process still there?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox import idmap, paths, process, userns
from benchflow.sandbox.limits import Groups, remove_groups

_RECORD = "owner.json"


def claim(state: Path) -> None:
    """Make the directory of a sandbox and write down who owns it."""
    try:
        state.mkdir(parents=True, mode=0o700)
    except FileExistsError as error:
        raise UsageError(f"{state} is in use by another sandbox") from error
    _write(state, {"pid": os.getpid(), "start": process.start_time(os.getpid())})


def record(state: Path, init_pid: int, groups: Groups) -> None:
    """Write down what has to be ended and removed when the owner dies."""
    _write(
        state,
        {
            "pid": os.getpid(),
            "start": process.start_time(os.getpid()),
            "init": init_pid,
            "init_start": process.start_time(init_pid),
            "groups": sorted({str(path) for path in groups.paths.values()}),
        },
    )


def _write(state: Path, value: dict[str, object]) -> None:
    draft = state / f".{_RECORD}.new"
    draft.write_text(json.dumps(value))
    draft.replace(state / _RECORD)


def gc() -> list[str]:
    """Remove the sandboxes under `$BENCHFLOW_HOME` whose owner is dead; their names."""
    removed = []
    for state in sorted(paths.sandboxes().iterdir()):
        if state.is_dir() and not _owned(state):
            _remove(state)
            removed.append(state.name)
    return removed


def _owned(state: Path) -> bool:
    try:
        owner = json.loads((state / _RECORD).read_text())
    except FileNotFoundError:
        # Between mkdir and the record; or a claim cut off there, once it has aged.
        try:
            return time.time() - state.stat().st_mtime < 60
        except FileNotFoundError:  # another collector was faster
            return True
    return bool(owner["start"] == process.start_time(owner["pid"]))


def _remove(state: Path) -> None:
    try:
        owner = json.loads((state / _RECORD).read_text())
    except FileNotFoundError:
        owner = {}
    init = owner.get("init")
    if init is not None and process.start_time(init) == owner["init_start"]:
        with suppress(ProcessLookupError):
            os.kill(init, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while process.start_time(init) == owner["init_start"] and time.monotonic() < deadline:
            time.sleep(0.005)
    remove_groups([Path(path) for path in owner.get("groups", [])])
    delete(state, idmap.current())


def delete(state: Path, id_map: idmap.IdMap) -> None:
    """Delete the directory of a sandbox, whatever its programs left there. It is renamed first,
    so that a second deleter or a look at half of it does no harm."""
    doomed = state.with_name(f".{state.name}.{os.getpid()}.deleted")
    try:
        state.rename(doomed)
    except FileNotFoundError:
        return
    if not id_map.privileged and (doomed / "fs").is_dir():
        userns.check(
            ["find", "/mnt/fs", "-mindepth", "1", "-delete"],
            id_map,
            what=f"deleting {doomed}",
            shown={"fs": doomed / "fs"},
        )
    done = subprocess.run(
        ["rm", "-rf", "--one-file-system", "--", str(doomed)], capture_output=True, text=True
    )
    if done.returncode:
        raise InfrastructureError(f"cannot delete {doomed}: {done.stderr.strip()[-500:]}")
