"""Turns that play a task's own solution: hand the folder over, run solve.sh, wait for its end."""

from __future__ import annotations

import base64
import io
import shlex
import tarfile
from pathlib import Path

from benchflow.errors import UsageError
from benchflow.scripted_model.policy import OracleScript, Turn

_PLACE = "/tmp/.oracle"  # the agent's sandbox, whose only user is the agent


def turns_of(script: OracleScript, base: Path) -> tuple[Turn, ...]:
    """The turns for `script`. Raises UsageError where its folder has no solve.sh."""
    folder = (base / script.folder).resolve()
    if not (folder / "solve.sh").is_file():
        raise UsageError(f"{folder}: no solve.sh there", hint="[oracle] folder = a task's solution")
    packed = base64.b64encode(_pack(folder)).decode()
    pieces = [packed[n : n + script.chunk] for n in range(0, len(packed), script.chunk)]
    turns = [Turn(run=f"mkdir -p {_PLACE} && : > {_PLACE}/packed", say="Looking around.")]
    turns += [
        Turn(run=f"printf %s {piece} >> {_PLACE}/packed", say=f"Part {n} of {len(pieces)}.")
        for n, piece in enumerate(pieces, 1)
    ]
    exports = " ".join(shlex.quote(f"{key}={value}") for key, value in script.env.items())
    # The agent's tool must come back at once, so nothing of ours may hold its output open.
    turns.append(
        Turn(
            run=f"cd {_PLACE} && base64 -d packed | tar xz && "
            f"(setsid env {exports} bash -c 'bash solution/solve.sh; echo $? > status' "
            "> log 2>&1 < /dev/null &) ; echo started",
            say="Working.",
            until="started",
            repeat=3,
        )
    )
    rounds = -(-script.timeout // script.poll)
    # The marker is put together by the shell, so that an echo of the command does not match it.
    turns.append(
        Turn(
            run=f"for i in $(seq {script.poll}); do [ -s {_PLACE}/status ] && break; sleep 1; "
            f"done; tail -n 3 {_PLACE}/log; [ -s {_PLACE}/status ] && "
            f'echo "oracle-""ended: $(cat {_PLACE}/status)" || echo "still working"',
            say="Waiting.",
            timeout=script.poll + 60,
            until=r"oracle-ended: \d+",
            repeat=rounds,
        )
    )
    return (*turns, Turn(say="The work is done."))


def _pack(folder: Path) -> bytes:
    """The folder as a tar.gz that is the same whenever the files are."""
    raw = io.BytesIO()

    def plain(item: tarfile.TarInfo) -> tarfile.TarInfo:
        item.mtime, item.uid, item.gid, item.uname, item.gname = 0, 0, 0, "", ""
        return item

    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            name = f"solution/{path.relative_to(folder)}"
            archive.add(path, name, recursive=False, filter=plain)
    import gzip

    return gzip.compress(raw.getvalue(), mtime=0)
