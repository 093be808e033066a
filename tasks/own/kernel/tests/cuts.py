"""The power goes while a program writes records and says which are safe."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from exam import Bench, proof
from rootfs import Root, word

from benchflow.bench.recorded_disk import RecordedDisk
from benchflow.boot import BadDeliverable, Image

CUTS = 30
SAFE = re.compile(r"^<safe (\w+) (\d+)>\n", re.MULTILINE)
SECONDS = 60
ASKS = 4  # after so many records the program waits for a line


@dataclass(frozen=True)
class Written:
    """What a run has left: the disk's log, and from which entry on each promise holds."""

    disk: RecordedDisk
    salt: bytes
    promises: list[tuple[int, str, int]]
    ended: bool


def line(salt: bytes, n: int) -> bytes:
    """Record `n`, as the program writes it."""
    return b"%06d %s\n" % (n, hashlib.sha256(salt + struct.pack("<Q", n)).hexdigest()[:16].encode())


def written(bench: Bench) -> Written:
    """Let the program write, with all its writes recorded."""
    root = Root(bench.rng)
    path = root.program("keeper")
    image = root.image(bench.path("root.img"), megabytes=24)
    disk = RecordedDisk(image)
    count = bench.rng.randint(50, 70)
    start = bench.start(
        f"root=/dev/vda init={path} -- count={count} keeps",
        "[R47] records",
        extra_args=disk.arguments,
    )
    promises: list[tuple[int, str, int]] = []
    typed = b""
    seen, deadline = 0, start.machine.deadline(SECONDS)
    try:
        while True:
            alive, text = start.machine.alive, start.text
            # Read after the text: a promise is older than what is in the log by then.
            entry = len(disk.log)
            for found in SAFE.finditer(text, seen):
                promises.append((entry, found[1], int(found[2])))
                seen = found.end()
                if found[1] == "log" and int(found[2]) % ASKS == 0:
                    # Nothing more is written before this promise was heard: none is kept back
                    # until all is on the disk anyhow.
                    answer = f"{word(bench.rng)}\n"
                    start.machine.send(answer)
                    typed += answer.encode()
            if "@keeps " in text or not alive:
                break
            assert deadline.remaining() > 0, (
                f"[R47] {len(promises)} promises in {SECONDS} s; the console ends: {start.end()}"
            )
            time.sleep(0.005)
        found = re.search(r"^@keeps (\w+) ([^\n]*)\n", start.text, re.MULTILINE)
        assert found and found[1] == "ok", f"[R47] writing records: {start.end()}"
        due = proof(root.salts[path], "keeps", typed)
        assert found[2] == due, "[R47] writing records: what was typed did not arrive"
        assert not disk.flooded, "[R47] far more is written to the disk than was asked for"
        return Written(disk, root.salts[path], promises, True)
    finally:
        start.close()
        disk.close()


def whole_after_cuts(bench: Bench, run: Written) -> None:
    """At drawn moments: e2fsck -p repairs, and what was promised is there."""
    assert len(run.promises) > 60 and any(entry is None for entry in run.disk.log), (
        "[R47] nothing was flushed"
    )
    first = run.promises[0][0]
    path, wrong = bench.path("cut.img"), []
    for _ in range(CUTS):
        moment = bench.rng.randint(min(first, len(run.disk.log)), len(run.disk.log))
        path.write_bytes(run.disk.after_cut(moment, bench.rng))
        due = {}
        for entry, what, n in run.promises:
            if entry <= moment:
                due.setdefault(what, []).append(n)
        try:
            repaired(path)
            kept(path, run.salt, due)
        except (AssertionError, BadDeliverable) as error:
            wrong.append(f"before entry {moment} of {len(run.disk.log)}: {error}")
        if len(wrong) >= 4:
            break
    path.unlink(missing_ok=True)
    assert not wrong, (
        f"[R47] of {CUTS} cuts {len(wrong)} were not survived: {'; '.join(wrong)[:1500]}"
    )


def repaired(path: Path) -> None:
    """`e2fsck -p` brings it in order by itself."""
    done = subprocess.run(
        ["e2fsck", "-p", "-f", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), (
        f"e2fsck -p ends with {done.returncode}: {(done.stdout + done.stderr)[-300:]!r}"
    )
    done = subprocess.run(
        ["e2fsck", "-f", "-n", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"after e2fsck -p, e2fsck -n ends with {done.returncode}: {done.stdout[-300:]!r}"
    )


def kept(path: Path, salt: bytes, due: dict[str, list[int]]) -> None:
    """All that was promised."""
    files = Image(path).ext4()
    if "folder" in due:
        assert files.exists("/kept/log"), "the log is not there"
    if "log" in due:
        last = max(due["log"])
        text = files.read("/kept/log")
        promised = b"".join(line(salt, n) for n in range(1, last + 1))
        assert text[: len(promised)] == promised, (
            f"record {last} was acknowledged; the log has {len(text) // 24} records or others"
        )
    if "state" in due:
        assert files.exists("/kept/state"), "the state was renamed into its place, and is not there"
        text = files.read("/kept/state")
        n = int(text[:6]) if text[:6].isdigit() else -1
        assert n >= max(due["state"]) and text == line(salt, n) * 150, (
            f"the state of record {max(due['state'])} is not whole"
        )
    gone = due.get("gone", [])
    for n in due.get("own", []):
        there = files.exists(f"/kept/d{n}/file")
        if n in gone:
            assert not there, f"the file of record {n} was removed for good, and is there"
        elif n % 10:
            assert there and files.read(f"/kept/d{n}/file") == line(salt, n), (
                f"the file of record {n} is not whole"
            )
    if "large" in due:
        count = len(due["large"])
        text = files.read("/kept/large")
        promised = b"".join(bytes([97 + 7 * (i + 1) % 26]) * 30000 for i in range(count))
        assert text[: len(promised)] == promised, (
            f"the large file has {len(text)} bytes or others, {len(promised)} were acknowledged"
        )
