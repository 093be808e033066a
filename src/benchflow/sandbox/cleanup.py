"""Clean-up after owners that died: whose sandbox is it, and is that process still there?"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchflow.base import process_identity
from benchflow.base.atomic import write_json
from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox import idmap, paths, userns
from benchflow.sandbox.limits import Groups, remove_groups

_RECORD = "owner.json"
#: A directory that somebody, by the number of his process, deletes or began to.
_DOOMED = re.compile(r"\.(?P<name>.+)\.(?P<pid>[0-9]+)\.deleted")


def claim(state: Path, keep_while: Sequence[Path] = ()) -> None:
    """Make the directory of a sandbox and write down who owns it; `keep_while`: see `gc`."""
    try:
        state.mkdir(parents=True, mode=0o700)
    except FileExistsError as error:
        raise UsageError(f"{state} is in use by another sandbox") from error
    _write(state, _owner("", keep_while))


def take_over(state: Path, image: str, keep_while: Sequence[Path] = ()) -> None:
    """Become the owner of what a sandbox over `image` (its digest) left when its owner died.

    Raises UsageError when there is none, or one over another image.
    """
    if not state.is_dir() or _is_owned(state):
        raise UsageError(f"{state}: no sandbox was left there")
    left = _owner_of(state)
    if left.get("image") != image:
        raise UsageError(f"{state}: its image has changed since")
    _end(left)
    _write(state, _owner(image, keep_while))


def record(
    state: Path, image: str, init_pid: int, groups: Groups, keep_while: Sequence[Path] = ()
) -> None:
    """Write down what has to be ended and removed when the owner dies."""
    _write(
        state,
        _owner(image, keep_while)
        | {
            "init": init_pid,
            "init_start": process_identity.start_time(init_pid),
            "groups": sorted({str(path) for path in groups.paths.values()}),
        },
    )


def _owner(image: str, keep_while: Sequence[Path]) -> dict[str, object]:
    return {
        "pid": os.getpid(),
        "start": process_identity.start_time(os.getpid()),
        "image": image,
        "keep_while": [str(path.absolute()) for path in keep_while],
    }


def _write(state: Path, value: dict[str, object]) -> None:
    write_json(state / _RECORD, value, lasting=False)


def gc() -> list[str]:
    """Remove the sandboxes under `$BENCHFLOW_HOME` whose owner is dead; their names.

    Of a sandbox that is to be kept while certain paths exist, only the processes are ended as long
    as all of them do: its files wait for `take_over`.
    """
    removed = []
    for state in sorted(paths.sandboxes().iterdir()):
        if not state.is_dir() or _is_owned(state) or _is_being_deleted(state):
            continue
        owner = _owner_of(state)
        _end(owner)
        if not _is_wanted(owner):
            delete(state, idmap.current())
            removed.append(state.name)
    return removed


def kept() -> list[str]:
    """The names of sandboxes that wait to be taken over."""
    return [
        state.name
        for state in sorted(paths.sandboxes().iterdir())
        if state.is_dir() and not _is_owned(state) and _is_wanted(_owner_of(state))
    ]


def discard(name: str) -> None:
    """Remove a sandbox that waits to be taken over, or that this process has stopped and kept;
    nothing happens when there is none."""
    state = paths.sandboxes() / name
    if state.is_dir() and (not _is_owned(state) or _owner_of(state).get("pid") == os.getpid()):
        _end(_owner_of(state))
        delete(state, idmap.current())


def end_own() -> None:
    """End what runs in the sandboxes of this process: who waits for them finds them dead."""
    for state in paths.sandboxes().iterdir():
        owner = _owner_of(state) if state.is_dir() else {}
        if owner.get("pid") == os.getpid() and _is_owned(state):
            _end(owner)


def _is_wanted(owner: dict[str, Any]) -> bool:
    wanted = owner.get("keep_while") or []
    return bool(wanted) and all(Path(path).exists() for path in wanted)


def _owner_of(state: Path) -> dict[str, Any]:
    try:
        owner: dict[str, Any] = json.loads((state / _RECORD).read_text())
    except FileNotFoundError:
        return {}
    return owner


def _is_owned(state: Path) -> bool:
    owner = _owner_of(state)
    if owner:
        return bool(owner["start"] == process_identity.start_time(owner["pid"]))
    # Between mkdir and the record; or a claim cut off there, once it has aged.
    try:
        return time.time() - state.stat().st_mtime < 60
    except FileNotFoundError:  # another collector was faster
        return True


def _is_being_deleted(state: Path) -> bool:
    """A large one takes minutes on a busy disk, and a second deleter would only slow the first."""
    found = _DOOMED.fullmatch(state.name)
    return found is not None and process_identity.start_time(int(found["pid"])) is not None


def _end(owner: dict[str, Any]) -> None:
    """End what still runs of a sandbox whose owner is dead."""
    init = owner.get("init")
    if init is not None and process_identity.start_time(init) == owner["init_start"]:
        with suppress(ProcessLookupError):
            os.kill(init, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while (
            process_identity.start_time(init) == owner["init_start"] and time.monotonic() < deadline
        ):
            time.sleep(0.005)
    remove_groups([Path(path) for path in owner.get("groups", [])])


def delete(state: Path, id_map: idmap.IdMap) -> None:
    """Delete the directory of a sandbox, whatever its programs left there. It is renamed first,
    so that a second deleter or a look at half of it does no harm."""
    begun = _DOOMED.fullmatch(state.name)
    name = begun["name"] if begun else state.name
    doomed = state.with_name(f".{name}.{os.getpid()}.deleted")
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
